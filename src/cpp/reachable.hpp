// Trees prepared for buying one feature at a time: what can still be reached below every node.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "eight.hpp"
#include "huge_pages.hpp"

namespace frugal {

// A value is known as its code: the number of the feature's own thresholds below it, or the number of its category.
using ValueCode = uint32_t;
constexpr ValueCode kMissingValue = 0xFFFFFFFFu;

// What trees add to: all to the one channel there is, each to one of several, or each to all of them.
enum class Shape { single, narrow, wide };

template <Shape kShape, bool kIsSmall>
struct Form {
    static constexpr Shape shape = kShape;
    static constexpr bool is_small = kIsSmall;  // numbers are
};

// The arrays of a Forest and of its Ensemble, as Python holds them.
struct EnsembleArrays {
    size_t n_trees, n_nodes, n_leaves, n_features, n_classes, n_sets, set_words;
    bool only_lead;                  // with two classes: only the difference of their scores matters
    const int64_t* node_offsets;     // (n_trees + 1)
    const int32_t* feature;          // (n_nodes), -1: leaf
    const double* threshold;         // (n_nodes)
    const uint8_t* missing_left;     // (n_nodes)
    const int32_t* right;            // (n_nodes): right child, or the leaf's row in values
    const int32_t* category_set;     // (n_nodes), or -1
    const uint64_t* category_sets;   // (n_sets, set_words)
    const double* values;            // (n_leaves, n_classes)
    const double* base;              // (n_classes)
    const double* node_weight;       // (n_nodes): training weight that came by
};

// Immutable. Scores are kept in channels: with two classes usually one, the lead of the second over the first; otherwise one for
// each class. What can be reached below a node is kept in whole steps of a grid, rounded outwards. Nodes lie apart from it and
// close together: walking through large forests is waiting for memory, and most nodes are only passed by. A tree adds to all
// channels (it is wide) or, as boosters grow them, to one (narrow).
class Reachable {
  public:
    struct Node {
        int32_t feature;                              // -1: leaf
        int32_t right;                                // right child, or the leaf's row in values
        uint32_t limit : 30, missing_left : 1, is_categorical : 1;  // numeric: codes up to the limit go left; categorical: number of the set
        float left_share;                             // of the training rows that came by
    };
    static_assert(sizeof(Node) == 16);

    // Least, largest and mean value below a node of a narrow tree, in steps.
    struct Range {
        int32_t low, high, mean;
    };

    explicit Reachable(const EnsembleArrays& a)
        : n_features(a.n_features), n_classes(a.n_classes), n_channels(a.only_lead && a.n_classes == 2 ? 1 : a.n_classes), n_trees(a.n_trees) {
        check(a);
        roots.assign(a.node_offsets, a.node_offsets + a.n_trees);
        sets_.assign(a.category_sets, a.category_sets + a.n_sets * a.set_words);
        set_words_ = a.set_words;
        values_.assign(a.values, a.values + a.n_leaves * a.n_classes);
        base.resize(n_channels);
        for (size_t c = 0; c < n_channels; ++c) base[c] = channel(a.base, c);
        number_thresholds(a);
        choose_grid(a);
        means_.resize(a.n_nodes * n_channels);
        nodes_.resize(a.n_nodes);
        lines_.resize((a.n_nodes * stride_ + sizeof(Line) - 1) / sizeof(Line));
        for (size_t t = a.n_trees; t-- > 0;)
            for (int64_t i = a.node_offsets[t + 1]; i-- > a.node_offsets[t];) add_node(a, t, static_cast<size_t>(i));
    }

    const size_t n_features, n_classes, n_channels, n_trees;
    std::vector<int64_t> roots;   // (n_trees)
    std::vector<double> base;     // (n_channels)

    int64_t n_nodes_of(size_t t) const { return (t + 1 < n_trees ? roots[t + 1] : static_cast<int64_t>(nodes_.size())) - roots[t]; }
    const Node& node(int32_t i) const { return nodes_[static_cast<size_t>(i)]; }
    void prefetch_node(int32_t i) const { __builtin_prefetch(nodes_.data() + i); }
    // One of both, chosen without a branch.
    void prefetch(int32_t i, bool is_node) const {
        const auto node = reinterpret_cast<uintptr_t>(nodes_.data() + i), reach = reinterpret_cast<uintptr_t>(record(i));
        __builtin_prefetch(reinterpret_cast<const void*>(reach ^ ((reach ^ node) & -static_cast<uintptr_t>(is_node))));
    }
    // Features of the subtree, each as bit f % 64, so that one may stand for several.
    uint64_t below(int32_t i) const { return read<uint64_t>(i, 0); }
    void prefetch_reach(int32_t i) const { __builtin_prefetch(record(i)); }
    const double* leaf_values(int32_t leaf) const { return values_.data() + static_cast<size_t>(leaf) * n_classes; }
    bool is_categorical(size_t f) const { return is_category_[f]; }
    bool has_categories() const { return !sets_.empty(); }
    const float* mean(int32_t i) const { return means_.data() + static_cast<size_t>(i) * n_channels; }

