// Grows one tree of a booster, best leaf first: the split of largest gain minus what its rows are charged for it.
//
// charge "row":      for every row of the node that has not paid for the feature, its price; a row pays once, over all trees
// charge "forest":   the price times all rows, unless some tree has used the feature already
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "boost_histogram.hpp"
#include "boost_paid.hpp"
#include "boost_tree.hpp"
#include "prices.hpp"
#include "team.hpp"

namespace frugal {

enum class BoostCharge { none, row, forest };

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Rules that hold whatever the gain; empty: none.
struct Constraints {
    std::vector<int8_t> monotone;                    // (n_features): +1 rising, -1 falling, 0 free
    std::vector<std::vector<uint8_t>> interactions;  // sets (n_features): features of one path are in one set together

    int sign(uint32_t f) const { return monotone.empty() ? 0 : monotone[f]; }
};

// What growing has to pay with: prices are money times trade-off, in units of the loss.
struct Till {
    BoostCharge charge = BoostCharge::none;
    CostTable prices, money;
    double left = kUnlimited;                // money that the rows of the tree may spend, charge "row"
    bool refused = false;                    // whether a split was worth its price, and there was no money left for it
    PaidSets* paid = nullptr;                // charge "row"
    const double* charge_weights = nullptr;  // (n_rows): rows that a row stands for, on a grid; nullptr: 1
    Basket* used = nullptr;                  // charge "forest"
    double price_per_split = 0;              // for every row of the node
};

class BoostGrower {
  public:
    BoostGrower(const RowCodes& codes, const BoostParams& params, const Constraints& constraints, Till& till, Team& team)
        : codes_(codes), params_(params), constraints_(constraints), till_(till), team_(team), left_(codes.table().n_rows),
          right_(codes.table().n_rows) {}

    // rows: those to grow from, ascending; afterwards in the order of the leaves.
    BoostTree grow(const std::vector<Cell>& cells, const Grid& grid, std::vector<uint32_t>& rows, const ColumnChoice& choice) {
        const SplitSearch search(params_, grid, !constraints_.monotone.empty());
        begin(cells, grid, rows, choice, search);
        start();
        while (open_.size() + closed_.size() < params_.max_leaves && !open_.empty()) {
            const size_t best = best_leaf();
            if (!(open_[best].score > params_.min_gain)) break;
            split(best);
        }
        finish();
        return std::move(tree_);
    }

    // Of each feature the largest gain of a split of all rows, prices aside.             OUT gains (n_features)
    void root_gains(const std::vector<Cell>& cells, const Grid& grid, std::vector<uint32_t>& rows, const ColumnChoice& choice,
                    double* gains) {
        const SplitSearch search(params_, grid, !constraints_.monotone.empty());
        begin(cells, grid, rows, choice, search);
        start();
        const std::vector<BoostSplit>& splits = (open_.empty() ? closed_ : open_).front().splits;
        for (size_t column = 0; column < splits.size(); ++column)
            if (splits[column].exists()) gains[feature(column)] = std::max(gains[feature(column)], splits[column].gain);
    }

    struct LeafRows {
        size_t begin, end;
        double value;
    };
    const std::vector<LeafRows>& leaf_rows() const { return leaf_rows_; }  // of the tree grown last

  private:
    struct Leaf {
        uint32_t node = 0, depth = 0;
        size_t begin = 0, end = 0;
        Cell total;
        Bounds bounds;
        std::vector<uint8_t> live_sets;  // interaction sets that have all features of the path; empty: all
        Cell* histogram = nullptr;
        std::vector<double> paid;         // (n_channels): weight of the rows that have paid
        double charge_weight = 0;         // of all its rows
        std::vector<BoostSplit> splits;   // (n_columns)
        size_t best = 0;
        double score = kNoGain;

        size_t n_rows() const { return end - begin; }
    };

    // ---- from the root to the leaves

    void begin(const std::vector<Cell>& cells, const Grid& grid, std::vector<uint32_t>& rows, const ColumnChoice& choice,
               const SplitSearch& search) {
        cells_ = &cells;
        grid_ = &grid;
        rows_ = &rows;
        choice_ = &choice;
        search_ = &search;
    }

