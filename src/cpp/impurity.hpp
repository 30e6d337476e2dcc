// Impurities F(n_1 .. n_k) of a set with n_c examples of class c, one functor each (docs/growing.md, "Impurities").
//
// Engines are templates over the functor: the impurity is evaluated millions of times and must be inlined. `many` is the
// same for many sets, in loops that compilers turn into vector instructions: n[c * capacity + i] is the count of class c in
// set i, and value, scratch are (capacity). The order of operations is part of the rules, since it decides ties: see
// tests/naive.py.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#if defined(__GNUC__) || defined(__clang__)
#define FRUGAL_INLINE inline __attribute__((always_inline))
#else
#define FRUGAL_INLINE inline
#endif

namespace frugal {

inline double positive_part(double x) { return x > 0 ? x : 0; }

inline double sum_of(const double* n, int k) {
    double sum = 0;
    for (int c = 0; c < k; ++c) sum += n[c];
    return sum;
}

inline double whole_power(double x, int power) {
    double result = 1;
    for (int i = 0; i < power; ++i) result *= x;
    return result;
}

// sum over i != j of [ [n_i - a]+ [n_j - a]+ - offset ]+
struct Pairs {
    double alpha, offset;  // offset: alpha^2, or 0
    double operator()(const double* n, int k) const {
        double total = 0;
        for (int i = 0; i < k; ++i) {
            const double above = positive_part(n[i] - alpha);
            if (above == 0) continue;
            for (int j = i + 1; j < k; ++j) total += positive_part(above * positive_part(n[j] - alpha) - offset);
        }
        return 2 * total;
    }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int k, double* __restrict value, double* __restrict) const {
        for (size_t s = 0; s < capacity; ++s) value[s] = 0;
        for (int i = 0; i < k; ++i)
            for (int j = i + 1; j < k; ++j) {
                const double* __restrict a = n + static_cast<size_t>(i) * capacity;
                const double* __restrict b = n + static_cast<size_t>(j) * capacity;
                for (size_t s = 0; s < capacity; ++s)
                    value[s] += positive_part(positive_part(a[s] - alpha) * positive_part(b[s] - alpha) - offset);
            }
        for (size_t s = 0; s < capacity; ++s) value[s] = 2 * value[s];
    }
};

// Pairs with a = 0: the same pairs in one pass, k steps instead of k^2.
struct PlainPairs {
    double operator()(const double* n, int k) const {
        double total = 0, before = 0;
        for (int c = 0; c < k; ++c) {
            total += before * n[c];
            before += n[c];
        }
        return 2 * total;
    }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int k, double* __restrict value, double* __restrict before) const {
        for (size_t s = 0; s < capacity; ++s) value[s] = before[s] = 0;
        for (int c = 0; c < k; ++c, n += capacity)
            for (size_t s = 0; s < capacity; ++s) {
                value[s] += before[s] * n[s];
                before[s] += n[s];
            }
        for (size_t s = 0; s < capacity; ++s) value[s] = 2 * value[s];
    }
};

// (sum n_i)^l - sum n_i^l
struct PowerSum {
    int power;
    double operator()(const double* n, int k) const {
        double singles = 0;
        for (int c = 0; c < k; ++c) singles += whole_power(n[c], power);
        return whole_power(sum_of(n, k), power) - singles;
    }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int k, double* __restrict value, double* __restrict sum) const {
        for (size_t s = 0; s < capacity; ++s) {
            double singles = 0, all = 0;
            for (int c = 0; c < k; ++c) {
                const double count = n[static_cast<size_t>(c) * capacity + s];
                singles += whole_power(count, power);
                all += count;
            }
            sum[s] = all;
            value[s] = whole_power(all, power) - singles;
        }
    }
};