    double step() const { return step_; }
    bool is_narrow() const { return !channel_of_.empty(); }
    int32_t channel_of(size_t t) const { return channel_of_[t]; }  // of narrow trees
    // Calls use(std::true_type) if numbers are small, use(std::false_type) otherwise, so that loops need not ask.
    template <class Use>
    void with_size(Use&& use) const {
        is_small_ ? use(std::true_type{}) : use(std::false_type{});
    }

    // The same for all that loops could ask of the trees: calls use(Form<...>).
    template <class Use>
    void with_form(Use&& use) const {
        with_size([&](auto is_small) {
            if (!is_narrow()) return use(Form<Shape::wide, is_small>{});
            n_channels == 1 ? use(Form<Shape::single, is_small>{}) : use(Form<Shape::narrow, is_small>{});
        });
    }

    template <bool is_small>
    Range range(int32_t i) const {
        if constexpr (!is_small) return read<Range>(i, kBelow);
        const auto steps = read<std::array<int16_t, 3>>(i, kBelow);
        return {steps[0], steps[1], steps[2]};
    }
    Range range(int32_t i) const { return is_small_ ? range<true>(i) : range<false>(i); }
    // Wide trees: least, largest and mean of each channel, (3, width); channels beyond the real ones are 0. Read eight at a time.
    size_t width() const { return width_; }
    template <bool is_small>
    Eight eight(int32_t i, size_t first) const {
        if constexpr (is_small) return eight_of_bytes(record(i) + kBelow + first);
        return read<Eight>(i, kBelow + first * sizeof(int16_t));
    }
    template <bool is_small>
    int16_t steps(int32_t i, size_t place) const {
        return is_small ? read<int8_t>(i, kBelow + place) : read<int16_t>(i, kBelow + place * sizeof(int16_t));
    }
    int16_t steps(int32_t i, size_t place) const { return is_small_ ? steps<true>(i, place) : steps<false>(i, place); }

    ValueCode code(size_t f, double value) const {
        if (std::isnan(value)) return kMissingValue;
        if (is_category_[f]) {
            const bool has_bit = value >= 0 && value < static_cast<double>(64 * set_words_);
            return has_bit ? static_cast<ValueCode>(value) : kMissingValue;
        }
        return static_cast<ValueCode>(n_below(thresholds_[f], value));
    }

    // Codes of a feature are below this number, or kMissingValue.
    ValueCode n_codes(size_t f) const { return static_cast<ValueCode>(is_category_[f] ? 64 * set_words_ : thresholds_[f].size() + 1); }

    bool goes_left(const Node& node, ValueCode code) const {
        if (!node.is_categorical) return (code <= node.limit) | ((code == kMissingValue) & node.missing_left);
        if (code == kMissingValue) return node.missing_left;
        return (sets_[node.limit * set_words_ + (code >> 6)] >> (code & 63)) & 1;
    }

    static uint64_t bit(int32_t f) { return uint64_t{1} << (f & 63); }

    double channel(const double* scores, size_t c) const { return n_channels == 1 ? scores[1] - scores[0] : scores[c]; }

  private:
    // How many of the sorted numbers are below a value. Halves without a branch: which half it is could only be guessed.
    static size_t n_below(const std::vector<double>& numbers, double value) {
        size_t first = 0, n = numbers.size();
        while (n > 0) {
            const size_t half = (n + 1) / 2;
            first += half & -static_cast<size_t>(numbers[first + half - 1] < value);
            n -= half;
        }
        return first;
    }

    static constexpr double kRoundedShare = 0.1;
    static constexpr size_t kBelow = sizeof(uint64_t);  // bytes of a record before its numbers

