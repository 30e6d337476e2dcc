// Sets of up to 64 rows as words, without any special instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace frugal {

inline uint64_t first_bits(size_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

inline int plain_popcount(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return static_cast<int>((x * 0x0101010101010101ull) >> 56);
}

inline int lowest_bit(uint64_t x) { return plain_popcount((x & (~x + 1)) - 1); }

}  // namespace frugal
