// SSE2, AVX2 and AVX-512 versions of the byte loops.
#include "dispatch.hpp"

#if FRUGAL_X86
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define SSE2 static inline
#define AVX2 FRUGAL_AVX2 static inline
#define AVX512 FRUGAL_AVX512 static inline

namespace frugal {
namespace {

inline uint64_t first_bits(size_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// The rows of a small node by class, and how many pairs of rows of different classes there are on both sides of a split. K:
// number of classes if it is known when compiling, or 0.
template <int K>
struct SmallClasses {
    const uint64_t* rows;
    const int* sizes;
    int k;

    struct Pairs {
        int left, right;  // twice the number of pairs
    };

    FRUGAL_AVX2 Pairs split(uint64_t left_rows) const {
        if constexpr (K == 2) {
            const auto a = static_cast<int>(_mm_popcnt_u64(left_rows & rows[0])), b = static_cast<int>(_mm_popcnt_u64(left_rows & rows[1]));
            return {2 * a * b, 2 * (sizes[0] - a) * (sizes[1] - b)};
        }
        // Pairs of equal classes are left out of all pairs.
        int left = 0, right = 0, left_equal = 0, right_equal = 0;
        for (int c = 0; c < k; ++c) {
            const auto a = static_cast<int>(_mm_popcnt_u64(left_rows & rows[c])), b = sizes[c] - a;
            left += a;
            right += b;
            left_equal += a * a;
            right_equal += b * b;
        }
        return {left * left - left_equal, right * right - right_equal};
    }
};

// Bisections of several columns in step: each waits for its last comparison, and another can go on meanwhile.
constexpr size_t kBisectedTogether = 4;

// A place past the last threshold has all rows on the left, and so is behind the crossing.
struct SmallBisection {
    int below, left_above, right_below;

    // With masks, since gcc makes branches of conditions, and these cannot be guessed.
    FRUGAL_AVX2 void advance(int left, int right, int step) {
        const int before = -static_cast<int>(left < right);
        below += step & before;
        left_above ^= (left_above ^ left) & ~before;
        right_below ^= (right_below ^ right) & before;
    }
};

// ---------------------------------------------------------------- SSE2

SSE2 uint64_t sse2_mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m128i add = _mm_set1_epi8(static_cast<char>(shift)), limit = _mm_set1_epi8(static_cast<char>(t));
    uint64_t bits = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i x = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(column + 16 * part)), add);
        const int le = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, limit), x));
        bits |= static_cast<uint64_t>(static_cast<uint32_t>(le)) << (16 * part);
    }
    return bits;
}

SSE2 uint32_t sse2_count(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
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

SSE2 uint32_t popcount_baseline(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return static_cast<uint32_t>((x * 0x0101010101010101ull) >> 56);
}

void sse2_count_by_class(const uint8_t* column, const uint32_t* ends, int k, uint8_t shift, uint8_t t, uint32_t* counts) {
    for (int c = 0; c < k; ++c) {
        const uint32_t begin = c ? ends[c - 1] : 0;
        counts[c] = sse2_count(column + begin, ends[c] - begin, shift, t);
    }
}

void sse2_count_by_class_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                              const uint32_t* ends, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint8_t* column = base + features[i] * stride;
        for (int c = 0; c < k; ++c) {
            const uint32_t begin = c ? ends[c - 1] : 0;
            counts[static_cast<size_t>(c) * capacity + i] = sse2_count(column + begin, ends[c] - begin, 0, t[i]);
        }
    }
}

void sse2_mark_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* bits) {
    for (size_t i = 0; i < n; i += 64) bits[i / 64] = sse2_mark64(column + i, shift, t) & first_bits(n - i);
}

uint64_t sse2_mark_le_small(const uint8_t* column, uint8_t shift, uint8_t t) { return sse2_mark64(column, shift, t); }

void sse2_count_small(const uint8_t* column, uint64_t rows, const uint64_t* class_rows, int k, uint8_t shift, uint8_t t,
                      uint32_t* counts) {
    const uint64_t marked = sse2_mark64(column, shift, t) & rows;
    for (int c = 0; c < k; ++c) counts[c] = popcount_baseline(marked & class_rows[c]);
}