    static void check(const EnsembleArrays& a) {
        const auto fail = [](const char* what) { throw std::invalid_argument(what); };
        if (a.n_classes < 2) fail("an ensemble needs two classes");
        if (a.n_nodes >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) fail("an ensemble of more than 2^31 nodes");
        for (size_t t = 0; t < a.n_trees; ++t) {
            const int64_t first = a.node_offsets[t], last = a.node_offsets[t + 1];
            if (first < 0 || first >= last || last > static_cast<int64_t>(a.n_nodes)) fail("a tree without nodes");
            for (int64_t i = first; i < last; ++i) {
                const int32_t f = a.feature[i], right = a.right[i], set = a.category_set[i];
                if (f >= static_cast<int32_t>(a.n_features)) fail("a node reads a feature that does not exist");
                if (f < 0 && (right < 0 || static_cast<size_t>(right) >= a.n_leaves)) fail("a leaf that does not exist");
                // Children lie behind their parent and in the same tree, so every walk ends.
                if (f >= 0 && (right < i + 2 || right >= last)) fail("a node whose child is not in its tree");
                if (set >= static_cast<int32_t>(a.n_sets)) fail("a set of categories that does not exist");
                if (f >= 0 && set < 0 && std::isnan(a.threshold[i])) fail("a threshold that is not a number");
            }
        }
        for (size_t i = 0; i < a.n_leaves * a.n_classes; ++i)
            if (!std::isfinite(a.values[i])) fail("a leaf whose value is not finite");
    }

    void number_thresholds(const EnsembleArrays& a) {
        thresholds_.resize(n_features);
        is_category_.assign(n_features, 0);
        for (size_t i = 0; i < a.n_nodes; ++i) {
            if (a.feature[i] < 0) continue;
            const auto f = static_cast<size_t>(a.feature[i]);
            if (a.category_set[i] >= 0)
                is_category_[f] = 1;
            else
                thresholds_[f].push_back(a.threshold[i]);
        }
        for (size_t f = 0; f < n_features; ++f) {
            std::vector<double>& own = thresholds_[f];
            if (is_category_[f] && !own.empty()) throw std::invalid_argument("a feature that is numeric and categorical");
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
        }
    }

    struct alignas(64) Line {
        unsigned char bytes[64];
    };

    // Of the record of a node, from a byte on.
    template <class T>
    T read(int32_t i, size_t offset) const {
        T found;
        std::memcpy(&found, record(i) + offset, sizeof(T));
        return found;
    }
    template <class T>
    void write(int32_t i, size_t offset, T number) {
        std::memcpy(lines_.data()->bytes + static_cast<size_t>(i) * stride_ + offset, &number, sizeof(T));
    }

    template <class T>
    void write_number(int32_t i, size_t place, T number) {
        write(i, kBelow + place * sizeof(T), number);
    }

    const unsigned char* record(int32_t i) const { return lines_.data()->bytes + static_cast<size_t>(i) * stride_; }

    // The finest grid of a power of two on which every leaf fits. Numbers are small where nearly all leaves lie on the grid of
    // small ones, as votes do: 16 bits in narrow trees and 8 in wide ones, otherwise twice that. Differences of two numbers of
    // wide trees fit 16 bits, sums over all trees 32.
    void choose_grid(const EnsembleArrays& a) {
        channel_of_ = single_channels(a);
        double largest = 0;
        for_leaf_values(a, [&](double value) { largest = std::max(largest, std::abs(value)); });
        const double small_step = step_for(largest, is_narrow() ? 32767 : 127);
        size_t n_off = 0;
        for_leaf_values(a, [&](double value) { n_off += value != small_step * std::nearbyint(value / small_step); });
        is_small_ = static_cast<double>(n_off) <= kRoundedShare * static_cast<double>(a.n_leaves * n_channels);
        const double finest = is_narrow() ? std::min(1e6, 1e9 / static_cast<double>(std::max<size_t>(n_trees, 1))) : 16383;
        step_ = is_small_ ? small_step : step_for(largest, finest);
        width_ = is_narrow() ? n_channels : (n_channels + 7) / 8 * 8;
        const size_t n_bytes = is_narrow() ? (is_small_ ? 6 : sizeof(Range)) : 3 * width_ * (is_small_ ? 1 : 2);
        stride_ = kBelow + (n_bytes + 7) / 8 * 8;
        // The record of a wide tree never lies on more lines than it must; narrow ones are small, and closer together is better.
        if (stride_ > sizeof(Line) / 2 && !is_narrow()) stride_ = (stride_ + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line);
    }

    static double step_for(double largest, double most) {
        const double step = std::exp2(std::max(-1000.0, std::ceil(std::log2(largest / most))));
        return largest / step > most ? 2 * step : step;
    }

    template <class Use>
    void for_leaf_values(const EnsembleArrays& a, Use&& use) const {
        for (size_t leaf = 0; leaf < a.n_leaves; ++leaf)
            for (size_t c = 0; c < n_channels; ++c) use(channel(leaf_values(static_cast<int32_t>(leaf)), c));
    }

