/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_s8_avx2.h"

#include "common/requant_avx2.h"
#include "quant/packed_words_avx2.h"

/* Widens the bytes of a window, less the zero point, into pairs; the sum of all. */
static int32_t widen(const int8_t *bytes, int32_t pairs, int32_t half, int32_t zero, int32_t *to) {
    const __m128i minus = _mm_set1_epi16((int16_t)zero), one = _mm_set1_epi16(1);
    __m128i sums = _mm_setzero_si128();
    for (int32_t block = 0; block < pairs; block += half, bytes += 2 * half) {
        for (int32_t j = 0; j < half; j += 4) {
            int32_t low, high;
            memcpy(&low, bytes + j, sizeof low);
            memcpy(&high, bytes + half + j, sizeof high);
            const __m128i mixed = _mm_unpacklo_epi8(_mm_cvtsi32_si128(low), _mm_cvtsi32_si128(high));
            const __m128i wide = _mm_sub_epi16(_mm_cvtepi8_epi16(mixed), minus);
            sums = _mm_add_epi32(sums, _mm_madd_epi16(wide, one));
            _mm_storeu_si128((__m128i *)(void *)(to + block + j), wide);
        }
    }
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xb1)));
}

/* sums[i] = the products of the codes of eight rows and position i; the positions are `pairs` apart. */
static inline void multiply(const nnacl_packed_rows8 *rows, int32_t stride, int32_t bits, const int32_t *columns,
                            int32_t pairs, int32_t count, __m256i sums[NNACL_PACKED_POSITIONS]) {
    const int32_t half = 16 / bits;
    const __m256i mask = _mm256_set1_epi32(((1 << bits) - 1) * 0x10001);
    for (int32_t i = 0; i < count; i++) {
        sums[i] = _mm256_setzero_si256();
    }
    for (int32_t at = 0; at < stride; at += 4) {
        const __m256i words = nnacl_packed_word_avx2(rows, at, stride);
#pragma GCC unroll 16
        for (int32_t j = 0; j < half; j++) {
            const __m256i codes = _mm256_and_si256(_mm256_srli_epi32(words, bits * j), mask);
            for (int32_t i = 0; i < count; i++) {
                const __m256i x = _mm256_set1_epi32(columns[i * pairs + j]);
                sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(codes, x));
            }
        }
        columns += half;
    }
}

/* The same with constants that the compiler knows. */
static void multiply_codes(const nnacl_packed_rows8 *rows, int32_t stride, int32_t bits, const int32_t *columns,
                           int32_t pairs, int32_t count, __m256i sums[NNACL_PACKED_POSITIONS]) {
    if (count < NNACL_PACKED_POSITIONS) {
        for (int32_t i = 0; i < count; i++) {
            if (bits == 1) {
                multiply(rows, stride, 1, columns + i * pairs, pairs, 1, sums + i);
            } else if (bits == 2) {
                multiply(rows, stride, 2, columns + i * pairs, pairs, 1, sums + i);
            } else {
                multiply(rows, stride, 4, columns + i * pairs, pairs, 1, sums + i);
            }
        }
    } else if (bits == 1) {
        multiply(rows, stride, 1, columns, pairs, NNACL_PACKED_POSITIONS, sums);
    } else if (bits == 2) {
        multiply(rows, stride, 2, columns, pairs, NNACL_PACKED_POSITIONS, sums);
    } else {
        multiply(rows, stride, 4, columns, pairs, NNACL_PACKED_POSITIONS, sums);
    }
}

void nnacl_packed_s8_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], int8_t *y) {
    const uint8_t *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, stride = nnacl_packed_stride(p->bits, depth);
    const int32_t pairs = nnacl_packed_pairs(p->bits, depth), positions = p->batch * p->out_h * p->out_w;
    const __m256i step = _mm256_set1_epi32(nnacl_packed_step(p->step));
    const uint32_t offset = (uint32_t)nnacl_packed_offset(p->offset, p->step);
    const bool is_plain = nnacl_packed_is_plain(p);
    int8_t *window = ctx->workspace;
    int32_t *columns = (int32_t *)ctx->workspace;
    if (!is_plain) {
        memset(window, p->x_zero, (size_t)pairs * 2);
        columns += pairs / 2;
    }

    const nnacl_packed_split split = nnacl_packed_split_avx2(ctx, p);
    for (int32_t block = split.blocks.begin; block < split.blocks.end; block++) {
        const int32_t first = block * NNACL_PACKED_POSITIONS, left = positions - first;
        const int32_t count = left < NNACL_PACKED_POSITIONS ? left : NNACL_PACKED_POSITIONS;
        nnacl_packed_place place = nnacl_packed_place_at(p, first);
        uint32_t starts[NNACL_PACKED_POSITIONS];
        for (int32_t i = 0; i < count; i++) {
            const int8_t *source = nnacl_packed_window(p, in[0], place, is_plain, window);
            starts[i] = offset * (uint32_t)widen(source, pairs, 16 / p->bits, p->x_zero, columns + i * pairs);
            nnacl_packed_next(p, &place);
        }
        for (int32_t panel = split.panels.begin; panel < split.panels.end; panel++) {
            const int32_t channel = 8 * panel, width = p->out_c - channel < 8 ? p->out_c - channel : 8;
            const nnacl_packed_rows8 rows =
                nnacl_packed_rows_avx2(weights + (ptrdiff_t)channel * stride, stride, width);
            const __m256i added = bias ? nnacl_load_s32_avx2(bias + channel, width) : _mm256_setzero_si256();
            __m256i sums[NNACL_PACKED_POSITIONS];
            multiply_codes(&rows, stride, p->bits, columns, pairs, count, sums);
            for (int32_t i = 0; i < count; i++) {
                const __m256i start = _mm256_add_epi32(added, _mm256_set1_epi32((int32_t)starts[i]));
                nnacl_requant_store_avx2(_mm256_add_epi32(_mm256_mullo_epi32(sums[i], step), start), in[3], p->out_c,
                                         channel, width, p->rounding, p->y_zero, p->q_min, p->q_max,
                                         y + (ptrdiff_t)(first + i) * p->out_c + channel);
            }
        }
    }
}
