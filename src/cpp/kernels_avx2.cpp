// The byte loops with AVX2, BMI and BMI2.
#include "dispatch.hpp"

#if FRUGAL_X86
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "plain_bits.hpp"

#define KERNEL FRUGAL_AVX2 inline
#define KERNEL_MEMBER FRUGAL_AVX2

namespace frugal {

FRUGAL_AVX2 void avx2::range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest) {
    uint8_t low = 255, high = 0;
    size_t i = 0;
    if (n >= 32) {
        const __m256i add = _mm256_set1_epi8(static_cast<char>(shift));
        __m256i lows = _mm256_set1_epi8(-1), highs = _mm256_setzero_si256();
        for (; i + 32 <= n; i += 32) {
            const __m256i x = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column + i)), add);
            lows = _mm256_min_epu8(lows, x);
            highs = _mm256_max_epu8(highs, x);
        }
        uint8_t a[32], b[32];
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(a), lows);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(b), highs);
        for (int j = 0; j < 32; ++j) {
            low = std::min(low, a[j]);
            high = std::max(high, b[j]);
        }
    }
    for (; i < n; ++i) {
        const auto code = static_cast<uint8_t>(column[i] + shift);
        low = std::min(low, code);
        high = std::max(high, code);
    }
    *least = low;
    *largest = high;
}

namespace {

KERNEL uint64_t mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m256i add = _mm256_set1_epi8(static_cast<char>(shift)), limit = _mm256_set1_epi8(static_cast<char>(t));
    const __m256i a = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column)), add);
    const __m256i b = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column + 32)), add);
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, limit), a)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, limit), b)));
    return low | static_cast<uint64_t>(high) << 32;
}

KERNEL int popcount(uint64_t x) { return static_cast<int>(_mm_popcnt_u64(x)); }

KERNEL uint32_t count_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
    const __m256i add = _mm256_set1_epi8(static_cast<char>(shift)), limit = _mm256_set1_epi8(static_cast<char>(t));
    __m256i sums = _mm256_setzero_si256();
    size_t i = 0;
    while (i + 32 <= n) {
        const size_t end = std::min(n - n % 32, i + 32 * 255);  // a byte counts to 255
        __m256i ones = _mm256_setzero_si256();
        for (; i + 32 <= end; i += 32) {
            const __m256i x = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column + i)), add);
            ones = _mm256_sub_epi8(ones, _mm256_cmpeq_epi8(_mm256_min_epu8(x, limit), x));
        }
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(ones, _mm256_setzero_si256()));
    }
    uint64_t part[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(part), sums);
    auto count = static_cast<uint32_t>(part[0] + part[1] + part[2] + part[3]);
    if (i < n) {  // the tail is read as a whole word: columns are padded
        const uint64_t tail = mark64(column + i, shift, t) & first_bits(n - i);
        count += static_cast<uint32_t>(_mm_popcnt_u64(tail));
    }
    return count;
}

KERNEL __m256i below4(const double* numbers, __m256d x) {
    return _mm256_castpd_si256(_mm256_cmp_pd(_mm256_loadu_pd(numbers), x, _CMP_LT_OQ));
}

KERNEL uint32_t below(const double* numbers, double x) {
    const __m256d value = _mm256_set1_pd(x);
    const __m256i a = _mm256_packs_epi32(below4(numbers, value), below4(numbers + 4, value));
    const __m256i b = _mm256_packs_epi32(below4(numbers + 8, value), below4(numbers + 12, value));
    const int bytes = _mm256_movemask_epi8(_mm256_packs_epi16(a, b));  // two of each
    return static_cast<uint32_t>(_mm_popcnt_u32(static_cast<uint32_t>(bytes))) / 2;
}

KERNEL uint32_t below(const float* numbers, float x) {
    const __m256 value = _mm256_set1_ps(x);
    const auto low = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(numbers), value, _CMP_LT_OQ)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(numbers + 8), value, _CMP_LT_OQ)));
    return static_cast<uint32_t>(_mm_popcnt_u32(low | high << 8));
}

#include "kernel_loops.inc"

// Eight codes at a time: pext turns the eight mark bits into the numbers of the marked bytes, pshufb moves them.
KERNEL uint64_t packed_positions(uint64_t marks8) {
    const uint64_t bytes = _pdep_u64(marks8, 0x0101010101010101ull) * 0xFF;
    return _pext_u64(0x0706050403020100ull, bytes);
}

KERNEL uint64_t gather_bytes(uint64_t codes8, uint64_t positions) {
    const __m128i x = _mm_shuffle_epi8(_mm_cvtsi64_si128(static_cast<long long>(codes8)),
                                       _mm_cvtsi64_si128(static_cast<long long>(positions)));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(x));
}

KERNEL void partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
    size_t left = 0, right = 0;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t codes;
        std::memcpy(&codes, column + i, 8);
        const uint64_t valid = first_bits(n - i) & 0xFF;
        const uint64_t marks = (bits[i / 64] >> (i % 64)) & valid;
        const uint64_t others = ~marks & valid;
        const uint64_t lefts = gather_bytes(codes, packed_positions(marks));
        const uint64_t rights = gather_bytes(codes, packed_positions(others));
        const auto n_lefts = static_cast<size_t>(_mm_popcnt_u64(marks));
        if (i + 8 <= n)  // writes at most up to byte i + 8, which has been read
            std::memcpy(column + left, &lefts, 8);
        else  // the bytes behind belong to another node
            std::memcpy(column + left, &lefts, n_lefts);
        std::memcpy(scratch + right, &rights, 8);
        left += n_lefts;
        right += static_cast<size_t>(_mm_popcnt_u64(others));
    }
    std::memcpy(column + left, scratch, right);
}

KERNEL void advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                        double* below, double* left_above, double* right_below) {
    const __m256d stride = _mm256_set1_pd(step);
    for (size_t i = 0; i < n; i += 4) {
        const __m256d left = _mm256_loadu_pd(left_value + i), right = _mm256_loadu_pd(right_value + i);
        const __m256d from = _mm256_loadu_pd(below + i), place = _mm256_add_pd(from, stride);
        const __m256d real = _mm256_cmp_pd(place, _mm256_loadu_pd(last + i), _CMP_LE_OQ);
        const __m256d behind = _mm256_cmp_pd(left, right, _CMP_GE_OQ);
        const __m256d crossed = _mm256_and_pd(real, behind), before = _mm256_andnot_pd(behind, real);
        _mm256_storeu_pd(left_above + i, _mm256_blendv_pd(_mm256_loadu_pd(left_above + i), left, crossed));
        _mm256_storeu_pd(right_below + i, _mm256_blendv_pd(_mm256_loadu_pd(right_below + i), right, before));
        _mm256_storeu_pd(below + i, _mm256_blendv_pd(from, place, before));
    }
}

KERNEL void list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) {
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t word = bits[w]; word; word = _blsr_u64(word)) *places++ = static_cast<uint16_t>(64 * w + _tzcnt_u64(word));
}

constexpr Kernels all_kernels() {
    Kernels kernels{};
    kernels.instruction_set = InstructionSet::avx2;
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
    kernels.take_in_order = portable::take_in_order;
    kernels.count_below = count_below<double>;
    kernels.count_below_float = count_below<float>;
    return kernels;
}

}  // namespace

extern constexpr Kernels kAvx2Kernels = all_kernels();

}  // namespace frugal
#endif
