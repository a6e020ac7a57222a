/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/winograd.h"

/* Bytes of second-level cache that a block may take for its windows and products. */
#define BLOCK_BYTES ((int64_t)640 * 1024)
/* Floats between two points, so that they do not all meet in the same lines of the cache. */
#define GAP 16
/* Multiply-adds of vectors that a step of a transform amounts to, loads and stores included. */
#define TRANSFORM_COST 3
/* Weights that are read from behind the second-level cache: floats for each multiply-add of vectors in the same time.
 */
#define STREAM_FLOATS 1.5

static const double points_of_2[3] = {0.0, 1.0, -1.0};
static const double points_of_4[5] = {0.0, 0.75, -0.75, 1.5, -1.5};

static int32_t round_up(int32_t value, int32_t unit) {
    return (value + unit - 1) / unit * unit;
}

static int32_t quotient_up(int32_t value, int32_t unit) {
    return value / unit + (value % unit != 0);
}

static nnacl_winograd shape_of(const nnacl_conv2d_params *p, int32_t unit, int32_t rows) {
    nnacl_winograd w = {.unit = unit, .size = unit + 2, .points = (unit + 2) * (unit + 2)};
    w.high = quotient_up(p->out_h, unit);
    w.wide = quotient_up(p->out_w, unit);
    w.tiles = p->batch * w.high * w.wide;
    w.panels = nnacl_panel_count(p->out_c, NNACL_PANEL_F32);
    const int64_t tile_bytes =
        (int64_t)w.points * (p->in_c + NNACL_WINOGRAD_PANELS * NNACL_PANEL_F32) * (int64_t)sizeof(float);
    /* All weights are read for each block: it must not be small. */
    const int64_t fits = BLOCK_BYTES / tile_bytes, least = 16, most = 96;
    const int32_t block = (int32_t)(fits < least ? least : fits > most ? most : fits);
    w.blocks = quotient_up(w.tiles, block);
    w.block = w.blocks > 0 ? round_up(quotient_up(w.tiles, w.blocks), rows) : rows;
    w.blocks = quotient_up(w.tiles, w.block);
    w.v_step = (ptrdiff_t)w.block * p->in_c + GAP;
    w.m_step = (ptrdiff_t)w.block * NNACL_WINOGRAD_PANELS * NNACL_PANEL_F32 + GAP;
    return w;
}

/* Multiply-adds of vectors, or what takes as long. */
static double cost_of(const nnacl_conv2d_params *p, const nnacl_winograd *w, int32_t rows, int32_t lanes) {
    const double columns = (double)w->panels * NNACL_PANEL_F32 / lanes, depth = p->in_c;
    const double products = (double)w->points * round_up(w->tiles, rows) * depth * columns;
    const double vectors_in = (double)quotient_up(p->in_c, lanes) * w->tiles;
    const double vectors_out = columns * w->tiles, size = w->size, unit = w->unit;
    const double transforms = vectors_in * 2 * size * size + vectors_out * (size * size + size * unit);
    const double weights = (double)w->points * depth * w->panels * NNACL_PANEL_F32 * w->blocks;
    return products + transforms * TRANSFORM_COST + weights / STREAM_FLOATS / 16;
}

static double direct_cost(const nnacl_conv2d_params *p, int32_t rows, int32_t lanes) {
    const double columns = (double)nnacl_panel_count(p->out_c, NNACL_PANEL_F32) * NNACL_PANEL_F32 / lanes;
    const double positions = round_up(p->batch * p->out_h * p->out_w, rows), depth = 9.0 * p->in_c;
    return positions * depth * columns + depth * columns * lanes / STREAM_FLOATS / 16;
}

nnacl_winograd nnacl_winograd_of(const nnacl_conv2d_params *p, int32_t rows, int32_t lanes) {
    nnacl_winograd best = {0};
    const bool fits = p->kernel_h == 3 && p->kernel_w == 3 && p->stride_h == 1 && p->stride_w == 1 &&
                      p->dilation_h == 1 && p->dilation_w == 1 && p->groups == 1 && p->in_c >= 8 && p->out_c >= 8 &&
                      p->batch > 0 && p->out_h > 0 && p->out_w > 0;
    if (!fits || (int64_t)p->batch * p->out_h * p->out_w > INT32_MAX / 64) {
        return best;
    }
    double least = direct_cost(p, rows, lanes);
    for (int32_t unit = 2; unit <= 4; unit += 2) {
        const nnacl_winograd w = shape_of(p, unit, rows);
        const double cost = cost_of(p, &w, rows, lanes);
        if (cost < least) {
            least = cost;
            best = w;
        }
    }
    return best;
}

size_t nnacl_winograd_workspace(const nnacl_winograd *w) {
    const size_t floats = (size_t)w->points * (size_t)(w->v_step + w->m_step) + NNACL_WINOGRAD_POINTS * 16;
    return floats * sizeof(float);
}

size_t nnacl_winograd_packed_size(const nnacl_conv2d_params *p, const nnacl_winograd *w) {
    return (size_t)w->points * nnacl_panels_f32_size(p->out_c, p->in_c);
}

/* What the taps g become at each point: the value of the polynomial g0 + g1 x + g2 x^2 there over the product of the
 * distances to the other points; at infinity g2. */
static void transform(int32_t unit, const double g[3], double *result) {
    const double *points = unit == 2 ? points_of_2 : points_of_4;
    const int32_t count = unit + 1;
    for (int32_t i = 0; i < count; i++) {
        double distances = 1.0;
        for (int32_t j = 0; j < count; j++) {
            distances *= j == i ? 1.0 : points[i] - points[j];
        }
        result[i] = (g[0] + points[i] * (g[1] + points[i] * g[2])) / distances;
    }
    result[count] = g[2];
}

void nnacl_winograd_pack(const nnacl_conv2d_params *p, const nnacl_winograd *w, const float *weights, float *packed) {
    const size_t point_size = nnacl_panels_f32_size(p->out_c, p->in_c) / sizeof(float);
    const ptrdiff_t tap = p->in_c;
    memset(packed, 0, nnacl_winograd_packed_size(p, w));
    for (int32_t column = 0; column < p->out_c; column++) {
        float *to =
            packed + (ptrdiff_t)(column / NNACL_PANEL_F32) * p->in_c * NNACL_PANEL_F32 + column % NNACL_PANEL_F32;
        for (int32_t channel = 0; channel < p->in_c; channel++, to += NNACL_PANEL_F32) {
            const float *taps = weights + (ptrdiff_t)column * 9 * p->in_c + channel;
            double rows[3][6];
            for (int32_t ky = 0; ky < 3; ky++) {
                const double line[3] = {(double)taps[(3 * ky) * tap], (double)taps[(3 * ky + 1) * tap],
                                        (double)taps[(3 * ky + 2) * tap]};
                transform(w->unit, line, rows[ky]);
            }
            for (int32_t i = 0; i < w->size; i++) {
                const double line[3] = {rows[0][i], rows[1][i], rows[2][i]};
                double values[6];
                transform(w->unit, line, values);
                for (int32_t j = 0; j < w->size; j++) {
                    to[(size_t)(j * w->size + i) * point_size] = (float)values[j];
                }
            }
        }
    }
}
