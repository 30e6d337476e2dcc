// The byte loops with SSE2, which every 64-bit x86 has.
#include "dispatch.hpp"

#if FRUGAL_X86
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "plain_bits.hpp"

#define KERNEL inline
#define KERNEL_MEMBER inline

namespace frugal {
namespace {

KERNEL uint64_t mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m128i add = _mm_set1_epi8(static_cast<char>(shift)), limit = _mm_set1_epi8(static_cast<char>(t));
    uint64_t bits = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i x = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(column + 16 * part)), add);
        const int le = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, limit), x));
        bits |= static_cast<uint64_t>(static_cast<uint32_t>(le)) << (16 * part);
    }
    return bits;
}

KERNEL uint32_t count_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
    const __m128i add = _mm_set1_epi8(static_cast<char>(shift)), limit = _mm_set1_epi8(static_cast<char>(t));
    __m128i sums = _mm_setzero_si128();
    size_t i = 0;
    while (i + 16 <= n) {
        const size_t end = std::min(n - n % 16, i + 16 * 255);  // a byte counts to 255
        __m128i ones = _mm_setzero_si128();
        for (; i + 16 <= end; i += 16) {
            const __m128i x = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(column + i)), add);
            ones = _mm_sub_epi8(ones, _mm_cmpeq_epi8(_mm_min_epu8(x, limit), x));
        }
        sums = _mm_add_epi64(sums, _mm_sad_epu8(ones, _mm_setzero_si128()));
    }
    uint32_t count = static_cast<uint32_t>(_mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
    for (; i < n; ++i) count += static_cast<uint8_t>(column[i] + shift) <= t;
    return count;
}

KERNEL int popcount(uint64_t x) { return plain_popcount(x); }

KERNEL uint32_t below(const double* numbers, double x) {
    const __m128d value = _mm_set1_pd(x);
    __m128i found = _mm_setzero_si128();  // minus the number of those below, in two halves
    for (int i = 0; i < kSearchWidth; i += 2)
        found = _mm_add_epi64(found, _mm_castpd_si128(_mm_cmplt_pd(_mm_loadu_pd(numbers + i), value)));
    return static_cast<uint32_t>(-(_mm_cvtsi128_si64(found) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(found, found))));
}

KERNEL uint32_t below(const float* numbers, float x) {
    const __m128 value = _mm_set1_ps(x);
    __m128i found = _mm_setzero_si128();  // minus the number of those below, in four parts
    for (int i = 0; i < kSearchWidth; i += 4)
        found = _mm_add_epi32(found, _mm_castps_si128(_mm_cmplt_ps(_mm_loadu_ps(numbers + i), value)));
    found = _mm_add_epi32(found, _mm_unpackhi_epi64(found, found));
    return static_cast<uint32_t>(-(_mm_cvtsi128_si32(found) + _mm_cvtsi128_si32(_mm_shuffle_epi32(found, 1))));
}

#include "kernel_loops.inc"

KERNEL __m128d pick(__m128d where, __m128d a, __m128d b) { return _mm_or_pd(_mm_and_pd(where, a), _mm_andnot_pd(where, b)); }

KERNEL void advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                        double* below, double* left_above, double* right_below) {
    const __m128d stride = _mm_set1_pd(step);
    for (size_t i = 0; i < n; i += 2) {
        const __m128d left = _mm_loadu_pd(left_value + i), right = _mm_loadu_pd(right_value + i), from = _mm_loadu_pd(below + i);
        const __m128d place = _mm_add_pd(from, stride), real = _mm_cmple_pd(place, _mm_loadu_pd(last + i));
        const __m128d behind = _mm_cmpge_pd(left, right), crossed = _mm_and_pd(real, behind), before = _mm_andnot_pd(behind, real);
        _mm_storeu_pd(left_above + i, pick(crossed, left, _mm_loadu_pd(left_above + i)));
        _mm_storeu_pd(right_below + i, pick(before, right, _mm_loadu_pd(right_below + i)));
        _mm_storeu_pd(below + i, pick(before, place, from));
    }
}

// Moving bytes and the rest are not worth an SSE2 version.
constexpr Kernels all_kernels() {
    Kernels kernels{};
    kernels.instruction_set = InstructionSet::baseline;
    kernels.count_by_class = count_by_class;
    kernels.mark_le = mark_le;
    kernels.partition = portable::partition;
    kernels.mark_le_small = mark64;
    kernels.count_small = count_small;
    kernels.count_small_many = count_small_many;
    kernels.count_by_class_many = count_by_class_many;
    kernels.advance_bisections = advance_bisections;
    kernels.bisect_small_pairs = nullptr;
    kernels.range = portable::range;
    kernels.part_bits = part_bits;
    kernels.list_bits = portable::list_bits;
    kernels.take_in_order = portable::take_in_order;
    kernels.count_below = count_below<double>;
    kernels.count_below_float = count_below<float>;
    return kernels;
}

}  // namespace

extern constexpr Kernels kBaselineKernels = all_kernels();

}  // namespace frugal
#endif