    void start() {
        tree_ = BoostTree{};
        open_.clear();
        closed_.clear();
        pool_.start(choice_->n_cells, params_.histogram_bytes);
        Leaf root;
        root.end = rows_->size();
        for (const uint32_t row : *rows_) root.total = root.total + (*cells_)[row];
        all_weight_ = charge_weight_of(root);
        root.charge_weight = all_weight_;
        add_node(root);
        if (can_split(root) && params_.max_leaves > 1) {
            count(root);
            look_for_splits({&root});
            if (root.histogram == spare_.data()) root.histogram = nullptr;
        }
        place(std::move(root));
    }

    void split(size_t number) {
        Leaf parent = std::move(open_[number]);
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(number));
        const uint32_t f = feature(parent.best);
        const BoostSplit chosen = parent.splits[parent.best];
        write_split(parent, f, chosen);
        const bool prices_change = charge(parent, f);
        const size_t n_left = partition(parent, f, chosen);
        Leaf left = child(parent, f, chosen, true, n_left), right = child(parent, f, chosen, false, n_left);
        tree_.nodes[parent.node].left = static_cast<int32_t>(add_node(left));
        tree_.nodes[parent.node].right = static_cast<int32_t>(add_node(right));
        if (open_.size() + closed_.size() + 2 < params_.max_leaves) look_into(parent, left, right);
        drop_histogram(parent);
        place(std::move(left));
        place(std::move(right));
        if (prices_change)
            for (Leaf& leaf : open_) choose(leaf);
    }

    // Histograms and splits of two siblings: the smaller one is counted, the other is what is left of the parent.
    void look_into(Leaf& parent, Leaf& left, Leaf& right) {
        Leaf& small = left.n_rows() <= right.n_rows() ? left : right;
        Leaf& large = left.n_rows() <= right.n_rows() ? right : left;
        if (!can_split(small) && !can_split(large)) return;
        std::vector<Leaf*> searched;
        count(small);
        if (can_split(small)) searched.push_back(&small);
        if (small.histogram == spare_.data()) look_for_splits(std::exchange(searched, {}));  // before others need the room
        if (can_split(large)) {
            subtract(parent, small, large);
            searched.push_back(&large);
        }
        look_for_splits(searched);
        for (Leaf* leaf : {&small, &large}) {
            if (leaf->histogram == spare_.data()) leaf->histogram = nullptr;
            if (!can_split(*leaf)) drop_histogram(*leaf);
        }
    }

    void drop_histogram(Leaf& leaf) { pool_.give_back(std::exchange(leaf.histogram, nullptr)); }

    bool can_split(const Leaf& leaf) const {
        return leaf.n_rows() >= 2 * static_cast<size_t>(params_.min_samples_leaf) && leaf.depth < params_.max_depth;
    }

    void place(Leaf&& leaf) {
        if (leaf.score > params_.min_gain || till_.charge == BoostCharge::forest)
            open_.push_back(std::move(leaf));
        else {
            drop_histogram(leaf);
            closed_.push_back(std::move(leaf));
        }
    }

    size_t best_leaf() const {
        size_t best = 0;
        for (size_t i = 1; i < open_.size(); ++i) {
            const bool earlier = open_[i].node < open_[best].node;
            if (open_[i].score > open_[best].score || (open_[i].score == open_[best].score && earlier)) best = i;
        }
        return best;
    }

    void finish() {
        leaf_rows_.clear();
        for (auto* leaves : {&open_, &closed_})
            for (const Leaf& leaf : *leaves) {
                const double value = tree_.has_splits() ? params_.learning_rate * search_->value(leaf.total, leaf.bounds) : 0.0;
                tree_.nodes[leaf.node].value = value;
                leaf_rows_.push_back({leaf.begin, leaf.end, value});
            }
    }

    // ---- nodes

    uint32_t add_node(Leaf& leaf) {
        leaf.node = static_cast<uint32_t>(tree_.nodes.size());
        tree_.nodes.emplace_back();
        tree_.nodes.back().n_rows = grid_->n_rows(leaf.total);
        return leaf.node;
    }

