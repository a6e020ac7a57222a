/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s8_dsp.h"
#include "rnn/fixed_parts_dsp.h"
#include "rnn/quantized_lstm_steps.h"

NNACL_DECLARE(nnacl_quantized_lstm_s8_dsp);

/* Four gates at a time. The widened x and h stand behind the gates. */
static void sum_gates(const nnacl_quantized_lstm_params *p, const void *const in[], const int8_t *x, const int8_t *h,
                      void *workspace) {
    const int32_t rows = 4 * p->hidden;
    const int8_t *w = in[1], *r = in[2];
    const int32_t *w_bias = in[3], *r_bias = w_bias + rows;
    int16_t *gates = workspace;
    uint32_t *wide_x = (uint32_t *)workspace + 2 * p->hidden, *wide_h = wide_x + nnacl_row_words(p->size);
    nnacl_widen_row_s8_dsp(wide_x, x, p->size, 0);
    nnacl_widen_row_s8_dsp(wide_h, h, p->hidden, 0);
    for (int32_t j = 0; j < rows; j += 4) {
        int32_t x_sums[4], h_sums[4];
        for (int32_t i = 0; i < 4; i++) {
            x_sums[i] = w_bias[j + i];
            h_sums[i] = r_bias[j + i];
        }
        nnacl_rows4_s8_dsp(wide_x, x, 0, p->size, w + (ptrdiff_t)j * p->size, p->size, x_sums);
        nnacl_rows4_s8_dsp(wide_h, h, 0, p->hidden, r + (ptrdiff_t)j * p->hidden, p->hidden, h_sums);
        for (int32_t i = 0; i < 4; i++) {
            gates[j + i] = nnacl_lstm_gate(p, j + i, x_sums[i], h_sums[i]);
        }
    }
}

void nnacl_quantized_lstm_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    static const nnacl_quantized_lstm_parts parts = {sum_gates, nnacl_fixed_logistic_dsp, nnacl_fixed_tanh_dsp};
    nnacl_run_quantized_lstm(ctx, params, in, out, &parts);
}
