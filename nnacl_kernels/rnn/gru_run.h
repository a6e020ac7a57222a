/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gru: all but the products of vectors, which are of an instruction set. */
#ifndef NNACL_GRU_RUN_H
#define NNACL_GRU_RUN_H

#include "rnn/rnn_steps.h"

/* The weights of one direction. Rows are those of z, r and h. */
typedef struct nnacl_gru_weights {
    const float *w, *r, *w_bias, *r_bias;
} nnacl_gru_weights;

/* Activates z and r, and turns r into r * h where the reset comes before the product. */
static inline void nnacl_gru_open_gates(const nnacl_rnn_params *p, const nnacl_rnn_function *f, const float *h,
                                        float *gates) {
    const int32_t hidden = p->hidden;
    for (int32_t j = 0; j < hidden; j++) {
        gates[j] = nnacl_rnn_activate(f, gates[j]);
        const float reset = nnacl_rnn_activate(f, gates[hidden + j]);
        gates[hidden + j] = p->linear_before_reset ? reset : reset * h[j];
    }
}

/* The sum of the hidden gate of unit j. */
static inline float nnacl_gru_candidate(const nnacl_rnn_params *p, nnacl_rnn_dot dot, const nnacl_gru_weights *weights,
                                        const float *x, const float *h, const float *gates, int32_t j) {
    const int32_t row = 2 * p->hidden + j;
    const float *reset = gates + p->hidden;
    float sum = dot(weights->w + (ptrdiff_t)row * p->size, x, p->size);
    float recurrent = dot(weights->r + (ptrdiff_t)row * p->hidden, p->linear_before_reset ? h : reset, p->hidden);
    if (weights->w_bias) {
        sum += weights->w_bias[row];
        recurrent += weights->r_bias[row];
    }
    return sum + (p->linear_before_reset ? reset[j] * recurrent : recurrent);
}

static inline void nnacl_gru_step(const nnacl_rnn_params *p, nnacl_rnn_dot dot, int32_t direction,
                                  const nnacl_gru_weights *weights, const float *x, float *gates, float *h, float *y) {
    const nnacl_rnn_function f = nnacl_rnn_function_at(p, direction, 0), g = nnacl_rnn_function_at(p, direction, 1);
    const int32_t hidden = p->hidden;
    nnacl_rnn_gates(p, dot, weights->w, weights->r, weights->w_bias, weights->r_bias, x, h, 0, 2 * hidden, gates);
    nnacl_gru_open_gates(p, &f, h, gates);
    float *fresh = gates + 2 * hidden;
    for (int32_t j = 0; j < hidden; j++) {
        fresh[j] = nnacl_rnn_activate(&g, nnacl_gru_candidate(p, dot, weights, x, h, gates, j));
    }
    for (int32_t j = 0; j < hidden; j++) {
        y[j] = h[j] = (1.0f - gates[j]) * fresh[j] + gates[j] * h[j];
    }
}

static inline void nnacl_run_gru(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                                 nnacl_rnn_dot dot) {
    const nnacl_rnn_params *p = params;
    const int32_t rows = 3 * p->hidden;
    const nnacl_range share = nnacl_share(ctx, p->directions * p->batch);
    for (int32_t item = share.begin; item < share.end; item++) {
        const nnacl_rnn_sequence s = nnacl_rnn_sequence_at(p, in, out, item);
        const float *bias = p->has_bias ? (const float *)in[3] + (ptrdiff_t)s.direction * 2 * rows : NULL;
        const nnacl_gru_weights weights = {(const float *)in[1] + (ptrdiff_t)s.direction * rows * p->size,
                                           (const float *)in[2] + (ptrdiff_t)s.direction * rows * p->hidden, bias,
                                           bias ? bias + rows : NULL};
        float *h = (float *)out[1] + s.state;
        nnacl_rnn_begin(p->has_h && !s.is_empty ? (const float *)in[5] + s.state : NULL, p->hidden, h);
        for (int32_t i = 0; i < s.length; i++) {
            const int32_t t = nnacl_rnn_time(&s, i);
            nnacl_gru_step(p, dot, s.direction, &weights, s.x + t * s.x_step, ctx->workspace, h, s.y + t * s.y_step);
        }
        nnacl_rnn_finish(p, &s);
    }
}

#endif