    void write_split(const Leaf& leaf, uint32_t f, const BoostSplit& chosen) {
        BoostNode& node = tree_.nodes[leaf.node];
        node.feature = static_cast<int32_t>(f);
        node.code = chosen.code;
        node.missing_left = chosen.missing_left;
        node.gain = chosen.gain;
        node.charged = price(leaf, f);
        if (chosen.categorical) {
            node.category_set = static_cast<int32_t>(tree_.category_sets.size());
            tree_.category_sets.push_back(chosen.left_categories);
        }
    }

    Leaf child(const Leaf& parent, uint32_t f, const BoostSplit& chosen, bool is_left, size_t n_left) const {
        Leaf leaf;
        leaf.depth = parent.depth + 1;
        leaf.begin = is_left ? parent.begin : parent.begin + n_left;
        leaf.end = is_left ? parent.begin + n_left : parent.end;
        leaf.total = is_left ? chosen.left : parent.total - chosen.left;
        leaf.bounds = child_bounds(parent, f, chosen, is_left);
        leaf.live_sets = live_sets(parent, f);
        leaf.charge_weight = charge_weight_of(leaf);
        return leaf;
    }

    // Both sides of a monotone split keep to their side of the middle between them, and so does everything below.
    Bounds child_bounds(const Leaf& parent, uint32_t f, const BoostSplit& chosen, bool is_left) const {
        Bounds bounds = parent.bounds;
        const int sign = constraints_.sign(f);
        if (sign == 0 || chosen.parts_missing) return bounds;
        const double left = search_->value(chosen.left, bounds), right = search_->value(parent.total - chosen.left, bounds);
        ((sign > 0) == is_left ? bounds.upper : bounds.lower) = left / 2 + right / 2;
        return bounds;
    }

    std::vector<uint8_t> live_sets(const Leaf& parent, uint32_t f) const {
        const auto& sets = constraints_.interactions;
        std::vector<uint8_t> live(sets.size(), 0);
        for (size_t s = 0; s < sets.size(); ++s) live[s] = sets[s][f] && (parent.live_sets.empty() || parent.live_sets[s]);
        return live;
    }

    bool is_allowed(const Leaf& leaf, uint32_t f) const {
        if (leaf.live_sets.empty()) return true;
        for (size_t s = 0; s < leaf.live_sets.size(); ++s)
            if (leaf.live_sets[s] && constraints_.interactions[s][f]) return true;
        return false;
    }

    uint32_t feature(size_t column) const { return codes_.feature(choice_->columns[column]); }

    // ---- rows

    // Rows of a node that go left come first, each side in its old order. -> how many go left
    size_t partition(const Leaf& leaf, uint32_t f, const BoostSplit& chosen) {
        std::array<uint8_t, 256> is_left;
        for (size_t code = 0; code < 256; ++code)
            is_left[code] = chosen.categorical ? contains(chosen.left_categories, static_cast<uint8_t>(code))
                            : code == kMissing ? chosen.missing_left
                                               : code <= chosen.code;
        const uint8_t* column = codes_.table().column(f);
        uint32_t* rows = rows_->data() + leaf.begin;
        const std::vector<size_t> begins = block_begins(leaf.n_rows(), kPartitionRows);
        const size_t n_blocks = begins.size() - 1;
        std::vector<size_t> lefts(n_blocks);
        team_.run(n_blocks, [&](size_t b) {
            size_t n_left = begins[b], n_right = begins[b];
            for (size_t i = begins[b]; i < begins[b + 1]; ++i) {
                const uint32_t row = rows[i];
                const uint8_t goes_left = is_left[column[row]];
                left_[n_left] = row;
                right_[n_right] = row;
                n_left += goes_left;
                n_right += 1u - goes_left;
            }
            lefts[b] = n_left - begins[b];
        });
        size_t n_left = 0;
        for (const size_t n : lefts) n_left += n;
        size_t to_left = 0, to_right = n_left;
        for (size_t b = 0; b < n_blocks; ++b) {
            const size_t size = begins[b + 1] - begins[b];
            std::copy_n(left_.data() + begins[b], lefts[b], rows + to_left);
            std::copy_n(right_.data() + begins[b], size - lefts[b], rows + to_right);
            to_left += lefts[b];
            to_right += size - lefts[b];
        }
        return n_left;
    }

