// The one place that picks an instruction set at run time.
#pragma once

#include "kernels.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FRUGAL_X86 1
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