void sse2_count_small_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                           uint64_t rows, const uint64_t* class_rows, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t marked = sse2_mark64(base + features[i] * stride, 0, t[i]) & rows;
        for (int c = 0; c < k; ++c)
            counts[static_cast<size_t>(c) * capacity + i] = static_cast<double>(popcount_baseline(marked & class_rows[c]));
    }
}

uint32_t sse2_part_bits(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* rows, uint64_t* left) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i += 64) {
        const uint64_t word = rows[i / 64], lefts = word & sse2_mark64(column + i, shift, t);
        left[i / 64] = lefts;
        rows[i / 64] = word & ~lefts;
        count += popcount_baseline(lefts);
    }
    return count;
}

SSE2 uint32_t sse2_below(const double* numbers, double x) {
    const __m128d value = _mm_set1_pd(x);
    __m128i found = _mm_setzero_si128();  // minus the number of those below, in two halves
    for (int i = 0; i < kSearchWidth; i += 2)
        found = _mm_add_epi64(found, _mm_castpd_si128(_mm_cmplt_pd(_mm_loadu_pd(numbers + i), value)));
    return static_cast<uint32_t>(-(_mm_cvtsi128_si64(found) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(found, found))));
}

SSE2 void sse2_count_below(const double* numbers, bool is_wide, const double* x, size_t n, uint8_t* codes) {
    const double* runs = numbers + (is_wide ? kSearchWidth : 0);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t run = is_wide ? kSearchWidth * sse2_below(numbers, x[i]) : 0;
        const uint32_t found = run + sse2_below(runs + run, x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

SSE2 uint32_t sse2_below(const float* numbers, float x) {
    const __m128 value = _mm_set1_ps(x);
    __m128i found = _mm_setzero_si128();  // minus the number of those below, in four parts
    for (int i = 0; i < kSearchWidth; i += 4)
        found = _mm_add_epi32(found, _mm_castps_si128(_mm_cmplt_ps(_mm_loadu_ps(numbers + i), value)));
    found = _mm_add_epi32(found, _mm_unpackhi_epi64(found, found));
    return static_cast<uint32_t>(-(_mm_cvtsi128_si32(found) + _mm_cvtsi128_si32(_mm_shuffle_epi32(found, 1))));
}

SSE2 void sse2_count_below_float(const float* numbers, bool is_wide, const float* x, size_t n, uint8_t* codes) {
    const float* runs = numbers + (is_wide ? kSearchWidth : 0);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t run = is_wide ? kSearchWidth * sse2_below(numbers, x[i]) : 0;
        const uint32_t found = run + sse2_below(runs + run, x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

SSE2 __m128d sse2_pick(__m128d where, __m128d a, __m128d b) { return _mm_or_pd(_mm_and_pd(where, a), _mm_andnot_pd(where, b)); }

void sse2_advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
                        double* below, double* left_above, double* right_below) {
    const __m128d stride = _mm_set1_pd(step);
    for (size_t i = 0; i < n; i += 2) {
        const __m128d left = _mm_loadu_pd(left_value + i), right = _mm_loadu_pd(right_value + i), from = _mm_loadu_pd(below + i);
        const __m128d place = _mm_add_pd(from, stride), real = _mm_cmple_pd(place, _mm_loadu_pd(last + i));
        const __m128d behind = _mm_cmpge_pd(left, right), crossed = _mm_and_pd(real, behind), before = _mm_andnot_pd(behind, real);
        _mm_storeu_pd(left_above + i, sse2_pick(crossed, left, _mm_loadu_pd(left_above + i)));
        _mm_storeu_pd(right_below + i, sse2_pick(before, right, _mm_loadu_pd(right_below + i)));
        _mm_storeu_pd(below + i, sse2_pick(before, place, from));
    }
}

// ---------------------------------------------------------------- AVX2

AVX2 uint64_t avx2_mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m256i add = _mm256_set1_epi8(static_cast<char>(shift)), limit = _mm256_set1_epi8(static_cast<char>(t));
    const __m256i a = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column)), add);
    const __m256i b = _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column + 32)), add);
    const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, limit), a)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, limit), b)));
    return low | static_cast<uint64_t>(high) << 32;
}

