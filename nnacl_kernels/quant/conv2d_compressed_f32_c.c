/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "common/window.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_conv2d_compressed_f32_c);

/* The sum of products at one place; `image` is a batch entry from its first channel of the group on. */
static float sum_at(const nnacl_conv2d_compressed_params *p, const float *image, const float *decoded,
                    const nnacl_window *tall, const nnacl_window *wide) {
    const int32_t depth = p->in_c / p->groups;
    float sum = 0.0f;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            const int32_t ix = wide->origin + kx * p->dilation_w;
            const float *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c;
            const float *w = decoded + (ptrdiff_t)(ky * p->kernel_w + kx) * depth;
            for (int32_t i = 0; i < depth; i++) {
                sum += a[i] * w[i];
            }
        }
    }
    return sum;
}

/* The same for four neighbours in a row of outputs, whose windows have all columns in the input; `left` is where the
 * first one begins. */
static void four_sums_at(const nnacl_conv2d_compressed_params *p, const float *image, const float *decoded,
                         const nnacl_window *tall, int32_t left, float sums[4]) {
    const int32_t depth = p->in_c / p->groups, step = p->stride_w * p->in_c;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        const float *w = decoded + (ptrdiff_t)ky * p->kernel_w * depth;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const float *a = image + ((ptrdiff_t)iy * p->in_w + left + kx * p->dilation_w) * p->in_c;
            const float *b = a + step, *c = b + step, *d = c + step;
            for (int32_t i = 0; i < depth; i++) {
                const float weight = *w++;
                s0 += a[i] * weight;
                s1 += b[i] * weight;
                s2 += c[i] * weight;
                s3 += d[i] * weight;
            }
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

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
                                      .step = p->step};
    const ptrdiff_t image_size = (ptrdiff_t)p->in_h * p->in_w * p->in_c;
    float *decoded = ctx->workspace, *y = out[0];
    /* What the windows of four neighbours reach over. */
    const int64_t reach = 3 * (int64_t)p->stride_w + (int64_t)(p->kernel_w - 1) * p->dilation_w + 1;

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
                const int32_t left = column * p->stride_w - p->pad_left;
                float sums[4];
                count = column + 4 <= p->out_w && left >= 0 && left + reach <= p->in_w ? 4 : 1;
                if (count == 4) {
                    four_sums_at(p, image, decoded, &tall, left, sums);
                } else {
                    const nnacl_window wide =
                        nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
                    sums[0] = sum_at(p, image, decoded, &tall, &wide);
                }
                float *to = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c + oc;
                for (int32_t i = 0; i < count; i++) {
                    to[(ptrdiff_t)i * p->out_c] = nnacl_clamp_f32(sums[i] + offset, p->clamp_min, p->clamp_max);
                }
            }
        }
    }
}
