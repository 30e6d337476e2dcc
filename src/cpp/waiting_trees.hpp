// Which trees wait for which feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace frugal {

// A list of trees for each feature. Trees at their leaves are on a list too, that of feature -1, which nobody asks for: whether a
// tree waits, and whether it is the first to wait for its feature, could only be guessed, and a wrong guess takes longer than all
// the rest.
class WaitingTrees {
  public:
    WaitingTrees(size_t n_trees, size_t n_features)
        : first_(n_features + 1, -1), n_waiting_(n_features + 1, 0), next_(n_trees, -1), words_(n_features / 64 + 1, 0) {}

    void add(int32_t t, int32_t f /* -1: none */) {
        const auto list = static_cast<size_t>(f + 1);
        next_[static_cast<size_t>(t)] = first_[list];
        first_[list] = t;
        ++n_waiting_[list];
        words_[list / 64] |= uint64_t{1} << list % 64;
    }

    // Empties the list of a feature; `for_trees` before.
    void remove_all(int32_t f) {
        const auto list = static_cast<size_t>(f + 1);
        first_[list] = -1;
        n_waiting_[list] = 0;
        words_[list / 64] &= ~(uint64_t{1} << list % 64);
    }

    uint32_t n_trees(int32_t f) const { return n_waiting_[static_cast<size_t>(f + 1)]; }

    bool empty() const {
        uint64_t any = words_[0] & ~kAtLeaves;
        for (size_t w = 1; w < words_.size(); ++w) any |= words_[w];
        return any == 0;
    }

    // Calls visit(t) for the trees that wait for a feature, the last that came first.
    template <class Visit>
    void for_trees(int32_t f, Visit&& visit) const {
        for (int32_t t = first_[static_cast<size_t>(f + 1)]; t >= 0; t = next_[static_cast<size_t>(t)]) visit(t);
    }

    // Calls visit(f) for every feature that trees wait for, in their order.
    template <class Visit>
    void for_features(Visit&& visit) const {
        for (size_t w = 0; w < words_.size(); ++w)
            for (uint64_t word = w == 0 ? words_[0] & ~kAtLeaves : words_[w]; word != 0; word &= word - 1)
                visit(static_cast<int32_t>(64 * w) + __builtin_ctzll(word) - 1);
    }

  private:
    static constexpr uint64_t kAtLeaves = 1;

    std::vector<int32_t> first_;       // (1 + n_features): the first tree that waits for a feature, or -1
    std::vector<uint32_t> n_waiting_;  // (1 + n_features)
    std::vector<int32_t> next_;        // (n_trees): the next tree that waits for the same feature, or -1
    std::vector<uint64_t> words_;      // features that trees wait for, as bits
};

}  // namespace frugal
