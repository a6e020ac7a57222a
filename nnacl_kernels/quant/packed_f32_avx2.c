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

/* Eight halves, or numbers of bfloat16 that are not subnormal. */
static inline __m256 eight_halves(const uint16_t *halves, const bool is_bfloat) {
    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)halves);
    return is_bfloat ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)) : _mm256_cvtph_ps(bits);
}

/* Halves in one panel of eight columns, or two, without scales. `fused`: f32 holds every product, so that one rounding
 * is as good as two. */
NNACL_ALWAYS_INLINE void multiply_panels(const uint16_t *panel, const float *const x[], int32_t depth,
                                         const bool is_bfloat, const bool fused, const int32_t panels,
                                         __m256 sums[2][NNACL_PACKED_POSITIONS]) {
    const ptrdiff_t step = (ptrdiff_t)depth * NNACL_PACKED_HALVES;
    __m256 s[2][NNACL_PACKED_POSITIONS];
#pragma GCC unroll 4
    for (int32_t r = 0; r < NNACL_PACKED_POSITIONS; r++) {
        s[0][r] = s[1][r] = _mm256_setzero_ps();
    }
    for (int32_t i = 0; i < depth; i++, panel += NNACL_PACKED_HALVES) {
        const __m256 left = eight_halves(panel, is_bfloat);
        const __m256 right = panels == 2 ? eight_halves(panel + step, is_bfloat) : left;
#pragma GCC unroll 4
        for (int32_t r = 0; r < NNACL_PACKED_POSITIONS; r++) {
            const __m256 factor = _mm256_set1_ps(x[r][i]);
            if (fused) {
                s[0][r] = _mm256_fmadd_ps(factor, left, s[0][r]);
                s[1][r] = panels == 2 ? _mm256_fmadd_ps(factor, right, s[1][r]) : s[1][r];
            } else {
                s[0][r] = _mm256_add_ps(s[0][r], _mm256_mul_ps(factor, left));
                s[1][r] = panels == 2 ? _mm256_add_ps(s[1][r], _mm256_mul_ps(factor, right)) : s[1][r];
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < NNACL_PACKED_POSITIONS; r++) {
        sums[0][r] = s[0][r];
        sums[1][r] = s[1][r];
    }
}

/* The same with constants that the compiler knows. */
#define MULTIPLY_PANELS(is_bfloat, fused)                                                                              \
    do {                                                                                                               \
        if (panels == 2) {                                                                                             \
            multiply_panels(panel, x, depth, is_bfloat, fused, 2, sums);                                               \
        } else {                                                                                                       \
            multiply_panels(panel, x, depth, is_bfloat, fused, 1, sums);                                               \
        }                                                                                                              \
    } while (0)

static void multiply_halves(int32_t bfloat, const uint16_t *panel, const float *const x[], int32_t depth,
                            int32_t panels, __m256 sums[2][NNACL_PACKED_POSITIONS]) {
    if (bfloat == NNACL_BFLOAT_PRODUCTS) {
        MULTIPLY_PANELS(true, true);
    } else if (bfloat == NNACL_BFLOAT_WEIGHTS) {
        MULTIPLY_PANELS(true, false);
    } else {
        MULTIPLY_PANELS(false, false);
    }
}

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

/* Bias and clamp of eight channels at `count` places, the first of them at `y`. */
static void finish(const nnacl_packed_layer *p, const __m256 *sums, int32_t count, const float *bias, int32_t channel,
                   float *y) {
    const __m256 low = _mm256_set1_ps(p->clamp_min), high = _mm256_set1_ps(p->clamp_max);
    const __m256i lanes = nnacl_lanes_avx2(p->out_c - channel);
    const __m256 added = bias ? _mm256_maskload_ps(bias + channel, lanes) : _mm256_setzero_ps();
    for (int32_t i = 0; i < count; i++) {
        __m256 value = _mm256_add_ps(sums[i], added);
        value = _mm256_min_ps(high, _mm256_max_ps(low, value)); /* NaN stays */
        _mm256_maskstore_ps(y + (ptrdiff_t)i * p->out_c + channel, lanes, value);
    }
}

void nnacl_packed_f32_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    const float *bias = p->has_bias ? in[2] : NULL, *scales = p->bits == 16 ? NULL : in[3];
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, stride = nnacl_packed_stride(p->bits, depth);
    const int32_t group = p->group > 0 ? p->group : depth, groups = (depth - 1) / group + 1;
    const int32_t positions = p->batch * p->out_h * p->out_w;
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
        for (int32_t panel = split.panels.begin, panels; panel < split.panels.end; panel += panels) {
            const int32_t channel = 8 * panel, width = p->out_c - channel < 8 ? p->out_c - channel : 8;
            const __m256i last = _mm256_set1_epi32(width - 1), order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            __m256 sums[2][NNACL_PACKED_POSITIONS];
            panels = p->bits == 16 && panel + 1 < split.panels.end ? 2 : 1;
            if (p->bits == 16) {
                const uint16_t *halves = (const uint16_t *)in[1] + (ptrdiff_t)channel * depth;
                multiply_halves(p->bfloat, halves, windows, depth, panels, sums);
            } else {
                w.rows = nnacl_packed_rows_avx2((const uint8_t *)in[1] + (ptrdiff_t)channel * stride, stride, width);
                w.scales = scales + (ptrdiff_t)channel * groups;
                w.scale_lanes = _mm256_mullo_epi32(_mm256_min_epi32(order, last), _mm256_set1_epi32(groups));
                multiply_codes(&w, p->bits, windows, depth, count, sums[0]);
            }
            for (int32_t j = 0; j < panels; j++) {
                finish(p, sums[j], count, bias, channel + 8 * j, y + (ptrdiff_t)first * p->out_c);
            }
        }
    }
}
