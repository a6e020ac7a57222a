/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a tile of quads, `rows` by `vectors`, which are constants. Whoever includes this has the names of
 * common/gemm_s8_vnni.h for its vectors, NNACL_TILE_ACROSS, the most vectors beside each other, and
 *   void tile_store(const nnacl_tile *t, nnacl_vector sums[][NNACL_TILE_ACROSS], int32_t rows, int32_t vectors) */
#ifndef NNACL_SIMD_TILE_SUMS_H
#define NNACL_SIMD_TILE_SUMS_H

#include <string.h>

/* Vector j of the tile begins here, seen from the first: in its panel, or in one of the panels after it. */
NNACL_ALWAYS_INLINE ptrdiff_t tile_vector_at(int32_t j, ptrdiff_t panel_step) {
    return j / NNACL_TILE_VECTORS * panel_step + j % NNACL_TILE_VECTORS * (ptrdiff_t)sizeof(nnacl_vector);
}

/* Four bytes of a row, as the other side of the product. */
static inline nnacl_vector tile_quad(const int8_t *a, int32_t count) {
    int32_t quad = 0;
    memcpy(&quad, a, (size_t)count);
    return nnacl_vector_left(quad);
}

NNACL_ALWAYS_INLINE void tile_step(nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                   const int8_t *const a[NNACL_TILE_ROWS], int32_t i, const int32_t count,
                                   const int8_t *b, ptrdiff_t panel_step, const int32_t rows, const int32_t vectors) {
    nnacl_vector right[NNACL_TILE_ACROSS];
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        right[j] = nnacl_vector_load(b + tile_vector_at(j, panel_step));
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        const nnacl_vector left = tile_quad(a[r] + i, count);
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            nnacl_vector_dot(&sums[r][j], left, right[j]);
        }
    }
}

/* One row: four sums at a time for each vector, because few sums would wait for each other. Returns how many bytes of
 * the row are done. */
NNACL_ALWAYS_INLINE int32_t tile_row(nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                     const int8_t *const a[NNACL_TILE_ROWS], int32_t run, const int8_t **b,
                                     ptrdiff_t panel_step, const int32_t vectors) {
    nnacl_vector more[3][NNACL_TILE_ROWS][NNACL_TILE_ACROSS];
    int32_t i = 0;
    if (run < 32) {
        return 0;
    }
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        more[0][0][j] = more[1][0][j] = more[2][0][j] = nnacl_vector_zero();
    }
    for (; i + 16 <= run; i += 16, *b += 16 * NNACL_PANEL_QUAD) {
        tile_step(sums, a, i, 4, *b, panel_step, 1, vectors);
#pragma GCC unroll 4
        for (int32_t s = 0; s < 3; s++) {
            tile_step(more[s], a, i + 4 * s + 4, 4, *b + (4 * s + 4) * NNACL_PANEL_QUAD, panel_step, 1, vectors);
        }
    }
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        const nnacl_vector pair = nnacl_vector_add(more[0][0][j], more[1][0][j]);
        sums[0][j] = nnacl_vector_add(sums[0][j], nnacl_vector_add(pair, more[2][0][j]));
    }
    return i;
}

NNACL_ALWAYS_INLINE void tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t vectors) {
    nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS];
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        nnacl_vector start = nnacl_vector_load(t->b + tile_vector_at(j, t->panel_step));
        if (t->bias) {
            const int32_t first = NNACL_PANEL_QUAD / NNACL_TILE_VECTORS * j;
            start = nnacl_vector_add(start, nnacl_vector_lanes(t->bias + first, t->columns - first));
        }
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            sums[r][j] = t->row_starts ? nnacl_vector_add(start, nnacl_vector_all(t->row_starts[r])) : start;
        }
    }
    const int8_t *b = t->b + NNACL_PANEL_QUAD * sizeof(int32_t);
    for (int32_t tap = 0; tap < t->taps; tap++) {
        const int8_t *a[NNACL_TILE_ROWS];
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            a[r] = t->a[r * t->a_step + tap];
        }
        int32_t i = 0;
        if (rows == 1) {
            i = tile_row(sums, a, t->run, &b, t->panel_step, vectors);
        }
        for (; i + 4 <= t->run; i += 4, b += 4 * NNACL_PANEL_QUAD) {
            tile_step(sums, a, i, 4, b, t->panel_step, rows, vectors);
        }
        if (!NNACL_TILE_WHOLE && i < t->run) {
            tile_step(sums, a, i, t->run - i, b, t->panel_step, rows, vectors);
        }
    }
    tile_store(t, sums, rows, vectors);
}

#endif
