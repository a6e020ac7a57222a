/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen channels at a time. Products of bytes of two taps are added in 16 bits, and then to sums of 32. With 3 x 3
 * taps weights and inputs stay in registers along a row of outputs. */
#if defined(__GNUC__) && !defined(__clang__) /* which would begin so many products at once that they leave registers   \
                                              */
#pragma GCC optimize("no-schedule-insns")
#endif
#include "common/requant_neon.h"
#include "common/share.h"
#include "conv/conv_arm.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_neon);

#define LANES NNACL_DEPTHWISE_ARM

/* A row of outputs of the channels of a block. */
typedef struct block_row {
    const int8_t *at; /* the first tap of the first window */
    ptrdiff_t line, tap, advance;
    int32_t kernel_h, kernel_w;
    const char *block;
    int32_t mode, zero, q_min, q_max;
    int8_t *y;
    ptrdiff_t y_step;
    int32_t columns, channels;
} block_row;

NNACL_ALWAYS_INLINE void add_words(int32x4_t *sums, int16x8_t words) {
    sums[0] = vaddw_s16(sums[0], vget_low_s16(words));
    sums[1] = vaddw_high_s16(sums[1], words);
}

/* Two taps. `half`: only the first eight channels; `wide`: both products may be too much for 16 bits. */
NNACL_ALWAYS_INLINE void add_pair(int32x4_t *sums, int8x16_t x, int8x16_t w, int8x16_t x2, int8x16_t w2,
                                  const bool half, const bool wide) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    if (wide) {
        add_words(sums, low);
        add_words(sums, vmull_s8(vget_low_s8(x2), vget_low_s8(w2)));
    } else {
        add_words(sums, vmlal_s8(low, vget_low_s8(x2), vget_low_s8(w2)));
    }
    if (half) {
        return;
    }
    const int16x8_t high = vmull_high_s8(x, w);
    if (wide) {
        add_words(sums + 2, high);
        add_words(sums + 2, vmull_high_s8(x2, w2));
    } else {
        add_words(sums + 2, vmlal_high_s8(high, x2, w2));
    }
}

