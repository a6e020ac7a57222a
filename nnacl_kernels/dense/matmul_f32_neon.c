/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_neon.h"
#include "dense/matmul_tiles_f32.h"

NNACL_DECLARE(nnacl_matmul_f32_neon);

/* A nnacl_matmul_pack_fn; of one panel. */
static void pack_panel(const nnacl_matmul_params *p, const float *b, int32_t first, int32_t columns, float *panel) {
    const ptrdiff_t step = p->transpose_b ? p->k : 1, next = p->transpose_b ? 1 : p->n;
    const float *source = b + first * step;
    for (int32_t i = 0; i < p->k; i++, panel += NNACL_PANEL_F32, source += next) {
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            panel[c] = source[(c < columns ? c : 0) * step];
        }
    }
}

void nnacl_matmul_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_matmul_tiles_f32(ctx, params, in, out, &nnacl_tiles_f32_neon, pack_panel);
}
