// Small trees seen as sets of leaves: which of them a row can still reach is one word of bits, narrowed by a table for each value.
#pragma once

#include <memory>
#include <numeric>

#include "knowledge.hpp"

namespace frugal {

// The leaves of a tree are its bits in the order of their values, so that the first and the last bit of a set are its extremes.
// Sets lie channel by channel: those of the classes that matter are narrowed, and the tables of the others stay in memory.
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
        sets->order_trees();
        if (!sets->number_leaves()) return nullptr;
        sets->collect_nodes();
        const size_t n_entries = sets->plan_tables();
        if (n_entries > kMostEntries) return nullptr;
        sets->table_.assign(n_entries, ~uint64_t{0});
        sets->fill_tables();
        return sets;
    }

    explicit LeafSets(const Reachable& trees) : trees_(&trees) {}

    size_t place_of(int32_t t) const { return place_[static_cast<size_t>(t)]; }  // of a tree's set among all
    // The sets of a channel's trees before anything is known.   OUT (n_trees), only those
    void start(size_t channel, uint64_t* reachable) const {
        std::copy(all_.begin() + first_of(channel), all_.begin() + first_of(channel + 1), reachable + first_of(channel));
    }
    uint64_t left_of(int32_t i) const { return left_[static_cast<size_t>(i)]; }

    Extremes extremes(size_t t, uint64_t set) const {
        const Reachable::Range* values = values_.data() + kMostLeaves * t;
        return {values[__builtin_ctzll(set)].low, values[63 - __builtin_clzll(set)].high};
    }

    // Takes the leaves of a channel's trees away that a row cannot reach any more now that these features are known.
    void narrow(const Knowledge& knowledge, const int32_t* features, size_t n_features, size_t channel, uint64_t* reachable /* (n_trees) */) const {
        const uint64_t* whole_rows[kRowsAtOnce];
        size_t n = 0;
        for (const int32_t* at = features; at < features + n_features; ++at) {
            const Feature& feature = features_[static_cast<size_t>(*at)];
            if (!knowledge.knows_code(*at)) {
                narrow_by_nodes(knowledge, feature, channel, reachable);
                continue;
            }
            const size_t row = std::min(knowledge.first_code(*at), trees_->n_codes(static_cast<size_t>(*at)));
            const uint64_t* left = table_.data() + feature.first + row * feature.row_size;
            if (!feature.is_dense()) {
                for (size_t a = feature.first_of[channel]; a < feature.first_of[channel + 1]; ++a) reachable[feature.places[a]] &= left[a];
            } else if (feature.row_size > 0) {
                whole_rows[n++] = left;
                if (n < kRowsAtOnce) continue;
                narrow_by_rows(whole_rows, n, channel, reachable);
                n = 0;
            }
        }
        narrow_by_rows(whole_rows, n, channel, reachable);
    }

  private:
    static constexpr size_t kMostLeaves = 64;
    static constexpr size_t kMostEntries = size_t{1} << 22;  // 32 MB
    static constexpr size_t kRowsAtOnce = 8;

    struct Feature {
        std::vector<size_t> places;                     // of the sets of trees that read it; empty if its rows have all trees
        std::vector<size_t> first_of;                   // (n_channels + 1), among the places
        std::vector<std::pair<size_t, int32_t>> nodes;  // that read it, with the places of their trees
        size_t first = 0, row_size = 0;                 // its rows in the table: one for each code, and one for missing values
        bool is_dense() const { return places.empty(); }
    };

    std::ptrdiff_t first_of(size_t channel) const { return static_cast<std::ptrdiff_t>(first_place_[channel]); }

    void order_trees() {
        by_place_.resize(trees_->n_trees);
        std::iota(by_place_.begin(), by_place_.end(), 0);
        const auto channel = [&](int32_t t) { return trees_->channel_of(static_cast<size_t>(t)); };
        std::stable_sort(by_place_.begin(), by_place_.end(), [&](int32_t a, int32_t b) { return channel(a) < channel(b); });
        place_.resize(trees_->n_trees);
        first_place_.assign(trees_->n_channels + 1, 0);
        for (size_t place = 0; place < by_place_.size(); ++place) {
            place_[static_cast<size_t>(by_place_[place])] = place;
            ++first_place_[static_cast<size_t>(channel(by_place_[place])) + 1];
        }
        std::partial_sum(first_place_.begin(), first_place_.end(), first_place_.begin());
    }

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
            all_[place_[t]] = ~uint64_t{0} >> (kMostLeaves - leaves.size());
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
        for (size_t place = 0; place < by_place_.size(); ++place)
            collect_below(place, static_cast<int32_t>(trees_->roots[static_cast<size_t>(by_place_[place])]));
    }

    // -> the leaves below
    uint64_t collect_below(size_t place, int32_t i) {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) return own_[static_cast<size_t>(i)];
        Feature& feature = features_[static_cast<size_t>(node.feature)];
        if (feature.places.empty() || feature.places.back() != place) feature.places.push_back(place);
        feature.nodes.push_back({place, i});
        left_[static_cast<size_t>(i)] = collect_below(place, i + 1);
        return own_[static_cast<size_t>(i)] = left_[static_cast<size_t>(i)] | collect_below(place, node.right);
    }

    // Rows of most trees have all of them: running through memory is faster than picking from it.
    size_t plan_tables() {
        size_t n = 0;
        for (size_t f = 0; f < features_.size(); ++f) {
            Feature& feature = features_[f];
            if (4 * feature.places.size() > trees_->n_trees) feature.places.clear();
            for (const size_t first : first_place_)
                feature.first_of.push_back(static_cast<size_t>(std::lower_bound(feature.places.begin(), feature.places.end(), first) - feature.places.begin()));
            feature.row_size = feature.nodes.empty() ? 0 : feature.is_dense() ? trees_->n_trees : feature.places.size();
            feature.first = n;
            n += (size_t{trees_->n_codes(f)} + 1) * feature.row_size;
        }
        return n;
    }

    void fill_tables() {
        for (size_t f = 0; f < features_.size(); ++f) {
            const Feature& feature = features_[f];
            const ValueCode n_codes = trees_->n_codes(f);
            for (const auto& [place, i] : feature.nodes) {
                uint64_t* entry = table_.data() + feature.first + place_in_row(feature, place);
                for (ValueCode code = 0; code <= n_codes; ++code, entry += feature.row_size)
                    *entry &= ~lost(i, trees_->goes_left(trees_->node(i), code == n_codes ? kMissingValue : code));
            }
        }
    }

    static size_t place_in_row(const Feature& feature, size_t place) {
        if (feature.is_dense()) return place;
        return static_cast<size_t>(std::lower_bound(feature.places.begin(), feature.places.end(), place) - feature.places.begin());
    }

    // The leaves that a row cannot reach which goes left or right at a node.
    uint64_t lost(int32_t i, bool left) const {
        const uint64_t on_left = left_[static_cast<size_t>(i)];
        return left ? own_[static_cast<size_t>(i)] & ~on_left : on_left;
    }

    // rows: of all trees
    void narrow_by_rows(const uint64_t* const* rows, size_t n_rows, size_t channel, uint64_t* __restrict reachable) const {
        constexpr size_t kWords = 8;
        size_t place = first_place_[channel];
        const size_t last = first_place_[channel + 1];
        for (; place + kWords <= last; place += kWords) {
            uint64_t kept[kWords];
            std::copy_n(reachable + place, kWords, kept);
            for (size_t r = 0; r < n_rows; ++r)
                for (size_t w = 0; w < kWords; ++w) kept[w] &= rows[r][place + w];
            std::copy_n(kept, kWords, reachable + place);
        }
        for (; place < last; ++place)
            for (size_t r = 0; r < n_rows; ++r) reachable[place] &= rows[r][place];
    }

    void narrow_by_nodes(const Knowledge& knowledge, const Feature& feature, size_t channel, uint64_t* reachable) const {
        for (const auto& [place, i] : feature.nodes) {
            if (place < first_place_[channel] || place >= first_place_[channel + 1]) continue;
            if (const int32_t following = knowledge.child(i); following >= 0) reachable[place] &= ~lost(i, following == i + 1);
        }
    }

    const Reachable* trees_;
    std::vector<int32_t> by_place_;          // (n_trees): trees in the order of their sets
    std::vector<size_t> place_;              // (n_trees)
    std::vector<size_t> first_place_;        // (n_channels + 1): of the sets of each channel
    std::vector<uint64_t> all_;              // (n_trees), by place
    std::vector<uint64_t> own_, left_;       // (n_nodes): leaves below a node, and below its left child
    std::vector<Reachable::Range> values_;   // (n_trees, 64): of the leaves, by their bit
    std::vector<Feature> features_;          // (n_features)
    HugeVector<uint64_t> table_;             // of each feature and code, the leaves that it leaves to each tree that reads it
};

}  // namespace frugal
