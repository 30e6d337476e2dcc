#include "dispatch.hpp"

#include <cstring>

namespace frugal {
namespace {

#if FRUGAL_X86
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

}  // namespace

const Kernels* find_kernels(const char* name) {
    const bool any = std::strcmp(name, "auto") == 0;
    const auto asked = [&](const char* version) { return any || std::strcmp(name, version) == 0; };
#if FRUGAL_X86
    __builtin_cpu_init();
    if (asked("avx512") && has_avx512()) return &kAvx512Kernels;
    if (asked("avx2") && has_avx2()) return &kAvx2Kernels;
    if (asked("baseline")) return &kBaselineKernels;
#endif
    if (asked("portable")) return &kPortableKernels;
    return nullptr;
}

}  // namespace frugal