AVX2 uint32_t avx2_count(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
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
        const uint64_t tail = avx2_mark64(column + i, shift, t) & first_bits(n - i);
        count += static_cast<uint32_t>(_mm_popcnt_u64(tail));
    }
    return count;
}

AVX2 void avx2_count_by_class(const uint8_t* column, const uint32_t* ends, int k, uint8_t shift, uint8_t t,
                              uint32_t* counts) {
    for (int c = 0; c < k; ++c) {
        const uint32_t begin = c ? ends[c - 1] : 0;
        counts[c] = avx2_count(column + begin, ends[c] - begin, shift, t);
    }
}

AVX2 void avx2_count_by_class_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                              const uint32_t* ends, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint8_t* column = base + features[i] * stride;
        for (int c = 0; c < k; ++c) {
            const uint32_t begin = c ? ends[c - 1] : 0;
            counts[static_cast<size_t>(c) * capacity + i] = avx2_count(column + begin, ends[c] - begin, 0, t[i]);
        }
    }
}

AVX2 void avx2_mark_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* bits) {
    for (size_t i = 0; i < n; i += 64) bits[i / 64] = avx2_mark64(column + i, shift, t) & first_bits(n - i);
}

// Eight codes at a time: pext turns the eight mark bits into the numbers of the marked bytes, pshufb moves them.
AVX2 uint64_t packed_positions(uint64_t marks8) {
    const uint64_t bytes = _pdep_u64(marks8, 0x0101010101010101ull) * 0xFF;
    return _pext_u64(0x0706050403020100ull, bytes);
}

AVX2 uint64_t gather_bytes(uint64_t codes8, uint64_t positions) {
    const __m128i x = _mm_shuffle_epi8(_mm_cvtsi64_si128(static_cast<long long>(codes8)),
                                       _mm_cvtsi64_si128(static_cast<long long>(positions)));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(x));
}

AVX2 void avx2_partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
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

AVX2 uint64_t avx2_mark_le_small(const uint8_t* column, uint8_t shift, uint8_t t) {
    return avx2_mark64(column, shift, t);
}

AVX2 void avx2_count_small(const uint8_t* column, uint64_t rows, const uint64_t* class_rows, int k, uint8_t shift,
                           uint8_t t, uint32_t* counts) {
    const uint64_t marked = avx2_mark64(column, shift, t) & rows;
    for (int c = 0; c < k; ++c) counts[c] = static_cast<uint32_t>(_mm_popcnt_u64(marked & class_rows[c]));
}

AVX2 void avx2_count_small_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                           uint64_t rows, const uint64_t* class_rows, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t marked = avx2_mark64(base + features[i] * stride, 0, t[i]) & rows;
        for (int c = 0; c < k; ++c)
            counts[static_cast<size_t>(c) * capacity + i] = static_cast<double>(_mm_popcnt_u64(marked & class_rows[c]));
    }
}

AVX2 uint32_t avx2_part_bits(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* rows, uint64_t* left) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i += 64) {
        const uint64_t word = rows[i / 64], lefts = word & avx2_mark64(column + i, shift, t);
        left[i / 64] = lefts;
        rows[i / 64] = word & ~lefts;
        count += static_cast<uint64_t>(_mm_popcnt_u64(lefts));
    }
    return static_cast<uint32_t>(count);
}

AVX2 __m256i avx2_below4(const double* numbers, __m256d x) {
    return _mm256_castpd_si256(_mm256_cmp_pd(_mm256_loadu_pd(numbers), x, _CMP_LT_OQ));
}

AVX2 uint32_t avx2_below(const double* numbers, double x) {
    const __m256d value = _mm256_set1_pd(x);
    const __m256i a = _mm256_packs_epi32(avx2_below4(numbers, value), avx2_below4(numbers + 4, value));
    const __m256i b = _mm256_packs_epi32(avx2_below4(numbers + 8, value), avx2_below4(numbers + 12, value));
    const int bytes = _mm256_movemask_epi8(_mm256_packs_epi16(a, b));  // two of each
    return static_cast<uint32_t>(_mm_popcnt_u32(static_cast<uint32_t>(bytes))) / 2;
}

