/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_mve.h"
#include "pool/avg_pool_sums_s8.h"

NNACL_DECLARE(nnacl_avg_pool2d_s8_mve);

static inline void run(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y, int32_t out_x, int8_t *y) {
    nnacl_avg_pool_position(p, t, out_y, out_x, y, NNACL_TAP_LANES, nnacl_sum_taps_mve);
}

void nnacl_avg_pool2d_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_pool_walk_s8(ctx, params, in[0], out[0], run);
}
