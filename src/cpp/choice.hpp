// How two splits of a node compare (docs/growing.md, "Which split is chosen").
#pragma once

#include <array>
#include <type_traits>
#include <vector>

#include "sides.hpp"
#include "tree.hpp"

namespace frugal {

// Gain of a split of one node, from the counts of its left side. K: number of counts if it is known when compiling, or 0.
template <class Impurity, int K = 0>
class Gains {
    using Counts = std::conditional_t<K == 0, std::vector<double>, std::array<double, static_cast<size_t>(K == 0 ? 1 : K)>>;

  public:
    Gains(const Impurity& impurity, Splitting splitting, int k, const double* class_weight)
        : impurity_(impurity), splitting_(splitting), k_(k), class_weight_(class_weight) {
        if constexpr (K == 0)
            for (Counts* counts : {&total_, &n_, &left_, &right_}) counts->resize(static_cast<size_t>(k));
    }

    // raw: counts before class weights. The second form is for a node that has only k of the classes.
    void enter_node(const double* raw) { enter_node(raw, class_weight_, k_); }

    void enter_node(const double* raw, const double* class_weight, int k_present) {
        class_weight_ = class_weight;
        k_ = k_present;
        for (int c = 0; c < k(); ++c) {
            at(total_, c) = raw[c];
            at(n_, c) = class_weight_[c] * raw[c];
        }
        parent_ = impurity_(n_.data(), k());
        weight_ = weight_of(n_.data());
    }

    double parent() const { return parent_; }
    const double* counts() const { return n_.data(); }
    ParentNode parent_node() const { return {k(), total_.data(), class_weight_, parent_, weight_}; }
    const Impurity& impurity() const { return impurity_; }

    // Evaluates the split whose left side has these raw counts; then left_impurity(), right_impurity(), gain() are its own.
    template <class Count>
    void evaluate(const Count* raw_left) {
        for (int c = 0; c < k(); ++c) {
            const auto left = static_cast<double>(raw_left[c]);
            at(left_, c) = class_weight_[c] * left;
            at(right_, c) = class_weight_[c] * (at(total_, c) - left);
        }
        left_impurity_ = impurity_(left_.data(), k());
        right_impurity_ = impurity_(right_.data(), k());
    }

    double left_impurity() const { return left_impurity_; }
    double right_impurity() const { return right_impurity_; }
    double left_weight() const { return weight_of(left_.data()); }
    double right_weight() const { return weight_of(right_.data()); }

    double gain() const {
        if (splitting_ == Splitting::minimax)
            return parent_ - (left_impurity_ < right_impurity_ ? right_impurity_ : left_impurity_);
        return parent_ - (left_weight() * left_impurity_ + right_weight() * right_impurity_) / weight_;
    }

  private:
    int k() const { return K == 0 ? k_ : K; }
    static double& at(Counts& counts, int c) { return counts[static_cast<size_t>(c)]; }

    // Regression keeps (weight, weight * y): its weight is the first count, not the sum.
    double weight_of(const double* n) const {
        if constexpr (keeps_moments<Impurity>) return n[0];
        double sum = 0;
        for (int c = 0; c < k(); ++c) sum += n[c];
        return sum;
    }

    const Impurity& impurity_;
    Splitting splitting_;
    int k_;
    const double* class_weight_;
    Counts total_{}, n_{}, left_{}, right_{};
    double parent_ = 0, weight_ = 0, left_impurity_ = 0, right_impurity_ = 0;
};

// The best split of a node so far. Offer the best split of each feature, in any order.
class Choice {
  public:
    Choice(Objective objective, double tradeoff, bool at_a_loss = false)
        : objective_(objective), tradeoff_(tradeoff), at_a_loss_(at_a_loss) {}

    void offer(double price, const Split& split) {
        if (objective_ == Objective::risk)
            offer_risk(price, split);
        else
            offer_penalized(price, split);
    }

    // Whether a split of at most this gain could still win; false means it need not be looked at. The margin covers
    // the rounding of a product where offer() divides: a doubtful split is looked at.
    bool could_win(double price, double largest_gain) const {
        // Not "<=": a risk of 0 times an infinite bound is no number, and must be looked at.
        return largest_gain > 0 && !(found_ && price > key_ * largest_gain * (1 + 1e-9));
    }

    const Split* result() const {
        if (found_ && (objective_ == Objective::risk || key_ > 0 || best_is_free_ || at_a_loss_)) return &best_;
        return free_found_ ? &best_free_ : nullptr;
    }

  private:
    void offer_risk(double price, const Split& split) {
        if (!(split.gain > 0)) return;
        const double risk = price / split.gain;
        const bool better = !found_ || risk < key_ ||
                            (risk == key_ && (split.gain > best_.gain ||
                                              (split.gain == best_.gain && split.feature < best_.feature)));
        if (!better) return;
        found_ = true;
        key_ = risk;
        best_ = split;
    }

    void offer_penalized(double price, const Split& split) {
        const double penalty = tradeoff_ * price, score = split.gain - penalty;
        const bool is_free = penalty == 0;
        if (!found_ || score > key_ || (score == key_ && split.feature < best_.feature)) {
            found_ = true;
            key_ = score;
            best_ = split;
            best_is_free_ = is_free;
        }
        if (is_free && (!free_found_ || score > free_key_ || (score == free_key_ && split.feature < best_free_.feature))) {
            free_found_ = true;
            free_key_ = score;
            best_free_ = split;
        }
    }

    Objective objective_;
    double tradeoff_;
    bool at_a_loss_;
    bool found_ = false, best_is_free_ = false, free_found_ = false;
    double key_ = 0, free_key_ = 0;  // risk (smaller is better) or score (larger is better)
    Split best_, best_free_;
};

}  // namespace frugal
