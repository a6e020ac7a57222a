/* SPDX-License-Identifier: Apache-2.0 */
#include "common/panels_pair.h"
#include "common/requant_avx512.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_avx512);

typedef struct dw_block {
    const nnacl_conv2d_params *p;
    const int8_t *image; /* input of the batch at the first channel of the panel */
    const char *panel;
    __mmask32 lanes;
} dw_block;

/* 32 channels at `a` as words; NULL: padding. */
static inline __m512i load(const dw_block *b, const int8_t *a, __m512i padding) {
    return a ? _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(b->lanes, a)) : padding;
}

/* Sums of one output position whose window begins at `iy`, `ix`: channels 0-15 and 16-31. `inside`: the whole window
 * is; kernel_h and kernel_w may be constants. */
NNACL_ALWAYS_INLINE void sum_window(const dw_block *b, int32_t iy, int32_t ix, const bool inside,
                                    const int32_t kernel_h, const int32_t kernel_w, __m512i sums[2]) {
    const nnacl_conv2d_params *p = b->p;
    const __m512i padding = _mm512_set1_epi16((int16_t)p->x_zero);
    const ptrdiff_t step = (ptrdiff_t)p->dilation_w * p->in_c;
    const char *w = b->panel + NNACL_PANEL_PAIR * sizeof(int32_t);
    __m512i first = _mm512_setzero_si512(), second = _mm512_setzero_si512();
    for (int32_t ky = 0; ky < kernel_h; ky++, iy += p->dilation_h) {
        const bool row_inside = inside || (iy >= 0 && iy < p->in_h);
        const int8_t *a = b->image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c;
        for (int32_t kx = 0; kx < kernel_w; kx += 2, w += 128) {
            const int32_t left = ix + kx * p->dilation_w, right = left + p->dilation_w;
            const bool has_left = inside || (row_inside && left >= 0 && left < p->in_w);
            const bool has_right = inside || (row_inside && right >= 0 && right < p->in_w);
            const __m512i a0 = load(b, has_left ? a + kx * step : NULL, padding);
            const __m512i a1 = kx + 1 < kernel_w ? load(b, has_right ? a + (kx + 1) * step : NULL, padding) : padding;
            first = _mm512_add_epi32(first, _mm512_madd_epi16(_mm512_unpacklo_epi16(a0, a1), _mm512_loadu_si512(w)));
            second =
                _mm512_add_epi32(second, _mm512_madd_epi16(_mm512_unpackhi_epi16(a0, a1), _mm512_loadu_si512(w + 64)));
        }
    }
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    sums[0] = _mm512_permutex2var_epi64(first, low, second);
    sums[1] = _mm512_permutex2var_epi64(first, high, second);
}

static void sum_at(const dw_block *b, int32_t iy, int32_t ix, __m512i sums[2]) {
    const nnacl_conv2d_params *p = b->p;
    const bool inside = iy >= 0 && ix >= 0 && iy + (p->kernel_h - 1) * p->dilation_h < p->in_h &&
                        ix + (p->kernel_w - 1) * p->dilation_w < p->in_w;
    if (inside && p->kernel_h == 3 && p->kernel_w == 3) {
        sum_window(b, iy, ix, true, 3, 3, sums);
    } else if (inside) {
        sum_window(b, iy, ix, true, p->kernel_h, p->kernel_w, sums);
    } else {
        sum_window(b, iy, ix, false, p->kernel_h, p->kernel_w, sums);
    }
}

void nnacl_depthwise_conv2d_s8_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                      void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const size_t panel_size = nnacl_panel_pair_size(p->kernel_h, p->kernel_w);

    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = (const int8_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const int32_t iy = row % p->out_h * p->stride_h - p->pad_top;
        int8_t *line = (int8_t *)out[0] + (ptrdiff_t)row * p->out_w * p->out_c;
        for (int32_t channel = 0; channel < p->out_c; channel += NNACL_PANEL_PAIR) {
            const int32_t count = p->out_c - channel;
            const char *panel = (const char *)in[1] + (size_t)(channel / NNACL_PANEL_PAIR) * panel_size;
            const dw_block b = {p, image + channel, panel, count >= 32 ? 0xffffffffu : (1u << count) - 1u};
            nnacl_requant_lanes requant[2];
            __m512i start[2];
            for (int32_t half = 0; half < 2; half++) {
                const int32_t first = half * 16 < count ? channel + half * 16 : channel, left = count - half * 16;
                requant[half] = nnacl_requant_lanes_avx512(in[3], p->out_c, first, left, p->rounding, p->y_zero,
                                                           p->q_min, p->q_max);
                start[half] = _mm512_loadu_si512(panel + (size_t)half * 64);
                if (bias) {
                    const __mmask16 lanes = nnacl_lanes_s32_avx512(left);
                    start[half] = _mm512_add_epi32(start[half], _mm512_maskz_loadu_epi32(lanes, bias + first));
                }
            }
            for (int32_t column = 0; column < p->out_w; column++) {
                __m512i sums[2];
                int8_t *y = line + (ptrdiff_t)column * p->out_c + channel;
                sum_at(&b, iy, column * p->stride_w - p->pad_left, sums);
                nnacl_requant_store_avx512(_mm512_add_epi32(sums[0], start[0]), &requant[0], count, y);
                if (count > 16) {
                    nnacl_requant_store_avx512(_mm512_add_epi32(sums[1], start[1]), &requant[1], count - 16, y + 16);
                }
            }
        }
    }
}
