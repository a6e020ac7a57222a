/* SPDX-License-Identifier: Apache-2.0 */
/* The first layer of a network, as conv_few_f32_avx2.h has it: lines with their padding, 128 added to each byte because
 * vpdpbusd takes bytes without a sign, and a window as one run of quads in each line. */
#include <string.h>

#include "common/panels.h"
#include "common/requant_avx512.h"
#include "common/share.h"
#include "conv/conv_few.h"

NNACL_DECLARE(nnacl_conv2d_few_s8_vnni);

#define COLUMNS 8
#define PANELS 2

typedef struct few_row {
    const nnacl_conv2d_params *p;
    const uint8_t *lines;
    ptrdiff_t line_step;
    const int8_t *packed;
    const int32_t *bias;
    const void *requant;
    int8_t *y;
} few_row;

/* _mm512_dpbusd_epi32(), for which gcc 12 copies each sum to another register and back. */
static inline __attribute__((always_inline)) void dot(__m512i *sum, __m512i left, __m512i right) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(left), "v"(right));
}

/* Some panels of COLUMNS neighbours, the first of which is `column`. */
static inline __attribute__((always_inline)) void tile(const few_row *row, int32_t column, int32_t panel,
                                                       const nnacl_requant_lanes *requant, const int32_t panels) {
    const nnacl_conv2d_params *p = row->p;
    const int32_t quads = nnacl_conv_few_quads(p), step = p->stride_w * p->in_c;
    const ptrdiff_t panel_step = nnacl_conv_few_panel(p);
    const int8_t *b = row->packed + panel * panel_step;
    const uint8_t *a = row->lines + (ptrdiff_t)column * step;
    __m512i sums[COLUMNS][PANELS];
#pragma GCC unroll 2
    for (int32_t j = 0; j < panels; j++) {
        const int32_t first = (panel + j) * 16;
        __m512i start = _mm512_loadu_si512(b + j * panel_step);
        if (row->bias) {
            const __mmask16 lanes = nnacl_lanes_s32_avx512(p->out_c - first);
            start = _mm512_add_epi32(start, _mm512_maskz_loadu_epi32(lanes, row->bias + first));
        }
#pragma GCC unroll 8
        for (int32_t c = 0; c < COLUMNS; c++) {
            sums[c][j] = start;
        }
    }
    b += 64;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, a += row->line_step) {
        for (int32_t q = 0; q < quads; q++, b += 64) {
            __m512i right[PANELS];
#pragma GCC unroll 2
            for (int32_t j = 0; j < panels; j++) {
                right[j] = _mm512_loadu_si512(b + j * panel_step);
            }
#pragma GCC unroll 8
            for (int32_t c = 0; c < COLUMNS; c++) {
                int32_t quad;
                memcpy(&quad, a + 4 * q + c * step, sizeof quad);
                const __m512i left = _mm512_set1_epi32(quad);
#pragma GCC unroll 2
                for (int32_t j = 0; j < panels; j++) {
                    dot(&sums[c][j], left, right[j]);
                }
            }
        }
    }
#pragma GCC unroll 2
    for (int32_t j = 0; j < panels; j++) {
        const int32_t first = (panel + j) * 16, count = p->out_c - first;
        int8_t *y = row->y + (ptrdiff_t)column * p->out_c + first;
        if (requant[j].rounding == NNACL_ROUND_FLOAT_EVEN) {
            const __m512i zero = _mm512_set1_epi32(requant[j].zero), scales = requant[j].multiplier;
            const int32_t low = requant[j].low, high = requant[j].high;
            const __mmask16 lanes = nnacl_lanes_s32_avx512(count);
#pragma GCC unroll 8
            for (int32_t c = 0; c < COLUMNS; c++) {
                const __m512i scaled = nnacl_requant_scaled_avx512(sums[c][j], scales, low, high);
                _mm_mask_storeu_epi8(y + (ptrdiff_t)c * p->out_c, lanes,
                                     _mm512_cvtepi32_epi8(_mm512_add_epi32(scaled, zero)));
            }
        } else {
            __m512i all[COLUMNS];
#pragma GCC unroll 8
            for (int32_t c = 0; c < COLUMNS; c++) {
                all[c] = sums[c][j];
            }
            for (int32_t c = 0; c < COLUMNS; c++) {
                nnacl_requant_store_avx512(all[c], &requant[j], count, y + (ptrdiff_t)c * p->out_c);
            }
        }
    }
}

/* The last tile of a row may repeat some columns of the one before. */
static void tiles(const few_row *row) {
    const nnacl_conv2d_params *p = row->p;
    const int32_t panels = nnacl_panel_count(p->out_c, 16), last = p->out_w - COLUMNS;
    for (int32_t panel = 0; panel < panels; panel += PANELS) {
        nnacl_requant_lanes requant[PANELS];
        const int32_t take = panel + PANELS <= panels ? PANELS : 1;
        for (int32_t j = 0; j < take; j++) {
            const int32_t first = (panel + j) * 16;
            requant[j] = nnacl_requant_lanes_avx512(row->requant, p->out_c, first, p->out_c - first, p->rounding,
                                                    p->y_zero, p->q_min, p->q_max);
        }
        for (int32_t at = 0; at < p->out_w; at += COLUMNS) {
            if (take == PANELS) {
                tile(row, at < last ? at : last, panel, requant, PANELS);
            } else {
                tile(row, at < last ? at : last, panel, requant, 1);
            }
        }
    }
}

/* The lines of output row `row` of the batch. */
static void fill_lines(const nnacl_conv2d_params *p, const int8_t *x, int32_t row, uint8_t *lines,
                       ptrdiff_t line_step) {
    const int32_t width = p->in_w * p->in_c, left = p->pad_left * p->in_c;
    const int32_t image = row / p->out_h, top = (row - image * p->out_h) * p->stride_h - p->pad_top;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, lines += line_step) {
        const int32_t y = top + ky;
        memset(lines, p->x_zero ^ 0x80, (size_t)line_step);
        if (y < 0 || y >= p->in_h) {
            continue;
        }
        const int8_t *from = x + ((ptrdiff_t)image * p->in_h + y) * width;
        for (int32_t i = 0; i < width; i++) {
            lines[left + i] = (uint8_t)(from[i] ^ 0x80);
        }
    }
}

void nnacl_conv2d_few_s8_vnni(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    few_row row = {.p = p,
                   .lines = ctx->workspace,
                   .line_step = (ptrdiff_t)nnacl_conv_few_line(p) + 4,
                   .packed = in[1],
                   .bias = p->has_bias ? in[2] : NULL,
                   .requant = in[3]};
    for (int32_t i = rows.begin; i < rows.end; i++) {
        fill_lines(p, in[0], i, ctx->workspace, row.line_step);
        row.y = (int8_t *)out[0] + (ptrdiff_t)i * p->out_w * p->out_c;
        tiles(&row);
    }
}
