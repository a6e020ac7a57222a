/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of fixed_gru and fixed_lstm share: all but the products of w and x, which are of the type of x. */
#ifndef NNACL_FIXED_RNN_STEPS_H
#define NNACL_FIXED_RNN_STEPS_H

#include "common/fixed_point.h"
#include "common/share.h"
#include "rnn/rnn.h"

/* The inputs, and the gates of a step in Q3.12: `x_part` of w x alone, which ends as the gates. */
typedef struct nnacl_fixed_rnn_layer {
    const int8_t *r;
    const int32_t *sums, *factors;
    int32_t rows;
    int32_t *x_part;
    int16_t *gates;
} nnacl_fixed_rnn_layer;

/* A sum of row `row` in Q3.12; `which` is 0 for w x and 1 for r h. */
static inline int32_t nnacl_fixed_rnn_scale(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t row,
                                            uint32_t sum) {
    const int32_t *factors = layer->factors + (ptrdiff_t)2 * which * layer->rows + row;
    const int32_t mult = factors[0] < 0 ? 0 : factors[0];
    return nnacl_requant_single((int32_t)sum, mult, nnacl_clamp_s32(factors[layer->rows], -62, 30));
}

static inline int32_t nnacl_fixed_rnn_saturate(int64_t sum) {
    return sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : (int32_t)sum;
}

/* r h of a row in Q3.12, without its bias. */
static inline int32_t nnacl_fixed_rnn_recurrent(const nnacl_fixed_rnn_layer *layer, int32_t row, const int16_t *h,
                                                int32_t hidden) {
    const int8_t *weights = layer->r + (ptrdiff_t)row * hidden;
    uint32_t sum = 0;
    for (int32_t i = 0; i < hidden; i++) {
        sum += (uint32_t)(weights[i] * h[i]);
    }
    return nnacl_fixed_rnn_scale(layer, 1, row, sum);
}

/* Saturated gates of rows `first` to `end`, of w x and r h and both biases. */
static inline void nnacl_fixed_rnn_gates(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end,
                                         const int16_t *h, int32_t hidden) {
    const int32_t *x_bias = layer->sums + layer->rows, *h_bias = x_bias + layer->rows;
    for (int32_t row = first; row < end; row++) {
        const int64_t x_part = (int64_t)layer->x_part[row] + x_bias[row];
        const int64_t sum = x_part + nnacl_fixed_rnn_recurrent(layer, row, h, hidden) + h_bias[row];
        layer->gates[row] = (int16_t)nnacl_fixed_rnn_saturate(sum);
    }
}

/* h of the next step; h and c are those of one sequence. */
static inline void nnacl_fixed_gru_step(const nnacl_fixed_rnn_params *p, const nnacl_fixed_rnn_layer *layer, int16_t *h,
                                        int16_t *c) {
    const int32_t hidden = p->hidden, fresh = 2 * hidden;
    const int32_t *x_bias = layer->sums + layer->rows, *h_bias = x_bias + layer->rows;
    (void)c;
    nnacl_fixed_rnn_gates(layer, 0, fresh, h, hidden);
    int16_t *reset = layer->gates + hidden, *candidates = layer->gates + fresh;
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t open = nnacl_logistic_q15(reset[j]);
        reset[j] = (int16_t)(p->linear_before_reset ? open : nnacl_round_shift_away(open * h[j], 15));
    }
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t row = fresh + j;
        const int16_t *source = p->linear_before_reset ? h : reset;
        int64_t recurrent = (int64_t)nnacl_fixed_rnn_recurrent(layer, row, source, hidden) + h_bias[row];
        if (p->linear_before_reset) {
            recurrent = nnacl_round_shift_away(reset[j] * nnacl_fixed_rnn_saturate(recurrent), 15);
        }
        const int32_t gate = nnacl_fixed_rnn_saturate((int64_t)layer->x_part[row] + x_bias[row] + recurrent);
        candidates[j] = (int16_t)nnacl_tanh_q15(gate, 3);
    }
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t update = nnacl_logistic_q15(layer->gates[j]);
        const int32_t next = (32768 - update) * candidates[j] + update * h[j];
        h[j] = (int16_t)nnacl_saturate_s16(nnacl_round_shift_away(next, 15));
    }
}

