/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_c);

typedef int8_t element;
typedef int16_t weight;
typedef uint32_t total;

#define PRODUCT(x, w) (uint32_t)((x - p->x_zero) * (w))

#include "quant/compressed_places.h"

/* Channel by channel, so that each row of weights is decoded once. */
void nnacl_conv2d_compressed_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_compressed_params *p = params;
    const int8_t *x = in[0];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    const int32_t depth = p->in_c / p->groups;
    const nnacl_compressed weights = {.weights = in[1],
                                      .bits = p->bits,
                                      .depth = p->kernel_h * p->kernel_w * depth,
                                      .offset = p->offset,
                                      .step = p->step};
    const ptrdiff_t image_size = (ptrdiff_t)p->in_h * p->in_w * p->in_c;
    int16_t *decoded = ctx->workspace;
    int8_t *y = out[0];

    const nnacl_range channels = nnacl_share(ctx, p->out_c);
    for (int32_t oc = channels.begin; oc < channels.end; oc++) {
        const int8_t *first = x + oc / (p->out_c / p->groups) * depth;
        nnacl_decode_integers(&weights, oc, decoded);
        for (int32_t row = 0; row < p->batch * p->out_h; row++) {
            const int8_t *image = first + row / p->out_h * image_size;
            const nnacl_window tall =
                nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
            for (int32_t column = 0, count; column < p->out_w; column += count) {
                uint32_t sums[4];
                count = sums_from(p, image, decoded, &tall, column, sums);
                int8_t *to = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c + oc;
                for (int32_t i = 0; i < count; i++) {
                    const uint32_t sum = sums[i] + (bias ? (uint32_t)bias[oc] : 0);
                    to[(ptrdiff_t)i * p->out_c] = (int8_t)nnacl_requant_channel(
                        (int32_t)sum, requant, p->out_c, oc, p->rounding, p->y_zero, p->q_min, p->q_max);
                }
            }
        }
    }
}
