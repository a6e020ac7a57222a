/* SPDX-License-Identifier: Apache-2.0 */
/* Along the last axis, with results of s8. */
#include <string.h>

#include "common/lanes_dsp.h"
#include "common/share.h"
#include "softmax/softmax_s8.h"

NNACL_DECLARE(nnacl_softmax_s8_dsp);

/* The largest of count (at least 1) elements; the last four overlap those before them. */
static int32_t largest(const int8_t *x, int32_t count) {
    int32_t max = x[0];
    if (count < 4) {
        for (int32_t j = 1; j < count; j++) {
            max = x[j] > max ? x[j] : max;
        }
        return max;
    }
    uint32_t most, word;
    memcpy(&most, x + count - 4, sizeof most);
    for (const int8_t *end = x + count - 4; x < end; x += 4) {
        memcpy(&word, x, sizeof word);
        most = nnacl_max_bytes_dsp(most, word);
    }
    most = nnacl_max_bytes_dsp(most, most >> 16 | most << 16);
    most = nnacl_max_bytes_dsp(most, most >> 8 | most << 24);
    return (int8_t)(most & 0xffu);
}

/* A place where plain tables are read with elements of x, packed ones with the steps below the maximum. */
static inline float exponential(const float *table, const float *place, int32_t max, int32_t x) {
    if (NNACL_NEEDS_PACKED_EXP || NNACL_NEEDS_EXP_POWERS) {
        return nnacl_softmax_s8_exp(table, max - x);
    }
    return place[x];
}

#ifdef __ARM_FP
static inline int8_t finish(float scaled, bool is_even, int32_t zero, int32_t rest) {
    if (is_even) {
        return (int8_t)__ssat(__qadd(nnacl_nearest_dsp(scaled), zero), 8);
    }
    return (int8_t)__ssat(__qadd(nnacl_twice_dsp(scaled), rest) >> 1, 8);
}
#endif

void nnacl_softmax_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int32_t depth = p->depth;
    const float *table = in[1];
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t row = share.begin; row < share.end && depth > 0; row++) {
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)row * depth;
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * depth;
        const int32_t max = largest(x, depth);
        const float *place = table + 255 - max;
        float sum = 0.0f;
        for (int32_t j = 0; j < depth; j++) {
            sum += exponential(table, place, max, x[j]);
        }
        const float factor = nnacl_softmax_s8_factor(p, sum);
#ifdef __ARM_FP
        const bool is_even = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN);
        const float scale = p->y_scale;
        const int32_t zero = p->y_zero, rest = 2 * zero + 1;
        for (int32_t j = 0; j < depth; j++) {
            const float scaled = exponential(table, place, max, x[j]) * factor;
            y[j] = finish(is_even ? scaled / scale : scaled, is_even, zero, rest);
        }
#else
        for (int32_t j = 0; j < depth; j++) {
            y[j] = nnacl_softmax_s8_finish(p, exponential(table, place, max, x[j]), factor);
        }
#endif
    }
}
