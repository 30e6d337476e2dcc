// Plain C++: what every other version must return, and what runs on machines without x86 vectors.
#include <algorithm>
#include <cstring>

#include "dispatch.hpp"

namespace frugal {
namespace {

int popcount(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return static_cast<int>((x * 0x0101010101010101ull) >> 56);
}

int lowest_bit(uint64_t x) { return popcount((x & (~x + 1)) - 1); }

void count_by_class(const uint8_t* column, const uint32_t* ends, int k, uint8_t shift, uint8_t t, uint32_t* counts) {
    size_t i = 0;
    for (int c = 0; c < k; ++c) {
        uint32_t count = 0;
        for (; i < ends[c]; ++i) count += static_cast<uint8_t>(column[i] + shift) <= t;
        counts[c] = count;
    }
}

uint64_t mark_run(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n; ++i) bits |= uint64_t{static_cast<uint8_t>(column[i] + shift) <= t} << i;
    return bits;
}

void mark_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* bits) {
    for (size_t i = 0; i < n; i += 64) bits[i / 64] = mark_run(column + i, std::min<size_t>(64, n - i), shift, t);
}

void partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
    size_t left = 0, right = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint8_t code = column[i];
        const size_t goes_left = (bits[i / 64] >> (i % 64)) & 1;
        column[left] = code;
        scratch[right] = code;
        left += goes_left;
        right += 1 - goes_left;
    }
    std::memcpy(column + left, scratch, right);
}

uint64_t mark_le_small(const uint8_t* column, uint8_t shift, uint8_t t) { return mark_run(column, 64, shift, t); }

void count_small(const uint8_t* column, uint64_t rows, const uint64_t* class_rows, int k, uint8_t shift, uint8_t t,
                 uint32_t* counts) {
    const uint64_t marked = mark_le_small(column, shift, t) & rows;
    for (int c = 0; c < k; ++c) counts[c] = static_cast<uint32_t>(popcount(marked & class_rows[c]));
}

void count_small_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n, uint64_t rows,
                      const uint64_t* class_rows, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t marked = mark_le_small(base + features[i] * stride, 0, t[i]) & rows;
        for (int c = 0; c < k; ++c)
            counts[static_cast<size_t>(c) * capacity + i] = static_cast<double>(popcount(marked & class_rows[c]));
    }
}

void count_by_class_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                         const uint32_t* ends, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint8_t* column = base + features[i] * stride;
        uint32_t begin = 0;
        for (int c = 0; c < k; ++c) {
            uint32_t count = 0;
            for (uint32_t j = begin; j < ends[c]; ++j) count += column[j] <= t[i];
            counts[static_cast<size_t>(c) * capacity + i] = count;
            begin = ends[c];
        }
    }
}

void advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                        double* below, double* left_above, double* right_below) {
    for (size_t i = 0; i < n; ++i) {
        const double place = below[i] + step;
        if (place > last[i]) continue;
        if (left_value[i] >= right_value[i]) {
            left_above[i] = left_value[i];
        } else {
            right_below[i] = right_value[i];
            below[i] = place;
        }
    }
}

void range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest) {
    uint8_t low = 255, high = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint8_t code = static_cast<uint8_t>(column[i] + shift);
        low = std::min(low, code);
        high = std::max(high, code);
    }
    *least = low;
    *largest = high;
}

uint32_t part_bits(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* rows, uint64_t* left) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t& word = rows[i / 64];
        left[i / 64] = word & mark_run(column + i, std::min<size_t>(64, n - i), shift, t);
        word &= ~left[i / 64];
        count += static_cast<uint32_t>(popcount(left[i / 64]));
    }
    return count;
}

void list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) {
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t word = bits[w]; word; word &= word - 1) *places++ = static_cast<uint16_t>(64 * w + static_cast<size_t>(lowest_bit(word)));
}

void take_in_order(const uint8_t* from, const uint32_t* places, const uint8_t*, size_t n, uint8_t* to) {
    for (size_t i = 0; i < n; ++i) to[i] = from[places[i]];
}

template <class Number>
int below(const Number* numbers, Number x) {
    int found = 0;
    for (int i = 0; i < kSearchWidth; ++i) found += numbers[i] < x;
    return found;
}

template <class Number>
void count_below(const Number* numbers, bool is_wide, const Number* x, size_t n, uint8_t* codes) {
    for (size_t i = 0; i < n; ++i) {
        const int run = is_wide ? kSearchWidth * below(numbers, x[i]) : 0;
        const int found = run + below(numbers + (is_wide ? kSearchWidth + run : 0), x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

}  // namespace

const Kernels kPortableKernels = {InstructionSet::portable, count_by_class, mark_le, partition, mark_le_small, count_small, count_small_many, count_by_class_many, advance_bisections, nullptr, range, part_bits, list_bits, take_in_order, count_below<double>, count_below<float>};

}  // namespace frugal
