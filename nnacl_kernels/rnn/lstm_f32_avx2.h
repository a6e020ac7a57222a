/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of lstm, for the vectors of AVX2 or of whatever vector_f32_*.h was included before: weights in panels of
 * 16 gates, the products with x for several steps at once. */
#ifndef NNACL_LSTM_F32_AVX2_H
#define NNACL_LSTM_F32_AVX2_H

#ifndef LANES
#include "common/vector_f32_avx2.h"
#endif
#include "common/panels.h"
#include "rnn/rnn_pack.h"
#include "rnn/rnn_steps.h"

#define VECTORS (NNACL_PANEL_F32 / LANES) /* of a panel */
#define STEPS (LANES / 2)                 /* at once; not more than NNACL_LSTM_STEPS */
#define PANELS (8 / VECTORS)              /* of the recurrent product at once */

/* The weights of a direction. */
typedef struct lstm_weights {
    const float *w, *r, *bias; /* bias may be NULL */
    int32_t rows, panels;
} lstm_weights;

/* Sums of one panel for `steps` vectors x. */
NNACL_ALWAYS_INLINE void panel_of_steps(const nnacl_rnn_params *p, const lstm_weights *weights, const float *const x[],
                                        int32_t panel, float *gates, const int32_t steps) {
    const ptrdiff_t width = (ptrdiff_t)weights->panels * NNACL_PANEL_F32;
    const int32_t first = panel * NNACL_PANEL_F32;
    vector sums[STEPS][VECTORS];
    for (int32_t v = 0; v < VECTORS; v++) {
        vector start = spread(0.0f);
        if (weights->bias) {
            const vector_lanes lanes = lanes_of(weights->rows - first - v * LANES);
            const float *bias = weights->bias + first + v * LANES;
            start = add(load(bias, lanes), load(bias + weights->rows, lanes));
        }
#pragma GCC unroll 8
        for (int32_t s = 0; s < steps; s++) {
            sums[s][v] = start;
        }
    }
    const float *b = weights->w + (ptrdiff_t)panel * p->size * NNACL_PANEL_F32;
    for (int32_t i = 0; i < p->size; i++, b += NNACL_PANEL_F32) {
        vector right[VECTORS];
        for (int32_t v = 0; v < VECTORS; v++) {
            right[v] = load_all(b + v * LANES);
        }
#pragma GCC unroll 8
        for (int32_t s = 0; s < steps; s++) {
            const vector left = spread(x[s][i]);
            for (int32_t v = 0; v < VECTORS; v++) {
                sums[s][v] = madd(left, right[v], sums[s][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int32_t s = 0; s < steps; s++) {
        for (int32_t v = 0; v < VECTORS; v++) {
            store_all(gates + s * width + first + v * LANES, sums[s][v]);
        }
    }
}

/* gates of steps begin .. begin + count - 1, count <= STEPS: w x + bias. */
static void products_with_x(const nnacl_rnn_params *p, const lstm_weights *weights, const nnacl_rnn_sequence *s,
                            int32_t begin, int32_t count, float *gates) {
    const ptrdiff_t width = (ptrdiff_t)weights->panels * NNACL_PANEL_F32;
    const float *x[STEPS];
    for (int32_t i = 0; i < count; i++) {
        x[i] = s->x + nnacl_rnn_time(s, begin + i) * s->x_step;
    }
    for (int32_t panel = 0; panel < weights->panels; panel++) {
        if (count == STEPS) {
            panel_of_steps(p, weights, x, panel, gates, STEPS);
        } else {
            for (int32_t i = 0; i < count; i++) {
                panel_of_steps(p, weights, x + i, panel, gates + i * width, 1);
            }
        }
    }
}

/* gates += r h for some panels. */
NNACL_ALWAYS_INLINE void panels_with_h(const nnacl_rnn_params *p, const float *r, const float *h, float *gates,
                                       const int32_t panels) {
    const ptrdiff_t step = (ptrdiff_t)p->hidden * NNACL_PANEL_F32;
    vector sums[PANELS * VECTORS];
#pragma GCC unroll 8
    for (int32_t i = 0; i < panels * VECTORS; i++) {
        sums[i] = load_all(gates + i * LANES);
    }
    for (int32_t j = 0; j < p->hidden; j++, r += NNACL_PANEL_F32) {
        const vector left = spread(h[j]);
#pragma GCC unroll 8
        for (int32_t i = 0; i < panels * VECTORS; i++) {
            sums[i] = madd(left, load_all(r + i / VECTORS * step + i % VECTORS * LANES), sums[i]);
        }
    }
#pragma GCC unroll 8
    for (int32_t i = 0; i < panels * VECTORS; i++) {
        store_all(gates + i * LANES, sums[i]);
    }
}

static void product_with_h(const nnacl_rnn_params *p, const lstm_weights *weights, const float *h, float *gates) {
    int32_t panel = 0;
    for (; panel + PANELS <= weights->panels; panel += PANELS) {
        panels_with_h(p, weights->r + (ptrdiff_t)panel * p->hidden * NNACL_PANEL_F32, h,
                      gates + (ptrdiff_t)panel * NNACL_PANEL_F32, PANELS);
    }
    for (; panel < weights->panels; panel++) {
        panels_with_h(p, weights->r + (ptrdiff_t)panel * p->hidden * NNACL_PANEL_F32, h,
                      gates + (ptrdiff_t)panel * NNACL_PANEL_F32, 1);
    }
}

/* c, h and y of one step from the sums of its gates i o f c. */
static void activate(const nnacl_rnn_params *p, const float *gates, float *h, float *c, float *y) {
    const vector high = spread(p->clip), low = spread(-p->clip);
    const vector most = spread(p->cell_clip), least = spread(-p->cell_clip);
    const int32_t hidden = p->hidden;
    for (int32_t j = 0; j < hidden; j += LANES) {
        const vector_lanes lanes = lanes_of(hidden - j);
        const vector input = sigmoid(clamp(load(gates + j, lanes), low, high));
        const vector output = sigmoid(clamp(load(gates + hidden + j, lanes), low, high));
        const vector forget = sigmoid(clamp(load(gates + 2 * hidden + j, lanes), low, high));
        const vector fresh = hyperbolic_tangent(clamp(load(gates + 3 * hidden + j, lanes), low, high));
        const vector cell = clamp(madd(forget, load(c + j, lanes), mul(input, fresh)), least, most);
        const vector result = mul(output, hyperbolic_tangent(cell));
        store(c + j, lanes, cell);
        store(h + j, lanes, result);
        store(y + j, lanes, result);
    }
}

NNACL_ALWAYS_INLINE void lstm(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_rnn_params *p = params;
    const int32_t rows = 4 * p->hidden, panels = nnacl_panel_count(rows, NNACL_PANEL_F32);
    const ptrdiff_t width = (ptrdiff_t)panels * NNACL_PANEL_F32;
    const nnacl_range share = nnacl_share(ctx, p->directions * p->batch);
    for (int32_t item = share.begin; item < share.end; item++) {
        const nnacl_rnn_sequence s = nnacl_rnn_sequence_at(p, in, out, item);
        const lstm_weights weights = {(const float *)in[1] + s.direction * width * p->size,
                                      (const float *)in[2] + s.direction * width * p->hidden,
                                      p->has_bias ? (const float *)in[3] + (ptrdiff_t)s.direction * 2 * rows : NULL,
                                      rows, panels};
        float *h = (float *)out[1] + s.state, *c = (float *)out[2] + s.state, *gates = ctx->workspace;
        nnacl_rnn_begin(p->has_h && !s.is_empty ? (const float *)in[5] + s.state : NULL, p->hidden, h);
        nnacl_rnn_begin(p->has_c && !s.is_empty ? (const float *)in[6] + s.state : NULL, p->hidden, c);
        for (int32_t begin = 0; begin < s.length; begin += STEPS) {
            const int32_t count = s.length - begin < STEPS ? s.length - begin : STEPS;
            products_with_x(p, &weights, &s, begin, count, gates);
            for (int32_t i = 0; i < count; i++) {
                product_with_h(p, &weights, h, gates + i * width);
                activate(p, gates + i * width, h, c, s.y + nnacl_rnn_time(&s, begin + i) * s.y_step);
            }
        }
        nnacl_rnn_finish(p, &s);
    }
}

#endif
