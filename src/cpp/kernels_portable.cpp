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

}  // namespace

const Kernels kPortableKernels = {"portable", count_by_class, mark_le, partition, mark_le_small, count_small, range};

}  // namespace frugal
