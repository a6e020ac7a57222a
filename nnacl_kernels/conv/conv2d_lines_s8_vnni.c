/* SPDX-License-Identifier: Apache-2.0 */
/* Some rows of the output at a time: the lines of the input under them are copied with their padding and 128 added to
 * each byte, because vpdpbusd takes bytes without a sign. A window is then one run of quads in each line, at the same
 * distance from that of its neighbour. */
#include <string.h>

#include "common/dot_vnni.h"
#include "common/panels.h"
#include "common/requant_avx512.h"
#include "common/share.h"
#include "conv/conv_lines.h"

NNACL_DECLARE(nnacl_conv2d_lines_s8_vnni);

#define COLUMNS NNACL_LINES_COLUMNS
#define PANELS 3

/* A block of rows, and the panels that are its turn. */
typedef struct block {
    const nnacl_conv2d_params *p;
    const uint8_t *lines;
    ptrdiff_t line_step;
    const int8_t *b;       /* the first panel */
    const int32_t *starts; /* of each column of the panels: sums before the first product */
    const nnacl_requant_lanes *requant;
    int8_t *y; /* at the first channel of the panels */
    int32_t channels;
} block;

/* What most layers under float-even need. */
NNACL_ALWAYS_INLINE void store_saturated(const block *t, __m512i sums[COLUMNS][PANELS], int8_t *y,
                                         const int32_t columns, const int32_t panels) {
    const __m512i zero = _mm512_set1_epi32(t->requant[0].zero);
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __m512i scales = t->requant[j].multiplier;
        const __mmask16 lanes = nnacl_lanes_s32_avx512(t->channels - 16 * j);
#pragma GCC unroll 8
        for (int32_t c = 0; c < columns; c++) {
            _mm_mask_storeu_epi8(y + (ptrdiff_t)c * t->p->out_c + 16 * j, lanes,
                                 nnacl_requant_saturated_avx512(sums[c][j], scales, zero));
        }
    }
}

static __attribute__((noinline)) void store_any(const block *t, const __m512i *sums, int8_t *y, int32_t columns,
                                                int32_t panels) {
    for (int32_t j = 0; j < panels; j++) {
        const nnacl_requant_lanes requant = t->requant[j]; /* what is written cannot lie there */
        for (int32_t c = 0; c < columns; c++) {
            nnacl_requant_store_avx512(sums[c * panels + j], &requant, t->channels - 16 * j,
                                       y + (ptrdiff_t)c * t->p->out_c + 16 * j);
        }
    }
}

NNACL_ALWAYS_INLINE void store(const block *t, __m512i sums[COLUMNS][PANELS], int8_t *y, const int32_t columns,
                               const int32_t panels) {
    bool saturates = true;
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        saturates = saturates && t->requant[j].saturates;
    }
    if (saturates) {
        store_saturated(t, sums, y, columns, panels);
        return;
    }
    __m512i all[COLUMNS * PANELS];
#pragma GCC unroll 8
    for (int32_t c = 0; c < columns; c++) {
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            all[c * panels + j] = sums[c][j];
        }
    }
    store_any(t, all, y, columns, panels);
}

/* Some neighbours, the first of which is column `column` of row `row` of the block. */
NNACL_ALWAYS_INLINE void tile(const block *t, int32_t row, int32_t column, const int32_t columns,
                              const int32_t panels) {
    const nnacl_conv2d_params *p = t->p;
    const int32_t quads = nnacl_lines_quads(p);
    const ptrdiff_t step = (ptrdiff_t)p->stride_w * p->in_c, panel_step = nnacl_lines_panel(p);
    const int8_t *b = t->b + 64;
    const uint8_t *a = t->lines + (ptrdiff_t)row * p->stride_h * t->line_step + column * step;
    __m512i sums[COLUMNS][PANELS];
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __m512i start = _mm512_loadu_si512(t->starts + 16 * j);
#pragma GCC unroll 8
        for (int32_t c = 0; c < columns; c++) {
            sums[c][j] = start;
        }
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++, a += t->line_step) {
        const uint8_t *at = a;
        for (int32_t q = 0; q < quads; q++, b += 64, at += 4) {
            __m512i right[PANELS];
#pragma GCC unroll 3
            for (int32_t j = 0; j < panels; j++) {
                right[j] = _mm512_loadu_si512(b + j * panel_step);
            }
#pragma GCC unroll 8
            for (int32_t c = 0; c < columns; c++) {
                int32_t quad;
                memcpy(&quad, at + c * step, sizeof quad);
                const __m512i left = _mm512_set1_epi32(quad);
#pragma GCC unroll 3
                for (int32_t j = 0; j < panels; j++) {
                    nnacl_dot_vnni(&sums[c][j], left, right[j]);
                }
            }
        }
    }
    store(t, sums, t->y + ((ptrdiff_t)row * p->out_w + column) * p->out_c, columns, panels);
}

