/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of winograd.h, for the vectors of AVX2 or of whatever vector_f32_*.h was included before. */
#ifndef NNACL_WINOGRAD_F32_AVX2_H
#define NNACL_WINOGRAD_F32_AVX2_H

#ifndef LANES
#include "common/vector_f32_avx2.h"
#endif
#include "common/share.h"
#include "conv/winograd.h"

/* y = a x b for up to `rows` rows of `depth` floats at a, and up to NNACL_WINOGRAD_PANELS panels. */
typedef void (*winograd_multiply)(const float *a, int32_t depth, const float *b, ptrdiff_t panel_step, float *y,
                                  ptrdiff_t y_step, int32_t rows, int32_t panels);

/* The matrix product of an instruction set: rows of its tile. */
typedef struct winograd_product {
    winograd_multiply multiply;
    int32_t rows;
} winograd_product;

#define M_ROW (NNACL_WINOGRAD_PANELS * NNACL_PANEL_F32)

/* d of a window's row or column to what it is at the points. */
NNACL_ALWAYS_INLINE void forward_2(const vector d[4], vector v[4]) {
    v[0] = sub(d[2], d[0]);
    v[1] = add(d[1], d[2]);
    v[2] = sub(d[2], d[1]);
    v[3] = sub(d[3], d[1]);
}

NNACL_ALWAYS_INLINE void forward_4(const vector d[6], vector v[6]) {
    const vector a2 = spread(-0.5625f), b2 = spread(-2.25f), sum = spread(-2.8125f), product = spread(1.265625f);
    const vector a = spread(0.75f), b = spread(1.5f), minus_a = spread(-0.75f), minus_b = spread(-1.5f);
    const vector even_a = madd(d[2], b2, d[4]), odd_a = madd(d[1], b2, d[3]);
    const vector even_b = madd(d[2], a2, d[4]), odd_b = madd(d[1], a2, d[3]);
    v[0] = madd(d[0], product, madd(d[2], sum, d[4]));
    v[1] = madd(odd_a, a, even_a);
    v[2] = madd(odd_a, minus_a, even_a);
    v[3] = madd(odd_b, b, even_b);
    v[4] = madd(odd_b, minus_b, even_b);
    v[5] = madd(d[1], product, madd(d[3], sum, d[5]));
}

/* Products at the points to outputs. */
NNACL_ALWAYS_INLINE void backward_2(const vector m[4], vector y[2]) {
    y[0] = add(m[0], add(m[1], m[2]));
    y[1] = add(m[3], sub(m[1], m[2]));
}

NNACL_ALWAYS_INLINE void backward_4(const vector m[6], vector y[4]) {
    const vector sum_a = add(m[1], m[2]), sum_b = add(m[3], m[4]);
    const vector diff_a = sub(m[1], m[2]), diff_b = sub(m[3], m[4]);
    y[0] = add(m[0], add(sum_a, sum_b));
    y[1] = madd(diff_b, spread(1.5f), mul(diff_a, spread(0.75f)));
    y[2] = madd(sum_b, spread(2.25f), mul(sum_a, spread(0.5625f)));
    y[3] = madd(diff_b, spread(3.375f), madd(diff_a, spread(0.421875f), m[5]));
}

NNACL_ALWAYS_INLINE void forward(const vector *d, vector *v, const int32_t unit) {
    if (unit == 2) {
        forward_2(d, v);
    } else {
        forward_4(d, v);
    }
}

NNACL_ALWAYS_INLINE void backward(const vector *m, vector *y, const int32_t unit) {
    if (unit == 2) {
        backward_2(m, y);
    } else {
        backward_4(m, y);
    }
}

/* Where a tile is. */
typedef struct winograd_place {
    int32_t image, y, x; /* of its first output */
} winograd_place;

static inline winograd_place place_of(const nnacl_winograd *w, int32_t tile) {
    const int32_t in_image = w->high * w->wide, rest = tile % in_image;
    return (winograd_place){tile / in_image, rest / w->wide * w->unit, rest % w->wide * w->unit};
}

