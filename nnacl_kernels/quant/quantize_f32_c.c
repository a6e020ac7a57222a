/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "quant/quant.h"
#include "quant/scale_walk.h"

NNACL_DECLARE(nnacl_quantize_f32_c);

static int32_t quantize(float x, float scale, int32_t zero, int32_t low, int32_t high, int32_t rounding) {
    const float scaled = x == x ? x / scale : 0.0f;
    return zero + (rounding == NNACL_ROUND_FLOAT_EVEN ? nnacl_round_even(scaled, low - zero, high - zero)
                                                      : nnacl_round_away(scaled, low - zero, high - zero));
}

/* An element of a whole group of 8, or one past them. */
static int32_t quantize_grouped(float x, float scale, int32_t zero, int32_t low, int32_t high) {
    return zero + nnacl_round_even(x == x ? x * (1.0f / scale) : 0.0f, low - zero, high - zero);
}

static int32_t quantize_single(float x, float scale, int32_t zero, int32_t low, int32_t high) {
    double scaled = x == x ? (double)x / (double)scale : 0.0;
    scaled = scaled > low - zero ? scaled : low - zero;
    scaled = scaled < high - zero ? scaled : high - zero;
    return zero + (int32_t)(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

/* How many elements are in whole groups of 8; -1 where that does not matter. */
static ptrdiff_t grouped_elements(const nnacl_quantize_params *p) {
    const ptrdiff_t count = (ptrdiff_t)p->outer * p->channels * p->inner;
    return p->rounding == NNACL_ROUND_TFLITE_UP_BY_8 ? count / 8 * 8 : -1;
}

/* One run. A zero point outside of the type, which only an input can hold, counts as the nearest inside. */
#define QUANTIZE_RUN(type, low, high)                                                                                  \
    static void quantize_##type(const nnacl_quantize_params *p, const float *x, const float *scales,                   \
                                const int32_t *zeros, type *y, nnacl_scale_run run) {                                  \
        const ptrdiff_t grouped = grouped_elements(p);                                                                 \
        if (run.step == 0) {                                                                                           \
            const float scale = scales ? scales[run.scale] : p->scale;                                                 \
            const int32_t zero = nnacl_clamp_s32(zeros ? zeros[run.scale] : p->zero, low, high);                       \
            for (; run.begin < run.end && run.begin < grouped; run.begin++) {                                          \
                y[run.begin] = (type)quantize_grouped(x[run.begin], scale, zero, low, high);                           \
            }                                                                                                          \
            for (; run.begin < run.end && grouped >= 0; run.begin++) {                                                 \
                y[run.begin] = (type)quantize_single(x[run.begin], scale, zero, low, high);                            \
            }                                                                                                          \
            for (ptrdiff_t i = run.begin; i < run.end; i++) {                                                          \
                y[i] = (type)quantize(x[i], scale, zero, low, high, p->rounding);                                      \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (ptrdiff_t i = run.begin; i < run.end; i++) {                                                              \
            const ptrdiff_t at = run.scale + (i - run.begin);                                                          \
            const int32_t zero = nnacl_clamp_s32(zeros ? zeros[at] : p->zero, low, high);                              \
            y[i] = (type)quantize(x[i], scales ? scales[at] : p->scale, zero, low, high, p->rounding);                 \
        }                                                                                                              \
    }

QUANTIZE_RUN(int8_t, INT8_MIN, INT8_MAX)
QUANTIZE_RUN(uint8_t, 0, UINT8_MAX)
QUANTIZE_RUN(int16_t, INT16_MIN, INT16_MAX)
QUANTIZE_RUN(uint16_t, 0, UINT16_MAX)

void nnacl_quantize_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_quantize_params *p = params;
    const float *x = in[0], *scales = p->has_scales ? in[1] : NULL;
    const int32_t *zeros = p->has_zeros ? in[2] : NULL;
    const nnacl_range runs = nnacl_scale_runs(ctx, p->outer, p->channels);
    for (int32_t i = runs.begin; i < runs.end; i++) {
        const nnacl_scale_run run = nnacl_scale_run_at(ctx, i, p->outer, p->channels, p->inner, p->block);
        switch (p->to) {
        case NNACL_S8:
            quantize_int8_t(p, x, scales, zeros, out[0], run);
            break;
        case NNACL_U8:
            quantize_uint8_t(p, x, scales, zeros, out[0], run);
            break;
        case NNACL_S16:
            quantize_int16_t(p, x, scales, zeros, out[0], run);
            break;
        default:
            quantize_uint16_t(p, x, scales, zeros, out[0], run);
            break;
        }
    }
}
