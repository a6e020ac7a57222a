/* SPDX-License-Identifier: Apache-2.0 */
#include "image/resize_blend_s8.h"

NNACL_DECLARE(nnacl_resize_s8_dsp);

static NNACL_NOINLINE void run(const nnacl_blend_s8 *blend, int32_t count, int8_t *y) {
    const int8_t *a = blend->x[0], *b = blend->x[1], *c = blend->x[2], *d = blend->x[3];
    const int32_t of_a = blend->weight[0], of_b = blend->weight[1], of_c = blend->weight[2], of_d = blend->weight[3];
    const int32_t bits = blend->bits, half = 1 << (bits - 1);
    for (int32_t i = 0; i < count; i++) {
        const int32_t sum = a[i] * of_a + b[i] * of_b + c[i] * of_c + d[i] * of_d;
        y[i] = (int8_t)((sum + (sum >> 31) + half) >> bits);
    }
}

void nnacl_resize_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_resize_blend_s8(ctx, params, in[0], out[0], run);
}
