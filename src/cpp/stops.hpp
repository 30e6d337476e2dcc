// The stops of a row on its whole way through every tree, given the leaves it would end in.
#pragma once

#include "knowledge.hpp"

namespace frugal {

// Of each leaf, where a row that ends in it could wait on its way: at the first node of each feature, and at last the leaf.
class Stops {
  public:
    struct Stop {
        int32_t node, feature;  // feature: -1 at the leaf
    };

    explicit Stops(const Reachable& trees, size_t n_leaves) : first_(n_leaves, 0) {
        std::vector<Stop> way;
        for (const int64_t root : trees.roots) add_below(trees, static_cast<int32_t>(root), way);
        stops_.insert(stops_.end(), kAtOnce, {0, -1});  // `following` reads so far
    }

    const Stop* of(int32_t leaf) const { return stops_.data() + first_[static_cast<size_t>(leaf)]; }

    // The next stop whose feature is not known, or the leaf. Four are asked at once: whether one more is known cannot be guessed.
    static const Stop* following(const Stop* stop, const Knowledge& knowledge) {
        ++stop;
        for (;;) {
            static_assert(kAtOnce == 4);
            const bool one = knowledge.knows(stop[0].feature);
            const bool two = one & knowledge.knows(stop[1].feature);
            const bool three = two & knowledge.knows(stop[2].feature);
            const bool four = three & knowledge.knows(stop[3].feature);
            stop += one + two + three + four;
            if (!four) return stop;
        }
    }

  private:
    static constexpr size_t kAtOnce = 4;

    void add_below(const Reachable& trees, int32_t i, std::vector<Stop>& way) {
        const Reachable::Node& node = trees.node(i);
        if (node.feature < 0) {
            first_[static_cast<size_t>(node.right)] = stops_.size();
            stops_.insert(stops_.end(), way.begin(), way.end());
            stops_.push_back({i, -1});
            return;
        }
        const bool is_first = std::none_of(way.begin(), way.end(), [&](const Stop& stop) { return stop.feature == node.feature; });
        if (is_first) way.push_back({i, node.feature});
        add_below(trees, i + 1, way);
        add_below(trees, node.right, way);
        if (is_first) way.pop_back();
    }

    HugeVector<size_t> first_;  // (n_leaves)
    HugeVector<Stop> stops_;
};

}  // namespace frugal
