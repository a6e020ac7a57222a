/* SPDX-License-Identifier: Apache-2.0 */
/* As softmax_f32_c.c, eight neighbours along the axis at once: the same partial sums, the same bits. */
#include "common/float_math.h"
#include "common/share.h"
#include "common/vector_f32_avx2.h"
#include "softmax/softmax.h"

/* The largest of `depth` values, in all lanes; NaN if there is one. */
static inline __m256 largest(const float *x, int32_t depth) {
    const __m256 first = spread(x[0]); /* stands behind the end too */
    __m256 max = first;
    __m256 unordered = _mm256_setzero_ps();
    for (int32_t j = 0; j < depth; j += 8) {
        const __m256 v = load_or(x + j, depth - j, first);
        max = _mm256_max_ps(max, v);
        unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    }
    return spread(_mm256_movemask_ps(unordered) ? NAN : largest_lane(max));
}

/* Keeps the lanes below `count`. */
static inline __m256 keep(__m256 value, int32_t count) {
    return _mm256_and_ps(value, _mm256_castsi256_ps(nnacl_lanes_avx2(count)));
}

NNACL_ALWAYS_INLINE void run(const nnacl_ctx *ctx, const nnacl_softmax_params *p, const void *const in[],
                             void *const out[], const bool is_log) {
    const __m256 beta = _mm256_set1_ps(p->beta);
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)i * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)i * p->depth;
        const __m256 max = largest(x, p->depth);
        __m256 lanes = _mm256_setzero_ps();
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            const __m256 v = _mm256_mul_ps(_mm256_sub_ps(load(x + j, count), max), beta), e = nnacl_exp_avx2(v);
            store(y + j, count, is_log ? v : e);
            lanes = _mm256_add_ps(lanes, keep(e, count));
        }
        const float sum = sum_of_lanes(lanes);
        const __m256 all = _mm256_set1_ps(is_log ? nnacl_logf(sum) : 1.0f / sum);
        for (int32_t j = 0; j < p->depth; j += 8) {
            const int32_t count = p->depth - j;
            const __m256 v = load(y + j, count);
            store(y + j, count, is_log ? _mm256_sub_ps(v, all) : _mm256_mul_ps(v, all));
        }
    }
}

NNACL_DECLARE(nnacl_softmax_f32_avx2);
void nnacl_softmax_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    run(ctx, params, in, out, false);
}

NNACL_DECLARE(nnacl_log_softmax_f32_avx2);
void nnacl_log_softmax_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    run(ctx, params, in, out, true);
}