    // Where the parts of n rows begin that threads work on, of at least `least` rows each; the last one is n.
    std::vector<size_t> block_begins(size_t n, size_t least) const {
        const size_t n_blocks = std::clamp<size_t>(n / least, 1, team_.size());
        std::vector<size_t> begins;
        for (size_t b = 0; b <= n_blocks; ++b) begins.push_back(n * b / n_blocks);
        return begins;
    }

    // ---- counting

    void count(Leaf& leaf) {
        leaf.histogram = pool_.take();
        if (!leaf.histogram) {  // no room: counted where nobody keeps it
            spare_.resize(choice_->n_cells);
            leaf.histogram = spare_.data();
        }
        const bool with_paid = till_.charge == BoostCharge::row;
        if (with_paid) leaf.paid.assign(till_.paid->n_channels(), 0.0);
        const std::vector<size_t> begins = block_begins(leaf.n_rows(), kCountedRows);
        const size_t n_blocks = begins.size() - 1;
        parts_.resize(std::max(parts_.size(), n_blocks));
        team_.run(n_blocks, [&](size_t b) {
            if (b > 0) parts_[b].resize(choice_->n_cells);
            Cell* histogram = b == 0 ? leaf.histogram : parts_[b].data();
            std::memset(static_cast<void*>(histogram), 0, choice_->n_cells * sizeof(Cell));
            const uint32_t* rows = rows_->data() + leaf.begin;
            add_rows(codes_, *choice_, rows + begins[b], begins[b + 1] - begins[b], cells_->data(), histogram);
        });
        for (size_t b = 1; b < n_blocks; ++b)
            for (size_t i = 0; i < choice_->n_cells; ++i) leaf.histogram[i] = leaf.histogram[i] + parts_[b][i];
        if (with_paid) count_paid(leaf);
    }

    void count_paid(Leaf& leaf) {
        const PaidSets& paid = *till_.paid;
        const uint32_t* rows = rows_->data() + leaf.begin;
        if (till_.charge_weights) {
            for (size_t i = 0; i < leaf.n_rows(); ++i)
                for (size_t c = 0; c < paid.n_channels(); ++c)
                    if (paid.has(rows[i], c)) leaf.paid[c] += till_.charge_weights[rows[i]];
            return;
        }
        std::vector<int64_t> counts(64 * paid.n_words(), 0);
        BitCounter(paid.n_words()).add(paid.bits(), rows, leaf.n_rows(), counts.data());
        for (size_t c = 0; c < paid.n_channels(); ++c) leaf.paid[c] = static_cast<double>(counts[c]);
    }

    // The larger sibling takes over the histogram of its parent.
    void subtract(Leaf& parent, const Leaf& small, Leaf& large) {
        if (!parent.histogram) return count(large);
        large.histogram = std::exchange(parent.histogram, nullptr);
        for (size_t i = 0; i < choice_->n_cells; ++i) large.histogram[i] = large.histogram[i] - small.histogram[i];
        large.paid = std::move(parent.paid);
        for (size_t c = 0; c < large.paid.size(); ++c) large.paid[c] -= small.paid[c];
    }

    double charge_weight_of(const Leaf& leaf) const {
        if (!till_.charge_weights || till_.charge == BoostCharge::none) return static_cast<double>(leaf.n_rows());
        double sum = 0;
        for (size_t i = leaf.begin; i < leaf.end; ++i) sum += till_.charge_weights[(*rows_)[i]];
        return sum;
    }

    // ---- splits and their price

    void look_for_splits(const std::vector<Leaf*>& leaves) {
        const size_t n_columns = choice_->size();
        for (Leaf* leaf : leaves) leaf->splits.assign(n_columns, BoostSplit{});
        team_.run(leaves.size() * n_columns, [&](size_t task) {
            Leaf& leaf = *leaves[task / n_columns];
            const size_t column = task % n_columns;
            if (is_allowed(leaf, feature(column))) leaf.splits[column] = best_split(leaf, column);
        });
        for (Leaf* leaf : leaves) choose(*leaf);
    }

