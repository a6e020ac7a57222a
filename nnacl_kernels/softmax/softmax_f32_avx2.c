/* SPDX-License-Identifier: Apache-2.0 */
/* As softmax_f32_c.c, eight neighbours along the axis at once: the same partial sums, the same bits. */
#include "common/float_math.h"
#include "common/float_math_avx2.h"
#include "common/lanes_avx2.h"
#include "common/share.h"
#include "softmax/softmax.h"

static inline __m256 load(const float *x, int32_t count) {
    return count >= 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, nnacl_lanes_avx2(count));
}

static inline void store(float *y, __m256 value, int32_t count) {
    if (count >= 8) {
        _mm256_storeu_ps(y, value);
    } else {
        _mm256_maskstore_ps(y, nnacl_lanes_avx2(count), value);
    }
}

/* The largest of `depth` values, in all lanes; NaN if there is one. */
static inline __m256 largest(const float *x, int32_t depth) {
    __m256 max = _mm256_set1_ps(x[0]);
    __m256 unordered = _mm256_setzero_ps();
    for (int32_t j = 0; j < depth; j += 8) {
        /* Lanes behind the end repeat the first value. */
        const __m256 lanes = _mm256_castsi256_ps(nnacl_lanes_avx2(depth - j));
        const __m256 v = _mm256_blendv_ps(_mm256_set1_ps(x[0]), load(x + j, depth - j), lanes);
        max = _mm256_max_ps(max, v);
        unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    }
    max = _mm256_max_ps(max, _mm256_permute2f128_ps(max, max, 1));
    max = _mm256_max_ps(max, _mm256_permute_ps(max, 0x4e));
    max = _mm256_max_ps(max, _mm256_permute_ps(max, 0xb1));
    return _mm256_movemask_ps(unordered) ? _mm256_set1_ps(NAN) : max;
}

/* Lane 0 + 4 and so on, then 0 + 2, then 0 + 1. */
static inline float sum_lanes(__m256 lanes) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* Keeps the lanes below `count`. */
static inline __m256 keep(__m256 value, int32_t count) {
    return _mm256_and_ps(value, _mm256_castsi256_ps(nnacl_lanes_avx2(count)));
}

NNACL_DECLARE(nnacl_softmax_f32_avx2);
void nnacl_softmax_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const __m256 beta = _mm256_set1_ps(p->beta);
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)i * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)i * p->depth;
        const __m256 max = largest(x, p->depth);
        __m256 lanes = _mm256_setzero_ps();
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            const __m256 e = nnacl_exp_avx2(_mm256_mul_ps(_mm256_sub_ps(load(x + j, count), max), beta));
            store(y + j, e, count);
            lanes = _mm256_add_ps(lanes, keep(e, count));
        }
        const __m256 factor = _mm256_set1_ps(1.0f / sum_lanes(lanes));
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            store(y + j, _mm256_mul_ps(load(y + j, count), factor), count);
        }
    }
}

NNACL_DECLARE(nnacl_log_softmax_f32_avx2);
void nnacl_log_softmax_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const __m256 beta = _mm256_set1_ps(p->beta);
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)i * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)i * p->depth;
        const __m256 max = largest(x, p->depth);
        __m256 lanes = _mm256_setzero_ps();
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            const __m256 v = _mm256_mul_ps(_mm256_sub_ps(load(x + j, count), max), beta);
            store(y + j, v, count);
            lanes = _mm256_add_ps(lanes, keep(nnacl_exp_avx2(v), count));
        }
        const __m256 logarithm = _mm256_set1_ps(nnacl_logf(sum_lanes(lanes)));
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            store(y + j, _mm256_sub_ps(load(y + j, count), logarithm), count);
        }
    }
}
