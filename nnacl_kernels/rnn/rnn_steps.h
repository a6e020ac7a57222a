/* SPDX-License-Identifier: Apache-2.0 */
/* What the recurrent kernels share: activations, and where the vectors of a sequence lie. */
#ifndef NNACL_RNN_STEPS_H
#define NNACL_RNN_STEPS_H

#include "common/clamp.h"
#include "common/float_math.h"
#include "common/lane_sums.h"
#include "common/share.h"
#include "rnn/rnn.h"

/* One activation of one direction. */
typedef struct nnacl_rnn_function {
    int32_t kind;
    float alpha, beta, clip;
} nnacl_rnn_function;

static inline nnacl_rnn_function nnacl_rnn_function_at(const nnacl_rnn_params *p, int32_t direction, int32_t index) {
    const int32_t i = 3 * direction + index;
    const float clip = index == 2 ? INFINITY : p->clip;
    const nnacl_rnn_function function = {p->activations[i], p->alphas[i], p->betas[i], clip};
    return function;
}

static inline float nnacl_rnn_activate(const nnacl_rnn_function *function, float x) {
    const float alpha = function->alpha, beta = function->beta;
    x = nnacl_clamp_f32(x, -function->clip, function->clip);
    switch (function->kind) {
    case NNACL_RNN_SIGMOID:
        return 1.0f / (1.0f + nnacl_expf(-x));
    case NNACL_RNN_TANH:
        return nnacl_tanhf(x);
    case NNACL_RNN_RELU:
        return x < 0.0f ? 0.0f : x;
    case NNACL_RNN_AFFINE:
        return alpha * x + beta;
    case NNACL_RNN_LEAKY_RELU:
        return x < 0.0f ? alpha * x : x;
    case NNACL_RNN_THRESHOLDED_RELU:
        return x > alpha ? x : 0.0f;
    case NNACL_RNN_SCALED_TANH:
        return alpha * nnacl_tanhf(beta * x);
    case NNACL_RNN_HARD_SIGMOID:
        return nnacl_clamp_f32(alpha * x + beta, 0.0f, 1.0f);
    case NNACL_RNN_ELU:
        return x < 0.0f ? alpha * nnacl_expm1f(x) : x;
    case NNACL_RNN_SOFTSIGN:
        return x / (1.0f + fabsf(x));
    default:
        return (x > 0.0f ? x : 0.0f) + nnacl_log1pf(nnacl_expf(x > 0.0f ? -x : x));
    }
}

/* One sequence in one direction. */
typedef struct nnacl_rnn_sequence {
    int32_t direction, batch; /* indices */
    int32_t length;
    bool is_empty; /* its length is given, as 0 */
    bool reverse;
    const float *x;
    float *y;
    ptrdiff_t x_step, y_step;
    ptrdiff_t state; /* where its states lie in h and c */
} nnacl_rnn_sequence;

static inline int32_t nnacl_rnn_length(const nnacl_rnn_params *p, const void *lengths, int32_t batch) {
    if (!p->has_lengths) {
        return p->steps;
    }
    const int64_t length = p->lengths_are_s64 ? ((const int64_t *)lengths)[batch] : ((const int32_t *)lengths)[batch];
    return length < 0 ? 0 : length > p->steps ? p->steps : (int32_t)length;
}

/* Sequence `item` of directions * batch. */
static inline nnacl_rnn_sequence nnacl_rnn_sequence_at(const nnacl_rnn_params *p, const void *const in[],
                                                       void *const out[], int32_t item) {
    nnacl_rnn_sequence s;
    s.direction = item / p->batch;
    s.batch = item % p->batch;
    s.length = nnacl_rnn_length(p, p->has_lengths ? in[4] : NULL, s.batch);
    s.is_empty = p->has_lengths && s.length == 0;
    s.reverse = p->direction == NNACL_RNN_REVERSE || s.direction == 1;
    const ptrdiff_t hidden = p->hidden;
    s.x_step = p->layout ? p->size : (ptrdiff_t)p->batch * p->size;
    s.x = (const float *)in[0] + (p->layout ? (ptrdiff_t)s.batch * p->steps : s.batch) * p->size;
    s.y_step = (p->layout ? p->directions : (ptrdiff_t)p->directions * p->batch) * hidden;
    s.y = (float *)out[0] + (p->layout ? (ptrdiff_t)s.batch * p->steps * p->directions + s.direction : item) * hidden;
    s.state = (p->layout ? (ptrdiff_t)s.batch * p->directions + s.direction : item) * hidden;
    return s;
}

/* The time of step `i` of the walk. */
static inline int32_t nnacl_rnn_time(const nnacl_rnn_sequence *s, int32_t i) {
    return s->reverse ? s->length - 1 - i : i;
}

/* A state before the first step. */
static inline void nnacl_rnn_begin(const float *initial, int32_t hidden, float *state) {
    for (int32_t j = 0; j < hidden; j++) {
        state[j] = initial ? initial[j] : 0.0f;
    }
}

/* y behind the end of the sequence is 0. */
static inline void nnacl_rnn_finish(const nnacl_rnn_params *p, const nnacl_rnn_sequence *s) {
    for (int32_t t = s->length; t < p->steps; t++) {
        for (int32_t j = 0; j < p->hidden; j++) {
            s->y[t * s->y_step + j] = 0.0f;
        }
    }
}

/* nnacl_dot_f32() or the same for an instruction set. */
typedef float (*nnacl_rnn_dot)(const float *a, const float *b, int32_t count);

/* gates[j] = w[j] . x + r[j] . h + b[j], rows first .. end - 1 of one direction. */
static inline void nnacl_rnn_gates(const nnacl_rnn_params *p, nnacl_rnn_dot dot, const float *w, const float *r,
                                   const float *w_bias, const float *r_bias, const float *x, const float *h,
                                   int32_t first, int32_t end, float *gates) {
    for (int32_t j = first; j < end; j++) {
        float sum = dot(w + (ptrdiff_t)j * p->size, x, p->size);
        sum += dot(r + (ptrdiff_t)j * p->hidden, h, p->hidden);
        gates[j] = w_bias ? sum + (w_bias[j] + r_bias[j]) : sum;
    }
}

#endif
