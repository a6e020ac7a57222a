/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half.h"
#include "common/long_sum.h"
#include "reduce/reduce_walk.h"

NNACL_DECLARE(nnacl_reduce_mean_f16_c);

void nnacl_reduce_mean_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_reduce_params *p = params;
    uint16_t *y = out[0];
    const nnacl_reduce_walk walk = nnacl_reduce_plan_walk(p);
    const nnacl_range share = nnacl_share(ctx, walk.outputs);
    for (int32_t output = share.begin; output < share.end; output++) {
        const uint16_t *x = (const uint16_t *)in[0] + nnacl_reduce_offset(p, &walk, output, 0);
        nnacl_long_sum sum = {0.0f, 0.0f};
        for (int32_t r = 0; r < walk.runs; r++) {
            const uint16_t *run = x + nnacl_reduce_offset(p, &walk, r, 1);
            for (int32_t j = 0; j < walk.length; j++) {
                nnacl_long_sum_add(&sum, nnacl_half_to_float(run[j * walk.step]));
            }
        }
        y[output] = nnacl_float_to_half(nnacl_long_sum_value(&sum) / (float)(walk.runs * walk.length));
    }
}
