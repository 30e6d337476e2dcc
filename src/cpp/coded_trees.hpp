// The trees of a forest as rows walk them, and how rows are made ready for it.
//
// A value is compared as the number of the feature's own thresholds below it, so that x <= threshold[j] iff code(x) <= j.
// Codes are small: the codes of a block of rows and a tree fit the cache together.
//
// A block goes through a tree as a whole: each node parts the rows that reach it into those that go left and those that go
// right. That is a loop without a branch to guess wrong, nodes and leaves are visited in the order in which they lie in
// memory, and whoever waits at a leaf gets all its rows at once. One row after the other takes three times as long.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "aligned_array.hpp"
#include "columns.hpp"
#include "kernels.hpp"
#include "search_table.hpp"
#include "threshold_ranks.hpp"

namespace frugal {

using BlockRow = uint16_t;  // the number of a row in its block
constexpr size_t kMostBlockRows = size_t{1} << 16;

// Rows of a block that are at a node.
struct Visit {
    uint32_t node, begin, end, depth;  // rows are [begin, end) of the buffer of this depth,
    uint32_t set = kList;              // or the bits of this set; then [begin, end) is free for them
    static constexpr uint32_t kList = 0xFFFFFFFFu;

    uint32_t size() const { return end - begin; }
    bool is_set() const { return set != kList; }
};

// Rows that one worker sends through the trees, and its workspace.
template <class Code>
class Block {
  public:
    Block(size_t n_rows, size_t n_features, size_t n_words)
        : stride_((n_rows + 63) / 64 * 64), n_words_(n_words), codes_(stride_ * n_features + kPadding), all_(n_rows), path_(n_words, 0) {
        std::iota(all_.begin(), all_.end(), BlockRow{0});
        for (auto& buffer : parted_) buffer.resize(n_rows + kListPadding);
    }

    Code* column(size_t f) { return codes_.data() + f * stride_; }
    const Code* column(size_t f) const { return codes_.data() + f * stride_; }

    // The rows of a node lie in the buffer of its depth, and are parted into the other one.
    const BlockRow* rows_at(uint32_t depth) const { return depth == 0 ? all_.data() : parted_[depth % 2].data(); }
    BlockRow* buffer_of(uint32_t depth) { return parted_[depth % 2].data(); }

    // Sets of rows as bits; one behind the other, as visits wait.
    size_t set_words() const { return (stride_ + 63) / 64; }
    uint64_t* set(uint32_t number) {
        const size_t end = (size_t{number} + 1) * set_words();
        if (sets_.size() < end) sets_.resize(end);
        return sets_.data() + end - set_words();
    }

    // Bits of the features on the path to a node: those of its parent's depth are still there when it is visited.
    const uint64_t* path_at(uint32_t depth) const { return path_.data() + depth * n_words_; }
    void extend_path(uint32_t depth, uint32_t feature) {
        const size_t end = (size_t{depth} + 2) * n_words_;
        if (path_.size() < end) path_.resize(2 * end);
        uint64_t* below = path_.data() + end - n_words_;
        std::copy_n(below - n_words_, n_words_, below);
        below[feature / 64] |= uint64_t{1} << (feature % 64);
    }

    std::vector<Visit> waiting;

  private:
    static constexpr size_t kListPadding = 32;  // Kernels::list_bits writes a little more

    size_t stride_, n_words_;
    AlignedArray<Code> codes_;  // (n_features, stride)
    std::vector<BlockRow> all_, parted_[2];
    std::vector<uint64_t> sets_, path_;
};

// A forest as the arrays say it (see forest.py); checked by whoever has made it.
struct TreeArrays {
    size_t n_nodes, n_features;
    const int32_t* feature;
    const double* threshold;
    const uint8_t* missing_left;
    const int32_t* right;
    const int32_t* category_set;  // nullptr: no split is categorical
    const uint64_t* category_sets;  // (n_sets, set_words)
    size_t n_sets, set_words;

