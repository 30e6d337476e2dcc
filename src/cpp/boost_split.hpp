// The best split of one feature in one node, from its histogram.
//
//   gain = (score(L) + score(R) - score(S)) / 2,   score = G^2 / (H + l2): what the loss falls by, to second order
//
// With monotone constraints a child's value is cut to the bounds of its node, and score is that of the value it gets.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "boost_loss.hpp"
#include "tree.hpp"

namespace frugal {

struct BoostParams {
    double learning_rate = 0.1;
    uint32_t max_leaves = 31;
    uint32_t max_depth = 0xFFFFFFFFu;
    uint32_t min_samples_leaf = 20;
    double min_hessian = 1e-3;      // of a leaf
    double l2 = 0;
    double min_gain = 1e-9;         // a split has to gain more, after what it is charged
    double category_smoothing = 10;  // categories are sorted by G / (H + smoothing)
    uint32_t min_category_rows = 10;  // a category with fewer rows in the node is not sorted, and goes right
    double subsample = 1;           // share of the rows that a round is grown from
    double colsample = 1;           // share of the features that a tree may use
    uint64_t histogram_bytes = uint64_t{1} << 30;  // that open leaves may keep; beyond, nodes are counted from their rows
};

constexpr double kNoGain = -std::numeric_limits<double>::infinity();

// A split of one node, and the sums of its left side.
struct BoostSplit {
    double gain = kNoGain;
    uint8_t code = 0;  // codes <= code go left
    bool missing_left = false, categorical = false;
    bool parts_missing = false;  // missing on the right, all values on the left: no value is above another
    CategorySet left_categories{};  // missing is bit 255
    Cell left;

    bool exists() const { return gain > kNoGain; }
};

// Between which values the leaves below a node have to stay.
struct Bounds {
    double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// A node whose splits are searched.
struct SearchedNode {
    Cell total;
    Bounds bounds;
};

class SplitSearch {
  public:
    SplitSearch(const BoostParams& params, const Grid& grid, bool has_bounds) : params_(params), grid_(grid), has_bounds_(has_bounds) {}

    // What the leaf of these rows would add, before the learning rate.
    double value(Cell sum, const Bounds& bounds) const {
        const double free = -grid_.g(sum) / (grid_.h(sum) + params_.l2);
        return has_bounds_ ? std::clamp(free, bounds.lower, bounds.upper) : free;
    }

    // histogram: n_bins cells, and one for missing. monotone: +1 rising, -1 falling, 0 free.
    BoostSplit numeric(const SearchedNode& node, const Cell* histogram, size_t n_bins, int monotone) const {
        BoostSplit best;
        const Cell missing = histogram[n_bins];
        const double parent = score(node.total, node.bounds);
        scan(node, histogram, n_bins, false, monotone, parent, best);
        if (grid_.n_rows(missing) > 0) scan(node, histogram, n_bins, true, monotone, parent, best);
        if (!best.exists()) return best;
        best.code = middle_of_gap(histogram, n_bins, best.code);
        if (grid_.n_rows(missing) == 0) best.missing_left = left_is_heavier(node.total, best.left);
        return best;
    }

    // Categories in the order of G / (H + smoothing), from either end; each prefix is a left side.
    BoostSplit categorical(const SearchedNode& node, const Cell* histogram, size_t n_bins) const {
        std::vector<uint32_t> order = sorted_categories(histogram, n_bins);
        BoostSplit best;
        best.categorical = true;
        const double parent = score(node.total, node.bounds);
        scan_prefixes(node, histogram, n_bins, order, parent, best);
        std::reverse(order.begin(), order.end());
        scan_prefixes(node, histogram, n_bins, order, parent, best);
        if (best.exists()) place_absent(node, histogram, n_bins, best);
        return best;
    }

  private:
    double score(double g, double h, const Bounds& bounds) const {
        const double curvature = h + params_.l2;
        if (!has_bounds_) return g * g / curvature;
        const double value = std::clamp(-g / curvature, bounds.lower, bounds.upper);
        return -(2 * g * value + curvature * value * value);
    }
    double score(Cell sum, const Bounds& bounds) const { return score(grid_.g(sum), grid_.h(sum), bounds); }

    bool is_allowed(Cell side) const {
        return grid_.n_rows(side) >= params_.min_samples_leaf && grid_.h(side) >= params_.min_hessian;
    }

