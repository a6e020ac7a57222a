/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8.h"
#include "rnn/fixed_parts_c.h"
#include "rnn/quantized_lstm_steps.h"

NNACL_DECLARE(nnacl_quantized_lstm_s8_c);

static void sum_gates(const nnacl_quantized_lstm_params *p, const void *const in[], const int8_t *x, const int8_t *h,
                      void *workspace) {
    const int32_t rows = 4 * p->hidden;
    const int8_t *w = in[1], *r = in[2];
    const int32_t *w_bias = in[3], *r_bias = w_bias + rows;
    int16_t *gates = workspace;
    for (int32_t j = 0; j < rows; j++) {
        const uint32_t x_sum = nnacl_dot_s8((uint32_t)w_bias[j], x, w + (ptrdiff_t)j * p->size, p->size, 0, 0);
        const uint32_t h_sum = nnacl_dot_s8((uint32_t)r_bias[j], h, r + (ptrdiff_t)j * p->hidden, p->hidden, 0, 0);
        gates[j] = nnacl_lstm_gate(p, j, (int32_t)x_sum, (int32_t)h_sum);
    }
}

void nnacl_quantized_lstm_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    static const nnacl_quantized_lstm_parts parts = {sum_gates, nnacl_fixed_logistic_c, nnacl_fixed_tanh_c};
    nnacl_run_quantized_lstm(ctx, params, in, out, &parts);
}
