/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of rnn: all but the products of vectors, which are of an instruction set. */
#ifndef NNACL_RNN_RUN_H
#define NNACL_RNN_RUN_H

#include "rnn/rnn_steps.h"

static inline void nnacl_run_rnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                                 nnacl_rnn_dot dot) {
    const nnacl_rnn_params *p = params;
    const int32_t hidden = p->hidden;
    float *sums = ctx->workspace;
    const nnacl_range share = nnacl_share(ctx, p->directions * p->batch);
    for (int32_t item = share.begin; item < share.end; item++) {
        const nnacl_rnn_sequence s = nnacl_rnn_sequence_at(p, in, out, item);
        const nnacl_rnn_function f = nnacl_rnn_function_at(p, s.direction, 0);
        const float *w = (const float *)in[1] + (ptrdiff_t)s.direction * hidden * p->size;
        const float *r = (const float *)in[2] + (ptrdiff_t)s.direction * hidden * hidden;
        const float *bias = p->has_bias ? (const float *)in[3] + (ptrdiff_t)s.direction * 2 * hidden : NULL;
        float *h = (float *)out[1] + s.state;
        nnacl_rnn_begin(p->has_h && !s.is_empty ? (const float *)in[5] + s.state : NULL, hidden, h);
        for (int32_t i = 0; i < s.length; i++) {
            const int32_t t = nnacl_rnn_time(&s, i);
            nnacl_rnn_gates(p, dot, w, r, bias, bias ? bias + hidden : NULL, s.x + t * s.x_step, h, 0, hidden, sums);
            for (int32_t j = 0; j < hidden; j++) {
                h[j] = s.y[t * s.y_step + j] = nnacl_rnn_activate(&f, sums[j]);
            }
        }
        nnacl_rnn_finish(p, &s);
    }
}

#endif
