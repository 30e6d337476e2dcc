// Rows sorted by class, and the sample of them that a tree is grown from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "tree.hpp"

namespace frugal {

// The rows of the training data sorted by class; made once for all trees.
class ClassOrder {
  public:
    std::vector<uint32_t> rows;
    std::vector<size_t> ends;          // (n_classes): where each class ends among the rows
    std::vector<uint8_t> has_missing;  // (n_features)

    explicit ClassOrder(const TrainingData& data)
        : rows(data.n_rows), ends(static_cast<size_t>(data.n_counts), 0), has_missing(data.n_features), data_(data) {
        sort_rows();
        for (size_t f = 0; f < data.n_features; ++f)
            has_missing[f] = std::memchr(data.column(f), kMissing, data.n_rows) != nullptr;
        if (data.n_rows * data.n_features <= kMostCopied) copy_columns();
    }

    // The codes of a feature, and the place of the i-th of `rows` among them.
    const uint8_t* column(size_t f) const { return copy_.empty() ? data_.column(f) : copy_.data() + f * data_.n_rows; }
    uint32_t place(size_t i) const { return copy_.empty() ? rows[i] : static_cast<uint32_t>(i); }
    bool has_places_in_order() const { return !copy_.empty(); }

  private:
    // From columns in class order a tree gets its own four times as fast. Large data do without: memory is scarce there.
    static constexpr size_t kMostCopied = size_t{1} << 25;

    void sort_rows() {
        for (size_t row = 0; row < data_.n_rows; ++row) ++ends[static_cast<size_t>(data_.labels[row])];
        std::vector<size_t> next(ends.size(), 0);
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        std::copy(ends.begin(), ends.end() - 1, next.begin() + 1);
        for (size_t row = 0; row < data_.n_rows; ++row)
            rows[next[static_cast<size_t>(data_.labels[row])]++] = static_cast<uint32_t>(row);
    }

    void copy_columns() {
        copy_.resize(data_.n_rows * data_.n_features + kPadding);
        uint8_t* to = copy_.data();
        for (size_t f = 0; f < data_.n_features; ++f) {
            const uint8_t* from = data_.column(f);
            for (const uint32_t row : rows) *to++ = from[row];
        }
    }

    TrainingData data_;
    std::vector<uint8_t> copy_;  // (n_features, n_rows) in class order, and padding
};

// The rows a tree is grown from, sorted by class.
class ClassSample {
  public:
    // draws: how often each row is taken.                                                        OUT counts (n_classes)
    void draw(const ClassOrder& order, const std::vector<uint16_t>& draws, std::vector<uint32_t>& counts) {
        const size_t most = std::accumulate(draws.begin(), draws.end(), size_t{0});
        places_.resize(most + kAtOnce);
        size_ = 0;
        size_t i = 0;
        for (size_t c = 0; c < counts.size(); ++c) {
            const size_t before = size_;
            for (; i < order.ends[c]; ++i) take(order.place(i), draws[order.rows[i]]);
            counts[c] = static_cast<uint32_t>(size_ - before);
        }
        offsets_.clear();
        if (order.has_places_in_order()) find_offsets();
    }

    size_t size() const { return size_; }

    // The codes of the sample, from a column of the order.                                       OUT to, and up to 63 more
    void copy(const uint8_t* column, const Kernels& kernels, uint8_t* to) const {
        if (offsets_.empty())
            for (size_t i = 0; i < size_; ++i) to[i] = column[places_[i]];
        else
            kernels.take_in_order(column, places_.data(), offsets_.data(), size_, to);
    }

  private:
    static constexpr size_t kAtOnce = 4;

    // Hardly a row is drawn more often than four times: writing four at once leaves no branch to guess wrong.
    void take(uint32_t place, size_t times) {
        uint32_t* to = places_.data() + size_;
        for (size_t j = 0; j < kAtOnce; ++j) to[j] = place;
        for (size_t j = kAtOnce; j < times; ++j) to[j] = place;
        size_ += times;
    }

    void find_offsets() {
        offsets_.resize((size_ + 63) / 64 * 64);
        for (size_t i = 0; i < size_; ++i) offsets_[i] = static_cast<uint8_t>(places_[i] - places_[i / 64 * 64]);
    }

    std::vector<uint32_t> places_;  // and kAtOnce more
    std::vector<uint8_t> offsets_;  // from the first place of the same 64; empty if places are not in order
    size_t size_ = 0;
};

}  // namespace frugal
