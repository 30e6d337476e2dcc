// Small trees seen as sets of leaves: which of them a row can still reach is one word of bits, narrowed by a table for each value.
#pragma once

#include <memory>

#include "knowledge.hpp"

namespace frugal {

// The leaves of a tree are its bits in the order of their values, so that the first and the last bit of a set are its extremes.
class LeafSets {
  public:
    // Least and largest value, in steps of the grid.
    struct Extremes {
        int32_t low, high;
    };

    // nullptr if some tree is too large or wide, or if the tables would be.
    static std::unique_ptr<LeafSets> of(const Reachable& trees) {
        if (!trees.is_narrow()) return nullptr;
        auto sets = std::make_unique<LeafSets>(trees);
        if (!sets->number_leaves()) return nullptr;
        sets->collect_nodes();
        const size_t n_entries = sets->plan_tables();
        if (n_entries > kMostEntries) return nullptr;
        sets->table_.assign(n_entries, ~uint64_t{0});
        sets->fill_tables();
        return sets;
    }

    explicit LeafSets(const Reachable& trees) : trees_(&trees) {}

    const std::vector<uint64_t>& all() const { return all_; }
    uint64_t left_of(int32_t i) const { return left_[static_cast<size_t>(i)]; }

    Extremes extremes(size_t t, uint64_t set) const {
        const Reachable::Range* values = values_.data() + kMostLeaves * t;
        return {values[__builtin_ctzll(set)].low, values[63 - __builtin_clzll(set)].high};
    }

    // Takes the leaves away that a row cannot reach any more now that these features are known.
    void narrow(const Knowledge& knowledge, const std::vector<int32_t>& features, uint64_t* reachable /* (n_trees) */) const {
        const uint64_t* whole_rows[kRowsAtOnce];
        size_t n = 0;
        for (const int32_t f : features) {
            const Feature& feature = features_[static_cast<size_t>(f)];
            if (!knowledge.knows_code(f)) {
                narrow_by_nodes(knowledge, feature, reachable);
                continue;
            }
            const size_t row = std::min(knowledge.first_code(f), trees_->n_codes(static_cast<size_t>(f)));
            const uint64_t* left = table_.data() + feature.first + row * feature.row_size;
            if (!feature.is_dense()) {
                for (size_t a = 0; a < feature.row_size; ++a) reachable[feature.trees[a]] &= left[a];
            } else if (feature.row_size > 0) {
                whole_rows[n++] = left;
                if (n < kRowsAtOnce) continue;
                narrow_by_rows(whole_rows, n, reachable);
                n = 0;
            }
        }
        narrow_by_rows(whole_rows, n, reachable);
    }

  private:
    static constexpr size_t kMostLeaves = 64;
    static constexpr size_t kMostEntries = size_t{1} << 22;  // 32 MB
    static constexpr size_t kRowsAtOnce = 8;

    struct Feature {
        std::vector<int32_t> trees;                     // that read it; empty if its rows have all trees
        std::vector<std::pair<int32_t, int32_t>> nodes;  // that read it, with their trees
        size_t first = 0, row_size = 0;                 // its rows in the table: one for each code, and one for missing values
        bool is_dense() const { return trees.empty(); }
    };

    bool number_leaves() {
        const size_t n_trees = trees_->n_trees;
        all_.assign(n_trees, 0);
        values_.assign(kMostLeaves * n_trees, {});
        for (size_t t = 0; t < n_trees; ++t) {
            std::vector<int32_t> leaves;
            if (!list_leaves(static_cast<int32_t>(trees_->roots[t]), leaves)) return false;
            std::stable_sort(leaves.begin(), leaves.end(), [&](int32_t a, int32_t b) {
                const Reachable::Range x = trees_->range(a), y = trees_->range(b);
                return std::make_pair(x.low, x.high) < std::make_pair(y.low, y.high);
            });
            for (size_t b = 0; b < leaves.size(); ++b) {
                const auto leaf = static_cast<size_t>(leaves[b]);
                if (own_.size() <= leaf) own_.resize(leaf + 1, 0);
                own_[leaf] = uint64_t{1} << b;
                values_[kMostLeaves * t + b] = trees_->range(leaves[b]);
            }
            all_[t] = ~uint64_t{0} >> (kMostLeaves - leaves.size());
        }
        return true;
    }

