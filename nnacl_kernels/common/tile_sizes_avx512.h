/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of any number of rows and columns, by the tile_sums() of whoever includes this: compiled for each number of
 * rows up to NNACL_TILE_ROWS and of panels of 16 columns up to NNACL_TILE_PANELS. */
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
    case 3:
        tile_sums(t, 3, panels);
        break;
    case 4:
        tile_sums(t, 4, panels);
        break;
    case 5:
        tile_sums(t, 5, panels);
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

NNACL_ALWAYS_INLINE void tile_of_any_size(const nnacl_tile *t, int32_t rows) {
    if (t->columns <= 16) {
        tile_panels(t, rows, 1);
    } else if (t->columns <= 32) {
        tile_panels(t, rows, 2);
    } else {
        tile_panels(t, rows, 3);
    }
}

#endif
