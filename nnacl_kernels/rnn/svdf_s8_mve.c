/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s8_mve.h"
#include "rnn/svdf_run.h"

NNACL_DECLARE(nnacl_svdf_s8_mve);

static void compute(const nnacl_svdf_params *p, const int8_t *x, const int8_t *weights, int32_t filter, int32_t count,
                    const void *workspace, int32_t *features) {
    (void)workspace;
    for (int32_t i = 0; i < count; i++) {
        int32_t sums[2] = {0, 0};
        nnacl_row_s8_mve(x, weights + (ptrdiff_t)(filter + i) * p->size, p->size, sums);
        features[i] = sums[0] - p->x_zero * sums[1];
    }
}

void nnacl_svdf_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_svdf(ctx, params, in, out, NULL, compute, nnacl_move_s16_mve);
}
