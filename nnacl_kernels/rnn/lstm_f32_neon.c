/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_neon.h"
#include "rnn/lstm_f32_avx2.h"

NNACL_DECLARE(nnacl_lstm_f32_neon);

void nnacl_lstm_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    lstm(ctx, params, in, out);
}
