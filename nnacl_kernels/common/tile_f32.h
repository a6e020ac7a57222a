/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the float32 convolution, dense and matmul of AVX-512 and of AArch64 are made of: some rows by some
 * panels of 16 columns. */
#ifndef NNACL_TILE_F32_H
#define NNACL_TILE_F32_H

#include "common/panels.h"

/* Row r of a has its taps at a[r * a_step] ..., `run` floats at each. Row i of panel j of b begins at
 * b + j * panel_step + i * b_step and has 16 columns, which are all read; row r of y begins at y + r * y_step and has
 * `columns`. */
typedef struct nnacl_tile {
    const float *const *a;
    int32_t a_step, taps, run;
    const float *b;
    ptrdiff_t b_step, panel_step;
    const float *bias; /* `columns` entries, or NULL */
    float *y;
    ptrdiff_t y_step;
    int32_t columns;
    bool adds, ends; /* y holds the sum of taps before; no taps follow */
    float clamp_min, clamp_max;
} nnacl_tile;

#define NNACL_TILE_MOST 8

/* The tiles of an instruction set. */
typedef struct nnacl_tile_method {
    int32_t rows, panels; /* at most; rows <= NNACL_TILE_MOST */
    /* y = clamp(a x b + bias) */
    void (*run)(const nnacl_tile *t, int32_t rows);
    /* The same for a product that has one row in all: the order of its sum may not depend on how work is split. */
    void (*run_vector)(const nnacl_tile *t);
} nnacl_tile_method;

/* How many of `left` panels come next: one too many are halves. */
static inline int32_t nnacl_tile_take(int32_t left, int32_t most) {
    return left == most + 1 ? (most + 1) / 2 : left < most ? left : most;
}

#endif
