/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/rnn_run.h"

NNACL_DECLARE(nnacl_rnn_f32_c);

void nnacl_rnn_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_rnn(ctx, params, in, out, nnacl_dot_f32);
}
