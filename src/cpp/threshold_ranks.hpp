// The distinct thresholds of one feature, and the rank of each among them. Trees repeat few thresholds many times: looking them up
// makes a router of 260,000 nodes in 9 ms, sorting and searching them in 30.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "random.hpp"

namespace frugal {

class ThresholdRanks {
  public:
    // No NaN. -0 is 0.
    void insert(double threshold) {
        if (2 * n_ >= slots_.size()) grow();
        Slot& slot = slot_of(threshold + 0.0);
        n_ += !slot.is_used;
        slot = {threshold + 0.0, 0, true};
    }

    // Ranks everything inserted, and returns it in order.
    std::vector<double> sort() {
        std::vector<double> sorted;
        sorted.reserve(n_);
        for (const Slot& slot : slots_)
            if (slot.is_used) sorted.push_back(slot.threshold);
        std::sort(sorted.begin(), sorted.end());
        for (size_t rank = 0; rank < sorted.size(); ++rank) slot_of(sorted[rank]).rank = static_cast<uint32_t>(rank);
        return sorted;
    }

    // How many thresholds are below this one, which has been inserted.
    uint32_t rank_of(double threshold) const { return const_cast<ThresholdRanks*>(this)->slot_of(threshold + 0.0).rank; }

  private:
    struct Slot {
        double threshold = 0;
        uint32_t rank = 0;
        bool is_used = false;
    };

    // The slot of a threshold, or the free one where it belongs; there is always a free one.
    Slot& slot_of(double threshold) {
        uint64_t bits;
        std::memcpy(&bits, &threshold, sizeof bits);
        const size_t last = slots_.size() - 1;
        size_t place = static_cast<size_t>(scramble(bits)) & last;
        while (slots_[place].is_used && slots_[place].threshold != threshold) place = (place + 1) & last;
        return slots_[place];
    }

    void grow() {
        std::vector<Slot> old(std::max<size_t>(8, 2 * slots_.size()));
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.is_used) slot_of(slot.threshold) = slot;
    }

    std::vector<Slot> slots_;  // a power of two, at least half of them free
    size_t n_ = 0;
};

}  // namespace frugal
