// Splits of a categorical feature: categories sorted by the share of a class, every prefix tried on the left.
#pragma once

#include <algorithm>
#include <vector>

#include "choice.hpp"

namespace frugal {

// Raw counts and sizes of a node by category code (missing is code 255).
struct CategoryCounts {
    int k;
    std::vector<double> raw;   // (256, k)
    std::vector<double> size;  // (256): draws
    explicit CategoryCounts(int n_counts) : k(n_counts), raw(256 * static_cast<size_t>(n_counts), 0), size(256, 0) {}
    double* of(uint8_t code) { return raw.data() + static_cast<size_t>(code) * static_cast<size_t>(k); }
    void clear() {
        std::fill(raw.begin(), raw.end(), 0.0);
        std::fill(size.begin(), size.end(), 0.0);
    }
};

template <class Gains>
class CategorySearch {
  public:
    CategorySearch(int k, const double* class_weight, bool regression)
        : k_(k), class_weight_(class_weight), regression_(regression), left_(static_cast<size_t>(k)) {}

    // Best split of the categories present in the node. Returns whether there is one.
    bool search(CategoryCounts& counts, double node_size, double min_size, Gains& gains, Split& best /* OUT */) {
        find_present(counts);
        if (present_.size() < 2) return false;
        bool found = false;
        const int first = k_ == 2 ? 1 : 0, last = regression_ ? 2 : k_;  // two classes: one order; regression: by mean
        for (int c = first; c < last; ++c) {
            sort_by_share(counts, c);
            found |= scan_prefixes(counts, node_size, min_size, gains, found, best);
        }
        if (found) complete(counts, gains, best);
        return found;
    }

  private:
    void find_present(CategoryCounts& counts) {
        present_.clear();
        weight_.assign(256, 0);
        weightless_size_ = 0;
        for (int code = 0; code < 256; ++code) {
            const double* raw = counts.of(static_cast<uint8_t>(code));
            double weight = 0;
            if (regression_)
                weight = class_weight_[0] * raw[0];
            else
                for (int c = 0; c < k_; ++c) weight += class_weight_[c] * raw[c];
            weight_[static_cast<size_t>(code)] = weight;
            if (weight > 0)
                present_.push_back(static_cast<uint8_t>(code));
            else
                weightless_size_ += counts.size[static_cast<size_t>(code)];
        }
    }

    void sort_by_share(CategoryCounts& counts, int c) {
        share_.assign(256, 0);
        for (uint8_t code : present_) share_[code] = class_weight_[c] * counts.of(code)[c] / weight_[code];
        std::sort(present_.begin(), present_.end(), [&](uint8_t a, uint8_t b) {
            return share_[a] != share_[b] ? share_[a] < share_[b] : a < b;
        });
    }

    bool scan_prefixes(CategoryCounts& counts, double node_size, double min_size, Gains& gains, bool found,
                       Split& best) {
        bool better_found = false;
        std::fill(left_.begin(), left_.end(), 0.0);
        double left_size = 0;
        for (size_t length = 1; length < present_.size(); ++length) {
            const uint8_t code = present_[length - 1];
            for (int c = 0; c < k_; ++c) left_[static_cast<size_t>(c)] += counts.of(code)[c];
            left_size += counts.size[code];
            gains.evaluate(left_.data());
            const double gain = gains.gain();
            if ((found || better_found) && gain <= best.gain) continue;
            // Rows without weight go to the heavier child, and count there.
            const double size = left_size + (gains.left_weight() > gains.right_weight() ? weightless_size_ : 0);
            if (size < min_size || node_size - size < min_size) continue;
            better_found = true;
            best.gain = gain;
            best.left_categories = {};
            for (size_t i = 0; i < length; ++i) insert(best.left_categories, present_[i]);
        }
        return better_found;
    }

    // Categories the node does not have go to the heavier child.
    void complete(CategoryCounts& counts, Gains& gains, Split& best) {
        std::fill(left_.begin(), left_.end(), 0.0);
        for (uint8_t code : present_)
            if (contains(best.left_categories, code))
                for (int c = 0; c < k_; ++c) left_[static_cast<size_t>(c)] += counts.of(code)[c];
        gains.evaluate(left_.data());
        if (gains.left_weight() > gains.right_weight())
            for (int code = 0; code < 256; ++code)
                if (!(weight_[static_cast<size_t>(code)] > 0)) insert(best.left_categories, static_cast<uint8_t>(code));
        best.missing_left = contains(best.left_categories, kMissing);
        best.categorical = true;
    }

    int k_;
    const double* class_weight_;
    bool regression_;
    std::vector<uint8_t> present_;
    std::vector<double> weight_, share_, left_;
    double weightless_size_ = 0;
};

}  // namespace frugal
