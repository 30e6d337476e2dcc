// Impurities F(n_1 .. n_k) of a set with n_c examples of class c, one functor each (docs/growing.md, "Impurities").
//
// Engines are templates over the functor: the impurity is evaluated millions of times and must be inlined. The order
// of operations is part of the rules, since it decides ties: see tests/naive.py.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

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
};

// (sum n_i)^l - sum n_i^l
struct PowerSum {
    int power;
    double operator()(const double* n, int k) const {
        double singles = 0;
        for (int c = 0; c < k; ++c) singles += whole_power(n[c], power);
        return whole_power(sum_of(n, k), power) - singles;
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
            for (int c = 0; c < k; ++c) product *= whole_power(n[c], exponents[t * static_cast<size_t>(k) + static_cast<size_t>(c)]);
            total += product;
        }
        return total;
    }
};

struct GiniIndex {
    double operator()(const double* n, int k) const {
        const double weight = sum_of(n, k);
        if (!(weight > 0)) return 0;
        double squares = 0;
        for (int c = 0; c < k; ++c) squares += n[c] * n[c];
        return 1 - squares / (weight * weight);
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
};

// Minus the squared mean of (weight, weight * y): the variance but for a constant that cancels in every gain.
struct NegativeSquaredMean {
    double operator()(const double* n, int) const {
        if (!(n[0] > 0)) return 0;
        const double mean = n[1] / n[0];
        return -(mean * mean);
    }
};

}  // namespace frugal
