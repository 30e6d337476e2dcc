// The byte loops with AVX-512, VBMI and VBMI2.
#include "dispatch.hpp"

#if FRUGAL_X86
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "plain_bits.hpp"

#define KERNEL FRUGAL_AVX512 inline
#define KERNEL_MEMBER FRUGAL_AVX512

namespace frugal {
namespace {

KERNEL uint64_t mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m512i x = _mm512_add_epi8(_mm512_loadu_si512(column), _mm512_set1_epi8(static_cast<char>(shift)));
    return _mm512_cmple_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(t)));
}

KERNEL int popcount(uint64_t x) { return static_cast<int>(_mm_popcnt_u64(x)); }

KERNEL uint32_t count_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
    const __m512i add = _mm512_set1_epi8(static_cast<char>(shift)), limit = _mm512_set1_epi8(static_cast<char>(t));
    uint64_t count = 0;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const __m512i x = _mm512_add_epi8(_mm512_loadu_si512(column + i), add);
        count += static_cast<uint64_t>(_mm_popcnt_u64(_mm512_cmple_epu8_mask(x, limit)));
    }
    if (i < n) {
        const __m512i x = _mm512_add_epi8(_mm512_loadu_si512(column + i), add);
        count += static_cast<uint64_t>(_mm_popcnt_u64(_mm512_cmple_epu8_mask(x, limit) & first_bits(n - i)));
    }
    return static_cast<uint32_t>(count);
}

KERNEL uint32_t below(const double* numbers, double x) {
    const __m512d value = _mm512_set1_pd(x);
    const uint32_t low = _mm512_cmp_pd_mask(_mm512_loadu_pd(numbers), value, _CMP_LT_OQ);
    const uint32_t high = _mm512_cmp_pd_mask(_mm512_loadu_pd(numbers + 8), value, _CMP_LT_OQ);
    return static_cast<uint32_t>(_mm_popcnt_u32(low | high << 8));
}

#include "kernel_loops.inc"

// Compressing in a register and storing 64 bytes is much faster than the compress instruction that writes to memory.
KERNEL void partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
    size_t left = 0, right = 0;
    for (size_t i = 0; i < n; i += 64) {
        const __m512i codes = _mm512_loadu_si512(column + i);
        const uint64_t valid = first_bits(n - i), marks = bits[i / 64] & valid, others = ~marks & valid;
        if (i + 64 <= n)  // writes at most up to byte i + 64, which has been read
            _mm512_storeu_si512(column + left, _mm512_maskz_compress_epi8(marks, codes));
        else  // the bytes behind belong to another node
            _mm512_mask_storeu_epi8(column + left, first_bits(static_cast<size_t>(_mm_popcnt_u64(marks))),
                                    _mm512_maskz_compress_epi8(marks, codes));
        _mm512_storeu_si512(scratch + right, _mm512_maskz_compress_epi8(others, codes));
        left += static_cast<size_t>(_mm_popcnt_u64(marks));
        right += static_cast<size_t>(_mm_popcnt_u64(others));
    }
    std::memcpy(column + left, scratch, right);
}

alignas(32) constexpr uint8_t kFirstNumbers[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

KERNEL void list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) {
    const __m512i numbers = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kFirstNumbers)));
    for (size_t w = 0; w < n_words; ++w) {
        if (bits[w] == 0) continue;  // neighbouring rows are often alike, and go the same way
        for (size_t half = 0; half < 2; ++half) {
            const auto word = static_cast<uint32_t>(bits[w] >> (32 * half));
            const __m512i these = _mm512_add_epi16(numbers, _mm512_set1_epi16(static_cast<short>(64 * w + 32 * half)));
            _mm512_storeu_si512(places, _mm512_maskz_compress_epi16(word, these));
            places += _mm_popcnt_u32(word);
        }
    }
}

// 64 rows of a bootstrap sample rarely reach over more than 128 rows: two registers hold them all.
KERNEL void take_in_order(const uint8_t* from, const uint32_t* places, const uint8_t* offsets, size_t n, uint8_t* to) {
    for (size_t i = 0; i < n; i += 64) {
        const size_t upto = std::min(n, i + 64);
        if (places[upto - 1] - places[i] < 128) {
            const uint8_t* first = from + places[i];
            const __m512i found = _mm512_permutex2var_epi8(_mm512_loadu_si512(first), _mm512_loadu_si512(offsets + i),
                                                           _mm512_loadu_si512(first + 64));
            _mm512_storeu_si512(to + i, found);
        } else {
            for (size_t j = i; j < upto; ++j) to[j] = from[places[j]];
        }
    }
}

// How many of 16 sorted numbers are below each x, at most 15: four halvings.
KERNEL __m512i below16(__m512 numbers, __m512 x) {
    __m512i found = _mm512_setzero_si512();
    for (int half = 8; half >= 1; half /= 2) {
        const __m512i place = _mm512_add_epi32(found, _mm512_set1_epi32(half - 1));
        const __m512 middle = _mm512_maskz_permutexvar_ps(0xFFFF, place, numbers);  // without maskz gcc 12 warns
        const __mmask16 behind = _mm512_cmp_ps_mask(middle, x, _CMP_LT_OQ);
        found = _mm512_mask_add_epi32(found, behind, found, _mm512_set1_epi32(half));
    }
    return found;
}

