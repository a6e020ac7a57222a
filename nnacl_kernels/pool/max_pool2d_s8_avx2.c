/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "common/clamp.h"
#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_avx2);

/* Where the input of a window's tap is. */
static inline const int8_t *tap(const nnacl_pool2d_params *p, const int8_t *image, nnacl_window tall, nnacl_window wide,
                                int32_t ky, int32_t kx) {
    const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;
    return image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels;
}

static inline void maximum_32(const nnacl_pool2d_params *p, const int8_t *image, nnacl_window tall, nnacl_window wide,
                              int8_t *y) {
    __m256i best = _mm256_set1_epi8(INT8_MIN);
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            best = _mm256_max_epi8(best, _mm256_loadu_si256((const void *)tap(p, image, tall, wide, ky, kx)));
        }
    }
    best = _mm256_max_epi8(best, _mm256_set1_epi8((char)p->q_min));
    _mm256_storeu_si256((void *)y, _mm256_min_epi8(best, _mm256_set1_epi8((char)p->q_max)));
}

static inline void maximum_8(const nnacl_pool2d_params *p, const int8_t *image, nnacl_window tall, nnacl_window wide,
                             int8_t *y) {
    __m128i best = _mm_set1_epi8(INT8_MIN);
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            best = _mm_max_epi8(best, _mm_loadl_epi64((const void *)tap(p, image, tall, wide, ky, kx)));
        }
    }
    best = _mm_max_epi8(best, _mm_set1_epi8((char)p->q_min));
    _mm_storel_epi64((void *)y, _mm_min_epi8(best, _mm_set1_epi8((char)p->q_max)));
}

static inline void maximum_1(const nnacl_pool2d_params *p, const int8_t *image, nnacl_window tall, nnacl_window wide,
                             int8_t *y) {
    int8_t best = INT8_MIN;
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            const int8_t value = *tap(p, image, tall, wide, ky, kx);
            best = value > best ? value : best;
        }
    }
    *y = (int8_t)nnacl_clamp_s32(best, p->q_min, p->q_max);
}

void nnacl_max_pool2d_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = (const int8_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            int8_t *y = (int8_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            int32_t c = 0;
            for (; c + 32 <= p->channels; c += 32) {
                maximum_32(p, image + c, tall, wide, y + c);
            }
            for (; c + 8 <= p->channels; c += 8) {
                maximum_8(p, image + c, tall, wide, y + c);
            }
            for (; c < p->channels; c++) {
                maximum_1(p, image + c, tall, wide, y + c);
            }
        }
    }
}
