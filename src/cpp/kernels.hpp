// The byte loops that decide the speed, once per instruction set; all versions return the same.
//
// A column is a run of codes. `shift` says where missing (255) belongs: codes are compared as uint8(code + shift),
// so that with shift 0 missing is the largest value (goes right) and with shift 1 it wraps to the least (goes left).
#pragma once

#include <cstddef>
#include <cstdint>

namespace frugal {

constexpr size_t kPadding = 128;   // bytes after a column that kernels may read or overwrite
constexpr size_t kSmallNode = 64;  // rows that fit one machine word
constexpr int kSearchWidth = 16;   // numbers of a SearchTable that are compared at once
constexpr uint8_t kNotANumber = 255;

enum class InstructionSet { portable, baseline, avx2, avx512 };

struct Kernels {
    InstructionSet instruction_set;
    // How many codes of each class are <= t. ends[c]: where class c ends in the column.          OUT counts (k)
    void (*count_by_class)(const uint8_t* column, const uint32_t* ends, int k, uint8_t shift, uint8_t t, uint32_t* counts);
    // Bit i says whether code i is <= t.                                                         OUT bits (n / 64, rounded up)
    void (*mark_le)(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* bits);
    // Moves marked codes to the front and the others behind them, each in their old order.
    void (*partition)(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch);
    // The same for at most 64 rows of which `rows` are in the node: which are <= t.
    uint64_t (*mark_le_small)(const uint8_t* column, uint8_t shift, uint8_t t);
    // Counts of the bits of rows & class_rows[c] that are <= t.                                  OUT counts (k)
    void (*count_small)(const uint8_t* column, uint64_t rows, const uint64_t* class_rows, int k, uint8_t shift, uint8_t t,
                        uint32_t* counts);
    // The same without missing values for many columns at once: column features[i] at base + features[i] * stride is
    // compared with t[i].                                                                        OUT counts[c * capacity + i]
    void (*count_small_many)(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                             uint64_t rows, const uint64_t* class_rows, int k, double* counts, size_t capacity);
    // Like count_by_class, for many columns at once.                                            OUT counts[c * capacity + i]
    void (*count_by_class_many)(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                                const uint32_t* ends, int k, double* counts, size_t capacity);
    // Takes in the probes below + step of n bisections (arrays padded to 8): where F(left) has overtaken F(right), the probe
    // is the new upper end and left_above its F(left); else it is the new lower end, `below`, and right_below its F(right).
    // A probe past the last threshold says nothing.
    void (*advance_bisections)(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                               double* below, double* left_above, double* right_below);
    // Bisects n columns of a small node without missing values, as count_small_many and advance_bisections do step by step, for
    // F = sum over i != j of n_i n_j; nullptr where it is not worth having. n_thresholds do not rise.
    // A side that no threshold gives has F(node).                                                OUT below, left_above, right_below (n)
    void (*bisect_small_pairs)(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds, size_t n,
                               uint64_t rows, const uint64_t* class_rows, int k, double* below, double* left_above,
                               double* right_below);
    // Least and largest of uint8(code + shift).
    void (*range)(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest);
    // Parts a set of rows, bits of (n / 64, rounded up): those with a code <= t go to `left`, the others stay. Returns how many went.
    uint32_t (*part_bits)(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* rows, uint64_t* left);
    // The places of the bits, in order.                                                          OUT places, and up to 31 more
    void (*list_bits)(const uint64_t* bits, size_t n_words, uint16_t* places);
    // Copies from[places[i]], where no place is before another and offsets[i] is the last byte of places[i] - the first place of
    // the same 64.                                                                               OUT to (n), and up to 63 more
    void (*take_in_order)(const uint8_t* from, const uint32_t* places, const uint8_t* offsets, size_t n, uint8_t* to);
    // How many numbers of a SearchTable are below each x, 255 for NaN: 16 sorted numbers, or the last ones of 16 runs of 16
    // and then these runs.                                                                       OUT codes (n)
    void (*count_below)(const double* numbers, bool is_wide, const double* x, size_t n, uint8_t* codes);
    void (*count_below_float)(const float* numbers, bool is_wide, const float* x, size_t n, uint8_t* codes);
};

// The kernels called `name` ("portable", "baseline", "avx2", "avx512"), or the best this machine has for "auto".
// nullptr if this machine cannot run them.
const Kernels* find_kernels(const char* name);

}  // namespace frugal
