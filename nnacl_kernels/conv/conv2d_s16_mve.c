/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"
#include "common/multiply_s16_mve.h"
#include "common/share.h"
#include "conv/window_s16.h"

NNACL_DECLARE(nnacl_conv2d_s16_mve);

/* All channels of one or two positions. `m` has everything but weights. */
static void run(const nnacl_conv2d_params *p, nnacl_multiply_s16_mve *m, const nnacl_ends_s16 *ends,
                const int8_t *weights, int32_t count, int16_t *y) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, channels = p->out_c;
    int64_t *const sums = m->sums;
    for (int32_t next = 0; next < channels; next += 2) {
        const int32_t a = next + 1 < channels || next == 0 ? next : next - 1, pair = channels > 1 ? 2 : 1;
        m->weights = weights + (ptrdiff_t)a * depth;
        m->channel_step = (pair - 1) * depth;
        sums[0] = sums[2] = nnacl_bias_s16_dsp(ends, a);
        sums[1] = sums[3] = nnacl_bias_s16_dsp(ends, a + pair - 1);
        nnacl_multiply2x2_s16_mve(m);
        for (int32_t i = 0; i < pair; i++) {
            const int32_t factor = nnacl_factor_s16_dsp(ends, a + i);
            for (int32_t position = 0; position < count; position++) {
                y[position * channels + a + i] = nnacl_finish_s16_dsp(ends, factor, sums[2 * position + i], a + i);
            }
        }
    }
}

void nnacl_conv2d_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_ends_s16 ends = {in[2], in[3], p->has_bias, p->out_c, p->rounding, p->y_zero, p->q_min, p->q_max};
    const int32_t row_size = p->kernel_w * p->in_c, depth = p->kernel_h * row_size;
    int16_t *const copies = ctx->workspace;
    int64_t sums[4];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = (const int16_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const bool inside = p->dilation_w == 1 && tall.end - tall.begin == p->kernel_h;
        for (int32_t column = 0, count; column < p->out_w; column += count) {
            count = column + 1 < p->out_w ? 2 : 1;
            const int32_t left = column * p->stride_w - p->pad_left, span = (count - 1) * p->stride_w + p->kernel_w;
            nnacl_multiply_s16_mve m = {.sums = sums};
            if (inside && left >= 0 && left + span <= p->in_w) {
                m.x = image + ((ptrdiff_t)tall.origin * p->in_w + left) * p->in_c;
                m.second = m.x + (count - 1) * p->stride_w * p->in_c;
                m.length = row_size;
                m.runs = p->kernel_h;
                m.row_step = p->dilation_h * p->in_w * p->in_c * 2;
            } else {
                for (int32_t i = 0; i < count; i++) {
                    nnacl_copy_window_s16(p, image, tall, column + i, row_size, copies + i * depth);
                }
                m.x = copies;
                m.second = copies + (count - 1) * depth;
                m.length = depth;
                m.runs = 1;
            }
            run(p, &m, &ends, in[1], count, (int16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->out_c);
        }
    }
}
