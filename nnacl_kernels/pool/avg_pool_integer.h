/* SPDX-License-Identifier: Apache-2.0 */
/* The average of integers, for one element type. */
#ifndef NNACL_AVG_POOL_INTEGER_H
#define NNACL_AVG_POOL_INTEGER_H

#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

/* Channels that are summed at a time. */
#define NNACL_POOL_CHUNK 32

/* `sum` of `count` positions, padding as x_zero, as an element of y. */
static inline int32_t nnacl_avg_pool_finish(int32_t sum, int32_t count, int32_t lowest, const nnacl_pool2d_params *p) {
    int32_t mean = p->x_zero;
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        const float real = count > 0 ? (float)(sum - count * p->x_zero) * p->scale / (float)count : 0.0f;
        return nnacl_round_even(real, p->q_min - p->y_zero, p->q_max - p->y_zero) + p->y_zero;
    }
    if (count > 0 && p->halves_up) {
        mean = (sum - lowest * count + count / 2) / count + lowest;
    } else if (count > 0) {
        mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
    }
    return nnacl_clamp_s32(mean, p->q_min, p->q_max);
}

#define NNACL_AVG_POOL_KERNEL(symbol, type, lowest)                                                                    \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_pool2d_params *p = params;                                                                         \
        const type *x = in[0];                                                                                         \
        type *y = out[0];                                                                                              \
        const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);                                                \
        for (int32_t row = rows.begin; row < rows.end; row++) {                                                        \
            const type *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;                     \
            const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);                                              \
            for (int32_t column = 0; column < p->out_w; column++) {                                                    \
                const nnacl_window wide = nnacl_pool_columns(p, column);                                               \
                type *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;                                  \
                const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);                              \
                const int32_t divisor = nnacl_pool_divisor(p, row % p->out_h, column, inside);                         \
                for (int32_t first = 0; first < p->channels; first += NNACL_POOL_CHUNK) {                              \
                    const int32_t left = p->channels - first;                                                          \
                    const int32_t count = left < NNACL_POOL_CHUNK ? left : NNACL_POOL_CHUNK;                           \
                    int32_t sums[NNACL_POOL_CHUNK];                                                                    \
                    for (int32_t c = 0; c < count; c++) {                                                              \
                        sums[c] = (divisor - inside) * p->x_zero;                                                      \
                    }                                                                                                  \
                    for (int32_t ky = tall.begin; ky < tall.end; ky++) {                                               \
                        for (int32_t kx = wide.begin; kx < wide.end; kx++) {                                           \
                            const int32_t iy = tall.origin + ky * p->dilation_h,                                       \
                                          ix = wide.origin + kx * p->dilation_w;                                       \
                            const type *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels + first;              \
                            for (int32_t c = 0; c < count; c++) {                                                      \
                                sums[c] += a[c];                                                                       \
                            }                                                                                          \
                        }                                                                                              \
                    }                                                                                                  \
                    for (int32_t c = 0; c < count; c++) {                                                              \
                        pixel[first + c] = (type)nnacl_avg_pool_finish(sums[c], divisor, lowest, p);                   \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