/* LANES channels of one window, whose first row is `iy` and first column `ix`, to `v`, v_step between the points. */
NNACL_ALWAYS_INLINE void window_in(const nnacl_conv2d_params *p, const float *image, int32_t iy, int32_t ix,
                                   vector_lanes lanes, float *between, float *v, ptrdiff_t v_step, const int32_t unit,
                                   const bool inside) {
    const int32_t size = unit + 2;
    const vector_lanes none = lanes_of(0);
#pragma GCC unroll 6
    for (int32_t column = 0; column < size; column++) {
        vector d[6], t[6];
        const int32_t x = ix + column;
#pragma GCC unroll 6
        for (int32_t row = 0; row < size; row++) {
            const int32_t y = iy + row;
            if (inside) {
                d[row] = load(image + ((ptrdiff_t)y * p->in_w + x) * p->in_c, lanes);
            } else {
                const bool there = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
                d[row] = load(there ? image + ((ptrdiff_t)y * p->in_w + x) * p->in_c : image, there ? lanes : none);
            }
        }
        forward(d, t, unit);
#pragma GCC unroll 6
        for (int32_t row = 0; row < size; row++) {
            store_all(between + (row * size + column) * LANES, t[row]);
        }
    }
    for (int32_t row = 0; row < size; row++) {
        vector d[6], t[6];
#pragma GCC unroll 6
        for (int32_t column = 0; column < size; column++) {
            d[column] = load_all(between + (row * size + column) * LANES);
        }
        forward(d, t, unit);
#pragma GCC unroll 6
        for (int32_t column = 0; column < size; column++) {
            store(v + (row * size + column) * v_step, lanes, t[column]);
        }
    }
}

NNACL_ALWAYS_INLINE void windows_in(const nnacl_conv2d_params *p, const nnacl_winograd *w, const float *x,
                                    int32_t first, int32_t count, float *between, float *v, const int32_t unit) {
    for (int32_t tile = 0; tile < count; tile++) {
        const winograd_place place = place_of(w, first + tile);
        const float *image = x + (ptrdiff_t)place.image * p->in_h * p->in_w * p->in_c;
        const int32_t iy = place.y - p->pad_top, ix = place.x - p->pad_left;
        const bool inside = iy >= 0 && ix >= 0 && iy + unit + 2 <= p->in_h && ix + unit + 2 <= p->in_w;
        for (int32_t channel = 0; channel < p->in_c; channel += LANES) {
            const vector_lanes lanes = lanes_of(p->in_c - channel);
            float *to = v + (ptrdiff_t)tile * p->in_c + channel;
            if (inside) {
                window_in(p, image + channel, iy, ix, lanes, between, to, w->v_step, unit, true);
            } else {
                window_in(p, image + channel, iy, ix, lanes, between, to, w->v_step, unit, false);
            }
        }
    }
}

/* LANES channels of the products of one tile to outputs, of which `high` rows and `wide` columns are wanted. */
NNACL_ALWAYS_INLINE void tile_out(const nnacl_conv2d_params *p, const float *m, ptrdiff_t m_step, const float *bias,
                                  vector_lanes lanes, float *between, float *y, int32_t high, int32_t wide,
                                  const int32_t unit) {
    const int32_t size = unit + 2;
    const vector start = bias ? load(bias, lanes) : spread(0.0f);
    const vector least = spread(p->clamp_min), most = spread(p->clamp_max);
#pragma GCC unroll 6
    for (int32_t column = 0; column < size; column++) {
        vector d[6], t[4];
#pragma GCC unroll 6
        for (int32_t row = 0; row < size; row++) {
            d[row] = load_all(m + (row * size + column) * m_step);
        }
        backward(d, t, unit);
#pragma GCC unroll 4
        for (int32_t row = 0; row < unit; row++) {
            store_all(between + (row * size + column) * LANES, t[row]);
        }
    }
    for (int32_t row = 0; row < high; row++) {
        vector d[6], t[4];
#pragma GCC unroll 6
        for (int32_t column = 0; column < size; column++) {
            d[column] = load_all(between + (row * size + column) * LANES);
        }
        backward(d, t, unit);
#pragma GCC unroll 4
        for (int32_t column = 0; column < unit; column++) {
            if (column < wide) {
                const vector sum = clamp(add(t[column], start), least, most);
                store(y + ((ptrdiff_t)row * p->out_w + column) * p->out_c, lanes, sum);
            }
        }
    }
}