    int32_t set_of(size_t node) const { return category_set ? category_set[node] : -1; }
};

// Of each feature its distinct thresholds, sorted.
using Thresholds = std::vector<std::vector<double>>;

// Of each feature the ranks of its thresholds.
inline std::vector<ThresholdRanks> collect_thresholds(const TreeArrays& trees) {
    std::vector<ThresholdRanks> found(trees.n_features);
    for (size_t i = 0; i < trees.n_nodes; ++i)
        if (trees.feature[i] >= 0 && trees.set_of(i) < 0) found[static_cast<size_t>(trees.feature[i])].insert(trees.threshold[i]);
    return found;
}

// The largest code a row can have: values are never above infinity, which is the threshold of "all but missing".
inline size_t largest_code(const TreeArrays& trees, const Thresholds& thresholds) {
    size_t largest = 0;
    for (const auto& values : thresholds)
        largest = std::max(largest, values.size() - (!values.empty() && std::isinf(values.back()) && values.back() > 0));
    // Bytes part rows by comparing bit by bit, which knows no categories: those take wider codes, however few they are.
    return trees.n_sets > 0 ? std::max({largest, 64 * trees.set_words, size_t{256}}) : largest;
}

template <class Code>
class CodedTrees {
    static constexpr bool is_byte = sizeof(Code) == 1;
    static constexpr size_t kReadRows = is_byte ? 256 : 64;  // rows that stay in the cache while their columns are read
    static constexpr Code kMissingCode = std::numeric_limits<Code>::max();  // larger than every limit, and + 1 wraps to 0

  public:
    using Workspace = Block<Code>;

    CodedTrees() = default;

    static bool can_hold(size_t largest_code) { return largest_code < kMissingCode; }

    CodedTrees(const TreeArrays& trees, const std::vector<ThresholdRanks>& ranks, Thresholds&& thresholds)
        : thresholds_(std::move(thresholds)), is_category_(trees.n_features, 0), set_words_(trees.set_words) {
        nodes_.resize(trees.n_nodes);
        limits_.resize(trees.n_nodes);
        for (size_t i = 0; i < trees.n_nodes; ++i) add_node(trees, ranks, i);
        if (!set_of_.empty()) sets_.assign(trees.category_sets, trees.category_sets + trees.n_sets * set_words_);
        for (size_t f = 0; f < trees.n_features; ++f) {
            if (is_category_[f] || !thresholds_[f].empty()) used_.push_back(f);
            prepare_search(f);
        }
    }

    // Writes the codes of the rows [begin, begin + n).
    void read(const StridedMatrix& x, size_t begin, size_t n, const Kernels& kernels, Workspace& block /* OUT */) const {
        x.with_type([&](auto type) {
            using T = decltype(type);
            using Number = std::conditional_t<is_byte, Compared<T>, double>;
            Number values[kReadRows] = {};
            for (size_t first = 0; first < n; first += kReadRows) {
                const size_t some = std::min(kReadRows, n - first);
                for (const size_t f : used_) {
                    for (size_t i = 0; i < some; ++i) values[i] = static_cast<Number>(x.at<T>(begin + first + i, f));
                    if (is_category_[f])
                        code_categories(values, some, block.column(f) + first);
                    else
                        code_numbers(f, values, some, kernels, block.column(f) + first);
                }
            }
        });
    }

    // Sends the block's first n rows through one tree and calls arrive(leaf, rows, n_rows, path) for each leaf they reach.
    template <class Arrive>
    void walk(Workspace& block, size_t n, uint32_t root, const Kernels& kernels, Arrive&& arrive) const {
        if (n == 0) return;
        block.waiting.assign(1, start(block, static_cast<uint32_t>(n), root));
        while (!block.waiting.empty()) {
            Visit at = block.waiting.back();
            block.waiting.pop_back();
            while (!nodes_[at.node].is_leaf()) at = part(block, n, at, kernels);
            if (at.is_set()) make_list(block, at, kernels);
            arrive(static_cast<int32_t>(nodes_[at.node].right), block.rows_at(at.depth) + at.begin, at.size(), block.path_at(at.depth));
        }
    }