static inline void nnacl_fixed_lstm_step(const nnacl_fixed_rnn_params *p, const nnacl_fixed_rnn_layer *layer,
                                         int16_t *h, int16_t *c) {
    const int32_t hidden = p->hidden, exponent = p->cell_exponent;
    const int16_t *gates = layer->gates;
    nnacl_fixed_rnn_gates(layer, 0, layer->rows, h, hidden);
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t input = nnacl_logistic_q15(gates[j]), output = nnacl_logistic_q15(gates[hidden + j]);
        const int32_t forget = nnacl_logistic_q15(gates[2 * hidden + j]);
        const int32_t cell = nnacl_tanh_q15(gates[3 * hidden + j], 3);
        const int32_t kept = nnacl_round_shift_away(forget * c[j], 15);
        int32_t next = nnacl_saturate_s16(kept + nnacl_round_shift_away(input * cell, 30 + exponent));
        next = p->cell_clip > 0 ? nnacl_clamp_s32(next, -p->cell_clip, p->cell_clip) : next;
        c[j] = (int16_t)next;
        h[j] = (int16_t)nnacl_saturate_s16(nnacl_round_shift_away(output * nnacl_tanh_q15(next, 15 + exponent), 15));
    }
}

/* `step` is one of the two above, `states` whether there is a c, `gate_count` 3 or 4. */
#define NNACL_FIXED_RNN(symbol, type, gate_count, step, states, lowest, highest)                                       \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_fixed_rnn_params *p = params;                                                                      \
        const int32_t hidden = p->hidden, rows = (gate_count)*hidden;                                                  \
        const ptrdiff_t x_step = p->layout ? p->size : (ptrdiff_t)p->batch * p->size;                                  \
        const ptrdiff_t y_step = p->layout ? hidden : (ptrdiff_t)p->batch * hidden;                                    \
        int32_t *x_part = ctx->workspace;                                                                              \
        const nnacl_fixed_rnn_layer layer = {in[2], in[3], in[4], rows, x_part, (int16_t *)(x_part + rows)};           \
        const nnacl_range share = nnacl_share(ctx, p->batch);                                                          \
        for (int32_t b = share.begin; b < share.end; b++) {                                                            \
            const ptrdiff_t first = p->layout ? (ptrdiff_t)b * p->steps : b;                                           \
            int16_t *h = (int16_t *)out[1] + (ptrdiff_t)b * hidden;                                                    \
            int16_t *c = (states) ? (int16_t *)out[2] + (ptrdiff_t)b * hidden : NULL;                                  \
            for (int32_t j = 0; j < hidden; j++) {                                                                     \
                h[j] = p->has_h ? ((const int16_t *)in[5])[(ptrdiff_t)b * hidden + j] : (int16_t)0;                    \
                if (states) {                                                                                          \
                    c[j] = p->has_c ? ((const int16_t *)in[6])[(ptrdiff_t)b * hidden + j] : (int16_t)0;                \
                }                                                                                                      \
            }                                                                                                          \
            for (int32_t i = 0; i < p->steps; i++) {                                                                   \
                const int32_t t = p->reverse ? p->steps - 1 - i : i;                                                   \
                const type *x = (const type *)in[0] + first * p->size + t * x_step;                                    \
                type *y = (type *)out[0] + first * hidden + t * y_step;                                                \
                for (int32_t row = 0; row < rows; row++) {                                                             \
                    const int8_t *w = (const int8_t *)in[1] + (ptrdiff_t)row * p->size;                                \
                    uint32_t sum = (uint32_t)layer.sums[row];                                                          \
                    for (int32_t k = 0; k < p->size; k++) {                                                            \
                        sum += (uint32_t)(w[k] * x[k]);                                                                \
                    }                                                                                                  \
                    x_part[row] = nnacl_fixed_rnn_scale(&layer, 0, row, sum);                                          \
                }                                                                                                      \
                step(p, &layer, h, c);                                                                                 \
                for (int32_t j = 0; j < hidden; j++) {                                                                 \
                    const int32_t scaled = nnacl_requant_single(h[j], p->y_mult, p->y_shift);                          \
                    y[j] = (type)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), lowest, highest);              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
