// What a leaf adds to the sums of the rows that reach it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bindings.hpp"

namespace frugal {

enum class Adding {
    values,  // every value of the leaf to its own sum
    floats,  // the same, every sum rounded to float32, as XGBoost adds (rounding an exact double sum of two floats once more
             // is harmless: 53 >= 2 * 24 + 2 bits)
    votes    // 1 to the sum of its largest value, the first of equals
};

// Values of leaves (n_leaves, k); they are not owned.
class LeafValues {
  public:
    // n_uses: how often a leaf will be asked for, about.
    LeafValues(const Matrix<double>& values, Adding adding, size_t n_uses) : values_(values.data()), k_(values.shape(1)), adding_(adding) {
        const size_t n_leaves = values.shape(0);
        if (n_uses < n_leaves || k_ == 0) return;
        votes_.resize(n_leaves);
        for (size_t leaf = 0; leaf < n_leaves; ++leaf) votes_[leaf] = find_vote(values_ + leaf * k_);
        are_votes_ = std::all_of(votes_.begin(), votes_.end(), [this](uint32_t vote) { return vote < k_; });
    }

    size_t k() const { return k_; }
    bool are_votes() const { return are_votes_; }  // known of all leaves

    // The one sum that the leaf adds 1 to, or k: then it adds several numbers.
    uint32_t vote_of(int32_t leaf) const {
        const auto number = static_cast<size_t>(leaf);
        return votes_.empty() ? find_vote(values_ + number * k_) : votes_[number];
    }

    void add_vote_or_values(int32_t leaf, double* sums) const {
        const uint32_t vote = vote_of(leaf);
        if (vote < k_)
            sums[vote] += 1;
        else
            add(leaf, sums);
    }

    // What a leaf without a vote adds to the sums (k) of a row.
    void add(int32_t leaf, double* sums) const {
        const double* value = values_ + static_cast<size_t>(leaf) * k_;
        if (adding_ == Adding::floats)
            for (size_t c = 0; c < k_; ++c) sums[c] = static_cast<double>(static_cast<float>(sums[c] + value[c]));
        else
            for (size_t c = 0; c < k_; ++c) sums[c] += value[c];
    }

  private:
    uint32_t find_vote(const double* value) const {
        if (adding_ == Adding::votes) return static_cast<uint32_t>(std::max_element(value, value + k_) - value);
        // A sum with a vote is to be rounded like any other.
        return static_cast<uint32_t>(adding_ == Adding::floats ? k_ : only_one(value));
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

    const double* values_;
    size_t k_;
    Adding adding_;
    bool are_votes_ = false;
    std::vector<uint32_t> votes_;  // of each leaf; empty if finding them all is not worth it
};

}  // namespace frugal
