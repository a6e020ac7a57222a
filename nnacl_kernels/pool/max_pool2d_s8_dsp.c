/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/max_words_dsp.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_dsp);

static NNACL_NOINLINE void run(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y, int32_t out_x,
                               void *y) {
    (void)out_y;
    (void)out_x;
    nnacl_max_words_dsp(t, p->channels, (uint32_t)(uint8_t)p->q_min * 0x01010101u,
                        (uint32_t)(uint8_t)p->q_max * 0x01010101u, y, nnacl_max_bytes_dsp);
}

void nnacl_max_pool2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_pool_positions(ctx, params, 1, in[0], out[0], run);
}
