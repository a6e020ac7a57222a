/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "common/vector_f32_avx512.h"

#include "attention/attention_f32_avx2.h"
#include "attention/attention_tiles.h"

NNACL_DECLARE(nnacl_attention_f32_avx512);

static void multiply(const attention_product *product) {
    nnacl_attention_multiply(product, &nnacl_tiles_f32_avx512);
}

/* to[c, r] = from[r, c] for 16 x 16 floats. */
static inline void transpose(const float *const from[16], float *to) {
    __m512 a[16], b[16];
    for (int32_t r = 0; r < 16; r++) {
        a[r] = _mm512_loadu_ps(from[r]);
    }
    for (int32_t r = 0; r < 16; r += 2) { /* pairs of rows, in each quarter its columns 0, 1 and 2, 3 */
        b[r] = _mm512_unpacklo_ps(a[r], a[r + 1]);
        b[r + 1] = _mm512_unpackhi_ps(a[r], a[r + 1]);
    }
    for (int32_t r = 0; r < 16; r += 4) { /* four rows, in each quarter one of its columns */
        for (int32_t i = 0; i < 2; i++) {
            const __m512d low = _mm512_castps_pd(b[r + i]), high = _mm512_castps_pd(b[r + 2 + i]);
            a[r + 2 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            a[r + 2 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    for (int32_t c = 0; c < 4; c++) { /* the quarters */
        const __m512 even_low = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x88);
        const __m512 even_high = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x88);
        const __m512 odd_low = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xdd);
        const __m512 odd_high = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xdd);
        _mm512_storeu_ps(to + c * 16, _mm512_shuffle_f32x4(even_low, even_high, 0x88));
        _mm512_storeu_ps(to + (4 + c) * 16, _mm512_shuffle_f32x4(odd_low, odd_high, 0x88));
        _mm512_storeu_ps(to + (8 + c) * 16, _mm512_shuffle_f32x4(even_low, even_high, 0xdd));
        _mm512_storeu_ps(to + (12 + c) * 16, _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd));
    }
}

static void pack_keys(const nnacl_query *query, int32_t size, int32_t j, int32_t count, float *panel) {
    const float *keys[NNACL_PANEL_F32];
    int32_t d = 0;
    for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
        keys[c] = query->k + (j + (c < count ? c : 0)) * query->k_step;
    }
    for (; d + 16 <= size; d += 16, panel += 16 * NNACL_PANEL_F32) {
        transpose(keys, panel);
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            keys[c] += 16;
        }
    }
    for (; d < size; d++) {
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            *panel++ = *keys[c]++;
        }
    }
}

void nnacl_attention_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const attention_method method = {NNACL_ATTENTION_PANELS_AVX512, multiply, pack_keys};
    attention(ctx, params, in, out, method);
}
