/* SPDX-License-Identifier: Apache-2.0 */
/* The s8 convolution of AArch64 by any of the tiles of tile_s8_neon.h. */
#ifndef NNACL_CONV_TILES_NEON_H
#define NNACL_CONV_TILES_NEON_H

#include "common/share.h"
#include "common/tile_s8_neon.h"
#include "conv/conv_arm.h"

typedef struct nnacl_conv_layer {
    const nnacl_conv2d_params *p;
    nnacl_arm_layout layout;
    nnacl_arm_rows_fn run_rows;
    nnacl_conv_band band;
    int8_t *windows; /* room for gathered ones */
} nnacl_conv_layer;

/* Copies `size` bytes. */
NNACL_ALWAYS_INLINE void nnacl_conv_copy_neon(int8_t *to, const int8_t *from, int32_t size) {
    int32_t i = 0;
    for (; i + 16 <= size; i += 16) {
        vst1q_s8(to + i, vld1q_s8(from + i));
    }
    for (int32_t part = 8; part > 0; part /= 2) {
        if (size & part) {
            memcpy(to + i, from + i, (size_t)part);
            i += part;
        }
    }
}

/* The window at `from`, as one run. */
static inline void nnacl_conv_gather_neon(const nnacl_conv2d_params *p, size_t line, const int8_t *from, int8_t *to) {
    const int32_t run = nnacl_conv_gathered_run(p), width = p->kernel_w * p->in_c / p->groups / run;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, from += (ptrdiff_t)line * p->dilation_h) {
        for (int32_t kx = 0; kx < width; kx++, to += run) {
            const int8_t *tap = from + (ptrdiff_t)kx * p->dilation_w * p->in_c;
            if (run < NNACL_ARM_CHUNK) {
                vst1q_s8(to, vld1q_s8(tap)); /* the next run goes over what is too much */
            } else {
                nnacl_conv_copy_neon(to, tap, run);
            }
        }
    }
}

/* `count` positions whose windows the walk goes over, for all panels of a group. */
static inline void nnacl_conv_multiply_neon(const nnacl_conv_layer *layer, nnacl_arm_tile *t, nnacl_arm_walk walk,
                                            int32_t count, const int8_t *panel) {
    const int32_t channels = layer->p->out_c / layer->p->groups, width = layer->layout.width;
    const size_t size = nnacl_arm_panel_size(t->tap_rows * t->tap_columns, t->run, layer->layout);
    int8_t *y = t->y;
    for (int32_t first = 0; first < channels; first += width, panel += size) {
        t->panel = panel;
        t->columns = channels - first < width ? channels - first : width;
        t->y = y + first;
        layer->run_rows(t, walk, count);
    }
    t->y = y;
}

/* `rows` rows of outputs of one group, whose first window is at `at`. */
static inline void nnacl_conv_rows_neon(const nnacl_conv_layer *layer, nnacl_arm_tile *t, const int8_t *at,
                                        int32_t rows, bool gathered, const int8_t *panel) {
    const nnacl_conv2d_params *p = layer->p;
    nnacl_arm_walk walk = {.at = at, .columns = p->out_w, .advance = layer->band.advance};
    walk.turn = (ptrdiff_t)layer->band.line * p->stride_h - p->out_w * walk.advance;
    const int32_t positions = rows * p->out_w;
    if (!gathered) {
        nnacl_conv_multiply_neon(layer, t, walk, positions, panel);
        return;
    }
    for (int32_t done = 0; done < positions; done += NNACL_GATHERED_ROWS) {
        const int32_t left = positions - done, count = left < NNACL_GATHERED_ROWS ? left : NNACL_GATHERED_ROWS;
        const nnacl_arm_walk copies = {.at = layer->windows, .columns = count + 1, .advance = t->run};
        for (int32_t i = 0; i < count; i++) {
            nnacl_conv_gather_neon(p, layer->band.line, nnacl_arm_walk_on(&walk), layer->windows + i * t->run);
        }
        nnacl_conv_multiply_neon(layer, t, copies, count, panel);
        t->y += count * t->y_step;
    }
}

static inline void nnacl_conv2d_tiles_neon(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[],
                                           void *const out[], nnacl_arm_layout layout, nnacl_arm_rows_fn run_rows) {
    const nnacl_conv_taps taps = nnacl_conv_taps_of(p, layout);
    nnacl_conv_layer layer = {p, layout, run_rows, nnacl_conv_arm_band(p, taps), NULL};
    layer.windows = (int8_t *)ctx->workspace + nnacl_conv_band_workspace(p, &layer.band) + NNACL_BAND_SLACK;
    const int8_t *packed = in[1];
    nnacl_arm_tile t = {.tap_rows = taps.rows,
                        .tap_columns = taps.columns,
                        .tap_row_step = (ptrdiff_t)layer.band.line * p->dilation_h,
                        .tap_column_step = (ptrdiff_t)p->in_c * p->dilation_w,
                        .run = taps.run,
                        .flags = nnacl_arm_word(packed, 0),
                        .zero = p->y_zero,
                        .q_min = p->q_min,
                        .q_max = p->q_max,
                        .y_step = p->out_c};
    const int32_t group_in = p->in_c / p->groups, group_out = p->out_c / p->groups;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = share.begin; row < share.end;) {
        const int32_t image = row / p->out_h, in_image = row - image * p->out_h;
        int32_t count = share.end - row < layer.band.rows ? share.end - row : layer.band.rows;
        count = count < p->out_h - in_image ? count : p->out_h - in_image;
        const int8_t *at = nnacl_conv_band_load(p, &layer.band, in[0], image, in_image, count, ctx->workspace);
        const int8_t *panel = packed + NNACL_ARM_HEAD;
        for (int32_t group = 0; group < p->groups; group++, panel += nnacl_conv_arm_group_size(p, layout)) {
            t.y = (int8_t *)out[0] + (ptrdiff_t)row * p->out_w * p->out_c + group * group_out;
            nnacl_conv_rows_neon(&layer, &t, at + group * group_in, count, taps.gathered, panel);
        }
        row += count;
    }
}

#endif
