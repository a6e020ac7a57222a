/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/max_taps_mve.h"

NNACL_DECLARE(nnacl_max_pool2d_s16_mve);

void nnacl_max_taps_s16_mve(nnacl_max_taps *w);

__asm__(NNACL_MAX_TAPS("nnacl_max_taps_s16_mve", "16", "h", "8"));

void nnacl_max_pool2d_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_limit_mve least = {.integer = p->q_min}, most = {.integer = p->q_max};
    nnacl_max_windows(ctx, p, in[0], out[0], sizeof(int16_t), least, most, nnacl_max_taps_s16_mve);
}
