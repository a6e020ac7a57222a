/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"
#include "common/multiply_s16_dsp.h"
#include "common/pairs_s16.h"
#include "common/share.h"
#include "conv/window_s16.h"

NNACL_DECLARE(nnacl_conv2d_s16_dsp);

/* All channels of one or two positions. `m` has everything but weights. */
static void run(const nnacl_conv2d_params *p, nnacl_multiply_s16_dsp *m, const nnacl_ends_s16 *ends,
                const int8_t *weights, int32_t count, int16_t *y) {
    const int32_t words = p->kernel_h * nnacl_pair_units(p->kernel_w * p->in_c); /* of a pair */
    const int32_t channels = p->out_c;
    int64_t *const sums = m->sums;
    m->weights = weights;
    for (int32_t pair = 0; pair < nnacl_pair_units(channels); pair++, m->weights += 4 * words) {
        const int32_t a = nnacl_pair_channel(channels, pair);
        sums[0] = sums[2] = nnacl_bias_s16_dsp(ends, a);
        sums[1] = sums[3] = nnacl_bias_s16_dsp(ends, a + 1);
        if (count == 2) {
            nnacl_multiply2x2_s16_dsp(m);
        } else {
            nnacl_multiply2x1_s16_dsp(m);
        }
        for (int32_t i = 0; i < 2; i++) {
            const int32_t factor = nnacl_factor_s16_dsp(ends, a + i);
            for (int32_t position = 0; position < count; position++) {
                y[position * channels + a + i] = nnacl_finish_s16_dsp(ends, factor, sums[2 * position + i], a + i);
            }
        }
    }
}

void nnacl_conv2d_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t units = nnacl_pair_units(p->kernel_w * p->in_c);
    const bool runs_lie = p->dilation_w == 1 && p->kernel_w * p->in_c % 2 == 0;
    int16_t *const copies = ctx->workspace;
    int64_t sums[4];
    const nnacl_ends_s16 ends = {in[2], in[3], p->has_bias, p->out_c, p->rounding, p->y_zero, p->q_min, p->q_max};

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = (const int16_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const bool inside = runs_lie && tall.end - tall.begin == p->kernel_h;
        for (int32_t column = 0, count; column < p->out_w; column += count) {
            count = column + 1 < p->out_w ? 2 : 1;
            const int32_t left = column * p->stride_w - p->pad_left, span = (count - 1) * p->stride_w + p->kernel_w;
            nnacl_multiply_s16_dsp m = {.units = units, .runs = p->kernel_h, .sums = sums};
            if (inside && left >= 0 && left + span <= p->in_w) {
                m.x = image + ((ptrdiff_t)tall.origin * p->in_w + left) * p->in_c;
                m.second = m.x + p->stride_w * p->in_c;
                m.row_step = (p->dilation_h * p->in_w - p->kernel_w) * p->in_c * 2;
            } else {
                for (int32_t i = 0; i < count; i++) {
                    nnacl_copy_window_s16(p, image, tall, column + i, 2 * units, copies + i * p->kernel_h * units * 2);
                }
                m.x = copies;
                m.second = copies + p->kernel_h * units * 2;
            }
            run(p, &m, &ends, in[1], count, (int16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->out_c);
        }
    }
}