AVX2 void avx2_count_below(const double* numbers, bool is_wide, const double* x, size_t n, uint8_t* codes) {
    const double* runs = numbers + (is_wide ? kSearchWidth : 0);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t run = is_wide ? kSearchWidth * avx2_below(numbers, x[i]) : 0;
        const uint32_t found = run + avx2_below(runs + run, x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

AVX2 uint32_t avx2_below(const float* numbers, float x) {
    const __m256 value = _mm256_set1_ps(x);
    const auto low = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(numbers), value, _CMP_LT_OQ)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(numbers + 8), value, _CMP_LT_OQ)));
    return static_cast<uint32_t>(_mm_popcnt_u32(low | high << 8));
}

AVX2 void avx2_count_below_float(const float* numbers, bool is_wide, const float* x, size_t n, uint8_t* codes) {
    const float* runs = numbers + (is_wide ? kSearchWidth : 0);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t run = is_wide ? kSearchWidth * avx2_below(numbers, x[i]) : 0;
        const uint32_t found = run + avx2_below(runs + run, x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

AVX2 void avx2_advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
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

template <size_t kTogether, int K>
AVX2 void avx2_bisect_some(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds,
                             const SmallClasses<K>& classes, int nothing, double* below, double* left_above, double* right_below) {
    SmallBisection each[kTogether];
    const uint8_t* columns[kTogether];
    for (size_t j = 0; j < kTogether; ++j) {
        each[j] = {-1, nothing, nothing};
        columns[j] = base + features[j] * stride;
    }
    int step = 1;
    while (2 * step <= n_thresholds[0]) step *= 2;
    for (; step >= 1; step /= 2)
        for (size_t j = 0; j < kTogether; ++j) {
            const auto pairs = classes.split(avx2_mark64(columns[j], 0, static_cast<uint8_t>(each[j].below + step)));
            each[j].advance(pairs.left, pairs.right, step);
        }
    for (size_t j = 0; j < kTogether; ++j) {
        below[j] = each[j].below;
        left_above[j] = each[j].left_above;
        right_below[j] = each[j].right_below;
    }
}

template <int K>
AVX2 void avx2_bisect_all(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds, size_t n,
                            const SmallClasses<K>& classes, double* below, double* left_above, double* right_below) {
    const int nothing = classes.split(0).right;
    size_t i = 0;
    for (; i + kBisectedTogether <= n; i += kBisectedTogether)
        avx2_bisect_some<kBisectedTogether>(base, stride, features + i, n_thresholds + i, classes, nothing, below + i, left_above + i, right_below + i);
    for (; i < n; ++i)
        avx2_bisect_some<1>(base, stride, features + i, n_thresholds + i, classes, nothing, below + i, left_above + i, right_below + i);
}

AVX2 void avx2_bisect_small_pairs(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds, size_t n,
                                    uint64_t rows, const uint64_t* class_rows, int k, double* below, double* left_above, double* right_below) {
    uint64_t own[kSmallNode + 1];
    int sizes[kSmallNode + 1], n_present = 0;
    for (int c = 0; c < k; ++c) {
        own[n_present] = rows & class_rows[c];
        sizes[n_present] = static_cast<int>(_mm_popcnt_u64(own[n_present]));
        n_present += sizes[n_present] > 0;  // so that 64 are enough
    }
    if (n_present == 2)
        avx2_bisect_all<2>(base, stride, features, n_thresholds, n, {own, sizes, 2}, below, left_above, right_below);
    else
        avx2_bisect_all<0>(base, stride, features, n_thresholds, n, {own, sizes, n_present}, below, left_above, right_below);
}

AVX2 void avx2_range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest) {
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

AVX2 void avx2_list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) {
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t word = bits[w]; word; word = _blsr_u64(word)) *places++ = static_cast<uint16_t>(64 * w + _tzcnt_u64(word));
}

