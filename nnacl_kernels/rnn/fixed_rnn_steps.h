/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of fixed_gru and fixed_lstm of all types and instruction sets. */
#ifndef NNACL_FIXED_RNN_STEPS_H
#define NNACL_FIXED_RNN_STEPS_H

#include "common/share.h"
#include "rnn/fixed_rnn.h"

/* h of the next step; h and c are those of one sequence. */
static inline void nnacl_fixed_gru_step(const nnacl_fixed_rnn_layer *layer, const nnacl_fixed_rnn_parts *parts,
                                        int16_t *h, int16_t *c) {
    const nnacl_fixed_rnn_params *p = layer->params;
    const int32_t hidden = p->hidden, fresh = 2 * hidden;
    int16_t *reset = layer->gates + hidden, *candidates = layer->gates + fresh;
    (void)c;
    parts->gates(layer, 0, fresh, h, false);
    parts->logistic(layer->gates, fresh);
    if (p->linear_before_reset) {
        parts->gates(layer, fresh, layer->rows, h, true);
        parts->multiply(reset, candidates, candidates, hidden);
        parts->add_x(layer, fresh, layer->rows);
    } else {
        parts->multiply(reset, h, reset, hidden);
        parts->gates(layer, fresh, layer->rows, reset, false);
    }
    parts->tanh(candidates, hidden, 3);
    parts->blend(layer->gates, candidates, h, hidden);
}

static inline void nnacl_fixed_lstm_step(const nnacl_fixed_rnn_layer *layer, const nnacl_fixed_rnn_parts *parts,
                                         int16_t *h, int16_t *c) {
    const int32_t hidden = layer->params->hidden;
    int16_t *output = layer->gates + hidden, *last = layer->gates + 3 * hidden;
    parts->gates(layer, 0, layer->rows, h, false);
    parts->logistic(layer->gates, 3 * hidden);
    parts->tanh(last, hidden, 3);
    parts->cells(layer, c);
    parts->tanh(last, hidden, 15 + layer->params->cell_exponent);
    parts->multiply(output, last, h, hidden);
}

typedef void (*nnacl_fixed_rnn_step)(const nnacl_fixed_rnn_layer *layer, const nnacl_fixed_rnn_parts *parts, int16_t *h,
                                     int16_t *c);

/* An initial state of one sequence, or zeros. */
static inline void nnacl_fixed_rnn_begin(int16_t *state, const int16_t *initial, int32_t hidden) {
    for (int32_t j = 0; j < hidden; j++) {
        state[j] = initial ? initial[j] : (int16_t)0;
    }
}

/* `element` is the size of those of x and y. */
static inline void nnacl_run_fixed_rnn(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                       void *const out[], nnacl_fixed_rnn_step step, bool is_lstm, ptrdiff_t element,
                                       const nnacl_fixed_rnn_parts *parts) {
    const nnacl_fixed_rnn_params *p = params;
    const int32_t hidden = p->hidden, rows = (is_lstm ? 4 : 3) * hidden;
    const ptrdiff_t x_step = p->layout ? p->size : (ptrdiff_t)p->batch * p->size;
    const ptrdiff_t y_step = p->layout ? hidden : (ptrdiff_t)p->batch * hidden;
    int32_t *x_part = ctx->workspace;
    int16_t *gates = (int16_t *)(x_part + (rows + 3) / 4 * 4);
    const nnacl_fixed_rnn_layer layer = {
        p, in[1], in[2], in[3], in[4], rows, x_part, gates, gates + (rows + 1) / 2 * 2};
    const nnacl_range share = nnacl_share(ctx, p->batch);
    for (int32_t b = share.begin; b < share.end; b++) {
        const ptrdiff_t first = p->layout ? (ptrdiff_t)b * p->steps : b, state = (ptrdiff_t)b * hidden;
        int16_t *h = (int16_t *)out[1] + state, *c = is_lstm ? (int16_t *)out[2] + state : NULL;
        nnacl_fixed_rnn_begin(h, p->has_h ? (const int16_t *)in[5] + state : NULL, hidden);
        if (is_lstm) {
            nnacl_fixed_rnn_begin(c, p->has_c ? (const int16_t *)in[6] + state : NULL, hidden);
        }
        for (int32_t i = 0; i < p->steps; i++) {
            const int32_t t = p->reverse ? p->steps - 1 - i : i;
            parts->x_part(&layer, (const char *)in[0] + (first * p->size + t * x_step) * element);
            step(&layer, parts, h, c);
            parts->write(p, h, (char *)out[0] + (first * hidden + t * y_step) * element);
        }
    }
}

/* Kernels of the type s8 or s16 for an instruction set, of these parts. */
#define NNACL_FIXED_GRU(type, isa, ...)                                                                                \
    NNACL_DECLARE(nnacl_fixed_gru_##type##_##isa);                                                                     \
    void nnacl_fixed_gru_##type##_##isa(const nnacl_ctx *ctx, const void *params, const void *const in[],              \
                                        void *const out[]) {                                                           \
        static const nnacl_fixed_rnn_parts parts = __VA_ARGS__;                                                        \
        nnacl_run_fixed_rnn(ctx, params, in, out, nnacl_fixed_gru_step, false, NNACL_FIXED_SIZE_##type, &parts);       \
    }
#define NNACL_FIXED_LSTM(type, isa, ...)                                                                               \
    NNACL_DECLARE(nnacl_fixed_lstm_##type##_##isa);                                                                    \
    void nnacl_fixed_lstm_##type##_##isa(const nnacl_ctx *ctx, const void *params, const void *const in[],             \
                                         void *const out[]) {                                                          \
        static const nnacl_fixed_rnn_parts parts = __VA_ARGS__;                                                        \
        nnacl_run_fixed_rnn(ctx, params, in, out, nnacl_fixed_lstm_step, true, NNACL_FIXED_SIZE_##type, &parts);       \
    }
#define NNACL_FIXED_SIZE_s8 1
#define NNACL_FIXED_SIZE_s16 2

#endif