    double gain(const SearchedNode& node, Cell left, Cell right, double parent) const {
        return 0.5 * (score(left, node.bounds) + score(right, node.bounds) - parent);
    }

    bool keeps_order(const SearchedNode& node, Cell left, Cell right, int monotone) const {
        const double from = value(left, node.bounds), to = value(right, node.bounds);
        return monotone > 0 ? from <= to : from >= to;
    }

    // Thresholds from below. Missing alone on the left is not tried: it is missing alone on the right, mirrored.
    void scan(const SearchedNode& node, const Cell* histogram, size_t n_bins, bool missing_left, int monotone, double parent,
              BoostSplit& best) const {
        const uint32_t n_missing = grid_.n_rows(histogram[n_bins]);
        Cell left = missing_left ? histogram[n_bins] : Cell{};
        for (size_t t = 0; t < n_bins; ++t) {
            left = left + histogram[t];
            const Cell right = node.total - left;
            if (!is_allowed(left) || (missing_left && grid_.n_rows(left) == n_missing)) continue;
            if (!is_allowed(right)) break;
            const double found = gain(node, left, right, parent);
            const bool parts_missing = !missing_left && grid_.n_rows(right) == n_missing;
            const bool is_ordered = monotone != 0 && !parts_missing;
            if (!(found > best.gain) || (is_ordered && !keeps_order(node, left, right, monotone))) continue;
            best.gain = found;
            best.code = static_cast<uint8_t>(t);
            best.missing_left = missing_left;
            best.parts_missing = parts_missing;
            best.left = left;
        }
    }

    // The threshold that lies in the middle between the values on both sides; the last one if the right has only missing.
    uint8_t middle_of_gap(const Cell* histogram, size_t n_bins, size_t code) const {
        size_t last = code, first = code + 1;  // of the values on the left, and of those on the right
        while (grid_.n_rows(histogram[last]) == 0) --last;
        while (first < n_bins && grid_.n_rows(histogram[first]) == 0) ++first;
        return static_cast<uint8_t>(first == n_bins ? n_bins - 1 : (last + first - 1) / 2);
    }

    bool left_is_heavier(Cell total, Cell left) const { return grid_.n_rows(left) > grid_.n_rows(total - left); }

    std::vector<uint32_t> sorted_categories(const Cell* histogram, size_t n_bins) const {
        std::vector<uint32_t> order;
        std::array<double, 256> ratio{};
        for (uint32_t c = 0; c <= n_bins; ++c) {
            if (grid_.n_rows(histogram[c]) < std::max(1u, params_.min_category_rows)) continue;
            ratio[c] = grid_.g(histogram[c]) / (grid_.h(histogram[c]) + params_.category_smoothing);
            order.push_back(c);
        }
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ratio[a] != ratio[b] ? ratio[a] < ratio[b] : a < b; });
        return order;
    }

    static uint8_t code_of(uint32_t bin, size_t n_bins) { return bin == n_bins ? kMissing : static_cast<uint8_t>(bin); }

    void scan_prefixes(const SearchedNode& node, const Cell* histogram, size_t n_bins, const std::vector<uint32_t>& order,
                       double parent, BoostSplit& best) const {
        Cell left;
        for (size_t length = 1; length <= order.size(); ++length) {
            left = left + histogram[order[length - 1]];
            const Cell right = node.total - left;
            if (!is_allowed(left)) continue;
            if (!is_allowed(right)) break;
            const double found = gain(node, left, right, parent);
            if (!(found > best.gain)) continue;
            best.gain = found;
            best.left = left;
            best.left_categories = {};
            for (size_t i = 0; i < length; ++i) insert(best.left_categories, code_of(order[i], n_bins));
        }
    }

    // Categories that the node does not have, and missing if it has none, go to the side with more rows; a tie goes right.
    void place_absent(const SearchedNode& node, const Cell* histogram, size_t n_bins, BoostSplit& best) const {
        if (left_is_heavier(node.total, best.left))
            for (uint32_t c = 0; c <= n_bins; ++c)
                if (grid_.n_rows(histogram[c]) == 0) insert(best.left_categories, code_of(c, n_bins));
        best.missing_left = contains(best.left_categories, kMissing);
    }

    const BoostParams& params_;
    const Grid& grid_;
    bool has_bounds_;
};

}  // namespace frugal
