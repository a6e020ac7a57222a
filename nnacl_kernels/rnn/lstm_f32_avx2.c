/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/lstm_f32_avx2.h"
#include "common/vector_f32_avx2.h"

NNACL_DECLARE(nnacl_lstm_f32_avx2);

void nnacl_lstm_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    lstm(ctx, params, in, out);
}
