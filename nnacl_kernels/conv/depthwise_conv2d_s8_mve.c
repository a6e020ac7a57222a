/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/depthwise_mve.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_mve);

static void begin(const nnacl_sweep *s, int32_t channel, int32_t channels) {
    nnacl_mve_begin(s, s->taps + (ptrdiff_t)channel * s->multiplier * 9, channels);
}

/* This and run_taps() apart from each other, so that neither has what the other keeps on the stack. */
static NNACL_NOINLINE void run_3x3(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                   const int32_t *packed, int8_t *y, nnacl_range share) {
    nnacl_mve_sweep(ctx, p, x, packed, y, share, begin);
}

static nnacl_taps_groups groups_of(const nnacl_conv2d_params *p) {
    return NNACL_NEEDS_W_ZERO && p->w_zero ? nnacl_taps_s16_mve : nnacl_taps_s8_mve;
}

static void run_group(const nnacl_conv2d_params *p, nnacl_taps *at) {
    nnacl_mve_taps_group(p, at, groups_of(p));
}

static NNACL_NOINLINE void run_taps(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                    const int32_t *packed, int8_t *y, nnacl_range share) {
    const nnacl_taps_walk walk = {.width = 8,
                                  .group_words = NNACL_TAPS_WORDS_MVE,
                                  .ends = 16,
                                  .first = packed + 1,
                                  .all = groups_of(p),
                                  .one = run_group};
    nnacl_walk_taps(ctx, p, x, NNACL_NEEDS_EXACT && packed[0] & NNACL_LINES_MIXED, -NNACL_SHIFT_OF(packed[0]), y, share,
                    &walk);
}

void nnacl_depthwise_conv2d_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t *packed = in[1];
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    if (nnacl_depthwise_has_sweep(p) && !(NNACL_NEEDS_W_ZERO && p->w_zero)) {
        run_3x3(ctx, p, in[0], packed, out[0], share);
    } else {
        run_taps(ctx, p, in[0], packed, out[0], share);
    }
    const int32_t row = p->out_w * p->out_c;
    nnacl_clamp_bytes((int8_t *)out[0] + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min,
                      p->q_max);
}
