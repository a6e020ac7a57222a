/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_f32_mve.h"
#include "rnn/lstm_run.h"

NNACL_DECLARE(nnacl_lstm_f32_mve);

void nnacl_lstm_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_lstm(ctx, params, in, out, nnacl_dot_f32_mve);
}