// sum over terms of coefficient * product of n_c^exponent
struct PolynomialSum {
    std::vector<double> coefficients;
    std::vector<int> exponents;  // (n_terms, k)
    double operator()(const double* n, int k) const {
        double total = 0;
        for (size_t t = 0; t < coefficients.size(); ++t) {
            double product = coefficients[t];
            for (int c = 0; c < k; ++c) multiply(product, n[c], exponents[t * static_cast<size_t>(k) + static_cast<size_t>(c)]);
            total += product;
        }
        return total;
    }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int k, double* __restrict value, double* __restrict product) const {
        for (size_t s = 0; s < capacity; ++s) value[s] = 0;
        for (size_t t = 0; t < coefficients.size(); ++t) {
            for (size_t s = 0; s < capacity; ++s) product[s] = coefficients[t];
            for (int c = 0; c < k; ++c)
                for (size_t s = 0; s < capacity; ++s)
                    multiply(product[s], n[static_cast<size_t>(c) * capacity + s],
                             exponents[t * static_cast<size_t>(k) + static_cast<size_t>(c)]);
            for (size_t s = 0; s < capacity; ++s) value[s] += product[s];
        }
    }

  private:
    static void multiply(double& product, double count, int times) {
        for (int i = 0; i < times; ++i) product *= count;
    }
};

struct GiniIndex {
    FRUGAL_INLINE double operator()(const double* n, int k) const {
        double squares = 0;
        for (int c = 0; c < k; ++c) squares += n[c] * n[c];
        return finish(sum_of(n, k), squares);
    }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int k, double* __restrict value,
                            double* __restrict weight) const {
        for (size_t s = 0; s < capacity; ++s) value[s] = weight[s] = 0;
        for (int c = 0; c < k; ++c, n += capacity)
            for (size_t s = 0; s < capacity; ++s) {
                value[s] += n[s] * n[s];
                weight[s] += n[s];
            }
        for (size_t s = 0; s < capacity; ++s) value[s] = finish(weight[s], value[s]);
    }

  private:
    static double finish(double weight, double squares) {
        const double share = squares / (weight > 0 ? weight * weight : 1.0);
        return weight > 0 ? 1 - share : 0;
    }
};

struct EntropyBits {
    double operator()(const double* n, int k) const {
        const double weight = sum_of(n, k);
        if (!(weight > 0)) return 0;
        double total = 0;
        for (int c = 0; c < k; ++c)
            if (n[c] > 0) total += n[c] * std::log2(n[c]);
        return std::log2(weight) - total / weight;
    }
    FRUGAL_INLINE void many(const double* n, size_t capacity, int k, double* value, double* weight) const {
        static const Logarithms logarithms;
        for (size_t s = 0; s < capacity; ++s) value[s] = weight[s] = 0;
        for (int c = 0; c < k; ++c, n += capacity)
            for (size_t s = 0; s < capacity; ++s) {
                value[s] += n[s] > 0 ? n[s] * logarithms.of(n[s]) : 0;
                weight[s] += n[s];
            }
        for (size_t s = 0; s < capacity; ++s)
            value[s] = weight[s] > 0 ? logarithms.of(weight[s]) - value[s] / weight[s] : 0;
    }

  private:
    // Counts are mostly small whole numbers: looking their logarithms up takes a tenth of the time.
    struct Logarithms {
        static constexpr int size = 4096;
        double table[size];
        Logarithms() {
            table[0] = 0;
            for (int i = 1; i < size; ++i) table[i] = std::log2(static_cast<double>(i));
        }
        double of(double x) const {
            const int whole = x < size ? static_cast<int>(x) : 0;
            return whole > 0 && whole == x ? table[whole] : std::log2(x);
        }
    };
};

// Minus the squared mean of (weight, weight * y): the variance but for a constant that cancels in every gain.
struct NegativeSquaredMean {
    double operator()(const double* n, int) const { return of(n[0], n[1]); }
    FRUGAL_INLINE void many(const double* __restrict n, size_t capacity, int, double* __restrict value, double*) const {
        for (size_t s = 0; s < capacity; ++s) value[s] = of(n[s], n[capacity + s]);
    }

  private:
    static double of(double weight, double sum) {
        const double mean = sum / (weight > 0 ? weight : 1.0);
        return weight > 0 ? -(mean * mean) : 0;
    }
};

}  // namespace frugal
