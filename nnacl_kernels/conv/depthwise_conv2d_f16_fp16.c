/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "common/tile_f16_fp16.h"
#include "conv/conv_half.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f16_fp16);

#define POSITIONS NNACL_DEPTHWISE_HALF

typedef struct layer {
    const nnacl_conv2d_params *p;
    const float16_t *const *table; /* [taps][POSITIONS] */
    const float16_t *x;            /* or NULL for the table: the first tap of positions that are wholly inside */
    ptrdiff_t row_step, column_step, position_step;
    const float16_t *weights;
    const float *bias;
    float16x8_t low, high;
} layer;

NNACL_ALWAYS_INLINE float16x8_t load_bias(const layer *l, int32_t channel, int32_t count) {
    if (!l->bias) {
        return vdupq_n_f16(0);
    }
    const float *bias = l->bias + channel;
    float values[8] = {0.0f};
    if (count < 8) {
        memcpy(values, bias, (size_t)count * sizeof *values);
        bias = values;
    }
    return vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(bias)), vld1q_f32(bias + 4));
}

/* Adds the products of taps first .. end - 1. */
NNACL_ALWAYS_INLINE void add_taps(const layer *l, int32_t channel, int32_t channels, int32_t first, int32_t end,
                                  float16x8_t *sums) {
    const float16_t *w = l->weights + (ptrdiff_t)first * l->p->out_c + channel;
    for (int32_t tap = first; tap < end; tap++, w += l->p->out_c) {
        const float16_t *const *x = l->table + tap * POSITIONS;
        const float16x8_t weight = nnacl_load_f16(w, channels);
#pragma GCC unroll 4
        for (int32_t i = 0; i < POSITIONS; i++) {
            sums[i] = vfmaq_f16(sums[i], nnacl_load_f16(x[i] + channel, channels), weight);
        }
    }
}

/* The same of all taps, where these are neighbours. */
NNACL_ALWAYS_INLINE void add_inside(const layer *l, int32_t channel, int32_t channels, float16x8_t *sums) {
    const float16_t *w = l->weights + channel;
    for (int32_t ky = 0; ky < l->p->kernel_h; ky++) {
        const float16_t *x = l->x + ky * l->row_step + channel;
        for (int32_t kx = 0; kx < l->p->kernel_w; kx++, x += l->column_step, w += l->p->out_c) {
            const float16x8_t weight = nnacl_load_f16(w, channels);
#pragma GCC unroll 4
            for (int32_t i = 0; i < POSITIONS; i++) {
                sums[i] = vfmaq_f16(sums[i], nnacl_load_f16(x + i * l->position_step, channels), weight);
            }
        }
    }
}

/* Up to 8 channels of the positions in the table, of which `count` are wanted. A short window is summed in f16; of a
 * longer one, sums of NNACL_TILE_DEPTH_F16 taps join others in f32. */
NNACL_ALWAYS_INLINE void run(const layer *l, int32_t channel, int32_t channels, int32_t count, float16_t *y,
                             const bool is_short) {
    const int32_t taps = l->p->kernel_h * l->p->kernel_w;
    float16x8_t sums[POSITIONS];
    const float16x8_t bias = load_bias(l, channel, channels);
    if (is_short) {
        sums[0] = sums[1] = sums[2] = sums[3] = bias;
        if (l->x) {
            add_inside(l, channel, channels, sums);
        } else {
            add_taps(l, channel, channels, 0, taps, sums);
        }
    } else {
        nnacl_wide_f16 wide[POSITIONS];
        for (int32_t i = 0; i < POSITIONS; i++) {
            wide[i] = nnacl_join_f16(nnacl_zeros_f16(), bias);
        }
        for (int32_t first = 0; first < taps; first += NNACL_TILE_DEPTH_F16) {
            const int32_t end = taps - first < NNACL_TILE_DEPTH_F16 ? taps : first + NNACL_TILE_DEPTH_F16;
            sums[0] = sums[1] = sums[2] = sums[3] = vdupq_n_f16(0);
            add_taps(l, channel, channels, first, end, sums);
            for (int32_t i = 0; i < POSITIONS; i++) {
                wide[i] = nnacl_join_f16(wide[i], sums[i]);
            }
        }
        for (int32_t i = 0; i < POSITIONS; i++) {
            sums[i] = nnacl_round_f16(wide[i]);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        const float16x8_t value = vminq_f16(vmaxq_f16(sums[i], l->low), l->high);
        nnacl_store_f16(y + (ptrdiff_t)i * l->p->out_c + channel, value, channels);
    }
}

/* All channels of the positions in the table. */
NNACL_ALWAYS_INLINE void run_channels(const layer *l, int32_t count, float16_t *y, const bool is_short) {
    const int32_t channels = l->p->out_c, whole = channels - channels % 8;
    for (int32_t channel = 0; channel < whole; channel += 8) {
        if (count == POSITIONS) {
            run(l, channel, 8, POSITIONS, y, is_short);
        } else {
            run(l, channel, 8, count, y, is_short);
        }
    }
    if (whole < channels) {
        run(l, whole, channels - whole, count, y, is_short);
    }
}

/* The first tap of the positions from `at` on, if they are neighbours and no tap is in the padding; else NULL. */
static const float16_t *inside(const nnacl_conv2d_params *p, const float16_t *x, int32_t at) {
    const int32_t line = at / p->out_w, column = at - line * p->out_w, image = line / p->out_h;
    const int32_t iy = (line - image * p->out_h) * p->stride_h - p->pad_top, ix = column * p->stride_w - p->pad_left;
    const int32_t bottom = iy + (p->kernel_h - 1) * p->dilation_h;
    const int32_t right = ix + (POSITIONS - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w;
    if (column + POSITIONS > p->out_w || iy < 0 || ix < 0 || bottom >= p->in_h || right >= p->in_w) {
        return NULL;
    }
    return x + (((ptrdiff_t)image * p->in_h + iy) * p->in_w + ix) * p->in_c;
}

void nnacl_depthwise_conv2d_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const void **table = ctx->workspace;
    void *zeros = (char *)ctx->workspace + nnacl_depthwise_half_table(p);
    layer l = {.p = p,
               .table = ctx->workspace,
               .row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c,
               .column_step = (ptrdiff_t)p->dilation_w * p->in_c,
               .position_step = (ptrdiff_t)p->stride_w * p->in_c,
               .weights = in[1],
               .bias = p->has_bias ? in[2] : NULL,
               .low = vdupq_n_f16((float16_t)p->clamp_min),
               .high = vdupq_n_f16((float16_t)p->clamp_max)};
    memset(zeros, 0, (size_t)p->in_c * sizeof(float16_t));
    const bool is_short = p->kernel_h <= NNACL_TILE_DEPTH_F16 && p->kernel_w <= NNACL_TILE_DEPTH_F16 &&
                          p->kernel_h * p->kernel_w <= NNACL_TILE_DEPTH_F16;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t end = rows.end * p->out_w;
    for (int32_t at = rows.begin * p->out_w; at < end; at += POSITIONS) {
        const int32_t count = end - at < POSITIONS ? end - at : POSITIONS;
        l.x = is_short && count == POSITIONS ? inside(p, in[0], at) : NULL;
        for (int32_t i = 0; i < POSITIONS && !l.x; i++) {
            nnacl_depthwise_half_taps(p, in[0], i < count ? at + i : at, zeros, i, table);
        }
        float16_t *y = (float16_t *)out[0] + (ptrdiff_t)at * p->out_c;
        if (is_short) {
            run_channels(&l, count, y, true);
        } else {
            run_channels(&l, count, y, false);
        }
    }
}
