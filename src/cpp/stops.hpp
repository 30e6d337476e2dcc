// The stops of a row on its whole way through every tree, given the leaves it would end in.
#pragma once

#include "knowledge.hpp"

namespace frugal {

// Of each leaf, where a row that ends in it could wait on its way: at the first node of each feature, and at last the leaf. Trees of
// fewer than 2^16 nodes and features have small stops: a way is then one or two lines of memory.
class Stops {
  public:
    template <class Number>
    struct Stop {
        Number node;     // from the root of its tree on
        Number feature;  // 1 + the feature, 0 at the leaf
    };

    explicit Stops(const Reachable& trees, size_t n_leaves) : first_(n_leaves, 0), is_small_(fits<uint16_t>(trees)) {
        is_small_ ? add_trees(trees, small_) : add_trees(trees, large_);
    }

    // Where the stops of a leaf begin in the table.
    size_t first(int32_t leaf) const { return first_[static_cast<size_t>(leaf)]; }
    void prefetch(size_t place) const {
        is_small_ ? __builtin_prefetch(small_.data() + place) : __builtin_prefetch(large_.data() + place);
    }

    // Calls use(table), with stops of the size they have.
    template <class Use>
    void with_table(Use&& use) const {
        is_small_ ? use(small_.data()) : use(large_.data());
    }

    // The next stop whose feature is not known, or the leaf. Four are asked at once: whether one more is known cannot be guessed.
    template <class Number>
    static const Stop<Number>* following(const Stop<Number>* stop, const Knowledge& knowledge) {
        const auto knows = [&](const Stop<Number>& at) { return knowledge.knows(static_cast<int32_t>(at.feature) - 1); };
        ++stop;
        for (;;) {
            static_assert(kAtOnce == 4);
            const bool one = knows(stop[0]);
            const bool two = one & knows(stop[1]);
            const bool three = two & knows(stop[2]);
            const bool four = three & knows(stop[3]);
            stop += one + two + three + four;
            if (!four) return stop;
        }
    }

  private:
    static constexpr size_t kAtOnce = 4;

    template <class Number>
    static bool fits(const Reachable& trees) {
        constexpr int64_t kMost = std::numeric_limits<Number>::max();
        int64_t most = static_cast<int64_t>(trees.n_features) + 1;
        for (size_t t = 0; t < trees.n_trees; ++t) most = std::max(most, trees.n_nodes_of(t));
        return most <= kMost;
    }

    template <class Number>
    void add_trees(const Reachable& trees, HugeVector<Stop<Number>>& table) {
        std::vector<Stop<Number>> way;
        for (const int64_t root : trees.roots) add_below(trees, static_cast<int32_t>(root), static_cast<int32_t>(root), way, table);
        table.insert(table.end(), kAtOnce, {0, 0});  // `following` reads so far
    }

    template <class Number>
    void add_below(const Reachable& trees, int32_t root, int32_t i, std::vector<Stop<Number>>& way, HugeVector<Stop<Number>>& table) {
        const Reachable::Node& node = trees.node(i);
        const Stop<Number> here{static_cast<Number>(i - root), static_cast<Number>(node.feature + 1)};
        if (node.feature < 0) {
            first_[static_cast<size_t>(node.right)] = table.size();
            table.insert(table.end(), way.begin(), way.end());
            table.push_back(here);
            return;
        }
        const bool is_first = std::none_of(way.begin(), way.end(), [&](const Stop<Number>& stop) { return stop.feature == here.feature; });
        if (is_first) way.push_back(here);
        add_below(trees, root, i + 1, way, table);
        add_below(trees, root, node.right, way, table);
        if (is_first) way.pop_back();
    }

    HugeVector<size_t> first_;  // (n_leaves)
    bool is_small_;
    HugeVector<Stop<uint16_t>> small_;
    HugeVector<Stop<uint32_t>> large_;
};

}  // namespace frugal
