// One tree of a booster while it grows, and rows on their way through it.
#pragma once

#include <cstdint>
#include <vector>

#include "boost_rows.hpp"
#include "boost_split.hpp"

namespace frugal {

struct BoostNode {
    int32_t feature = -1;  // -1: leaf
    uint8_t code = 0;
    bool missing_left = false;
    int32_t left = -1, right = -1, category_set = -1;
    double gain = 0, charged = 0;  // of a split: what the loss falls by, and what its rows are charged for it
    double value = 0;              // of a leaf: what it adds to the score
    uint32_t n_rows = 0;
};

struct BoostTree {
    std::vector<BoostNode> nodes;
    std::vector<CategorySet> category_sets;

    bool has_splits() const { return nodes.size() > 1; }

    bool goes_left(const BoostNode& node, uint8_t code) const {
        if (node.category_set >= 0) return contains(category_sets[static_cast<size_t>(node.category_set)], code);
        return code == kMissing ? node.missing_left : code <= node.code;
    }

    // The leaf of a row; visit(feature) is called for each one read.
    template <class Visit>
    const BoostNode& leaf_of(const CodeTable& table, size_t row, Visit&& visit) const {
        const BoostNode* node = nodes.data();
        while (node->feature >= 0) {
            visit(static_cast<uint32_t>(node->feature));
            const uint8_t code = table.column(static_cast<size_t>(node->feature))[row];
            node = nodes.data() + (goes_left(*node, code) ? node->left : node->right);
        }
        return *node;
    }
};

}  // namespace frugal
