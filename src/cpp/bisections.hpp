// Bisections of several features of one node that advance in step: no branch per probe, and the impurities of many features
// computed side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sides.hpp"

namespace frugal {

struct Bisections {
    std::vector<uint32_t> features;
    std::vector<size_t> notes;  // whatever the owner wants to know about each feature
    std::vector<int> n_thresholds;
    std::vector<uint8_t> probe;
    std::vector<double> below, last;              // the last threshold before the crossing; the last threshold
    std::vector<double> left_above, right_below;  // F(left) just behind the crossing, F(right) just before it
    Sides sides;                                  // of the probes

    size_t size() const { return n_; }

    // Forgets all features; at most this many are to come.
    void clear(size_t most) {
        n_ = 0;
        if (features.size() >= most) return;
        features.resize(most);
        notes.resize(most);
        n_thresholds.resize(most);
    }

    // Features come sorted: those with many thresholds first.
    void add(uint32_t feature, int thresholds, size_t note) {
        features[n_] = feature;
        notes[n_] = note;
        n_thresholds[n_++] = thresholds;
    }

    // nothing: the impurity of a side that no threshold gives, so that it gains nothing.
    void start(double nothing, int k) {
        sides.resize(size(), k);
        const size_t padded = sides.stride;
        below.assign(padded, -1.0);
        last.assign(padded, -1.0);
        for (size_t i = 0; i < size(); ++i) last[i] = n_thresholds[i] - 1;
        left_above.assign(padded, nothing);
        right_below.assign(padded, nothing);
        probe.resize(padded);
    }

    // For whoever finds all results at once.
    void expect_results() {
        for (auto* results : {&below, &left_above, &right_below})
            if (results->size() < size()) results->resize(size());
    }

    // The largest power of two that is needed: thresholds -1 .. n - 1 are told apart by steps up to it.
    int first_step() const {
        int step = 1;
        while (size() && 2 * step <= n_thresholds[0]) step *= 2;
        return size() ? step : 0;
    }

    // Sets the next threshold of every feature that takes steps of this size; returns how many they are. Features with few
    // thresholds join in when steps are small enough.
    size_t aim(int step) {
        size_t n = 0;
        for (; n < size() && n_thresholds[n] >= step; ++n)
            probe[n] = static_cast<uint8_t>(static_cast<int>(std::min(below[n] + step, last[n])));
        return n;
    }

  private:
    size_t n_ = 0;
};

}  // namespace frugal