    // The one channel that each tree adds to, or nothing if some tree adds to several.
    std::vector<int32_t> single_channels(const EnsembleArrays& a) const {
        std::vector<int32_t> found(n_trees, -1);
        for (size_t t = 0; t < n_trees; ++t)
            for (int64_t i = a.node_offsets[t]; i < a.node_offsets[t + 1]; ++i) {
                if (a.feature[i] >= 0) continue;
                for (size_t c = 0; c < n_channels; ++c) {
                    if (channel(leaf_values(a.right[i]), c) == 0 || found[t] == static_cast<int32_t>(c)) continue;
                    if (found[t] >= 0) return {};
                    found[t] = static_cast<int32_t>(c);
                }
            }
        for (int32_t& c : found) c = std::max(c, 0);
        return found;
    }

    // Children come first, since they lie behind their parent.
    void add_node(const EnsembleArrays& a, size_t t, size_t i) {
        Node& node = nodes_[i];
        node.feature = a.feature[i] < 0 ? -1 : a.feature[i];
        node.right = a.right[i];
        float* mean = means_.data() + i * n_channels;
        if (node.feature < 0) {
            for (size_t c = 0; c < n_channels; ++c) mean[c] = static_cast<float>(channel(leaf_values(node.right), c));
        } else {
            const std::vector<double>& own = thresholds_[static_cast<size_t>(node.feature)];
            node.missing_left = a.missing_left[i] != 0;
            const auto place = std::lower_bound(own.begin(), own.end(), a.threshold[i]) - own.begin();
            node.limit = (a.category_set[i] >= 0 ? static_cast<uint32_t>(a.category_set[i]) : static_cast<uint32_t>(place)) & 0x3FFFFFFFu;
            node.is_categorical = a.category_set[i] >= 0;
            const auto left = static_cast<int32_t>(i) + 1, right = node.right;
            const double weight = a.node_weight[left] + a.node_weight[right];
            node.left_share = weight > 0 ? static_cast<float>(a.node_weight[left] / weight) : 0.5f;
            write(static_cast<int32_t>(i), 0, bit(node.feature) | below(left) | below(right));
            for (size_t c = 0; c < n_channels; ++c)
                mean[c] = node.left_share * this->mean(left)[c] + (1 - node.left_share) * this->mean(right)[c];
        }
        set_reach(static_cast<int32_t>(i), t);
    }

    void set_reach(int32_t i, size_t t) {
        const auto set = [&](size_t place, int32_t steps) {
            if (is_narrow())
                is_small_ ? write_number(i, place, static_cast<int16_t>(steps)) : write_number(i, place, steps);
            else
                is_small_ ? write_number(i, place, static_cast<int8_t>(steps)) : write_number(i, place, static_cast<int16_t>(steps));
        };
        const size_t first = is_narrow() ? static_cast<size_t>(channel_of(t)) : 0, n = is_narrow() ? 1 : n_channels;
        const size_t part = is_narrow() ? 1 : width_;
        for (size_t c = 0; c < n; ++c) {
            set(c, low_steps(i, first + c));
            set(part + c, high_steps(i, first + c));
            set(2 * part + c, mean_steps(i, first + c));
        }
    }

    int32_t low_steps(int32_t i, size_t c) const {
        const Node& at = node(i);
        if (at.feature < 0) return static_cast<int32_t>(std::floor(channel(leaf_values(at.right), c) / step_));
        if (is_narrow()) return std::min(range(i + 1).low, range(at.right).low);
        return std::min(steps(i + 1, c), steps(at.right, c));
    }

    int32_t high_steps(int32_t i, size_t c) const {
        const Node& at = node(i);
        if (at.feature < 0) return static_cast<int32_t>(std::ceil(channel(leaf_values(at.right), c) / step_));
        if (is_narrow()) return std::max(range(i + 1).high, range(at.right).high);
        return std::max(steps(i + 1, width_ + c), steps(at.right, width_ + c));
    }

    int32_t mean_steps(int32_t i, size_t c) const { return static_cast<int32_t>(std::nearbyint(static_cast<double>(mean(i)[c]) / step_)); }

    HugeVector<Node> nodes_;          // (n_nodes)
    HugeVector<Line> lines_;          // (n_nodes) records of stride_ bytes: features below, then Range or rows
    size_t stride_ = 0, width_ = 0;
    double step_ = 1;
    bool is_small_ = false;
    std::vector<int32_t> channel_of_;  // (n_trees), or empty: trees are wide
    std::vector<float> means_;         // (n_nodes, n_channels)
    std::vector<double> values_;       // (n_leaves, n_classes)
    std::vector<uint64_t> sets_;
    size_t set_words_ = 0;
    std::vector<std::vector<double>> thresholds_;  // of each feature, sorted
    std::vector<uint8_t> is_category_;
};

}  // namespace frugal
