/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers over a sequence. f32.
 *
 * Inputs 0 x [steps, batch, size], 1 w [directions, gates * hidden, size], 2 r [directions, gates * hidden, hidden],
 * 3 b [directions, 2 * gates * hidden] (optional: of w, then of r), 4 lengths s32 or s64 [batch] (optional: steps of
 * each sequence, limited to 0 .. steps), 5 initial h [directions, batch, hidden] (optional), and for lstm 6 initial c,
 * 7 p [directions, 3 * hidden] (optional, peepholes of i, o, f).
 * Outputs y [steps, directions, batch, hidden] (0 behind the end of a sequence), the last h [directions, batch,
 * hidden], and for lstm the last c. The states behind a sequence whose length is given as 0 are 0, whatever the initial
 * ones, as in ONNX Runtime. With `layout` 1 the batch comes first in x, y, h and c.
 *
 *   lstm (4 gates i o f c): i = F(w x + r h + p c), f likewise, g = G(w x + r h), c' = f c + i g limited to
 *     +-cell_clip, o = F(w x + r h + p c'), h' = o H(c'). input_forget 1: f = 1 - i; 2: i = 1 - f.
 *   gru (3 gates z r h): z = F(w x + r h), r likewise, g = G(w x + r (r h)) or, with linear_before_reset,
 *     G(w x + bias + r (r h + bias)); h' = (1 - z) g + z h.
 *   rnn (1 gate): h' = F(w x + r h).
 * Arguments of F and G are limited to +-clip, as in ONNX Runtime; that of H is not. With rounded_h the products r h are
 * made with h rounded to the nearest of 256 levels over its range and 0 at the time, as a quantized product at run time
 * would have it. Direction 2 computes both; the second runs from the end of each sequence to its beginning.
 *
 * quantized_lstm: x s8 [steps, batch, size], w s8 [4 * hidden, size], r s8 [4 * hidden, hidden] (gates i o f c), 3
 * biases s32 [2, 4 * hidden] (for the sums w x and r h, what the zero points of x and h subtract included), 4 initial h
 * s8 [batch, hidden] (optional: y_zero), 5 initial c s16 [batch, hidden] (optional: 0). Outputs y s8 [steps, batch,
 *   hidden], the last h s8, the last c s16. With `layout` 1 the batch comes first in x and y. The arithmetic is that of
 *   LiteRT, in common/fixed_point.h: gate k = saturate(requant(r h, h_mult[k], h_shift[k]) + saturate(requant(w x,
 *   x_mult[k], x_shift[k]))) in Q3.12 (tflite-double); c, a multiple of 2^cell_exponent, and h = y_zero +
 *   requant(o * tanh(c), y_mult, y_shift). cell_clip > 0 limits c.
 *
 * svdf: one step of a layer with a memory for each filter: x s8 [batch, size], 1 weights of features s8 [filters,
 * size], 2 weights of time s16 [filters, memory], 3 bias s32 [units] (optional), 4 state s16 [batch, filters * memory];
 * units is filters / rank. Outputs y s8 [batch, units] and the next state: each memory moves on by one and takes in
 *   saturate(requant(sum((x - x_zero) * features), state_mult, state_shift)) at its end; y = clamp(requant(bias + sum
 *   over the memories of `rank` filters (memory * time), y_mult, y_shift) + y_zero) (all rounding tflite-double).
 *
 * fixed_gru, fixed_lstm: recurrent layers on integers, whose states have 16 bits whatever x has.
 * Inputs 0 x (s8 or s16) [steps, batch, size], 1 w s8 [gates * hidden, size], 2 r s8 [gates * hidden, hidden], 3 sums
 * s32 [3, gates * hidden]: what begins the sums of w x, and the biases of w x and r h in Q3.12; 4 factors s32 [4, gates
 * * hidden]: multiplier and shift that bring w x to Q3.12, and those for r h; 5 initial h s16 [1, batch, hidden] in
 * Q0.15 (optional: 0), and for fixed_lstm 6 initial c s16 [1, batch, hidden], a multiple of 2^cell_exponent (optional:
 * 0). Outputs y of the type of x [steps, 1, batch, hidden], the last h, and for fixed_lstm the last c. With `layout` 1
 * the batch comes first in x, y, h and c; with `reverse` the last step is the first.
 *
 * Sums are modulo 2^32, scale(k) means requant of sum k (single); gates saturate in Q3.12, F and G are the logistic
 * function and the hyperbolic tangent of common/fixed_point.h in Q0.15, and all shifts round halves away from zero.
 *
 *   fixed_gru (gates z r h): z = F(scale(w x) + scale(r h) + biases), r likewise, g = G(scale(w x) + bias + t) where t
 * = scale(r (r h >> 15)) + bias or, with linear_before_reset, r saturate(scale(r h) + bias) >> 15; h' = ((2^15 - z) g +
 * z h) >> 15. fixed_lstm (gates i o f c): i = F(scale(w x) + scale(r h) + biases), f and o likewise, g = G of the same;
 *     c' = saturate((f c >> 15) + (i g >> (30 + cell_exponent))), limited to +-cell_clip; h' = o G(c') >> 15.
 *   y = clamp(requant(h', y_mult, y_shift) + y_zero).
 */
#ifndef NNACL_RNN_H
#define NNACL_RNN_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_RNN_FORWARD 0
#define NNACL_RNN_REVERSE 1
#define NNACL_RNN_BIDIRECTIONAL 2

/* Activations. alpha and beta as in ONNX. */
#define NNACL_RNN_SIGMOID 0
#define NNACL_RNN_TANH 1
#define NNACL_RNN_RELU 2
#define NNACL_RNN_AFFINE 3           /* alpha x + beta */
#define NNACL_RNN_LEAKY_RELU 4       /* x < 0: alpha x */
#define NNACL_RNN_THRESHOLDED_RELU 5 /* x > alpha: x, else 0 */
#define NNACL_RNN_SCALED_TANH 6      /* alpha tanh(beta x) */
#define NNACL_RNN_HARD_SIGMOID 7     /* alpha x + beta in 0 .. 1 */
#define NNACL_RNN_ELU 8              /* x < 0: alpha (e^x - 1) */
#define NNACL_RNN_SOFTSIGN 9         /* x / (1 + |x|) */
#define NNACL_RNN_SOFTPLUS 10        /* log(1 + e^x) */

typedef struct nnacl_rnn_params {
    /* attributes */
    int32_t direction;
    int32_t layout;
    float clip, cell_clip;
    int32_t input_forget, linear_before_reset;
    int32_t activations[6]; /* three for each direction: F G H */
    float alphas[6], betas[6];
    /* shapes, derived */
    int32_t steps, batch, size, hidden, directions;
    int32_t has_bias, has_lengths, has_h, has_c, has_peepholes;
    int32_t lengths_are_s64;
    /* attribute of lstm */
    int32_t rounded_h;
} nnacl_rnn_params;

typedef struct nnacl_quantized_lstm_params {
    /* attributes */
    int32_t layout;
    int32_t x_mults[4], x_shifts[4], h_mults[4], h_shifts[4]; /* i o f c */
    int32_t y_mult, y_shift, y_zero;
    int32_t cell_exponent; /* -15 .. -9 */
    int32_t cell_clip;
    /* shapes, derived */
    int32_t steps, batch, size, hidden;
    int32_t has_h, has_c;
} nnacl_quantized_lstm_params;

typedef struct nnacl_svdf_params {
    /* attributes */
    int32_t rank;
    int32_t x_zero, y_zero;
    int32_t state_mult, state_shift, y_mult, y_shift;
    int32_t q_min, q_max;
    /* shapes, derived */
    int32_t batch, size, filters, memory, units;
    int32_t has_bias;
} nnacl_svdf_params;

typedef struct nnacl_fixed_rnn_params {
    /* attributes */
    int32_t layout, reverse;
    int32_t linear_before_reset; /* fixed_gru */
    int32_t y_mult, y_shift, y_zero;
    int32_t cell_exponent; /* fixed_lstm: -15 .. -9 */
    int32_t cell_clip;     /* fixed_lstm: 0 for none */
    /* shapes, derived */
    int32_t steps, batch, size, hidden;
    int32_t has_h, has_c;
} nnacl_fixed_rnn_params;

/* For kernels of lstm that know sigmoid and tanh only, and neither peepholes nor gates that depend on each other. */
bool nnacl_lstm_accepts_usual(const void *params);

#ifdef __cplusplus
}
#endif

#endif
