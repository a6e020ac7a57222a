/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum of integers, for one element type. */
#ifndef NNACL_MAX_POOL_INTEGER_H
#define NNACL_MAX_POOL_INTEGER_H

#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

#define NNACL_MAX_POOL_KERNEL(symbol, type, lowest)                                                                    \
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
                type *restrict pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;                         \
                for (int32_t c = 0; c < p->channels; c++) {                                                            \
                    pixel[c] = lowest;                                                                                 \
                }                                                                                                      \
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {                                                   \
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {                                               \
                        const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;    \
                        const type *restrict a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels;                 \
                        for (int32_t c = 0; c < p->channels; c++) {                                                    \
                            pixel[c] = a[c] > pixel[c] ? a[c] : pixel[c];                                              \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
                for (int32_t c = 0; c < p->channels; c++) {                                                            \
                    pixel[c] = (type)nnacl_clamp_s32(pixel[c], p->q_min, p->q_max);                                    \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
