/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lanes_dsp.h"
#include "common/tap_sums_dsp.h"
#include "reduce/reduce_columns.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_dsp);
NNACL_DECLARE(nnacl_reduce_sum_s8_dsp);

static NNACL_NOINLINE void end_even(const nnacl_reduce_params *p, const int32_t *sums, int32_t lanes, int32_t count,
                                    int8_t *y) {
    for (int32_t i = 0; i < lanes; i++) {
        const int32_t value = sums[i] - count * p->x_zero;
        y[i] = (int8_t)nnacl_requant_float_dsp(value, p->scale, p->y_zero, p->q_min, p->q_max);
    }
}

static inline void end(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count, void *y) {
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        end_even(p, sums, lanes, count, y);
    } else {
        nnacl_reduce_end_s8(p, sums, lanes, count, y);
    }
}

void nnacl_reduce_mean_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_columns(ctx, params, 1, in[0], out[0], NNACL_TAP_LANES_DSP, nnacl_sum_taps_dsp, end);
}

void nnacl_reduce_sum_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_mean_s8_dsp(ctx, params, in, out);
}