// codes: those of up to 16 values, where NaN is below everything so far.
KERNEL void mark_nan(__mmask16 some, __m512 values, uint8_t* codes) {
    const __mmask16 not_numbers = _mm512_mask_cmp_ps_mask(some, values, values, _CMP_UNORD_Q);
    if (not_numbers) _mm_mask_storeu_epi8(codes, not_numbers, _mm_set1_epi8(static_cast<char>(kNotANumber)));
}

KERNEL void count_below_16(const float* numbers, const float* x, size_t n, uint8_t* codes) {
    const __m512 all = _mm512_loadu_ps(numbers), last = _mm512_set1_ps(numbers[15]);
    for (size_t i = 0; i < n; i += 16) {
        const auto some = static_cast<__mmask16>(first_bits(n - i));
        const __m512 values = _mm512_maskz_loadu_ps(some, x + i);
        const __m512i found = below16(all, values);
        const __mmask16 behind = _mm512_cmp_ps_mask(last, values, _CMP_LT_OQ);
        _mm_mask_storeu_epi8(codes + i, some, _mm512_maskz_cvtepi32_epi8(some, _mm512_mask_add_epi32(found, behind, found, _mm512_set1_epi32(1))));
        mark_nan(some, values, codes + i);
    }
}

KERNEL void count_below_float(const float* numbers, bool is_wide, const float* x, size_t n, uint8_t* codes) {
    if (!is_wide) return count_below_16(numbers, x, n, codes);
    const __m512 ends = _mm512_loadu_ps(numbers);
    const float* runs = numbers + kSearchWidth;
    alignas(64) uint32_t run[64];
    for (size_t begin = 0; begin < n; begin += 64) {
        const size_t end = std::min(n, begin + 64);
        for (size_t i = begin; i < end; i += 16) {
            const __m512 values = _mm512_maskz_loadu_ps(static_cast<__mmask16>(first_bits(end - i)), x + i);
            _mm512_store_si512(run + (i - begin), _mm512_maskz_slli_epi32(0xFFFF, below16(ends, values), 4));
        }
        for (size_t i = begin; i < end; ++i) {
            const uint32_t first = run[i - begin];
            const __mmask16 below = _mm512_cmp_ps_mask(_mm512_loadu_ps(runs + first), _mm512_set1_ps(x[i]), _CMP_LT_OQ);
            codes[i] = static_cast<uint8_t>(first + static_cast<uint32_t>(_mm_popcnt_u32(_cvtmask16_u32(below))));
        }
        for (size_t i = begin; i < end; i += 16) {
            const auto some = static_cast<__mmask16>(first_bits(end - i));
            mark_nan(some, _mm512_maskz_loadu_ps(some, x + i), codes + i);
        }
    }
}

KERNEL void advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                        double* below, double* left_above, double* right_below) {
    const __m512d stride = _mm512_set1_pd(step);
    for (size_t i = 0; i < n; i += 8) {
        const __m512d left = _mm512_loadu_pd(left_value + i), right = _mm512_loadu_pd(right_value + i);
        const __m512d place = _mm512_add_pd(_mm512_loadu_pd(below + i), stride);
        const __mmask8 real = _mm512_cmp_pd_mask(place, _mm512_loadu_pd(last + i), _CMP_LE_OQ);
        const __mmask8 behind = _mm512_cmp_pd_mask(left, right, _CMP_GE_OQ);
        const auto crossed = static_cast<__mmask8>(real & behind), before = static_cast<__mmask8>(real & ~behind);
        _mm512_mask_storeu_pd(left_above + i, crossed, left);
        _mm512_mask_storeu_pd(right_below + i, before, right);
        _mm512_mask_storeu_pd(below + i, before, place);
    }
}

constexpr Kernels all_kernels() {
    Kernels kernels{};
    kernels.instruction_set = InstructionSet::avx512;
    kernels.count_by_class = count_by_class;
    kernels.mark_le = mark_le;
    kernels.partition = partition;
    kernels.mark_le_small = mark64;
    kernels.count_small = count_small;
    kernels.count_small_many = count_small_many;
    kernels.count_by_class_many = count_by_class_many;
    kernels.advance_bisections = advance_bisections;
    kernels.bisect_small_pairs = bisect_small_pairs;
    kernels.range = avx2::range;
    kernels.part_bits = part_bits;
    kernels.list_bits = list_bits;
    kernels.take_in_order = take_in_order;
    kernels.count_below = count_below<double>;
    kernels.count_below_float = count_below_float;
    return kernels;
}

}  // namespace

extern constexpr Kernels kAvx512Kernels = all_kernels();

}  // namespace frugal
#endif
