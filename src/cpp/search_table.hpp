// Up to 255 sorted numbers, laid out so that "how many are below x" is one or two comparisons with 16 of them at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "aligned_array.hpp"
#include "kernels.hpp"

namespace frugal {

// The type in which values of type T are compared with numbers; float32 takes half the time.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float>, float, double>;

// The largest float up to a number: number < x iff this < x, for every float x.
inline float round_down(double number) {
    const auto rounded = static_cast<float>(number);
    return static_cast<double>(rounded) > number ? std::nextafter(rounded, -std::numeric_limits<float>::infinity()) : rounded;
}

template <class Number>
class SearchTable {
  public:
    SearchTable() = default;

    SearchTable(const double* begin, const double* end) : is_wide_(end - begin > kSearchWidth) {
        const size_t before = is_wide_ ? kSearchWidth : 0;
        numbers_.assign(before + (is_wide_ ? kSearchWidth * kSearchWidth : kSearchWidth), std::numeric_limits<Number>::infinity());
        std::transform(begin, end, numbers_.data() + before, [](double number) {
            if constexpr (std::is_same_v<Number, float>) return round_down(number);
            else return number;
        });
        for (size_t i = 0; i < before; ++i) numbers_[i] = numbers_[before + kSearchWidth * i + kSearchWidth - 1];
    }

    // How many of the numbers are below each of n values; 255 for NaN.
    void search(const Kernels& kernels, const Number* x, size_t n, uint8_t* codes /* OUT */) const {
        if constexpr (std::is_same_v<Number, float>)
            kernels.count_below_float(numbers_.data(), is_wide_, x, n, codes);
        else
            kernels.count_below(numbers_.data(), is_wide_, x, n, codes);
    }

  private:
    bool is_wide_ = false;
    AlignedArray<Number> numbers_;
};

}  // namespace frugal
