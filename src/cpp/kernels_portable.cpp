// Plain C++: what every other version must return, and what runs on machines without x86 vectors.
#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "plain_bits.hpp"

namespace frugal {
namespace portable {

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
    for (int c = 0; c < k; ++c) counts[c] = static_cast<uint32_t>(plain_popcount(marked & class_rows[c]));
}

void count_small_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n, uint64_t rows,
                      const uint64_t* class_rows, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t marked = mark_le_small(base + features[i] * stride, 0, t[i]) & rows;
        for (int c = 0; c < k; ++c)
            counts[static_cast<size_t>(c) * capacity + i] = static_cast<double>(plain_popcount(marked & class_rows[c]));
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
        count += static_cast<uint32_t>(plain_popcount(left[i / 64]));
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

constexpr Kernels all_kernels() {
    Kernels kernels{};
    kernels.instruction_set = InstructionSet::portable;
    kernels.count_by_class = count_by_class;
    kernels.mark_le = mark_le;
    kernels.partition = partition;
    kernels.mark_le_small = mark_le_small;
    kernels.count_small = count_small;
    kernels.count_small_many = count_small_many;
    kernels.count_by_class_many = count_by_class_many;
    kernels.advance_bisections = advance_bisections;
    kernels.range = range;
    kernels.part_bits = part_bits;
    kernels.list_bits = list_bits;
    kernels.take_in_order = take_in_order;
    kernels.count_below = count_below<double>;
    kernels.count_below_float = count_below<float>;
    return kernels;
}

}  // namespace portable

extern constexpr Kernels kPortableKernels = portable::all_kernels();

}  // namespace frugal
