/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_compressed with one output channel for each input channel: the codes of the channels at hand become bytes,
 * with which the kernel of depthwise_conv2d goes over the image. */
#include "conv/depthwise_mve.h"
#include "quant/packed_mve.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_depthwise_mve);

static void decode(const nnacl_conv2d_compressed_params *p, const uint8_t *codes, int32_t count, int8_t *to) {
    const int32_t offset = nnacl_packed_offset(p->offset, p->step), step = nnacl_packed_step(p->step);
    const uint32_t mask = (1u << p->bits) - 1;
    for (uint32_t bit = 0; count > 0; count--, bit += (uint32_t)p->bits) {
        *to++ = (int8_t)(offset + step * (int32_t)(codes[bit / 8] >> bit % 8 & mask));
    }
}

/* The parameters of the layer as convolution, and its own. */
typedef struct packed_layer {
    nnacl_conv2d_params conv;
    const nnacl_conv2d_compressed_params *p;
} packed_layer;

/* Eight channels have whole bytes of codes. */
static void begin(const nnacl_sweep *s, int32_t channel, int32_t channels) {
    const packed_layer *layer = (const packed_layer *)(const void *)s->p;
    int8_t taps[NNACL_SWEEP_CHANNELS_MVE * 9];
    decode(layer->p, (const uint8_t *)s->taps + (ptrdiff_t)channel * 9 * layer->p->bits / 8, channels * 9, taps);
    nnacl_mve_begin(s, taps, channels);
}

static NNACL_NOINLINE void run_3x3(const nnacl_ctx *ctx, const packed_layer *layer, const int8_t *x,
                                   const int32_t *packed, int8_t *y, nnacl_range share) {
    nnacl_mve_sweep(ctx, &layer->conv, x, packed, y, share, begin);
}

/* Some groups of eight channels at a time, decoded behind the table of taps. */
static NNACL_NOINLINE void run_taps(const nnacl_ctx *ctx, const packed_layer *layer, const int8_t *x,
                                    const int32_t *packed, int8_t *y, nnacl_range share) {
    const nnacl_conv2d_params *p = &layer->conv;
    const int32_t count = p->kernel_h * p->kernel_w, groups = nnacl_channel_groups(p->in_c, 8);
    const int32_t codes = nnacl_packed_group_codes_mve(layer->p->bits, count), words = NNACL_TAPS_WORDS_MVE + 2 * count;
    const int8_t **taps = ctx->workspace;
    int32_t *decoded = (int32_t *)(taps + count);
    int8_t *zeros = (int8_t *)(decoded + NNACL_PACKED_GROUPS_MVE * words);
    memset(zeros, p->x_zero, (size_t)p->in_c);
    for (int32_t first = 0; first < groups; first += NNACL_PACKED_GROUPS_MVE) {
        const int32_t left = groups - first, here = left < NNACL_PACKED_GROUPS_MVE ? left : NNACL_PACKED_GROUPS_MVE;
        for (int32_t i = 0; i < here; i++) {
            const int32_t *from = packed + 1 + (ptrdiff_t)(first + i) * (NNACL_TAPS_WORDS_MVE + codes);
            int32_t *to = decoded + i * words;
            memcpy(to, from, 8 * sizeof(int32_t));
            decode(layer->p, (const uint8_t *)(from + 8), 8 * count, (int8_t *)(to + 8));
            memcpy(to + 8 + 2 * count, from + 8 + codes, 16 * sizeof(int32_t));
        }
        for (int32_t row = share.begin; row < share.end; row++) {
            const int32_t image = row / p->out_h;
            for (int32_t column = 0; column < p->out_w; column++) {
                nnacl_find_taps(p, x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c, row - image * p->out_h, column,
                                zeros, taps);
                for (int32_t i = 0; i < here; i++) {
                    const int32_t *group = decoded + i * words;
                    const int32_t channel = nnacl_group_channel(p->in_c, first + i, 8);
                    const bool is_exact = packed[0] & NNACL_LINES_MIXED && group[words - 16] < 0;
                    nnacl_taps at = {.taps = taps,
                                     .count = count,
                                     .group = group,
                                     .groups = 1,
                                     .channel = channel,
                                     .y = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c + channel,
                                     .shift = is_exact ? 0 : -NNACL_SHIFT_OF(packed[0])};
                    nnacl_mve_taps_group(p, &at, nnacl_taps_s8_mve);
                }
            }
        }
    }
}

void nnacl_conv2d_compressed_s8_depthwise_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                              void *const out[]) {
    const packed_layer layer = {.conv = nnacl_packed_as_conv(params), .p = params};
    const nnacl_conv2d_params *p = &layer.conv;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t row = p->out_w * p->out_c;
    (nnacl_depthwise_has_sweep(p) ? run_3x3 : run_taps)(ctx, &layer, in[0], in[1], out[0], share);
    nnacl_clamp_bytes((int8_t *)out[0] + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min,
                      p->q_max);
}
