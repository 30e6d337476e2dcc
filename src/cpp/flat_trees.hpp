// Grown trees one behind the other in the arrays that Python gets. A large forest is most of the memory that a fit needs: it
// is kept once, without what can be derived (thresholds) or was not asked for (gains).
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "growing_array.hpp"
#include "tree.hpp"

namespace frugal {

// `right` counts from the first tree's first node (or leaf).
class FlatTrees {
  public:
    FlatTrees(int n_counts, bool with_gains, size_t n_expected)
        : k_(static_cast<size_t>(n_counts)), with_gains_(with_gains) {
        if (n_expected == 0) return;
        for (auto* numbers : {&feature_, &right_}) numbers->expect(n_expected);
        for (auto* bytes : {&code_, &missing_left_}) bytes->expect(n_expected);
        leaf_counts_.expect(n_expected / 2 * k_ + k_);
    }

    void append(const Tree& tree) {
        if (n_nodes() + tree.n_nodes() > 0x7FFFFFFF)
            throw std::length_error("the forest has more than 2^31 nodes; limit max_depth or the number of trees");
        append_right(tree);
        if (!tree.category_sets.empty()) append_sets(tree);
        feature_.append(tree.feature);
        code_.append(tree.code);
        missing_left_.append(tree.missing_left);
        leaf_counts_.append(tree.leaf_counts);
        if (with_gains_) gain_.append(tree.gain);
        node_offsets_.push_back(static_cast<int64_t>(feature_.size()));
        leaf_offsets_.push_back(static_cast<int64_t>(leaf_counts_.size() / k_));
    }

    // Arrays by name; category_set is None if no split is categorical, gain if it was not asked for.
    nb::dict to_arrays(const TrainingData& data) && {
        nb::dict arrays;
        const size_t n_sets = category_sets_.size() / 4, n_leaves = leaf_counts_.size() / k_;
        if (n_sets > 0) complete_category_set(n_nodes());
        arrays["threshold"] = std::move(thresholds(data)).to_numpy();
        arrays["node_offsets"] = to_numpy(std::move(node_offsets_));
        arrays["leaf_offsets"] = to_numpy(std::move(leaf_offsets_));
        arrays["feature"] = std::move(feature_).to_numpy();
        arrays["code"] = std::move(code_).to_numpy();
        arrays["missing_left"] = std::move(missing_left_).to_numpy();
        arrays["right"] = std::move(right_).to_numpy();
        arrays["category_set"] = n_sets > 0 ? nb::cast(std::move(category_set_).to_numpy()) : nb::none();
        arrays["category_sets"] = to_numpy(std::move(category_sets_), {n_sets, 4});
        arrays["gain"] = with_gains_ ? nb::cast(std::move(gain_).to_numpy()) : nb::none();
        arrays["leaf_counts"] = std::move(leaf_counts_).to_numpy({n_leaves, k_});
        return arrays;
    }

  private:
    size_t n_nodes() const { return feature_.size(); }

    void append_right(const Tree& tree) {
        const auto first_node = static_cast<int32_t>(node_offsets_.back()), first_leaf = static_cast<int32_t>(leaf_offsets_.back());
        int32_t* right = right_.extend(tree.n_nodes());
        for (size_t i = 0; i < tree.n_nodes(); ++i) right[i] = tree.right[i] + (tree.feature[i] < 0 ? first_leaf : first_node);
    }

    void append_sets(const Tree& tree) {
        complete_category_set(n_nodes());
        const auto first_set = static_cast<int32_t>(category_sets_.size() / 4);
        int32_t* set = category_set_.extend(tree.n_nodes());
        for (size_t i = 0; i < tree.n_nodes(); ++i) set[i] = tree.category_set[i] < 0 ? -1 : tree.category_set[i] + first_set;
        for (const CategorySet& words : tree.category_sets) category_sets_.insert(category_sets_.end(), words.begin(), words.end());
    }

    // Trees without categorical splits have been left out.
    void complete_category_set(size_t upto) {
        const size_t missing = upto - category_set_.size();
        std::fill_n(category_set_.extend(missing), missing, -1);
    }

    GrowingArray<double> thresholds(const TrainingData& data) const {
        GrowingArray<double> thresholds;
        double* threshold = thresholds.extend(n_nodes());
        for (size_t i = 0; i < n_nodes(); ++i) {
            const bool numeric = feature_[i] >= 0 && (category_sets_.empty() || category_set_[i] < 0);
            threshold[i] = numeric ? data.threshold(static_cast<uint32_t>(feature_[i]), code_[i]) : 0.0;
        }
        return thresholds;
    }

    size_t k_;
    bool with_gains_;
    std::vector<int64_t> node_offsets_{0}, leaf_offsets_{0};
    GrowingArray<int32_t> feature_, right_, category_set_;
    GrowingArray<uint8_t> code_, missing_left_;
    GrowingArray<double> gain_, leaf_counts_;
    std::vector<uint64_t> category_sets_;
};

}  // namespace frugal