    bool list_leaves(int32_t i, std::vector<int32_t>& leaves) const {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature >= 0) return list_leaves(i + 1, leaves) && list_leaves(node.right, leaves);
        leaves.push_back(i);
        return leaves.size() <= kMostLeaves;
    }

    void collect_nodes() {
        features_.resize(trees_->n_features);
        left_.assign(own_.size(), 0);
        for (size_t t = 0; t < trees_->n_trees; ++t) collect_below(static_cast<int32_t>(t), static_cast<int32_t>(trees_->roots[t]));
    }

    // -> the leaves below
    uint64_t collect_below(int32_t t, int32_t i) {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) return own_[static_cast<size_t>(i)];
        Feature& feature = features_[static_cast<size_t>(node.feature)];
        if (feature.trees.empty() || feature.trees.back() != t) feature.trees.push_back(t);
        feature.nodes.push_back({t, i});
        left_[static_cast<size_t>(i)] = collect_below(t, i + 1);
        return own_[static_cast<size_t>(i)] = left_[static_cast<size_t>(i)] | collect_below(t, node.right);
    }

    // Rows of most trees have all of them: running through memory is faster than picking from it.
    size_t plan_tables() {
        size_t n = 0;
        for (size_t f = 0; f < features_.size(); ++f) {
            Feature& feature = features_[f];
            if (4 * feature.trees.size() > trees_->n_trees) feature.trees.clear();
            feature.row_size = feature.nodes.empty() ? 0 : feature.is_dense() ? trees_->n_trees : feature.trees.size();
            feature.first = n;
            n += (size_t{trees_->n_codes(f)} + 1) * feature.row_size;
        }
        return n;
    }

    void fill_tables() {
        for (size_t f = 0; f < features_.size(); ++f) {
            const Feature& feature = features_[f];
            const ValueCode n_codes = trees_->n_codes(f);
            for (const auto& [t, i] : feature.nodes) {
                uint64_t* entry = table_.data() + feature.first + place_of(feature, t);
                for (ValueCode code = 0; code <= n_codes; ++code, entry += feature.row_size)
                    *entry &= ~lost(i, trees_->goes_left(trees_->node(i), code == n_codes ? kMissingValue : code));
            }
        }
    }

    static size_t place_of(const Feature& feature, int32_t t) {
        if (feature.is_dense()) return static_cast<size_t>(t);
        return static_cast<size_t>(std::lower_bound(feature.trees.begin(), feature.trees.end(), t) - feature.trees.begin());
    }

    // The leaves that a row cannot reach which goes left or right at a node.
    uint64_t lost(int32_t i, bool left) const {
        const uint64_t on_left = left_[static_cast<size_t>(i)];
        return left ? own_[static_cast<size_t>(i)] & ~on_left : on_left;
    }

    // rows: of all trees
    void narrow_by_rows(const uint64_t* const* rows, size_t n_rows, uint64_t* __restrict reachable) const {
        constexpr size_t kWords = 8;
        size_t t = 0;
        for (; t + kWords <= all_.size(); t += kWords) {
            uint64_t kept[kWords];
            std::copy_n(reachable + t, kWords, kept);
            for (size_t r = 0; r < n_rows; ++r)
                for (size_t w = 0; w < kWords; ++w) kept[w] &= rows[r][t + w];
            std::copy_n(kept, kWords, reachable + t);
        }
        for (; t < all_.size(); ++t)
            for (size_t r = 0; r < n_rows; ++r) reachable[t] &= rows[r][t];
    }

    void narrow_by_nodes(const Knowledge& knowledge, const Feature& feature, uint64_t* reachable) const {
        for (const auto& [t, i] : feature.nodes)
            if (const int32_t following = knowledge.child(i); following >= 0) reachable[t] &= ~lost(i, following == i + 1);
    }

    const Reachable* trees_;
    std::vector<uint64_t> all_;              // (n_trees)
    std::vector<uint64_t> own_, left_;       // (n_nodes): leaves below a node, and below its left child
    std::vector<Reachable::Range> values_;   // (n_trees, 64): of the leaves, by their bit
    std::vector<Feature> features_;          // (n_features)
    HugeVector<uint64_t> table_;             // of each feature and code, the leaves that it leaves to each tree that reads it
};

}  // namespace frugal