  private:
    struct Node {
        uint32_t right;  // of a leaf: its number
        uint32_t feature : 30, missing_left : 1, is_categorical : 1;
        bool is_leaf() const { return feature == kLeaf; }
    };
    static constexpr uint32_t kLeaf = (uint32_t{1} << 30) - 1;
    static_assert(sizeof(Node) == 8);

    void add_node(const TreeArrays& trees, const std::vector<ThresholdRanks>& ranks, size_t i) {
        const auto right = static_cast<uint32_t>(trees.right[i]);
        if (trees.feature[i] < 0) {
            nodes_[i] = {right, kLeaf, 0, 0};
            return;
        }
        const auto f = static_cast<size_t>(trees.feature[i]);
        const bool missing_left = trees.missing_left[i] != 0, categorical = trees.set_of(i) >= 0;
        nodes_[i] = {right, static_cast<uint32_t>(f), missing_left, categorical};
        if (categorical) {
            is_category_[f] = 1;
            if (set_of_.empty()) set_of_.assign(trees.n_nodes, -1);
            set_of_[i] = trees.set_of(i);
            return;
        }
        limits_[i] = static_cast<Code>(ranks[f].rank_of(trees.threshold[i]) + missing_left);
    }

    // The least 2^b - 1 that is not smaller: a search of b halvings then needs no bounds.
    static size_t padded_size(size_t n) {
        size_t size = 0;
        while (size < n) size = 2 * size + 1;
        return size;
    }

    void prepare_search(size_t f) {
        std::vector<double>& own = thresholds_[f];
        if constexpr (is_byte) {
            tables_.emplace_back(own.data(), own.data() + own.size());
            float_tables_.emplace_back(own.data(), own.data() + own.size());
        } else {
            own.resize(padded_size(own.size()), std::numeric_limits<double>::infinity());
        }
    }

    // The number of thresholds below each of at most kReadRows values (the array is that long).
    template <class Number>
    void code_numbers(size_t f, const Number* values, size_t n, const Kernels& kernels, Code* codes /* OUT */) const {
        if constexpr (std::is_same_v<Number, float>) {
            float_tables_[f].search(kernels, values, n, codes);
        } else if constexpr (is_byte) {
            tables_[f].search(kernels, values, n, codes);
        } else {
            const double* own = thresholds_[f].data();
            uint32_t found[kReadRows] = {};
            // All values at once, so that searches overlap.
            for (auto half = static_cast<uint32_t>((thresholds_[f].size() + 1) / 2); half; half /= 2)
                for (size_t i = 0; i < kReadRows; ++i) found[i] += own[found[i] + half - 1] < values[i] ? half : 0;
            for (size_t i = 0; i < n; ++i) codes[i] = values[i] == values[i] ? static_cast<Code>(found[i]) : kMissingCode;
        }
    }

    template <class Number>
    void code_categories(const Number* values, size_t n, Code* codes /* OUT */) const {
        for (size_t i = 0; i < n; ++i) {
            const bool known = values[i] >= 0 && values[i] < static_cast<Number>(64 * set_words_);  // anything else is missing
            codes[i] = known ? static_cast<Code>(values[i]) : kMissingCode;
        }
    }

    // Bytes are compared 64 at a time: as long as a node has a good part of the block's rows, looking at all of them is
    // faster than looking at its own.
    static constexpr size_t kSetShare = 16;

    Visit start(Workspace& block, uint32_t n, uint32_t root) const {
        Visit all{root, 0, n, 0};
        if (!is_byte || n < kSetShare) return all;
        all.set = 0;
        uint64_t* rows = block.set(0);
        std::fill_n(rows, block.set_words(), uint64_t{0});
        std::fill_n(rows, n / 64, ~uint64_t{0});
        if (n % 64) rows[n / 64] = (uint64_t{1} << (n % 64)) - 1;
        return all;
    }

