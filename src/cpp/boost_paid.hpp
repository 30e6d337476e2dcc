// What rows have paid: a bit for every row and feature or group, and how many rows of a node still have to pay.
//
// A split is charged for all rows of its node, whichever side they go to, so a node needs one number per feature and
// group, not one per bin: a histogram channel with a single cell, subtracted between siblings like the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "prices.hpp"

namespace frugal {

// Rows that have set each bit, counted many rows at a time: plane j holds bit j of 64 counters.
class BitCounter {
  public:
    explicit BitCounter(size_t n_words) : n_words_(n_words), planes_(n_words * kPlanes, 0) {}

    // Adds the rows [begin, end) of a list.
    void add(const uint64_t* bits, const uint32_t* rows, size_t n, int64_t* counts /* OUT, added to */) {
        for (size_t begin = 0; begin < n; begin += kMost) {
            const size_t end = std::min(n, begin + kMost);
            size_t i = begin;
            for (; i + 8 <= end; i += 8)
                for (size_t w = 0; w < n_words_; ++w) add_eight(bits + w, rows + i, planes_.data() + w * kPlanes);
            flush(counts);
            for (; i < end; ++i) add_one(bits + rows[i] * n_words_, counts);
        }
    }

  private:
    static constexpr size_t kPlanes = 17, kMost = size_t{1} << 16;

    // The sum of three bits: its low bit stays in `low`, its high bit is returned.
    static uint64_t carry_save(uint64_t& low, uint64_t b, uint64_t c) {
        const uint64_t u = low ^ b, high = (low & b) | (u & c);
        low = u ^ c;
        return high;
    }

    void add_eight(const uint64_t* bits, const uint32_t* rows, uint64_t* plane) const {
        const auto row = [&](int i) { return bits[size_t{rows[i]} * n_words_]; };
        uint64_t twos[4];
        for (int i = 0; i < 4; ++i) twos[i] = carry_save(plane[0], row(2 * i), row(2 * i + 1));
        const uint64_t four = carry_save(plane[1], twos[0], twos[1]), other_four = carry_save(plane[1], twos[2], twos[3]);
        uint64_t carry = carry_save(plane[2], four, other_four);
        for (size_t j = 3; carry; ++j) {
            const uint64_t next = plane[j] & carry;
            plane[j] ^= carry;
            carry = next;
        }
    }

    void add_one(const uint64_t* row, int64_t* counts) const {
        for (size_t w = 0; w < n_words_; ++w)
            for (uint64_t left = row[w]; left; left &= left - 1) ++counts[64 * w + static_cast<size_t>(__builtin_ctzll(left))];
    }

    void flush(int64_t* counts) {
        for (size_t w = 0; w < n_words_; ++w)
            for (size_t j = 0; j < kPlanes; ++j) {
                for (uint64_t left = planes_[w * kPlanes + j]; left; left &= left - 1)
                    counts[64 * w + static_cast<size_t>(__builtin_ctzll(left))] += int64_t{1} << j;
                planes_[w * kPlanes + j] = 0;
            }
    }

    size_t n_words_;
    std::vector<uint64_t> planes_;
};

// The paid sets of some rows. Channel f is feature f, channel n_features + g is group g.
class PaidSets {
  public:
    PaidSets(size_t n_rows, const CostTable& costs)
        : n_features_(costs.n_features), n_channels_(costs.n_features + costs.n_groups), n_words_((n_channels_ + 63) / 64),
          bits_(n_rows * n_words_, 0), buys_(costs.n_features, std::vector<uint64_t>(n_words_, 0)) {
        for (uint32_t f = 0; f < n_features_; ++f) {
            set(buys_[f], f);
            costs.for_groups(f, [&](uint32_t g) { set(buys_[f], n_features_ + g); });
        }
    }

    size_t n_rows() const { return bits_.size() / n_words_; }
    size_t n_features() const { return n_features_; }
    size_t n_channels() const { return n_channels_; }
    size_t n_words() const { return n_words_; }
    const uint64_t* bits() const { return bits_.data(); }

    void set_bits(std::vector<uint64_t>&& bits) { bits_ = std::move(bits); }

    bool has(size_t row, size_t channel) const { return (bits_[row * n_words_ + (channel >> 6)] >> (channel & 63)) & 1; }

    // The feature and all its groups.
    void buy(size_t row, uint32_t f) {
        for (size_t w = 0; w < n_words_; ++w) bits_[row * n_words_ + w] |= buys_[f][w];
    }

    void buy(const uint32_t* rows, size_t n, uint32_t f) {
        const uint64_t* bought = buys_[f].data();
        if (n_words_ == 1) {
            for (size_t i = 0; i < n; ++i) bits_[rows[i]] |= bought[0];
            return;
        }
        for (size_t i = 0; i < n; ++i)
            for (size_t w = 0; w < n_words_; ++w) bits_[size_t{rows[i]} * n_words_ + w] |= bought[w];
    }

    // What a feature or group costs by itself.
    double price_of(size_t channel, const CostTable& costs) const {
        return channel < n_features_ ? costs.own[channel] : costs.shared[channel - n_features_];
    }

    // What a row has paid.
    double bill(size_t row, const CostTable& costs) const {
        double sum = 0;
        for (size_t c = 0; c < n_channels_; ++c)
            if (has(row, c)) sum += price_of(c, costs);
        return sum;
    }

    // Purchases of all rows together, (n_channels).
    std::vector<int64_t> count_all() const {
        std::vector<uint32_t> rows(n_rows());
        for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
        std::vector<int64_t> counts(64 * n_words_, 0);
        BitCounter(n_words_).add(bits_.data(), rows.data(), rows.size(), counts.data());
        counts.resize(n_channels_);
        return counts;
    }

  private:
    static void set(std::vector<uint64_t>& words, size_t channel) { words[channel >> 6] |= uint64_t{1} << (channel & 63); }

    size_t n_features_, n_channels_, n_words_;
    std::vector<uint64_t> bits_;                // (n_rows, n_words)
    std::vector<std::vector<uint64_t>> buys_;   // what a purchase of each feature sets
};

}  // namespace frugal