/* The last tile of a row may repeat some columns of the one before. */
NNACL_ALWAYS_INLINE void tiles(const block *t, int32_t rows, const int32_t columns, const int32_t panels) {
    const int32_t width = t->p->out_w, last = width - columns;
    for (int32_t row = 0; row < rows; row++) {
        for (int32_t at = 0; at < width; at += columns) {
            tile(t, row, at < last ? at : last, columns, panels);
        }
    }
}

NNACL_ALWAYS_INLINE void run_panels(const block *t, int32_t rows, int32_t panels, const int32_t columns) {
    if (panels == 1) {
        tiles(t, rows, columns, 1);
    } else if (panels == 2) {
        tiles(t, rows, columns, 2);
    } else {
        tiles(t, rows, columns, 3);
    }
}

static void run_block(block *t, const int8_t *packed, const int32_t *bias, const void *requant, int8_t *y,
                      int32_t rows) {
    const nnacl_conv2d_params *p = t->p;
    const int32_t panels = nnacl_panel_count(p->out_c, 16);
    for (int32_t panel = 0, take; panel < panels; panel += take) {
        nnacl_requant_lanes lanes[PANELS];
        int32_t starts[16 * PANELS];
        const int32_t left = panels - panel, channel = 16 * panel;
        take = left == 4 ? 2 : left < PANELS ? left : PANELS;
        t->b = packed + (ptrdiff_t)panel * nnacl_lines_panel(p);
        t->channels = p->out_c - channel;
        t->y = y + channel;
        t->requant = lanes;
        t->starts = starts;
        for (int32_t j = 0; j < take; j++) {
            const int32_t first = channel + 16 * j, rest = p->out_c - first;
            __m512i start = _mm512_loadu_si512(t->b + j * nnacl_lines_panel(p));
            if (bias) {
                start = _mm512_add_epi32(start, _mm512_maskz_loadu_epi32(nnacl_lanes_s32_avx512(rest), bias + first));
            }
            _mm512_storeu_si512(starts + 16 * j, start);
            lanes[j] =
                nnacl_requant_lanes_avx512(requant, p->out_c, first, rest, p->rounding, p->y_zero, p->q_min, p->q_max);
        }
        if (nnacl_lines_columns(p) == COLUMNS) {
            run_panels(t, rows, take, COLUMNS);
        } else {
            run_panels(t, rows, take, COLUMNS - 1);
        }
    }
}

/* `count` lines of one image, the first of which is `y`, perhaps in the padding. */
static void fill_lines(const nnacl_conv2d_params *p, const int8_t *image, int32_t y, int32_t count, uint8_t *lines,
                       ptrdiff_t line_step) {
    const int32_t width = p->in_w * p->in_c, left = p->pad_left * p->in_c, padding = p->x_zero ^ 0x80;
    for (int32_t end = y + count; y < end; y++, lines += line_step) {
        if (y < 0 || y >= p->in_h) {
            memset(lines, padding, (size_t)line_step);
            continue;
        }
        const int8_t *from = image + (ptrdiff_t)y * width;
        uint8_t *to = lines + left;
        memset(lines, padding, (size_t)left);
        for (int32_t i = 0; i < width; i++) {
            to[i] = (uint8_t)(from[i] ^ 0x80);
        }
        memset(to + width, padding, (size_t)(line_step - left - width));
    }
}

void nnacl_conv2d_lines_s8_vnni(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    block t = {.p = p, .lines = ctx->workspace, .line_step = (ptrdiff_t)nnacl_lines_size(p)};
    for (int32_t row = rows.begin; row < rows.end;) {
        const int32_t image = row / p->out_h, line = row - image * p->out_h, most = nnacl_lines_rows(p);
        int32_t count = rows.end - row < most ? rows.end - row : most;
        count = p->out_h - line < count ? p->out_h - line : count;
        fill_lines(p, (const int8_t *)in[0] + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c,
                   line * p->stride_h - p->pad_top, (count - 1) * p->stride_h + p->kernel_h, ctx->workspace,
                   t.line_step);
        run_block(&t, in[1], bias, in[3], (int8_t *)out[0] + (ptrdiff_t)row * p->out_w * p->out_c, count);
        row += count;
    }
}