    void make_list(Workspace& block, Visit& at, const Kernels& kernels) const {
        // Whoever waits while a set is visited is a set too: nothing lies in the buffers.
        if (at.depth > 0) kernels.list_bits(block.set(at.set), block.set_words(), block.buffer_of(at.depth) + at.begin);
        at.set = Visit::kList;
    }

    // Parts the rows of a visit: goes on with those on the left, if any, and lets those on the right wait.
    Visit part(Workspace& block, size_t n, Visit at, const Kernels& kernels) const {
        const Node node = nodes_[at.node];
        block.extend_path(at.depth, node.feature);
        if (at.is_set() && at.size() * kSetShare < n) make_list(block, at, kernels);
        const uint32_t middle = at.begin + n_left(block, n, at, node, kernels);
        Visit left{at.node + 1, at.begin, middle, at.depth + 1}, right{node.right, middle, at.end, at.depth + 1};
        if (at.is_set()) {
            right.set = at.set;
            left.set = at.set + 1;
        }
        if (left.size() == 0) return right;
        if (right.size() > 0) block.waiting.push_back(right);
        return left;
    }

    uint32_t n_left(Workspace& block, size_t n, const Visit& at, Node node, const Kernels& kernels) const {
        if constexpr (is_byte)
            if (at.is_set()) {
                uint64_t* lefts = block.set(at.set + 1);
                return kernels.part_bits(block.column(node.feature), n, node.missing_left, limits_[at.node], block.set(at.set), lefts);
            }
        return node.is_categorical ? part_categories(block, at, node) : part_numbers(block, at, node);
    }

    uint32_t part_numbers(Workspace& block, const Visit& at, Node node) const {
        const Code limit = limits_[at.node];
        // With shift 1 missing becomes the least code.
        const auto shift = static_cast<Code>(node.missing_left);
        return part_rows(block, at, [limit, shift](Code code) { return static_cast<Code>(code + shift) <= limit; });
    }

    uint32_t part_categories(Workspace& block, const Visit& at, Node node) const {
        const uint64_t* set = sets_.data() + static_cast<size_t>(set_of_[at.node]) * set_words_;
        return part_rows(block, at, [set, node](Code code) {
            return code == kMissingCode ? node.missing_left != 0 : ((set[code >> 6] >> (code & 63)) & 1) != 0;
        });
    }

    // Rows that go left are written from the front, the others from the back. Returns how many went left.
    template <class GoesLeft>
    uint32_t part_rows(Workspace& block, const Visit& at, GoesLeft goes_left) const {
        const Code* column = block.column(nodes_[at.node].feature);
        const BlockRow* from = block.rows_at(at.depth) + at.begin;
        BlockRow* to = block.buffer_of(at.depth + 1) + at.begin;
        const uint32_t n = at.size();
        uint32_t left = 0;
        for (uint32_t i = 0; i < n; ++i) {
            const BlockRow row = from[i];
            to[left] = row;
            to[n - 1 - i + left] = row;  // only `left` tells which of the two stays
            left += goes_left(column[row]);
        }
        return left;
    }

    std::vector<Node> nodes_;
    std::vector<Code> limits_;  // of each node: codes up to this go left (+ 1 where missing goes left)
    Thresholds thresholds_;     // of each feature, padded with infinity to 2^b - 1
    std::vector<SearchTable<double>> tables_;  // the same for bytes
    std::vector<SearchTable<float>> float_tables_;
    std::vector<uint8_t> is_category_;
    std::vector<size_t> used_;  // features that some node reads
    size_t set_words_ = 0;
    std::vector<int32_t> set_of_;  // of each node its set of categories, or -1; empty if there are none
    std::vector<uint64_t> sets_;
};

}  // namespace frugal