NNACL_ALWAYS_INLINE void add_tap(int32x4_t *sums, int8x16_t x, int8x16_t w, const bool half) {
    add_words(sums, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    if (!half) {
        add_words(sums + 2, vmull_high_s8(x, w));
    }
}

NNACL_ALWAYS_INLINE void begin(int32x4_t *sums, const char *block, const bool half) {
    const int32_t *starts = (const int32_t *)(const void *)block;
    sums[0] = vld1q_s32(starts);
    sums[1] = vld1q_s32(starts + 4);
    if (!half) {
        sums[2] = vld1q_s32(starts + 8);
        sums[3] = vld1q_s32(starts + 12);
    }
}

/* Eight channels, whose multipliers are given. */
NNACL_ALWAYS_INLINE int16x8_t finish_words(const int32_t *multipliers, const int32x4_t *sums, int16x8_t zero,
                                           const int32_t mode) {
    const nnacl_requant_four first = nnacl_requant_load_neon(multipliers, LANES, mode);
    const nnacl_requant_four second = nnacl_requant_load_neon(multipliers + 4, LANES, mode);
    return nnacl_requant_words_neon(nnacl_requant_neon(sums[0], first, mode), nnacl_requant_neon(sums[1], second, mode),
                                    zero);
}

NNACL_ALWAYS_INLINE void finish(const block_row *row, const int32x4_t *sums, int8_t *y, const bool half,
                                const int32_t mode) {
    const int32_t *multipliers = (const int32_t *)(const void *)row->block + LANES;
    const int16x8_t zero = vdupq_n_s16((int16_t)row->zero);
    const int8x8_t low = vqmovn_s16(finish_words(multipliers, sums, zero, mode));
    const int8x16_t least = vdupq_n_s8((int8_t)row->q_min), most = vdupq_n_s8((int8_t)row->q_max);
    if (half) {
        const int8x8_t bytes = vmin_s8(vmax_s8(low, vget_low_s8(least)), vget_low_s8(most));
        nnacl_store_8_neon(y, bytes, row->channels);
        return;
    }
    const int8x16_t bytes = vqmovn_high_s16(low, finish_words(multipliers + 8, sums + 2, zero, mode));
    nnacl_store_16_neon(y, vminq_s8(vmaxq_s8(bytes, least), most), row->channels);
}

/* The column of three inputs at `x`. */
NNACL_ALWAYS_INLINE void load_column(const block_row *row, const int8_t *x, int8x16_t *column) {
    column[0] = vld1q_s8(x);
    column[1] = vld1q_s8(x + row->line);
    column[2] = vld1q_s8(x + 2 * row->line);
}

/* An output of three columns, whose weights stand row by row. */
NNACL_ALWAYS_INLINE void output_3x3(const block_row *row, const int8x16_t *a, const int8x16_t *b, const int8x16_t *c,
                                    const int8x16_t *w, int8_t *y, const bool half, const int32_t mode) {
    int32x4_t sums[4];
    begin(sums, row->block, half);
    add_pair(sums, a[0], w[0], b[0], w[1], half, false);
    add_pair(sums, c[0], w[2], a[1], w[3], half, false);
    add_pair(sums, b[1], w[4], c[1], w[5], half, false);
    add_pair(sums, a[2], w[6], b[2], w[7], half, false);
    add_tap(sums, c[2], w[8], half);
    finish(row, sums, y, half, mode);
}

/* 3 x 3 taps, no weight of -128. */
NNACL_ALWAYS_INLINE void outputs_3x3(const block_row *given, const bool half, const int32_t mode) {
    const block_row row = *given; /* what is written cannot lie there */
    const int8_t *weights = (const int8_t *)row.block + 4 * LANES * sizeof(int32_t), *x = row.at;
    int8_t *y = row.y;
    int8x16_t w[9], a[3], b[3], c[3];
#pragma GCC unroll 9
    for (int32_t i = 0; i < 9; i++) {
        w[i] = vld1q_s8(weights + LANES * i);
    }
    if (row.advance != row.tap) {
        for (int32_t left = row.columns; left > 0; left--, x += row.advance, y += row.y_step) {
            load_column(&row, x, a);
            load_column(&row, x + row.tap, b);
            load_column(&row, x + 2 * row.tap, c);
            output_3x3(&row, a, b, c, w, y, half, mode);
        }
        return;
    }
    load_column(&row, x, a);
    load_column(&row, x + row.tap, b);
    x += 2 * row.tap;
    for (int32_t left = row.columns; left > 0; left -= 3) {
        load_column(&row, x, c);
        output_3x3(&row, a, b, c, w, y, half, mode);
        if (left == 1) {
            return;
        }
        load_column(&row, x + row.tap, a);
        output_3x3(&row, b, c, a, w, y + row.y_step, half, mode);
        if (left == 2) {
            return;
        }
        load_column(&row, x + 2 * row.tap, b);
        output_3x3(&row, c, a, b, w, y + 2 * row.y_step, half, mode);
        x += 3 * row.tap;
        y += 3 * row.y_step;
    }
}

static void outputs_3x3_up(const block_row *row) {
    if (row->channels <= 8) {
        outputs_3x3(row, true, NNACL_ARM_UP);
    } else {
        outputs_3x3(row, false, NNACL_ARM_UP);
    }
}

static void outputs_3x3_scale(const block_row *row) {
    if (row->channels <= 8) {
        outputs_3x3(row, true, NNACL_ARM_SCALE);
    } else {
        outputs_3x3(row, false, NNACL_ARM_SCALE);
    }
}

/* Any taps. */
NNACL_ALWAYS_INLINE void outputs_any(const block_row *given, const bool wide) {
    const block_row row = *given;
    const int8_t *weights = (const int8_t *)row.block + 4 * LANES * sizeof(int32_t);
    for (int32_t column = 0; column < row.columns; column++) {
        const int8_t *x = row.at + column * row.advance, *w = weights;
        int8_t *y = row.y + column * row.y_step;
        int32x4_t sums[4];
        begin(sums, row.block, false);
        for (int32_t ky = 0; ky < row.kernel_h; ky++) {
            const int8_t *from = x + ky * row.line;
            int32_t kx = 0;
            for (; kx + 2 <= row.kernel_w; kx += 2, w += 2 * LANES, from += 2 * row.tap) {
                add_pair(sums, vld1q_s8(from), vld1q_s8(w), vld1q_s8(from + row.tap), vld1q_s8(w + LANES), false, wide);
            }
            if (kx < row.kernel_w) {
                add_tap(sums, vld1q_s8(from), vld1q_s8(w), false);
                w += LANES;
            }
        }
        if (row.mode == NNACL_ARM_UP) {
            finish(&row, sums, y, false, NNACL_ARM_UP);
        } else if (row.mode == NNACL_ARM_SCALE) {
            finish(&row, sums, y, false, NNACL_ARM_SCALE);
        } else if (row.mode == NNACL_ARM_DOUBLE) {
            finish(&row, sums, y, false, NNACL_ARM_DOUBLE);
        } else {
            finish(&row, sums, y, false, NNACL_ARM_SINGLE);
        }
    }
}

static void outputs(const block_row *row, bool wide) {
    const bool is_3x3 = row->kernel_h == 3 && row->kernel_w == 3 && !wide;
    if (is_3x3 && row->mode == NNACL_ARM_UP) {
        outputs_3x3_up(row);
    } else if (is_3x3 && row->mode == NNACL_ARM_SCALE) {
        outputs_3x3_scale(row);
    } else if (wide) {
        outputs_any(row, true);
    } else {
        outputs_any(row, false);
    }
}

/* How a block is requantized: a layer may have a few channels whose halves go away from zero. */
static int32_t block_mode(const char *block, int32_t mode) {
    const int32_t *shifts = (const int32_t *)(const void *)block + 2 * LANES;
    if (mode != NNACL_ARM_DOUBLE) {
        return mode;
    }
    for (int32_t j = 0; j < LANES; j += 4) {
        if (vmaxvq_s32(vld1q_s32(shifts + j)) > 0 || vminvq_s32(vld1q_s32(shifts + LANES + j)) < 0) {
            return mode;
        }
    }
    return NNACL_ARM_UP;
}

void nnacl_depthwise_conv2d_s8_neon(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_conv_band band = nnacl_depthwise_arm_band(p);
    const int32_t flags = nnacl_arm_word(in[1], 0);
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    block_row line = {.line = (ptrdiff_t)band.line * p->dilation_h,
                      .tap = (ptrdiff_t)p->in_c * p->dilation_w,
                      .advance = band.advance,
                      .kernel_h = p->kernel_h,
                      .kernel_w = p->kernel_w,
                      .zero = p->y_zero,
                      .q_min = p->q_min,
                      .q_max = p->q_max,
                      .y_step = p->out_c,
                      .columns = p->out_w};
    for (int32_t row = share.begin; row < share.end;) {
        const int32_t image = row / p->out_h, in_image = row - image * p->out_h;
        int32_t count = share.end - row < band.rows ? share.end - row : band.rows;
        count = count < p->out_h - in_image ? count : p->out_h - in_image;
        const int8_t *at = nnacl_conv_band_load(p, &band, in[0], image, in_image, count, ctx->workspace);
        line.block = (const char *)in[1] + NNACL_ARM_HEAD;
        for (int32_t channel = 0; channel < p->out_c; channel += LANES, line.block += nnacl_depthwise_arm_block(p)) {
            line.channels = p->out_c - channel < LANES ? p->out_c - channel : LANES;
            line.mode = block_mode(line.block, flags & NNACL_ARM_MODE);
            for (int32_t i = 0; i < count; i++) {
                line.at = at + (ptrdiff_t)i * p->stride_h * (ptrdiff_t)band.line + channel;
                line.y = (int8_t *)out[0] + (ptrdiff_t)(row + i) * p->out_w * p->out_c + channel;
                outputs(&line, (flags & NNACL_ARM_WIDE) != 0);
            }
        }
        row += count;
    }
}
