/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of layer_norm for integers; the arithmetic is stated in norm.h. */
#ifndef NNACL_LAYER_NORM_INTEGER_H
#define NNACL_LAYER_NORM_INTEGER_H

#include <math.h>

#include "common/requant.h"
#include "common/share.h"
#include "norm/norm.h"

#define NNACL_LAYER_NORM(symbol, type, lowest, highest)                                                                \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_norm_params *p = params;                                                                           \
        const float *scale = p->has_scale ? in[1] : NULL, *bias = p->has_bias ? in[2] : NULL;                          \
        const int32_t least = lowest - p->y_zero, most = highest - p->y_zero;                                          \
        const nnacl_range share = nnacl_share(ctx, p->rows);                                                           \
        for (int32_t row = share.begin; row < share.end; row++) {                                                      \
            const type *x = (const type *)in[0] + (ptrdiff_t)row * p->depth;                                           \
            type *y = (type *)out[0] + (ptrdiff_t)row * p->depth;                                                      \
            int64_t sum = 0, squares = 0;                                                                              \
            for (int32_t i = 0; i < p->depth; i++) {                                                                   \
                sum += x[i];                                                                                           \
                squares += x[i] * x[i];                                                                                \
            }                                                                                                          \
            const double count = (double)p->depth, x_scale = (double)p->x_scale;                                       \
            const double variance = (double)(p->depth * squares - sum * sum) / (count * count);                        \
            const float mean = (float)((double)sum / count);                                                           \
            const float factor = (float)(x_scale / sqrt(variance * (x_scale * x_scale) + (double)p->epsilon));         \
            for (int32_t i = 0; i < p->depth; i++) {                                                                   \
                float value = ((float)x[i] - mean) * factor;                                                           \
                value = scale ? value * scale[i] : value;                                                              \
                value = (bias ? value + bias[i] : value) / p->y_scale;                                                 \
                const int32_t rounded = p->rounding == NNACL_ROUND_FLOAT_EVEN ? nnacl_round_even(value, least, most)   \
                                                                              : nnacl_round_away(value, least, most);  \
                y[i] = (type)(rounded + p->y_zero);                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
