/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of quantized_lstm share: everything but the products with the weights. */
#ifndef NNACL_QUANTIZED_LSTM_STEPS_H
#define NNACL_QUANTIZED_LSTM_STEPS_H

#include "common/fixed_point.h"
#include "common/share.h"
#include "rnn/rnn.h"

/* A gate in Q3.12 from its two sums; `row` of 4 * hidden. */
static inline int16_t nnacl_lstm_gate(const nnacl_quantized_lstm_params *p, int32_t row, int32_t x_sum, int32_t h_sum) {
    const int32_t k = row / p->hidden;
    const int32_t weighted = nnacl_requant_double(x_sum, p->x_mults[k], p->x_shifts[k]);
    const int32_t recurrent = nnacl_requant_double(h_sum, p->h_mults[k], p->h_shifts[k]);
    return (int16_t)nnacl_saturate_s16(nnacl_add_saturate(recurrent, nnacl_saturate_s16(weighted)));
}

/* What instruction sets have their own of: the gates of a step from x and h into the workspace, and functions of
 * numbers in place (fixed_rnn.h). */
typedef struct nnacl_quantized_lstm_parts {
    void (*gates)(const nnacl_quantized_lstm_params *p, const void *const in[], const int8_t *x, const int8_t *h,
                  void *workspace);
    void (*logistic)(int16_t *values, int32_t count);
    void (*tanh)(int16_t *values, int32_t count, int32_t integer_bits);
} nnacl_quantized_lstm_parts;

/* h and c from the gates i o f c. */
static inline void nnacl_lstm_close_step(const nnacl_quantized_lstm_params *p, const nnacl_quantized_lstm_parts *parts,
                                         int16_t *gates, int8_t *h, int16_t *c) {
    const int32_t hidden = p->hidden, exponent = p->cell_exponent;
    int16_t *output = gates + hidden, *forget = output + hidden, *last = forget + hidden;
    parts->logistic(gates, 3 * hidden);
    parts->tanh(last, hidden, 3);
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t kept = nnacl_round_product(forget[j] * c[j], 15);
        const int32_t added = nnacl_wrap_s16(nnacl_round_product(gates[j] * last[j], 30 + exponent));
        const int32_t next = nnacl_saturate_s16(kept + added);
        last[j] = c[j] = (int16_t)(p->cell_clip > 0 ? nnacl_clamp_s32(next, -p->cell_clip, p->cell_clip) : next);
    }
    parts->tanh(last, hidden, 15 + exponent);
    for (int32_t j = 0; j < hidden; j++) {
        const int32_t scaled = nnacl_requant_double(output[j] * last[j], p->y_mult, p->y_shift);
        h[j] = (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), -128, 127);
    }
}

static inline void nnacl_run_quantized_lstm(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[], const nnacl_quantized_lstm_parts *parts) {
    const nnacl_quantized_lstm_params *p = params;
    const int32_t hidden = p->hidden;
    const ptrdiff_t x_step = p->layout ? p->size : (ptrdiff_t)p->batch * p->size;
    const ptrdiff_t y_step = p->layout ? hidden : (ptrdiff_t)p->batch * hidden;
    const nnacl_range share = nnacl_share(ctx, p->batch);
    for (int32_t b = share.begin; b < share.end; b++) {
        const ptrdiff_t first = p->layout ? (ptrdiff_t)b * p->steps : b;
        const int8_t *x = (const int8_t *)in[0] + first * p->size;
        int8_t *y = (int8_t *)out[0] + first * hidden;
        int8_t *h = (int8_t *)out[1] + (ptrdiff_t)b * hidden;
        int16_t *c = (int16_t *)out[2] + (ptrdiff_t)b * hidden;
        for (int32_t j = 0; j < hidden; j++) {
            h[j] = p->has_h ? ((const int8_t *)in[4])[(ptrdiff_t)b * hidden + j] : (int8_t)p->y_zero;
            c[j] = p->has_c ? ((const int16_t *)in[5])[(ptrdiff_t)b * hidden + j] : 0;
        }
        for (int32_t t = 0; t < p->steps; t++) {
            parts->gates(p, in, x + t * x_step, h, ctx->workspace);
            nnacl_lstm_close_step(p, parts, ctx->workspace, h, c);
            for (int32_t j = 0; j < hidden; j++) {
                y[t * y_step + j] = h[j];
            }
        }
    }
}

#endif
