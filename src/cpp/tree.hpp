// What growing takes and gives: binned training data, parameters, and one tree as flat arrays in preorder.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "columns.hpp"

namespace frugal {

constexpr uint32_t kNoParent = 0xFFFFFFFFu;

using CategorySet = std::array<uint64_t, 4>;  // bit c: category c goes left

inline bool contains(const CategorySet& set, uint8_t code) { return (set[code >> 6] >> (code & 63)) & 1; }
inline void insert(CategorySet& set, uint8_t code) { set[code >> 6] |= uint64_t{1} << (code & 63); }

// Training data, shared by all trees and threads; nothing is owned.
struct TrainingData {
    size_t n_rows, n_features;
    int n_counts;                    // numbers kept per set of rows: classes, or 2 for (weight, weight * y)
    const uint8_t* codes;            // (n_features, n_rows)
    const int32_t* n_bins;           // (n_features)
    const uint8_t* is_categorical;   // (n_features)
    const double* edges;             // concatenated; feature f starts at edge_offsets[f]
    const int64_t* edge_offsets;     // (n_features + 1)
    const double* bin_min;           // concatenated; feature f starts at bin_offsets[f]
    const double* bin_max;
    const int64_t* bin_offsets;      // (n_features + 1)
    const int32_t* labels;           // (n_rows), or nullptr for regression
    const double* targets;           // (n_rows), or nullptr for classification
    const double* weighted_targets;  // (n_rows): weight * target, on a grid of its own so that sums are exact
    const double* weights;           // (n_rows), or nullptr: all 1
    const double* class_weight;      // (n_counts)

    const uint8_t* column(size_t f) const { return codes + f * n_rows; }
    // The value in the user's units up to which codes <= t reach.
    double threshold(uint32_t f, uint8_t t) const {
        return t + 1 < n_bins[f] ? edges[edge_offsets[f] + t] : std::numeric_limits<double>::infinity();
    }
};

enum class Splitting { minimax, expected };
enum class Objective { risk, penalized };

struct GrowParams {
    Splitting splitting = Splitting::minimax;
    Objective objective = Objective::risk;
    double tradeoff = 0;
    bool at_a_loss = false;  // penalized: the best split is taken even if it is not worth its price
    uint32_t max_depth = 0xFFFFFFFFu;
    uint32_t max_features = 0xFFFFFFFFu;
    bool skip_constants = false;  // max_features counts features that are not constant in the node
    uint32_t min_samples_leaf = 1;
    uint32_t min_samples_split = 2;
    bool random_thresholds = false;
    bool bootstrap = true;
    bool seeds_by_path = false;  // features are drawn by the way to a node, not by its number
};

// Whether enough features have been drawn: max_features of them, and one at least that may split the node.
inline bool has_enough_features(const GrowParams& params, uint32_t n_drawn, uint32_t n_searched) {
    if (params.skip_constants) return n_searched >= params.max_features;
    return n_drawn >= params.max_features && n_searched > 0;
}

// How many thresholds the paper draws in a node of this size (Nan et al. 2015, section 3).
inline int n_random_thresholds(size_t size) { return size > 2000 ? 80 : size > 500 ? 40 : 20; }

struct Split {
    uint32_t feature = 0;
    uint8_t code = 0;             // codes <= code go left (numeric)
    bool missing_left = false;
    bool categorical = false;
    bool is_first_of_equals = true;  // false: a smaller threshold may have the same gain
    CategorySet left_categories{};
    double gain = 0;
};

// One tree. Node i's left child is i + 1; `right` of a leaf is its row in leaf_counts.
struct Tree {
    int n_counts = 0;
    std::vector<int32_t> feature;  // -1: leaf
    std::vector<uint8_t> code;
    std::vector<uint8_t> missing_left;
    std::vector<int32_t> right;
    std::vector<int32_t> category_set;  // -1: numeric
    std::vector<CategorySet> category_sets;
    std::vector<double> gain;
    std::vector<double> leaf_counts;  // (n_leaves, n_counts)
    std::vector<uint32_t> parent;

    uint32_t n_nodes() const { return static_cast<uint32_t>(feature.size()); }

    // Empties the tree; the room it has taken serves the next one.
    void start(int counts) {
        n_counts = counts;
        for (auto* numbers : {&feature, &right, &category_set}) numbers->clear();
        for (auto* bytes : {&code, &missing_left}) bytes->clear();
        for (auto* values : {&gain, &leaf_counts}) values->clear();
        category_sets.clear();
        parent.clear();
    }

    // Adds a node behind all others; a right child is linked here, a left child by its place.
    uint32_t add_node(uint32_t parent_node, bool is_right) {
        const uint32_t node = n_nodes();
        if (is_right) right[parent_node] = static_cast<int32_t>(node);
        feature.push_back(-1);
        code.push_back(0);
        missing_left.push_back(0);
        right.push_back(-1);
        category_set.push_back(-1);
        gain.push_back(0);
        parent.push_back(parent_node);
        return node;
    }

    void make_leaf(uint32_t node, const double* counts) {
        right[node] = static_cast<int32_t>(leaf_counts.size() / static_cast<size_t>(n_counts));
        leaf_counts.insert(leaf_counts.end(), counts, counts + n_counts);
    }

    void make_split(uint32_t node, const Split& split) {
        feature[node] = static_cast<int32_t>(split.feature);
        code[node] = split.code;
        missing_left[node] = split.missing_left;
        gain[node] = split.gain;
        if (split.categorical) {
            category_set[node] = static_cast<int32_t>(category_sets.size());
            category_sets.push_back(split.left_categories);
        }
    }
};

}  // namespace frugal
