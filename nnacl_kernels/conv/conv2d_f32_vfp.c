/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/multiply_f32_vfp.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_f32_vfp);

/* All output channels of one position, or of two neighbours. `m` has everything but weights. */
static void run(const nnacl_conv2d_params *p, nnacl_multiply_vfp *m, const float *weights, const float *bias,
                int32_t count, float *y) {
    float *const sums = m->sums;
    for (int32_t oc = 0; oc < p->out_c; oc += NNACL_PANEL_VFP) {
        const int32_t columns = p->out_c - oc < NNACL_PANEL_VFP ? p->out_c - oc : NNACL_PANEL_VFP;
        for (int32_t i = 0; i < NNACL_PANEL_VFP; i++) {
            sums[i] = sums[NNACL_PANEL_VFP + i] = bias && i < columns ? bias[oc + i] : 0.0f;
        }
        m->weights = weights;
        if (m->runs > 0 && count == 2) {
            nnacl_multiply4x2_f32_vfp(m);
        } else if (m->runs > 0) {
            nnacl_multiply4x1_f32_vfp(m);
        }
        for (int32_t i = 0; i < count; i++) {
            for (int32_t c = 0; c < columns; c++) {
                y[i * p->out_c + oc + c] = nnacl_clamp_f32(sums[i * NNACL_PANEL_VFP + c], p->clamp_min, p->clamp_max);
            }
        }
        weights += (ptrdiff_t)p->kernel_h * p->kernel_w * p->in_c * NNACL_PANEL_VFP;
    }
}

void nnacl_conv2d_f32_vfp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    float sums[2 * NNACL_PANEL_VFP];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0, count; column < p->out_w; column += count) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const int32_t taps = wide.end - wide.begin;
            /* two windows that lie wholly in the input */
            const int32_t last = wide.origin + (p->kernel_w - 1) * p->dilation_w;
            count = taps == p->kernel_w && column + 1 < p->out_w && last + p->stride_w < p->in_w ? 2 : 1;
            nnacl_multiply_vfp m = {
                .a = image + ((ptrdiff_t)first_y * p->in_w + wide.origin + wide.begin * p->dilation_w) * p->in_c,
                .length = taps * p->in_c,
                .runs = taps > 0 ? tall.end - tall.begin : 0,
                .row_step = (p->dilation_h * p->in_w - taps) * p->in_c * 4,
                .sums = sums,
                .weights_step = (p->kernel_w - taps) * p->in_c * NNACL_PANEL_VFP * 4,
            };
            if (p->dilation_w != 1) { /* there is one row: the taps are the runs */
                m.length = p->in_c;
                m.runs = tall.end > tall.begin ? taps : 0;
                m.row_step = (p->dilation_w - 1) * p->in_c * 4;
                m.weights_step = 0;
            }
            m.b = m.a + p->stride_w * p->in_c;
            run(p, &m, weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->in_c * NNACL_PANEL_VFP, bias,
                count, y + ((ptrdiff_t)row * p->out_w + column) * p->out_c);
        }
    }
}
