/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of any number of rows and columns, by the tile_sums() of whoever includes this: compiled for most numbers of
 * rows up to NNACL_TILE_ROWS, and of panels of 16 columns up to NNACL_TILE_PANELS. Three and five rows are rare. */
#ifndef NNACL_TILE_SIZES_AVX512_H
#define NNACL_TILE_SIZES_AVX512_H

NNACL_ALWAYS_INLINE void tile_panels(const nnacl_tile *t, int32_t rows, const int32_t panels) {
    switch (rows) {
    case 1:
        tile_sums(t, 1, panels);
        break;
    case 2:
        tile_sums(t, 2, panels);
        break;
    case 4:
        tile_sums(t, 4, panels);
        break;
    case 6:
        tile_sums(t, 6, panels);
        break;
    case 7:
        tile_sums(t, 7, panels);
        break;
    default:
        tile_sums(t, 8, panels);
        break;
    }
}

static __attribute__((noinline)) void tile_of_size(const nnacl_tile *t, int32_t rows) {
    if (t->columns <= 16) {
        tile_panels(t, rows, 1);
    } else if (t->columns <= 32) {
        tile_panels(t, rows, 2);
    } else {
        tile_panels(t, rows, 3);
    }
}

/* The rows of a tile from one on. */
static inline nnacl_tile tile_rest(const nnacl_tile *t, int32_t from) {
    nnacl_tile rest = *t;
    rest.a += from * rest.a_step;
    rest.y += from * rest.y_step;
    return rest;
}

#endif
