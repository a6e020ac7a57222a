/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of lstm: all but the products of vectors, which are of an instruction set. */
#ifndef NNACL_LSTM_RUN_H
#define NNACL_LSTM_RUN_H

#include "common/requant.h"
#include "rnn/rnn_steps.h"

/* h rounded to multiples of its range over 255, halves to even; 0 is one of them. */
static inline void nnacl_lstm_round_state(const float *h, int32_t hidden, float *rounded) {
    float low = 0.0f, high = 0.0f;
    for (int32_t j = 0; j < hidden; j++) {
        low = h[j] < low ? h[j] : low;
        high = h[j] > high ? h[j] : high;
    }
    const float scale = high > low ? (high - low) / 255.0f : 1.0f;
    const int32_t zero = nnacl_round_even(-low / scale, 0, 255);
    for (int32_t j = 0; j < hidden; j++) {
        rounded[j] = (float)nnacl_round_even(h[j] / scale, -zero, 255 - zero) * scale;
    }
}

/* c and h of one step from the sums of its gates i o f c. */
static inline void nnacl_lstm_step(const nnacl_rnn_params *p, int32_t direction, const float *gates,
                                   const float *peepholes, float *restrict h, float *restrict c, float *restrict y) {
    const nnacl_rnn_function f = nnacl_rnn_function_at(p, direction, 0), g = nnacl_rnn_function_at(p, direction, 1),
                             last = nnacl_rnn_function_at(p, direction, 2);
    const int32_t hidden = p->hidden;
    for (int32_t j = 0; j < hidden; j++) {
        float input = gates[j], output = gates[hidden + j], forget = gates[2 * hidden + j];
        if (peepholes) {
            input += peepholes[j] * c[j];
            forget += peepholes[2 * hidden + j] * c[j];
        }
        /* A gate that is coupled to the other is not activated itself. */
        input = p->input_forget == 2 ? 0.0f : nnacl_rnn_activate(&f, input);
        forget = p->input_forget == 1 ? 1.0f - input : nnacl_rnn_activate(&f, forget);
        input = p->input_forget == 2 ? 1.0f - forget : input;
        const float cell = forget * c[j] + input * nnacl_rnn_activate(&g, gates[3 * hidden + j]);
        c[j] = nnacl_clamp_f32(cell, -p->cell_clip, p->cell_clip);
        if (peepholes) {
            output += peepholes[hidden + j] * c[j];
        }
        y[j] = h[j] = nnacl_rnn_activate(&f, output) * nnacl_rnn_activate(&last, c[j]);
    }
}

static inline void nnacl_run_lstm(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                                  nnacl_rnn_dot dot) {
    const nnacl_rnn_params *p = params;
    const int32_t rows = 4 * p->hidden;
    float *gates = ctx->workspace;
    const nnacl_range share = nnacl_share(ctx, p->directions * p->batch);
    for (int32_t item = share.begin; item < share.end; item++) {
        const nnacl_rnn_sequence s = nnacl_rnn_sequence_at(p, in, out, item);
        const float *w = (const float *)in[1] + (ptrdiff_t)s.direction * rows * p->size;
        const float *r = (const float *)in[2] + (ptrdiff_t)s.direction * rows * p->hidden;
        const float *bias = p->has_bias ? (const float *)in[3] + (ptrdiff_t)s.direction * 2 * rows : NULL;
        const float *peepholes =
            p->has_peepholes ? (const float *)in[7] + (ptrdiff_t)s.direction * 3 * p->hidden : NULL;
        float *h = (float *)out[1] + s.state, *c = (float *)out[2] + s.state;
        nnacl_rnn_begin(p->has_h && !s.is_empty ? (const float *)in[5] + s.state : NULL, p->hidden, h);
        nnacl_rnn_begin(p->has_c && !s.is_empty ? (const float *)in[6] + s.state : NULL, p->hidden, c);
        for (int32_t i = 0; i < s.length; i++) {
            const int32_t t = nnacl_rnn_time(&s, i);
            const float *seen = p->rounded_h ? gates + rows : h;
            if (p->rounded_h) {
                nnacl_lstm_round_state(h, p->hidden, gates + rows);
            }
            nnacl_rnn_gates(p, dot, w, r, bias, bias ? bias + rows : NULL, s.x + t * s.x_step, seen, 0, rows, gates);
            nnacl_lstm_step(p, s.direction, gates, peepholes, h, c, s.y + t * s.y_step);
        }
        nnacl_rnn_finish(p, &s);
    }
}

#endif
