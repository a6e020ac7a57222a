/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/requant.h"
#include "common/share.h"
#include "image/resize_taps.h"

/* How many bits of the sums are fractions. */
static int32_t fraction_bits(const nnacl_resize_params *p) {
    int32_t bits = 0;
    for (int32_t i = 0; i < p->rank; i++) {
        bits += p->factor[i] == 0.0f ? 0 : 10;
    }
    return bits;
}

/* The sums of a row of y: `add` adds a row of x, times `factor`, as the last dimension samples it; `sum_row` goes
 * through all rows of x that the row is made of. x is taken as x + shift. */
#define SUMS(name, type, number, sum)                                                                                  \
    static void add_##name(const nnacl_resize_params *p, const int32_t *index, const number *weight, sum factor,       \
                           const type *restrict x, sum *restrict sums, int32_t shift) {                                \
        const int32_t last = p->rank - 1, taps = p->taps[last], block = p->block;                                      \
        for (int32_t o = 0; o < p->to[last]; o++, sums += block) {                                                     \
            const int32_t first = o * taps;                                                                            \
            for (int32_t t = first; t < first + taps && index[first] >= 0; t++) {                                      \
                const sum w = factor * (sum)weight[t];                                                                 \
                const type *restrict a = x + (ptrdiff_t)index[t] * block;                                              \
                for (int32_t c = 0; c < block; c++) {                                                                  \
                    sums[c] += w * (sum)(a[c] + shift);                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void sum_row_##name(const nnacl_resize_params *p, nnacl_resize_scratch *s, const type *x, int32_t shift) {  \
        const int32_t last = p->rank - 1;                                                                              \
        sum *sums = nnacl_resize_sums(s);                                                                              \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)p->to[last] * p->block; i++) {                                            \
            sums[i] = 0;                                                                                               \
        }                                                                                                              \
        for (int32_t combination = 0; combination < s->combinations; combination++) {                                  \
            const ptrdiff_t source = nnacl_resize_source(p, s, combination);                                           \
            sum factor = 1;                                                                                            \
            for (int32_t i = 0; i < last; i++) {                                                                       \
                factor *= (sum)((const number *)nnacl_resize_weights(p, s, i))[s->tap[i]];                             \
            }                                                                                                          \
            add_##name(p, nnacl_resize_index(s, last), nnacl_resize_weights(p, s, last), factor,                       \
                       x + source * p->from[last] * p->block, sums, shift);                                            \
        }                                                                                                              \
    }

/* The kernel of one type: its rows summed as float, or as `wide` in fixed point. */
#define RESIZE(dtype, type, wide, low, high)                                                                           \
    SUMS(float_##dtype, type, float, float)                                                                            \
    SUMS(fixed_##dtype, type, int32_t, wide)                                                                           \
    static type finish_##dtype(const nnacl_resize_params *p, const void *sums, ptrdiff_t i, int32_t bits) {            \
        if (p->arithmetic == NNACL_RESIZE_FIXED) {                                                                     \
            const wide value = ((const wide *)sums)[i], one = (wide)((wide)1 << bits), half = one / 2;                 \
            return (type)((value > 0 ? value + half : value - half) / one);                                            \
        }                                                                                                              \
        const float value = ((const float *)sums)[i];                                                                  \
        if (p->arithmetic == NNACL_RESIZE_UNSIGNED) {                                                                  \
            return (type)nnacl_clamp_s32((int32_t)(value + 0.5f) - 128, low, high);                                    \
        }                                                                                                              \
        return (type)nnacl_round_even(value, low, high);                                                               \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_resize_##dtype##_c);                                                                           \
    void nnacl_resize_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_resize_params *p = params;                                                                         \
        nnacl_resize_scratch *s = nnacl_resize_start(p, ctx->workspace);                                               \
        const int32_t last = p->rank - 1, bits = fraction_bits(p), *index = nnacl_resize_index(s, last);               \
        const ptrdiff_t width = (ptrdiff_t)p->to[last] * p->block;                                                     \
        const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));                                               \
        for (int32_t row = rows.begin; row < rows.end; row++) {                                                        \
            nnacl_resize_turn(p, s, row);                                                                              \
            type *y = (type *)out[0] + row * width;                                                                    \
            if (p->arithmetic == NNACL_RESIZE_FIXED) {                                                                 \
                sum_row_fixed_##dtype(p, s, in[0], 0);                                                                 \
            } else {                                                                                                   \
                sum_row_float_##dtype(p, s, in[0], p->arithmetic == NNACL_RESIZE_UNSIGNED ? 128 : 0);                  \
            }                                                                                                          \
            for (ptrdiff_t i = 0; i < width; i++) {                                                                    \
                if (s->combinations == 0 || index[i / p->block * p->taps[last]] < 0) {                                 \
                    memcpy(&y[i], p->fill, sizeof y[i]);                                                               \
                } else {                                                                                               \
                    y[i] = finish_##dtype(p, nnacl_resize_sums(s), i, bits);                                           \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

RESIZE(s8, int8_t, int32_t, -128, 127)
RESIZE(u8, uint8_t, int32_t, 0, 255)
RESIZE(s16, int16_t, int64_t, -32768, 32767)
