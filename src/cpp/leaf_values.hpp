// What a leaf adds to the sums of the rows that reach it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bindings.hpp"
#include "coded_trees.hpp"

namespace frugal {

enum class Adding {
    values,  // every value of the leaf to its own sum
    floats,  // the same, every sum rounded to float32, as XGBoost adds (rounding an exact double sum of two floats once more
             // is harmless: 53 >= 2 * 24 + 2 bits)
    votes    // 1 to the sum of its largest value, the first of equals
};

// Values of leaves (n_leaves, k); nothing is owned.
class LeafValues {
  public:
    LeafValues(const Matrix<double>& values, Adding adding) : values_(values.data()), k_(values.shape(1)), adding_(adding) {}

    // sums: (n_block_rows, k)
    void add(int32_t leaf, const BlockRow* rows, size_t n, double* sums) const {
        if (k_ == 0) return;
        const double* value = values_ + static_cast<size_t>(leaf) * k_;
        const size_t vote = vote_of(value);
        if (vote < k_)
            for (size_t i = 0; i < n; ++i) sums[rows[i] * k_ + vote] += 1;
        else if (adding_ == Adding::floats)
            for (size_t i = 0; i < n; ++i) add_floats(value, sums + rows[i] * k_);
        else
            for (size_t i = 0; i < n; ++i) add_values(value, sums + rows[i] * k_);
    }

  private:
    // The one sum that the leaf adds 1 to, or k. A sum with a vote is to be rounded like any other.
    size_t vote_of(const double* value) const {
        if (adding_ == Adding::votes) return static_cast<size_t>(std::max_element(value, value + k_) - value);
        return adding_ == Adding::floats ? k_ : only_one(value);
    }

    // Most leaves of deep trees are pure, and their shares are a vote: the place of a 1 among zeros, else k.
    size_t only_one(const double* value) const {
        size_t zeros = 0, place = 0;
        for (size_t c = 0; c < k_; ++c) {
            zeros += value[c] == 0;
            place = value[c] == 1 ? c : place;
        }
        return zeros + 1 == k_ && value[place] == 1 ? place : k_;
    }

    void add_values(const double* value, double* sums) const {
        for (size_t c = 0; c < k_; ++c) sums[c] += value[c];
    }

    void add_floats(const double* value, double* sums) const {
        for (size_t c = 0; c < k_; ++c) sums[c] = static_cast<double>(static_cast<float>(sums[c] + value[c]));
    }

    const double* values_;
    size_t k_;
    Adding adding_;
};

}  // namespace frugal
