/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/quant.h"
#include "quant/scale_walk.h"

NNACL_DECLARE(nnacl_dequantize_c);

/* Differences modulo 2^32, which narrow numbers and a zero point of their type do not reach. */
#define NARROW(x, zero) (int32_t)((uint32_t)(x) - (uint32_t)(zero))
/* The difference of two int32 needs 33 bits. */
#define WIDE(x, zero) ((int64_t)(x) - (zero))

/* One run. */
#define DEQUANTIZE_RUN(type, DIFFERENCE)                                                                               \
    static void dequantize_##type(const nnacl_dequantize_params *p, const type *x, const float *scales,                \
                                  const int32_t *zeros, float *y, nnacl_scale_run run) {                               \
        if (run.step == 0) {                                                                                           \
            const float scale = scales ? scales[run.scale] : p->scale;                                                 \
            const int32_t zero = zeros ? zeros[run.scale] : p->zero;                                                   \
            for (ptrdiff_t i = run.begin; i < run.end; i++) {                                                          \
                y[i] = scale * (float)DIFFERENCE(x[i], zero);                                                          \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (ptrdiff_t i = run.begin; i < run.end; i++) {                                                              \
            const ptrdiff_t at = run.scale + (i - run.begin);                                                          \
            const int32_t zero = zeros ? zeros[at] : p->zero;                                                          \
            y[i] = (scales ? scales[at] : p->scale) * (float)DIFFERENCE(x[i], zero);                                   \
        }                                                                                                              \
    }

DEQUANTIZE_RUN(int8_t, NARROW)
DEQUANTIZE_RUN(uint8_t, NARROW)
DEQUANTIZE_RUN(int16_t, NARROW)
DEQUANTIZE_RUN(uint16_t, NARROW)
DEQUANTIZE_RUN(int32_t, WIDE)

void nnacl_dequantize_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dequantize_params *p = params;
    const float *scales = p->has_scales ? in[1] : NULL;
    const int32_t *zeros = p->has_zeros ? in[2] : NULL;
    const nnacl_range runs = nnacl_scale_runs(ctx, p->outer, p->channels);
    for (int32_t i = runs.begin; i < runs.end; i++) {
        const nnacl_scale_run run = nnacl_scale_run_at(ctx, i, p->outer, p->channels, p->inner, p->block);
        switch (p->from) {
        case NNACL_S8:
            dequantize_int8_t(p, in[0], scales, zeros, out[0], run);
            break;
        case NNACL_U8:
            dequantize_uint8_t(p, in[0], scales, zeros, out[0], run);
            break;
        case NNACL_S16:
            dequantize_int16_t(p, in[0], scales, zeros, out[0], run);
            break;
        case NNACL_U16:
            dequantize_uint16_t(p, in[0], scales, zeros, out[0], run);
            break;
        default:
            dequantize_int32_t(p, in[0], scales, zeros, out[0], run);
            break;
        }
    }
}
