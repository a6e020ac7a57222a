/* SPDX-License-Identifier: Apache-2.0 */
/* matmul of s8 for whoever has included a tile of quads, such as common/gemm_s8_vnni.h: the panels of a tile of b at a
 * time are brought into quads, then all rows of a pass. */
#ifndef NNACL_SIMD_MATMUL_QUADS_H
#define NNACL_SIMD_MATMUL_QUADS_H

#include <string.h>

#include "common/panels.h"
#include "common/share.h"
#include "dense/matmul_batch.h"

/* What a product with four bytes of ones adds up to. */
static inline void add_bytes(nnacl_vector *sums, nnacl_vector bytes) {
    nnacl_vector_dot(sums, nnacl_vector_all(0x01010101), bytes);
}

/* 16 columns of b [k][n], of which `count` are there, in quads; `step` is n. */
static void quads_of_rows(const int8_t *b, ptrdiff_t step, int32_t k, int32_t count, int8_t *quads) {
    for (int32_t i = 0; i < k; i += 4, quads += 64) {
        __m128i rows[4];
        for (int32_t r = 0; r < 4; r++) {
            rows[r] = i + r < k ? nnacl_sixteen_bytes(b + (i + r) * step, count) : _mm_setzero_si128();
        }
        const __m128i low = _mm_unpacklo_epi8(rows[0], rows[1]), low_next = _mm_unpacklo_epi8(rows[2], rows[3]);
        const __m128i high = _mm_unpackhi_epi8(rows[0], rows[1]), high_next = _mm_unpackhi_epi8(rows[2], rows[3]);
        _mm_storeu_si128((void *)quads, _mm_unpacklo_epi16(low, low_next));
        _mm_storeu_si128((void *)(quads + 16), _mm_unpackhi_epi16(low, low_next));
        _mm_storeu_si128((void *)(quads + 32), _mm_unpacklo_epi16(high, high_next));
        _mm_storeu_si128((void *)(quads + 48), _mm_unpackhi_epi16(high, high_next));
    }
}

/* The same of b [n][k]. */
static void quads_of_columns(const int8_t *b, int32_t k, int32_t count, int8_t *quads) {
    const int32_t whole = k / 4;
    memset(quads, 0, (size_t)(k + 3) / 4 * 64);
    for (int32_t c = 0; c < count; c++, b += k) {
        for (int32_t q = 0; q < whole; q++) {
            memcpy(quads + 64 * (ptrdiff_t)q + 4 * c, b + 4 * q, 4);
        }
        memcpy(quads + 64 * (ptrdiff_t)whole + 4 * c, b + 4 * whole, (size_t)(k % 4));
    }
}

/* A panel as common/panels_quad.h has it. */
static void pack(const nnacl_matmul_params *p, const int8_t *b, int32_t first, int8_t *panel) {
    const int32_t left = p->n - first, count = left < 16 ? left : 16;
    if (p->transpose_b) {
        quads_of_columns(b + (ptrdiff_t)first * p->k, p->k, count, panel + 64);
    } else {
        quads_of_rows(b + first, p->n, p->k, count, panel + 64);
    }
    for (int32_t j = 0; j < NNACL_TILE_VECTORS; j++) {
        const int32_t lanes = 16 / NNACL_TILE_VECTORS;
        nnacl_vector sums = nnacl_vector_zero();
        for (int32_t i = 0; i < p->k; i += 4) {
            add_bytes(&sums, nnacl_vector_load(panel + 64 + 16 * (ptrdiff_t)i + 4 * lanes * j));
        }
        uint32_t starts[16];
        memcpy(starts, &sums, sizeof sums);
        for (int32_t c = 0; c < lanes; c++) {
            starts[c] *= 0u - (uint32_t)(128 + p->a_zero);
        }
        memcpy(panel + 4 * lanes * j, starts, sizeof sums);
    }
}

/* What the zero point of b takes off the sums of a row. */
static int32_t row_start(const nnacl_matmul_params *p, const int8_t *a) {
    const int32_t step = (int32_t)sizeof(nnacl_vector);
    nnacl_vector sums = nnacl_vector_zero();
    for (int32_t i = 0; p->b_zero != 0 && i < p->k; i += step) {
        add_bytes(&sums, nnacl_vector_bytes(a + i, p->k - i));
    }
    int32_t lanes[16], sum = 0;
    memcpy(lanes, &sums, sizeof sums);
    for (int32_t i = 0; i < step / 4; i++) {
        sum += lanes[i];
    }
    return -p->b_zero * (sum - p->k * p->a_zero);
}

/* Rows first .. end - 1 of one matrix. */
static void multiply(const nnacl_matmul_params *p, const int8_t *a, const int8_t *b, int32_t first, int32_t end,
                     int8_t *panels, int8_t *y) {
    nnacl_requant_lanes requant[NNACL_TILE_PANELS * NNACL_TILE_VECTORS];
    nnacl_tile_requant_alike(requant, p->mult, p->shift, p->scale, p->rounding, p->y_zero, p->q_min, p->q_max);
    const int8_t *list[NNACL_TILE_ROWS];
    int32_t starts[NNACL_TILE_ROWS];
    nnacl_tile tile = {.a = list,
                       .a_step = 1,
                       .taps = 1,
                       .run = p->k,
                       .b = panels,
                       .panel_step = (ptrdiff_t)nnacl_panel_quad_size(p->k),
                       .row_starts = starts,
                       .requant = requant,
                       .y_step = p->n};
    for (int32_t column = 0; column < p->n; column += NNACL_TILE_COLUMNS) {
        tile.columns = p->n - column < NNACL_TILE_COLUMNS ? p->n - column : NNACL_TILE_COLUMNS;
        for (int32_t j = 0; 16 * j < tile.columns; j++) {
            pack(p, b, column + 16 * j, panels + j * tile.panel_step);
        }
        for (int32_t row = first; row < end; row += NNACL_TILE_ROWS) {
            const int32_t rows = end - row < NNACL_TILE_ROWS ? end - row : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < rows; r++) {
                list[r] = a + (ptrdiff_t)(row + r) * p->k;
                starts[r] = row_start(p, list[r]);
            }
            tile.y = y + (ptrdiff_t)row * p->n + column;
            nnacl_tile_run(&tile, rows);
        }
    }
}

static void matmul_quads(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t row = rows.begin; row < rows.end;) {
        const int32_t batch = row / p->m, first = row - batch * p->m, left = rows.end - row;
        const int32_t end = left < p->m - first ? first + left : p->m;
        const int8_t *a = (const int8_t *)in[0] + nnacl_matmul_index(p, p->a_strides, batch) * p->m * p->k;
        const int8_t *b = (const int8_t *)in[1] + nnacl_matmul_index(p, p->b_strides, batch) * p->k * p->n;
        multiply(p, a, b, first, end, ctx->workspace, (int8_t *)out[0] + (ptrdiff_t)batch * p->m * p->n);
        row += end - first;
    }
}

#endif
