/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "common/window.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_c);

/* The sum of products at one place; `image` is a batch entry from its first channel of the group on. */
static uint32_t sum_at(const nnacl_conv2d_compressed_params *p, const int8_t *image, const int16_t *decoded,
                       const nnacl_window *tall, const nnacl_window *wide) {
    const int32_t depth = p->in_c / p->groups;
    uint32_t sum = 0;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            const int32_t ix = wide->origin + kx * p->dilation_w;
            const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c;
            const int16_t *w = decoded + (ptrdiff_t)(ky * p->kernel_w + kx) * depth;
            for (int32_t i = 0; i < depth; i++) {
                sum += (uint32_t)((a[i] - p->x_zero) * w[i]);
            }
        }
    }
    return sum;
}

/* The same for four neighbours in a row of outputs, whose windows have all columns in the input; `left` is where the
 * first one begins. */
static void four_sums_at(const nnacl_conv2d_compressed_params *p, const int8_t *image, const int16_t *decoded,
                         const nnacl_window *tall, int32_t left, uint32_t sums[4]) {
    const int32_t depth = p->in_c / p->groups, step = p->stride_w * p->in_c, zero = p->x_zero;
    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        const int16_t *w = decoded + (ptrdiff_t)ky * p->kernel_w * depth;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + left + kx * p->dilation_w) * p->in_c;
            const int8_t *b = a + step, *c = b + step, *d = c + step;
            for (int32_t i = 0; i < depth; i++) {
                const int32_t weight = *w++;
                s0 += (uint32_t)((a[i] - zero) * weight);
                s1 += (uint32_t)((b[i] - zero) * weight);
                s2 += (uint32_t)((c[i] - zero) * weight);
                s3 += (uint32_t)((d[i] - zero) * weight);
            }
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

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
    /* What the windows of four neighbours reach over. */
    const int64_t reach = 3 * (int64_t)p->stride_w + (int64_t)(p->kernel_w - 1) * p->dilation_w + 1;

    const nnacl_range channels = nnacl_share(ctx, p->out_c);
    for (int32_t oc = channels.begin; oc < channels.end; oc++) {
        const int8_t *first = x + oc / (p->out_c / p->groups) * depth;
        nnacl_decode_integers(&weights, oc, decoded);
        for (int32_t row = 0; row < p->batch * p->out_h; row++) {
            const int8_t *image = first + row / p->out_h * image_size;
            const nnacl_window tall =
                nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
            for (int32_t column = 0, count; column < p->out_w; column += count) {
                const int32_t left = column * p->stride_w - p->pad_left;
                uint32_t sums[4];
                count = column + 4 <= p->out_w && left >= 0 && left + reach <= p->in_w ? 4 : 1;
                if (count == 4) {
                    four_sums_at(p, image, decoded, &tall, left, sums);
                } else {
                    const nnacl_window wide =
                        nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
                    sums[0] = sum_at(p, image, decoded, &tall, &wide);
                }
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
