/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "quant/compressed_places.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_conv2d_compressed_f32_c);

/* Channel by channel, so that each row of weights is decoded once. */
void nnacl_conv2d_compressed_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_compressed_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL;
    const int32_t depth = p->in_c / p->groups;
    const nnacl_compressed weights = {.weights = in[1],
                                      .scales = p->bits == 16 ? NULL : in[3],
                                      .bits = p->bits,
                                      .depth = p->kernel_h * p->kernel_w * depth,
                                      .group = p->group,
                                      .offset = p->offset,
                                      .step = p->step,
                                      .is_bfloat = p->bfloat != NNACL_BFLOAT_NONE};
    const ptrdiff_t image_size = (ptrdiff_t)p->in_h * p->in_w * p->in_c;
    float *decoded = ctx->workspace, *y = out[0];
    if (p->bfloat == NNACL_BFLOAT_PRODUCTS) {
        nnacl_round_bfloats(x, (int32_t)(p->batch * image_size), decoded + weights.depth);
        x = decoded + weights.depth;
    }

    const nnacl_range channels = nnacl_share(ctx, p->out_c);
    for (int32_t oc = channels.begin; oc < channels.end; oc++) {
        const float *first = x + oc / (p->out_c / p->groups) * depth;
        const float offset = bias ? bias[oc] : 0.0f;
        nnacl_decode_weights(&weights, oc, decoded);
        for (int32_t row = 0; row < p->batch * p->out_h; row++) {
            const float *image = first + row / p->out_h * image_size;
            const nnacl_window tall =
                nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
            for (int32_t column = 0, count; column < p->out_w; column += count) {
                float sums[4];
                count = sums_from(p, image, decoded, &tall, column, sums);
                float *to = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c + oc;
                for (int32_t i = 0; i < count; i++) {
                    to[(ptrdiff_t)i * p->out_c] = nnacl_clamp_f32(sums[i] + offset, p->clamp_min, p->clamp_max);
                }
            }
        }
    }
}
