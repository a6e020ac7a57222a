/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "dense/matmul_tiles_f32.h"

NNACL_DECLARE(nnacl_matmul_f32_avx512);

/* A nnacl_matmul_pack_fn. */
static void pack_panels(const nnacl_matmul_params *p, const float *b, int32_t first, int32_t columns, float *panels) {
    for (int32_t begin = 0; begin < columns; begin += NNACL_PANEL_F32) {
        const int32_t rest = columns - begin, count = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
        const __mmask16 lanes = nnacl_lanes_avx512(count);
        const ptrdiff_t step = p->transpose_b ? p->k : 1;
        const float *source = b + (first + begin) * step;
        if (!p->transpose_b) {
            for (int32_t i = 0; i < p->k; i++, panels += NNACL_PANEL_F32, source += p->n) {
                _mm512_storeu_ps(panels, _mm512_maskz_loadu_ps(lanes, source));
            }
            continue;
        }
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            for (int32_t i = 0; i < p->k; i++) {
                panels[(ptrdiff_t)i * NNACL_PANEL_F32 + c] = c < count ? source[c * step + i] : 0.0f;
            }
        }
        panels += (ptrdiff_t)p->k * NNACL_PANEL_F32;
    }
}

void nnacl_matmul_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_matmul_tiles_f32(ctx, params, in, out, &nnacl_tiles_f32_avx512, pack_panels);
}
