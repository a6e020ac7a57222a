/* SPDX-License-Identifier: Apache-2.0 */
/* Layers on weights of 8 bits by any of the tiles of tile_f32.h. */
#ifndef NNACL_PACKED_BYTES_TILES_H
#define NNACL_PACKED_BYTES_TILES_H

#include "common/tile_f32.h"
#include "quant/packed_bytes.h"

/* `panels` panels of bytes as floats. `scales` has `columns` entries. */
static inline void nnacl_decode_panels(const int8_t *bytes, int32_t panels, int32_t depth, const float *scales,
                                       int32_t columns, float *decoded) {
    for (int32_t panel = 0; panel < panels; panel++) {
        float factors[NNACL_PANEL_F32];
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            const int32_t column = panel * NNACL_PANEL_F32 + c;
            factors[c] = column < columns ? scales[column] : 0.0f;
        }
        for (int32_t i = 0; i < depth; i++, bytes += NNACL_PANEL_F32, decoded += NNACL_PANEL_F32) {
            for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
                decoded[c] = factors[c] * (float)bytes[c];
            }
        }
    }
}

/* Copies `count` windows, one after the other. */
static inline void nnacl_packed_bytes_copy(const nnacl_packed_layer *p, const float *x, int32_t first, int32_t count,
                                           int32_t depth, float *copies) {
    nnacl_packed_place place = nnacl_packed_place_at(p, first);
    for (int32_t i = 0; i < count; i++) {
        nnacl_packed_gather(p, x, sizeof(float), place, 0, copies + (ptrdiff_t)i * depth);
        nnacl_packed_next(p, &place);
    }
}

/* This part of the work. One group. */
static inline void nnacl_packed_bytes(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[],
                                      float *y, const nnacl_tile_method *method) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, positions = p->batch * p->out_h * p->out_w;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL, *scales = in[3];
    nnacl_range all, panels;
    nnacl_packed_block_share(ctx, positions, p->out_c, &all, &panels);
    const int32_t most = panels.end < NNACL_BYTES_PANELS ? panels.end : NNACL_BYTES_PANELS;
    const int32_t block = nnacl_packed_bytes_windows(p, depth);
    const ptrdiff_t panel_size = (ptrdiff_t)depth * NNACL_PANEL_F32;
    float *decoded = ctx->workspace, *copies = decoded + most * panel_size;
    const float *a[NNACL_TILE_MOST];
    nnacl_tile tile = {.a = a,
                       .a_step = 1,
                       .taps = 1,
                       .run = depth,
                       .b = decoded,
                       .b_step = NNACL_PANEL_F32,
                       .panel_step = panel_size,
                       .y_step = p->out_c,
                       .ends = true,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};
    for (int32_t first = all.begin, count; first < all.end; first += count) {
        count = block > 0 && block < all.end - first ? block : all.end - first;
        const float *rows = x + (ptrdiff_t)first * depth;
        if (block > 0) {
            nnacl_packed_bytes_copy(p, x, first, count, depth, copies);
            rows = copies;
        }
        for (int32_t panel = panels.begin, take; panel < panels.end; panel += take) {
            take = nnacl_tile_take(panels.end - panel, method->panels);
            const int32_t channel = panel * NNACL_PANEL_F32, rest = p->out_c - channel, width = take * NNACL_PANEL_F32;
            tile.columns = rest < width ? rest : width;
            tile.bias = bias ? bias + channel : NULL;
            nnacl_decode_panels((const int8_t *)in[1] + panel * panel_size, take, depth, scales + channel, tile.columns,
                                decoded);
            for (int32_t done = 0, tall; done < count; done += tall) {
                tall = count - done < method->rows ? count - done : method->rows;
                for (int32_t r = 0; r < tall; r++) {
                    a[r] = rows + (ptrdiff_t)(done + r) * depth;
                }
                tile.y = y + (ptrdiff_t)(first + done) * p->out_c + channel;
                if (positions == 1) {
                    method->run_vector(&tile);
                } else {
                    method->run(&tile, tall);
                }
            }
        }
    }
}

#endif
