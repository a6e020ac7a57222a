/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_neon.h"
#include "common/vector_f32_neon.h"

#include "attention/attention_f32_avx2.h"
#include "attention/attention_tiles.h"

NNACL_DECLARE(nnacl_attention_f32_neon);

static void multiply(const attention_product *product) {
    nnacl_attention_multiply(product, &nnacl_tiles_f32_neon);
}

static void pack_keys(const nnacl_query *query, int32_t size, int32_t j, int32_t count, float *panel) {
    for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
        const float *k = query->k + (j + (c < count ? c : 0)) * query->k_step;
        for (int32_t d = 0; d < size; d++) {
            panel[d * NNACL_PANEL_F32 + c] = k[d];
        }
    }
}

void nnacl_attention_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const attention_method method = {1, multiply, pack_keys};
    attention(ctx, params, in, out, method);
}
