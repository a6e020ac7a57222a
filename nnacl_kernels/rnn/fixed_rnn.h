/* SPDX-License-Identifier: Apache-2.0 */
/* A step of fixed_gru or fixed_lstm, as fixed_rnn_steps.h composes it of parts that instruction sets have their own of.
 * Numbers and arithmetic are those of rnn.h. */
#ifndef NNACL_FIXED_RNN_H
#define NNACL_FIXED_RNN_H

#include "rnn/rnn.h"

/* The weights, as a kernel packs them, and what a step keeps in the workspace: w x of all rows, up to a
 * multiple of four, in Q3.12 without the bias; the gates, which become what is made of them; and where a vector is
 * copied that is read in words. */
typedef struct nnacl_fixed_rnn_layer {
    const nnacl_fixed_rnn_params *params;
    const int8_t *w, *r;
    const int32_t *sums, *factors;
    int32_t rows;
    int32_t *x_part;
    int16_t *gates;
    int16_t *copy;
} nnacl_fixed_rnn_layer;

typedef struct nnacl_fixed_rnn_parts {
    /* w x of all rows; x is of the type of the kernel. */
    void (*x_part)(const nnacl_fixed_rnn_layer *layer, const void *x);
    /* Gates of the rows first .. end - 1: of r h and its bias and, unless `alone`, of w x and its bias. */
    void (*gates)(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h, bool alone);
    /* gates[row] + w x and its bias, saturated. */
    void (*add_x)(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end);
    /* In place: the logistic function of Q3.12, and the hyperbolic tangent. */
    void (*logistic)(int16_t *values, int32_t count);
    void (*tanh)(int16_t *values, int32_t count, int32_t integer_bits);
    /* y = a b of Q0.15; y may be a or b. */
    void (*multiply)(const int16_t *a, const int16_t *b, int16_t *y, int32_t count);
    /* The next c of the gates i, o, f, c, which also takes the place of the last of them. */
    void (*cells)(const nnacl_fixed_rnn_layer *layer, int16_t *c);
    /* h = (1 - z) candidate + z h */
    void (*blend)(const int16_t *z, const int16_t *candidates, int16_t *h, int32_t count);
    /* h as y, of the type of the kernel. */
    void (*write)(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);
} nnacl_fixed_rnn_parts;

#endif
