/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fixed_point_mve.h"
#include "common/rows_s8_mve.h"
#include "rnn/quantized_lstm_steps.h"

NNACL_DECLARE(nnacl_quantized_lstm_s8_mve);

/* Four gates at a time. */
static void sum_gates(const nnacl_quantized_lstm_params *p, const void *const in[], const int8_t *x, const int8_t *h,
                      void *workspace) {
    const int32_t rows = 4 * p->hidden;
    const int8_t *w = in[1], *r = in[2];
    const int32_t *w_bias = in[3], *r_bias = w_bias + rows;
    int16_t *gates = workspace;
    for (int32_t j = 0; j < rows; j += 4) {
        int32_t x_sums[4], h_sums[4];
        for (int32_t i = 0; i < 4; i++) {
            x_sums[i] = w_bias[j + i];
            h_sums[i] = r_bias[j + i];
        }
        nnacl_rows4_s8_mve(x, w + (ptrdiff_t)j * p->size, p->size, p->size, x_sums);
        nnacl_rows4_s8_mve(h, r + (ptrdiff_t)j * p->hidden, p->hidden, p->hidden, h_sums);
        for (int32_t i = 0; i < 4; i++) {
            gates[j + i] = nnacl_lstm_gate(p, j + i, x_sums[i], h_sums[i]);
        }
    }
}

void nnacl_quantized_lstm_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    static const nnacl_quantized_lstm_parts parts = {sum_gates, nnacl_logistic_q15_mve, nnacl_tanh_q15_mve};
    nnacl_run_quantized_lstm(ctx, params, in, out, &parts);
}
