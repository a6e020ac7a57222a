/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_f32_avx2.h"

#include "common/lanes_avx2.h"
#include "quant/packed_words_avx2.h"

/* How the weights of eight channels follow from their codes. */
typedef struct weights8 {
    nnacl_packed_rows8 rows;
    const float *scales; /* of the first channel */
    __m256i scale_lanes; /* where those of the others are, in elements behind it */
    int32_t stride;      /* bytes of a row */
    int32_t group_bytes; /* bytes of a row that share a scale */
    float offset, step;
} weights8;

/* The integers of eight channels, from code `j` of their words. */
static inline __m256 integers(__m256i words, int32_t bits, int32_t j, __m256 offset, __m256 step) {
    if (bits == 8) {
        return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(words, 24 - 8 * j), 24));
    }
    const __m256i codes = _mm256_and_si256(_mm256_srli_epi32(words, bits * j), _mm256_set1_epi32((1 << bits) - 1));
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(codes), step), offset);
}

/* sums[i] = the products of eight rows and x[i], `count` places with `depth` elements each. */
static inline void multiply(const weights8 *w, int32_t bits, const float *const x[], int32_t depth, int32_t count,
                            __m256 sums[NNACL_PACKED_POSITIONS]) {
    const int32_t codes = 32 / bits;
    const __m256 offset = _mm256_set1_ps(w->offset), step = _mm256_set1_ps(w->step);
    __m256 scale = _mm256_setzero_ps();
    for (int32_t i = 0; i < count; i++) {
        sums[i] = _mm256_setzero_ps();
    }
    int32_t group = 0;
    for (int32_t at = 0, next = 0, first = 0; at < w->stride; at += 4, first += codes) {
        if (at == next) {
            scale = _mm256_i32gather_ps(w->scales + group, w->scale_lanes, 4);
            next += w->group_bytes;
            group++;
        }
        const __m256i words = nnacl_packed_word_avx2(&w->rows, at, w->stride);
        const int32_t left = depth - first;
        if (left >= codes) {
#pragma GCC unroll 32
            for (int32_t j = 0; j < codes; j++) {
                const __m256 weight = _mm256_mul_ps(scale, integers(words, bits, j, offset, step));
                for (int32_t i = 0; i < count; i++) {
                    sums[i] = _mm256_add_ps(sums[i], _mm256_mul_ps(_mm256_set1_ps(x[i][first + j]), weight));
                }
            }
        } else {
            __m256i rest = words;
            for (int32_t j = 0; j < left; j++) {
                const __m256 weight = _mm256_mul_ps(scale, integers(rest, bits, 0, offset, step));
                for (int32_t i = 0; i < count; i++) {
                    sums[i] = _mm256_add_ps(sums[i], _mm256_mul_ps(_mm256_set1_ps(x[i][first + j]), weight));
                }
                rest = _mm256_srli_epi32(rest, bits);
            }
        }
    }
}

/* Eight halves, or numbers of bfloat16. */
static inline __m256 eight_halves(const uint16_t *halves, const bool is_bfloat) {
    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)halves);
    if (!is_bfloat) {
        return _mm256_cvtph_ps(bits);
    }
    const __m256i wide = _mm256_cvtepu16_epi32(bits);
    const __m256i subnormal =
        _mm256_cmpeq_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(0x7f80)), _mm256_setzero_si256());
    const __m256i kept = _mm256_andnot_si256(_mm256_and_si256(subnormal, _mm256_set1_epi32(0x7f)), wide);
    return _mm256_castsi256_ps(_mm256_slli_epi32(kept, 16));
}