    BoostSplit best_split(const Leaf& leaf, size_t column) const {
        const uint32_t f = feature(column);
        const Cell* histogram = leaf.histogram + choice_->offsets[column];
        const auto n_bins = static_cast<size_t>(codes_.table().n_bins[f]);
        const SearchedNode node{leaf.total, leaf.bounds};
        if (codes_.table().is_categorical[f]) return search_->categorical(node, histogram, n_bins);
        return search_->numeric(node, histogram, n_bins, constraints_.sign(f));
    }

    // The split of largest gain minus price; the smaller feature index wins ties.
    void choose(Leaf& leaf) {
        leaf.score = kNoGain;
        for (size_t column = 0; column < leaf.splits.size(); ++column) {
            if (!leaf.splits[column].exists()) continue;
            const double score = leaf.splits[column].gain - price(leaf, feature(column));
            if (score <= leaf.score) continue;
            if (!can_afford(leaf, feature(column))) {
                till_.refused = till_.refused || score > params_.min_gain;
                continue;
            }
            leaf.score = score;
            leaf.best = column;
        }
    }

    // What the rows of a leaf are charged for a split on a feature: own price first, then its groups in their order.
    double price(const Leaf& leaf, uint32_t f) const {
        if (till_.charge == BoostCharge::none) return 0;
        const double passing = till_.price_per_split * leaf.charge_weight;
        if (till_.charge == BoostCharge::forest) return passing + all_weight_ * till_.used->marginal(f);
        return passing + unpaid(leaf, f, till_.prices);
    }

    // What the rows that have not paid for a feature, or for its groups, would have to pay.
    double unpaid(const Leaf& leaf, uint32_t f, const CostTable& costs) const {
        double sum = costs.own[f] * (leaf.charge_weight - leaf.paid[f]);
        costs.for_groups(f, [&](uint32_t g) { sum += costs.shared[g] * (leaf.charge_weight - leaf.paid[costs.n_features + g]); });
        return sum;
    }

    bool can_afford(const Leaf& leaf, uint32_t f) const {
        return till_.charge != BoostCharge::row || till_.left == kUnlimited || unpaid(leaf, f, till_.money) <= std::max(till_.left, 0.0);
    }

    // Rows pay for the feature. -> whether that changes prices elsewhere
    bool charge(Leaf& leaf, uint32_t f) {
        if (till_.charge == BoostCharge::forest) {
            const bool is_new = !till_.used->has(f);
            till_.used->add(f);
            return is_new;
        }
        if (till_.charge == BoostCharge::none) return false;
        const double spent = unpaid(leaf, f, till_.money);
        till_.left -= spent;
        const bool all_paid = leaf.paid[f] == leaf.charge_weight;
        leaf.paid[f] = leaf.charge_weight;
        till_.prices.for_groups(f, [&](uint32_t g) { leaf.paid[till_.prices.n_features + g] = leaf.charge_weight; });
        if (!all_paid) till_.paid->buy(rows_->data() + leaf.begin, leaf.n_rows(), f);
        return spent > 0 && till_.left < kUnlimited;
    }

    static constexpr size_t kPartitionRows = 8192, kCountedRows = 2048;

    const RowCodes& codes_;
    const BoostParams& params_;
    const Constraints& constraints_;
    Till& till_;
    Team& team_;
    HistogramPool pool_;
    std::vector<std::vector<Cell>> parts_;  // histograms of further threads
    std::vector<Cell> spare_;
    std::vector<uint32_t> left_, right_;
    const std::vector<Cell>* cells_ = nullptr;
    const Grid* grid_ = nullptr;
    std::vector<uint32_t>* rows_ = nullptr;
    const ColumnChoice* choice_ = nullptr;
    const SplitSearch* search_ = nullptr;
    double all_weight_ = 0;
    BoostTree tree_;
    std::vector<Leaf> open_, closed_;
    std::vector<LeafRows> leaf_rows_;
};

}  // namespace frugal
