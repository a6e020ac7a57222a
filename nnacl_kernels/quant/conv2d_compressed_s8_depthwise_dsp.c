/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_compressed with one output channel for each input channel, four channels at a time. */
#include <string.h>

#include "common/share.h"
#include "quant/packed_columns.h"
#include "quant/packed_finish_dsp.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_depthwise_dsp);

/* A tap of four channels: where it is in the input, and its weights, the first and the third one in a word, the second
 * and the fourth. */
typedef struct packed_tap {
    int32_t offset;
    int16_t weights[4];
} packed_tap;

static void decode(const nnacl_conv2d_compressed_params *p, const uint32_t *channels, int32_t stride, int32_t count,
                   packed_tap *taps) {
    static const uint8_t places[4] = {0, 2, 1, 3};
    const int32_t offset = nnacl_packed_offset(p->offset, p->step), step = nnacl_packed_step(p->step);
    for (int32_t channel = 0; channel < 4; channel++) {
        const uint32_t *words = channels + (ptrdiff_t)channel * stride + NNACL_PACKED_HEAD;
        for (int32_t tap = 0, used = 0; tap < count; tap++) {
            const int32_t code = (int32_t)(*words >> used & ((1u << p->bits) - 1));
            taps[tap].weights[places[channel]] = (int16_t)(offset + step * code);
            used = (used + p->bits) & 31;
            words += used == 0;
        }
    }
}

/* Adds the products of neighbouring taps, of which there is at least one, to the sums of four channels: 11 instructions
 * for 4 multiply-accumulates. */
static inline void add_taps(const int8_t *x, const packed_tap *taps, int32_t count, uint32_t shift, int32_t sums[4]) {
    const packed_tap *const end = taps + count;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    uint32_t word, wide, even, odd;
    __asm__ volatile("1:\n"
                     "ldr     %[word], [%[taps]], #4\n"
                     "ldr     %[word], [%[x], %[word]]\n"
                     "ldrd    %[even], %[odd], [%[taps]], #8\n"
                     "sxtab16 %[wide], %[shift], %[word]\n"
                     "sxtab16 %[word], %[shift], %[word], ror #8\n"
                     "smlabb  %[s0], %[wide], %[even], %[s0]\n"
                     "smlatt  %[s2], %[wide], %[even], %[s2]\n"
                     "smlabb  %[s1], %[word], %[odd], %[s1]\n"
                     "smlatt  %[s3], %[word], %[odd], %[s3]\n"
                     "cmp     %[taps], %[end]\n"
                     "bne     1b\n"
                     : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [taps] "+r"(taps),
                       [word] "=&r"(word), [wide] "=&r"(wide), [even] "=&r"(even), [odd] "=&r"(odd)
                     : [x] "r"(x), [end] "r"(end), [shift] "r"(shift)
                     : "memory", "cc");
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The taps from `begin` to `end` along an axis are inside of the input. */
static inline nnacl_range taps_inside(int32_t origin, int32_t dilation, int32_t kernel, int32_t size) {
    nnacl_range taps = {0, kernel};
    while (taps.begin < kernel && origin + taps.begin * dilation < 0) {
        taps.begin++;
    }
    while (taps.end > taps.begin && origin + (taps.end - 1) * dilation >= size) {
        taps.end--;
    }
    return taps;
}

void nnacl_conv2d_compressed_s8_depthwise_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                              void *const out[]) {
    const nnacl_conv2d_compressed_params *p = params;
    const nnacl_packed_layer layer = nnacl_packed_conv(p);
    const uint32_t *weights = in[1], minus = (uint32_t)-p->x_zero & 0xffff, shift = minus << 16 | minus;
    const int32_t count = p->kernel_h * p->kernel_w, line_shift = (int32_t)weights[0];
    const int32_t stride = NNACL_PACKED_HEAD + nnacl_packed_words(p->bits, count);
    const int32_t last_x = p->in_w - (p->kernel_w - 1) * p->dilation_w - 1;
    packed_tap *taps = ctx->workspace;
    for (int32_t tap = 0; tap < count; tap++) {
        const int32_t ky = tap / p->kernel_w, kx = tap - ky * p->kernel_w;
        taps[tap].offset = (ky * p->dilation_h * p->in_w + kx * p->dilation_w) * p->in_c;
    }

    const nnacl_range quads = nnacl_share(ctx, (p->out_c + 3) / 4);
    for (int32_t quad = quads.begin; quad < quads.end; quad++) {
        const int32_t first = 4 * quad + 4 <= p->out_c ? 4 * quad : p->out_c - 4;
        const uint32_t *channels = weights + 1 + (ptrdiff_t)first * stride;
        decode(p, channels, stride, count, taps);
        int8_t *y = (int8_t *)out[0] + first;
        for (int32_t row = 0; row < p->batch * p->out_h; row++) {
            const int32_t image = row / p->out_h, top = (row - image * p->out_h) * p->stride_h - p->pad_top;
            const nnacl_range tall = taps_inside(top, p->dilation_h, p->kernel_h, p->in_h);
            const bool whole_tall = tall.end - tall.begin == p->kernel_h;
            const int8_t *line_of_x =
                (const int8_t *)in[0] + ((ptrdiff_t)image * p->in_h + top) * p->in_w * p->in_c + first;
            int32_t left = -p->pad_left;
            for (int32_t column = 0; column < p->out_w; column++, left += p->stride_w, y += p->out_c) {
                const int8_t *x = line_of_x + left * p->in_c;
                int32_t sums[4] = {0, 0, 0, 0};
                if (whole_tall && left >= 0 && left <= last_x) {
                    add_taps(x, taps, count, shift, sums);
                } else {
                    const nnacl_range wide = taps_inside(left, p->dilation_w, p->kernel_w, p->in_w);
                    for (int32_t ky = tall.begin; ky < tall.end && wide.begin < wide.end; ky++) {
                        add_taps(x, taps + ky * p->kernel_w + wide.begin, wide.end - wide.begin, shift, sums);
                    }
                }
                const int32_t *line = (const int32_t *)channels;
                for (int32_t i = 0; i < 4; i++, line += stride) {
                    y[i] = nnacl_packed_finish(&layer, line, line_shift, first + i, (uint32_t)sums[i]);
                }
                if (line_shift) {
                    nnacl_clamp_bytes(y, 4, p->q_min, p->q_max);
                }
            }
        }
    }
}
