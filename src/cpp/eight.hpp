// Eight numbers of 16 bits at once.
#pragma once

#include <cstdint>
#include <cstring>

namespace frugal {

using Eight = int16_t __attribute__((vector_size(16)));

inline Eight eight_of(int16_t number) { return Eight{} + number; }
inline Eight min(Eight a, Eight b) { return a < b ? a : b; }
inline Eight max(Eight a, Eight b) { return a > b ? a : b; }

inline Eight eight_of_bytes(const void* bytes) {
    using Bytes = int8_t __attribute__((vector_size(8)));
    Bytes found;
    std::memcpy(&found, bytes, sizeof(found));
    return __builtin_convertvector(found, Eight);
}

// Whether any of the answers of a comparison is yes.
inline bool any(Eight answers) {
    uint64_t halves[2];
    std::memcpy(halves, &answers, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

}  // namespace frugal
