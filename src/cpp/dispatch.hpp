// The one place that picks an instruction set at run time.
#pragma once

#include "kernels.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FRUGAL_X86 1
// Functions carry their own target instead of a compiler flag for a file: with a flag, inline functions of the standard
// library would be compiled with those instructions too, and the linker might hand them to everybody.
#define FRUGAL_AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define FRUGAL_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,popcnt,bmi,bmi2")))
#else
#define FRUGAL_X86 0
#endif

namespace frugal {

// Versions that are as good for a larger instruction set.
namespace portable {
void partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch);
void range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest);
void list_bits(const uint64_t* bits, size_t n_words, uint16_t* places);
void take_in_order(const uint8_t* from, const uint32_t* places, const uint8_t* offsets, size_t n, uint8_t* to);
}  // namespace portable
namespace avx2 {
void range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest);
}  // namespace avx2

extern const Kernels kPortableKernels;
#if FRUGAL_X86
extern const Kernels kBaselineKernels;  // SSE2: every 64-bit x86
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;  // with VBMI2
#endif

}  // namespace frugal
