/* SPDX-License-Identifier: Apache-2.0 */
/* The product of a block of attention by any of the tiles of tile_f32.h. */
#ifndef NNACL_ATTENTION_TILES_H
#define NNACL_ATTENTION_TILES_H

#include <math.h>

#include "attention/attention_product.h"
#include "common/tile_f32.h"

static inline void nnacl_attention_multiply(const attention_product *product, const nnacl_tile_method *method) {
    const float *list[NNACL_TILE_MOST];
    nnacl_tile tile = {.a = list,
                       .a_step = 1,
                       .taps = 1,
                       .run = product->depth,
                       .b = product->b,
                       .b_step = product->b_step,
                       .panel_step = product->panel_step,
                       .y_step = product->y_step,
                       .columns = product->columns,
                       .ends = true,
                       .clamp_min = -INFINITY,
                       .clamp_max = INFINITY};
    for (int32_t row = 0; row < product->rows; row += method->rows) {
        const int32_t count = nnacl_least(product->rows - row, method->rows);
        for (int32_t r = 0; r < count; r++) {
            list[r] = product->a + (row + r) * product->a_step;
        }
        tile.y = product->y + row * product->y_step;
        method->run(&tile, count);
    }
}

#endif
