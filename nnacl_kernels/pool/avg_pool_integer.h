/* SPDX-License-Identifier: Apache-2.0 */
/* The average of integers, for one element type. */
#ifndef NNACL_AVG_POOL_INTEGER_H
#define NNACL_AVG_POOL_INTEGER_H

#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

/* Channels that are summed at a time. */
#define NNACL_POOL_CHUNK 32

/* How the sums of a window become elements of y: what is the same for all its channels. Halves up are halves away from
 * zero of what lies above the lowest number. */
typedef struct nnacl_average {
    int32_t below; /* what is added to a sum */
    int32_t count, half, base;
    int32_t low, high, zero;
    float scale;
} nnacl_average;

/* Of `inside` positions in the input, as one of `divisor`. Where nothing counts, x_zero is the average. */
static inline nnacl_average nnacl_average_of(const nnacl_pool2d_params *p, int32_t inside, int32_t divisor,
                                             int32_t lowest) {
    const bool is_even = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN);
    nnacl_average k;
    k.below = (divisor - inside) * p->x_zero;
    if (divisor == 0) {
        k.below = p->x_zero;
        divisor = 1;
    }
    k.count = divisor;
    k.half = divisor / 2;
    k.base = is_even ? p->x_zero : p->halves_up * lowest;
    k.below -= k.base * divisor;
    k.low = p->q_min;
    k.high = p->q_max;
    if (is_even) {
        k.zero = p->y_zero;
        k.scale = p->scale;
        k.low -= k.zero;
        k.high -= k.zero;
    }
    return k;
}

/* Of the sum of the positions in the input. */
static inline int32_t nnacl_average_at(const nnacl_average *k, int32_t sum, int32_t rounding) {
    const int32_t value = sum + k->below;
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return nnacl_round_even((float)value * k->scale / (float)k->count, k->low, k->high) + k->zero;
    }
    return nnacl_clamp_s32((value + (value > 0 ? k->half : -k->half)) / k->count + k->base, k->low, k->high);
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
                const nnacl_average average = nnacl_average_of(p, inside, divisor, lowest);                            \
                for (int32_t first = 0; first < p->channels; first += NNACL_POOL_CHUNK) {                              \
                    const int32_t left = p->channels - first;                                                          \
                    const int32_t count = left < NNACL_POOL_CHUNK ? left : NNACL_POOL_CHUNK;                           \
                    int32_t sums[NNACL_POOL_CHUNK];                                                                    \
                    for (int32_t c = 0; c < count; c++) {                                                              \
                        sums[c] = 0;                                                                                   \
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
                        pixel[first + c] = (type)nnacl_average_at(&average, sums[c], p->rounding);                     \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
