// Both sides of many splits of one node, evaluated together: the loops become vector instructions of the machine's best
// instruction set, and each number is bit for bit what Gains would compute for the split alone.
#pragma once

#include <cstddef>
#include <vector>

#include "dispatch.hpp"
#include "impurity.hpp"
#include "kernels.hpp"
#include "tree.hpp"

namespace frugal {

// Split i's left side has raw[c * stride + i] of class c before class weights.
struct Sides {
    static constexpr size_t kWidth = 8;  // arrays are padded to whole vectors

    size_t stride = 0;
    std::vector<double> raw;                                              // IN (k, stride)
    std::vector<double> left_value, right_value, left_weight, right_weight, gain;  // OUT (stride); the last three if asked for
    std::vector<double> left_counts, right_counts, scratch;

    static size_t padded(size_t n) { return (n + kWidth - 1) / kWidth * kWidth; }

    void resize(size_t n, int k) {
        stride = padded(n);
        const size_t cells = stride * static_cast<size_t>(k);
        if (raw.size() < cells)
            for (auto* values : {&raw, &left_counts, &right_counts}) values->resize(cells, 0.0);
        if (gain.size() < stride)
            for (auto* values : {&left_value, &right_value, &left_weight, &right_weight, &gain, &scratch})
                values->resize(stride, 0.0);
    }
};

// The node whose splits are compared.
struct ParentNode {
    int k;
    const double* raw;  // counts before class weights
    const double* class_weight;
    double impurity, weight;
};

template <class Impurity>
constexpr bool keeps_moments = std::is_same_v<Impurity, NegativeSquaredMean>;  // its weight is the first count, not the sum

// Whether the impurity may be called for the padding behind the splits too, which holds anything.
template <class Impurity>
constexpr bool takes_padding = true;

template <class Impurity>
size_t n_evaluated(size_t n_splits) {
    return takes_padding<Impurity> ? Sides::padded(n_splits) : n_splits;
}

// F(left) and F(right) of the first n splits.
template <class Impurity, int K>
FRUGAL_INLINE void evaluate_values(Sides& sides, size_t n_splits, const Impurity& impurity, const ParentNode& parent) {
    const int k = K == 0 ? parent.k : K;
    const size_t n = n_evaluated<Impurity>(n_splits);
    double* __restrict left = sides.left_counts.data();
    double* __restrict right = sides.right_counts.data();
    for (int c = 0; c < k; ++c) {
        const double* __restrict raw = sides.raw.data() + static_cast<size_t>(c) * sides.stride;
        const double weight = parent.class_weight[c], sum = parent.raw[c];
        for (size_t i = 0; i < n; ++i) {
            left[static_cast<size_t>(c) * n + i] = weight * raw[i];
            right[static_cast<size_t>(c) * n + i] = weight * (sum - raw[i]);
        }
    }
    impurity.many(left, n, k, sides.left_value.data(), sides.scratch.data());
    impurity.many(right, n, k, sides.right_value.data(), sides.scratch.data());
}

template <class Impurity>
FRUGAL_INLINE void add_weights(const double* __restrict counts, size_t n, int k, double* __restrict weight) {
    for (size_t i = 0; i < n; ++i) weight[i] = keeps_moments<Impurity> ? counts[i] : 0.0;
    if (keeps_moments<Impurity>) return;
    for (int c = 0; c < k; ++c, counts += n)
        for (size_t i = 0; i < n; ++i) weight[i] += counts[i];
}

// Two counts and an impurity that is vector instructions for one split already: everything in one pass, in registers. The
// operations on each number are those of the general way, in the same order.
template <class Impurity>
FRUGAL_INLINE void evaluate_gains_of_two(Sides& sides, size_t n_splits, const Impurity& impurity, const ParentNode& parent) {
    const size_t n = n_evaluated<Impurity>(n_splits);
    const double* __restrict first = sides.raw.data();
    const double* __restrict second = first + sides.stride;
    double* __restrict gain = sides.gain.data();
    const double w0 = parent.class_weight[0], w1 = parent.class_weight[1], n0 = parent.raw[0], n1 = parent.raw[1];
    for (size_t i = 0; i < n; ++i) {
        const double left[2] = {w0 * first[i], w1 * second[i]};
        const double right[2] = {w0 * (n0 - first[i]), w1 * (n1 - second[i])};
        gain[i] = parent.impurity - ((left[0] + left[1]) * impurity(left, 2) + (right[0] + right[1]) * impurity(right, 2)) / parent.weight;
    }
}

// The gains of the first n splits.
template <class Impurity, int K>
FRUGAL_INLINE void evaluate_gains(Sides& sides, size_t n_splits, const Impurity& impurity, const ParentNode& parent,
                                  Splitting splitting) {
    if constexpr (K == 2 && std::is_same_v<Impurity, GiniIndex>)
        if (splitting == Splitting::expected) return evaluate_gains_of_two(sides, n_splits, impurity, parent);
    evaluate_values<Impurity, K>(sides, n_splits, impurity, parent);
    const size_t n = n_evaluated<Impurity>(n_splits);
    const double* __restrict left_value = sides.left_value.data();
    const double* __restrict right_value = sides.right_value.data();
    double* __restrict gain = sides.gain.data();
    if (splitting == Splitting::minimax) {
        for (size_t i = 0; i < n; ++i)
            gain[i] = parent.impurity - (left_value[i] < right_value[i] ? right_value[i] : left_value[i]);
        return;
    }
    const int k = K == 0 ? parent.k : K;
    double* __restrict left_weight = sides.left_weight.data();
    double* __restrict right_weight = sides.right_weight.data();
    add_weights<Impurity>(sides.left_counts.data(), n, k, left_weight);
    add_weights<Impurity>(sides.right_counts.data(), n, k, right_weight);
    for (size_t i = 0; i < n; ++i)
        gain[i] = parent.impurity - (left_weight[i] * left_value[i] + right_weight[i] * right_value[i]) / parent.weight;
}

template <class Impurity>
using ValueFunction = void (*)(Sides&, size_t, const Impurity&, const ParentNode&);
template <class Impurity>
using GainFunction = void (*)(Sides&, size_t, const Impurity&, const ParentNode&, Splitting);

template <class Impurity, int K>
void plain_values(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent) {
    evaluate_values<Impurity, K>(sides, n, f, parent);
}
template <class Impurity, int K>
void plain_gains(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent, Splitting splitting) {
    evaluate_gains<Impurity, K>(sides, n, f, parent, splitting);
}

#if FRUGAL_X86
template <class Impurity, int K>
FRUGAL_AVX2 void avx2_values(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent) {
    evaluate_values<Impurity, K>(sides, n, f, parent);
}
template <class Impurity, int K>
FRUGAL_AVX2 void avx2_gains(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent, Splitting splitting) {
    evaluate_gains<Impurity, K>(sides, n, f, parent, splitting);
}
template <class Impurity, int K>
FRUGAL_AVX512 void avx512_values(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent) {
    evaluate_values<Impurity, K>(sides, n, f, parent);
}
template <class Impurity, int K>
FRUGAL_AVX512 void avx512_gains(Sides& sides, size_t n, const Impurity& f, const ParentNode& parent, Splitting splitting) {
    evaluate_gains<Impurity, K>(sides, n, f, parent, splitting);
}
#endif

template <class Impurity, int K>
ValueFunction<Impurity> values_for([[maybe_unused]] InstructionSet instruction_set) {
#if FRUGAL_X86
    if (instruction_set == InstructionSet::avx512) return &avx512_values<Impurity, K>;
    if (instruction_set == InstructionSet::avx2) return &avx2_values<Impurity, K>;
#endif
    return &plain_values<Impurity, K>;
}

template <class Impurity, int K>
GainFunction<Impurity> gains_for([[maybe_unused]] InstructionSet instruction_set) {
#if FRUGAL_X86
    if (instruction_set == InstructionSet::avx512) return &avx512_gains<Impurity, K>;
    if (instruction_set == InstructionSet::avx2) return &avx2_gains<Impurity, K>;
#endif
    return &plain_gains<Impurity, K>;
}

}  // namespace frugal