NNACL_ALWAYS_INLINE void tiles_out(const nnacl_conv2d_params *p, const nnacl_winograd *w, const float *bias, float *y,
                                   int32_t first, int32_t count, int32_t channel, int32_t panels, float *between,
                                   const float *m, const int32_t unit) {
    for (int32_t tile = 0; tile < count; tile++) {
        const winograd_place place = place_of(w, first + tile);
        const int32_t below = p->out_h - place.y, right = p->out_w - place.x;
        const ptrdiff_t pixel = ((ptrdiff_t)place.image * p->out_h + place.y) * p->out_w + place.x;
        for (int32_t c = 0; c < panels * NNACL_PANEL_F32 && channel + c < p->out_c; c += LANES) {
            tile_out(p, m + (ptrdiff_t)tile * M_ROW + c, w->m_step, bias ? bias + channel + c : NULL,
                     lanes_of(p->out_c - channel - c), between, y + pixel * p->out_c + channel + c,
                     below < unit ? below : unit, right < unit ? right : unit, unit);
        }
    }
}

/* Output channels of some panels for the tiles of a block. */
NNACL_ALWAYS_INLINE void panels_out(const nnacl_conv2d_params *p, const nnacl_winograd *w, const float *packed,
                                    const float *bias, float *y, int32_t first, int32_t count, nnacl_range panels,
                                    float *between, const float *v, float *m, const int32_t unit,
                                    const winograd_product product) {
    const ptrdiff_t panel_step = (ptrdiff_t)p->in_c * NNACL_PANEL_F32;
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t left = panels.end - panel;
        const int32_t take = left == 4 ? 2 : left < NNACL_WINOGRAD_PANELS ? left : NNACL_WINOGRAD_PANELS;
        for (int32_t point = 0; point < w->points; point++) {
            const float *b = packed + ((ptrdiff_t)point * w->panels + panel) * panel_step;
            for (int32_t row = 0; row < count; row += product.rows) {
                const int32_t rows = count - row < product.rows ? count - row : product.rows;
                product.multiply(v + point * w->v_step + (ptrdiff_t)row * p->in_c, p->in_c, b, panel_step,
                                 m + point * w->m_step + (ptrdiff_t)row * M_ROW, M_ROW, rows, take);
            }
        }
        tiles_out(p, w, bias, y, first, count, panel * NNACL_PANEL_F32, take, between, m, unit);
        panel += take;
    }
}

NNACL_ALWAYS_INLINE void winograd(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[],
                                  void *const out[], const int32_t unit, const winograd_product product) {
    const nnacl_winograd w = nnacl_winograd_of(p, product.rows, LANES);
    const bool by_blocks = w.blocks > 1;
    const nnacl_range blocks = by_blocks ? nnacl_share(ctx, w.blocks) : (nnacl_range){0, w.blocks};
    const nnacl_range panels = by_blocks ? (nnacl_range){0, w.panels} : nnacl_share(ctx, w.panels);
    float *between = ctx->workspace, *v = between + NNACL_WINOGRAD_POINTS * 16, *m = v + w.points * w.v_step;
    for (int32_t block = blocks.begin; block < blocks.end && panels.begin < panels.end; block++) {
        const int32_t first = block * w.block, left = w.tiles - first, count = left < w.block ? left : w.block;
        windows_in(p, &w, in[0], first, count, between, v, unit);
        panels_out(p, &w, in[1], p->has_bias ? in[2] : NULL, out[0], first, count, panels, between, v, m, unit,
                   product);
    }
}

#endif
