/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8.h"
#include "rnn/svdf_run.h"

NNACL_DECLARE(nnacl_svdf_s8_c);

static void compute(const nnacl_svdf_params *p, const int8_t *x, const int8_t *weights, int32_t filter, int32_t count,
                    const void *workspace, int32_t *features) {
    (void)workspace;
    for (int32_t i = 0; i < count; i++) {
        features[i] = (int32_t)nnacl_dot_s8(0, x, weights + (ptrdiff_t)(filter + i) * p->size, p->size, p->x_zero, 0);
    }
}

static int32_t move(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        const int16_t value = from[i];
        to[i] = value;
        sum += (uint32_t)(value * weights[i]);
    }
    return (int32_t)sum;
}

void nnacl_svdf_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_svdf(ctx, params, in, out, NULL, compute, move);
}
