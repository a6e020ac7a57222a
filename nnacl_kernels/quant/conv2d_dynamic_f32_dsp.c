/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "conv/conv_panel_dsp.h"
#include "quant/dynamic_pack.h"
#include "quant/quantize_dynamic.h"

NNACL_DECLARE(nnacl_conv2d_dynamic_f32_dsp);

/* All channels of `count` positions. */
static void run(const nnacl_conv2d_dynamic_params *p, nnacl_gemm_dsp *gemm, nnacl_dynamic_scale q, const float *bias,
                int32_t count, float *y) {
    const void *(*const multiply)(const nnacl_gemm_dsp *) =
        count == NNACL_PANEL_POSITIONS ? nnacl_gemm4_s8_dsp : nnacl_gemm1_s8_dsp;
    for (int32_t first = 0; first < p->out_c; first += 2) {
        const int32_t a = first + 1 < p->out_c ? first : first - 1;
        gemm->weights = multiply(gemm);
        const nnacl_dynamic_channel *channels = gemm->weights;
        gemm->weights = channels + 2;
        for (int32_t second = 0; second < 2; second++) {
            const uint32_t zeros = (uint32_t)q.zero * (uint32_t)channels[second].sum;
            const float scale = q.scale * channels[second].scale, start = bias ? bias[a + second] : 0.0f;
            for (int32_t i = 0; i < count; i++) {
                const uint32_t sum = (uint32_t)gemm->sums[second * count + i] - zeros;
                const float value = (float)(int32_t)sum * scale + start;
                y[i * p->out_c + a + second] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
            }
        }
    }
}

void nnacl_conv2d_dynamic_f32_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_dynamic_params *p = params;
    nnacl_conv2d_params shape = nnacl_dynamic_shape(p);
    const nnacl_runs runs = nnacl_conv2d_runs(&shape);
    const int32_t image_size = p->in_h * p->in_w * p->in_c;
    int32_t sums[2 * NNACL_PANEL_POSITIONS];
    uint32_t *panel = ctx->workspace;
    static const int32_t lines[NNACL_PAIR_LINES_DSP] = {0};
    nnacl_gemm_dsp gemm = {.panel = panel, .units = nnacl_runs_units(runs), .pairs = 1, .sums = sums, .lines = lines};
    int8_t *const edges = (int8_t *)(panel + gemm.units * NNACL_PANEL_POSITIONS);
    int8_t *const image = edges + (runs.length + 3) / 4 * 20;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    float *y = (float *)out[0] + (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t row = rows.begin, end; row < rows.end; row = end) { /* the rows of one image */
        const int32_t batch = row / p->out_h, next_image = (batch + 1) * p->out_h;
        end = next_image < rows.end ? next_image : rows.end;
        const nnacl_dynamic_scale q = nnacl_quantize_dynamic((const float *)in[0] + (ptrdiff_t)batch * image_size,
                                                             image, image_size, p->asymmetric != 0);
        shape.x_zero = q.zero;
        memset(edges, q.zero, (size_t)runs.length);
        nnacl_conv_window next = nnacl_window_first(&shape, image, row - batch * p->out_h);
        for (int32_t left = (end - row) * p->out_w, count; left > 0; left -= count, y += count * p->out_c) {
            count = left >= NNACL_PANEL_POSITIONS ? NNACL_PANEL_POSITIONS : 1;
            nnacl_fill_panel(&shape, runs, &next, count, false, panel, edges);
            gemm.weights = in[1];
            run(p, &gemm, q, in[2], count, y);
        }
    }
}
