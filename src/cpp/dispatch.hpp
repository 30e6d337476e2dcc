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

extern const Kernels kPortableKernels;
#if FRUGAL_X86
extern const Kernels kBaselineKernels;  // SSE2: every 64-bit x86
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;  // with VBMI2
#endif

}  // namespace frugal