// ---------------------------------------------------------------- AVX-512

alignas(32) constexpr uint8_t kFirstNumbers[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

AVX512 uint64_t avx512_mark64(const uint8_t* column, uint8_t shift, uint8_t t) {
    const __m512i x = _mm512_add_epi8(_mm512_loadu_si512(column), _mm512_set1_epi8(static_cast<char>(shift)));
    return _mm512_cmple_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(t)));
}

AVX512 uint32_t avx512_count(const uint8_t* column, size_t n, uint8_t shift, uint8_t t) {
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

AVX512 void avx512_count_by_class(const uint8_t* column, const uint32_t* ends, int k, uint8_t shift, uint8_t t,
                                  uint32_t* counts) {
    for (int c = 0; c < k; ++c) {
        const uint32_t begin = c ? ends[c - 1] : 0;
        counts[c] = avx512_count(column + begin, ends[c] - begin, shift, t);
    }
}

AVX512 void avx512_count_by_class_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                              const uint32_t* ends, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint8_t* column = base + features[i] * stride;
        for (int c = 0; c < k; ++c) {
            const uint32_t begin = c ? ends[c - 1] : 0;
            counts[static_cast<size_t>(c) * capacity + i] = avx512_count(column + begin, ends[c] - begin, 0, t[i]);
        }
    }
}

AVX512 void avx512_mark_le(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* bits) {
    for (size_t i = 0; i < n; i += 64) bits[i / 64] = avx512_mark64(column + i, shift, t) & first_bits(n - i);
}

// Compressing in a register and storing 64 bytes is much faster than the compress instruction that writes to memory.
AVX512 void avx512_partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
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

AVX512 uint64_t avx512_mark_le_small(const uint8_t* column, uint8_t shift, uint8_t t) {
    return avx512_mark64(column, shift, t);
}

AVX512 void avx512_count_small(const uint8_t* column, uint64_t rows, const uint64_t* class_rows, int k, uint8_t shift,
                               uint8_t t, uint32_t* counts) {
    const uint64_t marked = avx512_mark64(column, shift, t) & rows;
    for (int c = 0; c < k; ++c) counts[c] = static_cast<uint32_t>(_mm_popcnt_u64(marked & class_rows[c]));
}

AVX512 void avx512_count_small_many(const uint8_t* base, size_t stride, const uint32_t* features, const uint8_t* t, size_t n,
                           uint64_t rows, const uint64_t* class_rows, int k, double* counts, size_t capacity) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t marked = avx512_mark64(base + features[i] * stride, 0, t[i]) & rows;
        for (int c = 0; c < k; ++c)
            counts[static_cast<size_t>(c) * capacity + i] = static_cast<double>(_mm_popcnt_u64(marked & class_rows[c]));
    }
}

AVX512 uint32_t avx512_part_bits(const uint8_t* column, size_t n, uint8_t shift, uint8_t t, uint64_t* rows, uint64_t* left) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i += 64) {
        const uint64_t word = rows[i / 64], lefts = word & avx512_mark64(column + i, shift, t);
        left[i / 64] = lefts;
        rows[i / 64] = word & ~lefts;
        count += static_cast<uint64_t>(_mm_popcnt_u64(lefts));
    }
    return static_cast<uint32_t>(count);
}

