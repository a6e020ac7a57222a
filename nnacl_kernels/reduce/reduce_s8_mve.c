/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_sums_mve.h"
#include "common/tap_sums_mve.h"
#include "reduce/reduce_columns.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_mve);
NNACL_DECLARE(nnacl_reduce_sum_s8_mve);

static inline void end(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count, void *y) {
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_TFLITE_DOWN)) {
        nnacl_reduce_end_s8(p, sums, lanes, count, y);
        return;
    }
    for (int32_t i = 0; i < lanes; i++) {
        sums[i] -= count * p->x_zero;
    }
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        nnacl_scale_sums_mve(sums, lanes, p->scale, p->y_zero, p->q_min, p->q_max, y);
    } else {
        nnacl_requant_sums_mve(sums, lanes, p->mult, p->shift, p->rounding, p->y_zero, p->q_min, p->q_max, y);
    }
}

void nnacl_reduce_mean_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_columns(ctx, params, 1, in[0], out[0], NNACL_TAP_LANES, nnacl_sum_taps_mve, end);
}

void nnacl_reduce_sum_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_mean_s8_mve(ctx, params, in, out);
}
