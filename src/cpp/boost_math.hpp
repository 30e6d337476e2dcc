// Exponential and logarithm made of additions and multiplications only: the same bits on every machine, in any vector width.
#pragma once

#include <cstdint>
#include <cstring>

namespace frugal {

inline double from_bits(uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline uint64_t to_bits(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// exp(x) within 2 units of the last place; x is cut to [-700, 700].
inline double exponential(double x) {
    constexpr double kLog2e = 1.4426950408889634, kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
    constexpr double kRound = 0x1.8p52;  // adding it rounds to a whole number, which is then in the low bits
    x = x < -700 ? -700 : x > 700 ? 700 : x;
    const double shifted = x * kLog2e + kRound;
    const double k = shifted - kRound;
    const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= ln(2) / 2
    double sum = 1.0 / 6227020800;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    return sum * from_bits((to_bits(shifted) << 52) + (uint64_t{1023} << 52));
}

// log(x) for normal x > 0, within a few units of the last place of max(1, |log x|).
inline double logarithm(double x) {
    constexpr double kLn2 = 0.6931471805599453;
    const uint64_t bits = to_bits(x), half = uint64_t{0x3FE6A09E667F3BCDull};  // sqrt(1/2)
    const int64_t exponent = static_cast<int64_t>(bits - half) >> 52;
    const double m = from_bits(bits - (static_cast<uint64_t>(exponent) << 52));  // in [sqrt(1/2), sqrt(2))
    const double f = (m - 1) / (m + 1), s = f * f;
    double sum = 1.0 / 23;
    for (int k = 21; k >= 1; k -= 2) sum = sum * s + 1.0 / k;
    return static_cast<double>(exponent) * kLn2 + 2 * f * sum;
}

inline double sigmoid(double margin) { return 1 / (1 + exponential(-margin)); }

}  // namespace frugal
