// Up to 255 sorted numbers, laid out so that "how many are below x" is one or two comparisons with 16 of them at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace frugal {

class SearchTable {
  public:
    SearchTable() = default;

    SearchTable(const double* begin, const double* end) : is_wide_(end - begin > kSearchWidth) {
        const size_t before = is_wide_ ? kSearchWidth : 0;
        numbers_.assign(before + (is_wide_ ? kSearchWidth * kSearchWidth : kSearchWidth), std::numeric_limits<double>::infinity());
        std::copy(begin, end, numbers_.begin() + static_cast<std::ptrdiff_t>(before));
        for (size_t i = 0; i < before; ++i) numbers_[i] = numbers_[before + kSearchWidth * i + kSearchWidth - 1];
    }

    // How many of the numbers are below each of n values; 255 for NaN.
    void search(const Kernels& kernels, const double* x, size_t n, uint8_t* codes /* OUT */) const {
        kernels.count_below(numbers_.data(), is_wide_, x, n, codes);
    }

  private:
    bool is_wide_ = false;
    std::vector<double> numbers_;
};

}  // namespace frugal