AVX512 void avx512_list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) {
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
AVX512 void avx512_take_in_order(const uint8_t* from, const uint32_t* places, const uint8_t* offsets, size_t n, uint8_t* to) {
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

AVX512 uint32_t avx512_below(const double* numbers, double x) {
    const __m512d value = _mm512_set1_pd(x);
    const uint32_t low = _mm512_cmp_pd_mask(_mm512_loadu_pd(numbers), value, _CMP_LT_OQ);
    const uint32_t high = _mm512_cmp_pd_mask(_mm512_loadu_pd(numbers + 8), value, _CMP_LT_OQ);
    return static_cast<uint32_t>(_mm_popcnt_u32(low | high << 8));
}

AVX512 void avx512_count_below(const double* numbers, bool is_wide, const double* x, size_t n, uint8_t* codes) {
    const double* runs = numbers + (is_wide ? kSearchWidth : 0);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t run = is_wide ? kSearchWidth * avx512_below(numbers, x[i]) : 0;
        const uint32_t found = run + avx512_below(runs + run, x[i]);
        codes[i] = x[i] == x[i] ? static_cast<uint8_t>(found) : kNotANumber;
    }
}

// How many of 16 sorted numbers are below each x, at most 15: four halvings.
AVX512 __m512i avx512_below16(__m512 numbers, __m512 x) {
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
AVX512 void avx512_mark_nan(__mmask16 some, __m512 values, uint8_t* codes) {
    const __mmask16 not_numbers = _mm512_mask_cmp_ps_mask(some, values, values, _CMP_UNORD_Q);
    if (not_numbers) _mm_mask_storeu_epi8(codes, not_numbers, _mm_set1_epi8(static_cast<char>(kNotANumber)));
}

AVX512 void avx512_count_below_16(const float* numbers, const float* x, size_t n, uint8_t* codes) {
    const __m512 all = _mm512_loadu_ps(numbers), last = _mm512_set1_ps(numbers[15]);
    for (size_t i = 0; i < n; i += 16) {
        const auto some = static_cast<__mmask16>(first_bits(n - i));
        const __m512 values = _mm512_maskz_loadu_ps(some, x + i);
        const __m512i found = avx512_below16(all, values);
        const __mmask16 behind = _mm512_cmp_ps_mask(last, values, _CMP_LT_OQ);
        _mm_mask_storeu_epi8(codes + i, some, _mm512_maskz_cvtepi32_epi8(some, _mm512_mask_add_epi32(found, behind, found, _mm512_set1_epi32(1))));
        avx512_mark_nan(some, values, codes + i);
    }
}

AVX512 void avx512_count_below_float(const float* numbers, bool is_wide, const float* x, size_t n, uint8_t* codes) {
    if (!is_wide) return avx512_count_below_16(numbers, x, n, codes);
    const __m512 ends = _mm512_loadu_ps(numbers);
    const float* runs = numbers + kSearchWidth;
    alignas(64) uint32_t run[64];
    for (size_t begin = 0; begin < n; begin += 64) {
        const size_t end = std::min(n, begin + 64);
        for (size_t i = begin; i < end; i += 16) {
            const __m512 values = _mm512_maskz_loadu_ps(static_cast<__mmask16>(first_bits(end - i)), x + i);
            _mm512_store_si512(run + (i - begin), _mm512_maskz_slli_epi32(0xFFFF, avx512_below16(ends, values), 4));
        }
        for (size_t i = begin; i < end; ++i) {
            const uint32_t first = run[i - begin];
            const __mmask16 below = _mm512_cmp_ps_mask(_mm512_loadu_ps(runs + first), _mm512_set1_ps(x[i]), _CMP_LT_OQ);
            codes[i] = static_cast<uint8_t>(first + static_cast<uint32_t>(_mm_popcnt_u32(_cvtmask16_u32(below))));
        }
        for (size_t i = begin; i < end; i += 16) {
            const auto some = static_cast<__mmask16>(first_bits(end - i));
            avx512_mark_nan(some, _mm512_maskz_loadu_ps(some, x + i), codes + i);
        }
    }
}

AVX512 void avx512_advance_bisections(const double* left_value, const double* right_value, const double* last, size_t n, int step,
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

template <size_t kTogether, int K>
AVX512 void avx512_bisect_some(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds,
                             const SmallClasses<K>& classes, int nothing, double* below, double* left_above, double* right_below) {
    SmallBisection each[kTogether];
    const uint8_t* columns[kTogether];
    for (size_t j = 0; j < kTogether; ++j) {
        each[j] = {-1, nothing, nothing};
        columns[j] = base + features[j] * stride;
    }
    int step = 1;
    while (2 * step <= n_thresholds[0]) step *= 2;
    for (; step >= 1; step /= 2)
        for (size_t j = 0; j < kTogether; ++j) {
            const auto pairs = classes.split(avx512_mark64(columns[j], 0, static_cast<uint8_t>(each[j].below + step)));
            each[j].advance(pairs.left, pairs.right, step);
        }
    for (size_t j = 0; j < kTogether; ++j) {
        below[j] = each[j].below;
        left_above[j] = each[j].left_above;
        right_below[j] = each[j].right_below;
    }
}

template <int K>
AVX512 void avx512_bisect_all(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds, size_t n,
                            const SmallClasses<K>& classes, double* below, double* left_above, double* right_below) {
    const int nothing = classes.split(0).right;
    size_t i = 0;
    for (; i + kBisectedTogether <= n; i += kBisectedTogether)
        avx512_bisect_some<kBisectedTogether>(base, stride, features + i, n_thresholds + i, classes, nothing, below + i, left_above + i, right_below + i);
    for (; i < n; ++i)
        avx512_bisect_some<1>(base, stride, features + i, n_thresholds + i, classes, nothing, below + i, left_above + i, right_below + i);
}

AVX512 void avx512_bisect_small_pairs(const uint8_t* base, size_t stride, const uint32_t* features, const int* n_thresholds, size_t n,
                                    uint64_t rows, const uint64_t* class_rows, int k, double* below, double* left_above, double* right_below) {
    uint64_t own[kSmallNode + 1];
    int sizes[kSmallNode + 1], n_present = 0;
    for (int c = 0; c < k; ++c) {
        own[n_present] = rows & class_rows[c];
        sizes[n_present] = static_cast<int>(_mm_popcnt_u64(own[n_present]));
        n_present += sizes[n_present] > 0;  // so that 64 are enough
    }
    if (n_present == 2)
        avx512_bisect_all<2>(base, stride, features, n_thresholds, n, {own, sizes, 2}, below, left_above, right_below);
    else
        avx512_bisect_all<0>(base, stride, features, n_thresholds, n, {own, sizes, n_present}, below, left_above, right_below);
}

void sse2_list_bits(const uint64_t* bits, size_t n_words, uint16_t* places) { kPortableKernels.list_bits(bits, n_words, places); }

void plain_take_in_order(const uint8_t* from, const uint32_t* places, const uint8_t* offsets, size_t n, uint8_t* to) {
    kPortableKernels.take_in_order(from, places, offsets, n, to);
}

// Byte moves below eight rows and the range of a column are not worth an SSE2 version of their own.
void sse2_partition(uint8_t* column, size_t n, const uint64_t* bits, uint8_t* scratch) {
    kPortableKernels.partition(column, n, bits, scratch);
}
void sse2_range(const uint8_t* column, size_t n, uint8_t shift, uint8_t* least, uint8_t* largest) {
    kPortableKernels.range(column, n, shift, least, largest);
}

}  // namespace

const Kernels kBaselineKernels = {InstructionSet::baseline,         sse2_count_by_class, sse2_mark_le, sse2_partition,
                                  sse2_mark_le_small, sse2_count_small, sse2_count_small_many, sse2_count_by_class_many, sse2_advance_bisections, nullptr, sse2_range, sse2_part_bits, sse2_list_bits, plain_take_in_order, sse2_count_below, sse2_count_below_float};
const Kernels kAvx2Kernels = {InstructionSet::avx2,             avx2_count_by_class, avx2_mark_le, avx2_partition,
                              avx2_mark_le_small, avx2_count_small, avx2_count_small_many, avx2_count_by_class_many, avx2_advance_bisections, avx2_bisect_small_pairs, avx2_range, avx2_part_bits, avx2_list_bits, plain_take_in_order, avx2_count_below, avx2_count_below_float};
const Kernels kAvx512Kernels = {InstructionSet::avx512,           avx512_count_by_class, avx512_mark_le, avx512_partition,
                                avx512_mark_le_small, avx512_count_small, avx512_count_small_many, avx512_count_by_class_many, avx512_advance_bisections, avx512_bisect_small_pairs, avx2_range, avx512_part_bits, avx512_list_bits, avx512_take_in_order, avx512_count_below, avx512_count_below_float};

}  // namespace frugal
#endif