/* Halves in panels of eight columns, without scales. */
static inline void multiply_halves(const uint16_t *panel, const float *const x[], int32_t depth, const bool is_bfloat,
                                   __m256 sums[NNACL_PACKED_POSITIONS]) {
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    for (int32_t i = 0; i < depth; i++, panel += NNACL_PACKED_HALVES) {
        const __m256 weights = eight_halves(panel, is_bfloat);
        s0 = _mm256_add_ps(s0, _mm256_mul_ps(_mm256_set1_ps(x[0][i]), weights));
        s1 = _mm256_add_ps(s1, _mm256_mul_ps(_mm256_set1_ps(x[1][i]), weights));
        s2 = _mm256_add_ps(s2, _mm256_mul_ps(_mm256_set1_ps(x[2][i]), weights));
        s3 = _mm256_add_ps(s3, _mm256_mul_ps(_mm256_set1_ps(x[3][i]), weights));
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

_Static_assert(NNACL_PACKED_POSITIONS == 4, "multiply_halves() has four sums");

/* The same with constants that the compiler knows. */
#define MULTIPLY(bits, count) multiply(w, bits, x, depth, count, sums)

static void multiply_codes(const weights8 *w, int32_t bits, const float *const x[], int32_t depth, int32_t count,
                           __m256 sums[NNACL_PACKED_POSITIONS]) {
    if (count == 1) {
        if (bits == 1) {
            MULTIPLY(1, 1);
        } else if (bits == 2) {
            MULTIPLY(2, 1);
        } else if (bits == 4) {
            MULTIPLY(4, 1);
        } else {
            MULTIPLY(8, 1);
        }
    } else if (bits == 1) {
        MULTIPLY(1, NNACL_PACKED_POSITIONS);
    } else if (bits == 2) {
        MULTIPLY(2, NNACL_PACKED_POSITIONS);
    } else if (bits == 4) {
        MULTIPLY(4, NNACL_PACKED_POSITIONS);
    } else {
        MULTIPLY(8, NNACL_PACKED_POSITIONS);
    }
}

/* Where the windows of some positions are: those of 1 x 1 in the input, others are copied. A missing one repeats the
 * first. */
static void find_windows(const nnacl_packed_layer *p, const float *x, int32_t first, int32_t count, int32_t depth,
                         float *copies, const float *windows[NNACL_PACKED_POSITIONS]) {
    const bool plain = depth == p->in_c && p->pad_top == 0 && p->pad_left == 0 && p->out_h == p->in_h &&
                       p->out_w == p->in_w && p->stride_h == 1 && p->stride_w == 1;
    const bool rounds = p->bfloat == NNACL_BFLOAT_PRODUCTS;
    nnacl_packed_place place = nnacl_packed_place_at(p, first);
    for (int32_t i = 0; i < NNACL_PACKED_POSITIONS; i++) {
        const float *pixel = x + (ptrdiff_t)(first + i) * depth;
        float *copy = copies + (ptrdiff_t)i * depth;
        windows[i] = i >= count ? windows[0] : plain && !rounds ? pixel : copy;
        if (i < count && !plain) {
            nnacl_packed_gather(p, x, sizeof(float), place, 0, copy);
            nnacl_packed_next(p, &place);
        }
        if (i < count && rounds) {
            nnacl_round_bfloats(plain ? pixel : copy, depth, copy);
        }
    }
}

void nnacl_packed_f32_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    const float *bias = p->has_bias ? in[2] : NULL, *scales = p->bits == 16 ? NULL : in[3];
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, stride = nnacl_packed_stride(p->bits, depth);
    const int32_t group = p->group > 0 ? p->group : depth, groups = (depth - 1) / group + 1;
    const int32_t positions = p->batch * p->out_h * p->out_w;
    const __m256 low = _mm256_set1_ps(p->clamp_min), high = _mm256_set1_ps(p->clamp_max);
    weights8 w = {.stride = stride,
                  .group_bytes = groups > 1 ? group / 8 * p->bits : stride,
                  .offset = (float)nnacl_packed_offset(p->offset, p->step),
                  .step = (float)nnacl_packed_step(p->step)};

    const nnacl_packed_split split = nnacl_packed_split_avx2(ctx, p);
    for (int32_t block = split.blocks.begin; block < split.blocks.end; block++) {
        const int32_t first = block * NNACL_PACKED_POSITIONS, left = positions - first;
        const int32_t count = left < NNACL_PACKED_POSITIONS ? left : NNACL_PACKED_POSITIONS;
        const float *windows[NNACL_PACKED_POSITIONS];
        find_windows(p, in[0], first, count, depth, ctx->workspace, windows);
        for (int32_t panel = split.panels.begin; panel < split.panels.end; panel++) {
            const int32_t channel = 8 * panel, width = p->out_c - channel < 8 ? p->out_c - channel : 8;
            const __m256i lanes = nnacl_lanes_avx2(width);
            const __m256i last = _mm256_set1_epi32(width - 1), order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            w.rows = nnacl_packed_rows_avx2((const uint8_t *)in[1] + (ptrdiff_t)channel * stride, stride, width);
            w.scales = scales ? scales + (ptrdiff_t)channel * groups : NULL;
            w.scale_lanes = _mm256_mullo_epi32(_mm256_min_epi32(order, last), _mm256_set1_epi32(groups));
            const __m256 added = bias ? _mm256_maskload_ps(bias + channel, lanes) : _mm256_setzero_ps();
            __m256 sums[NNACL_PACKED_POSITIONS];
            const uint16_t *halves = (const uint16_t *)in[1] + (ptrdiff_t)channel * depth;
            if (p->bits == 16 && p->bfloat != NNACL_BFLOAT_NONE) {
                multiply_halves(halves, windows, depth, true, sums);
            } else if (p->bits == 16) {
                multiply_halves(halves, windows, depth, false, sums);
            } else {
                multiply_codes(&w, p->bits, windows, depth, count, sums);
            }
            for (int32_t i = 0; i < count; i++) {
                __m256 value = _mm256_add_ps(sums[i], added);
                value = _mm256_min_ps(high, _mm256_max_ps(low, value)); /* NaN stays */
                _mm256_maskstore_ps(y + (ptrdiff_t)(first + i) * p->out_c + channel, lanes, value);
            }
        }
    }
}
