/* SPDX-License-Identifier: Apache-2.0 */
/* 3 x 3 taps, 64 channels at a time: the bytes of the three lines are interleaved to quads, which vpdpbusd multiplies
 * by those of the weights. It takes bytes without a sign, so 128 is added to each and their sum taken off before. */
#include "common/dot_vnni.h"
#include "common/requant_avx512.h"
#include "common/share.h"
#include "conv/conv.h"
#include "conv/depthwise_quads.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_vnni);

/* A block of channels of an output row, or all of a few channels of some neighbours. */
typedef struct quads_row {
    const nnacl_conv2d_params *p;
    int32_t pixels, in_w;
    ptrdiff_t channels;     /* of the whole tensor */
    const int8_t *lines[3]; /* at the first channel of the block; NULL: padding */
    const int8_t *weights;
    __mmask64 lanes;
    __m512i padding, start[4], every_second;
    nnacl_requant_lanes requant[4];
    int8_t *y;
} quads_row;

/* Four natural vectors of 16 channels to the order of the block. */
static void reorder(__m512i v[4]) {
    const __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const __m512i c = _mm512_shuffle_i32x4(v[0], v[1], 0xee), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    v[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    v[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    v[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* Requantization and the sums to start from, for the channels from `channel` of `channels` on. */
static void prepare(quads_row *row, const int8_t *packed, const int32_t *bias, const void *requant, int32_t channel,
                    int32_t channels) {
    const nnacl_conv2d_params *p = row->p;
    __m512i multipliers[4], shifts[4], biases[4];
    uint64_t up = 0;
    for (int32_t q = 0; q < 4; q++) {
        const int32_t left = channels - channel - 16 * q, first = left > 0 ? channel + 16 * q : channel;
        row->requant[q] =
            nnacl_requant_lanes_avx512(requant, channels, first, left, p->rounding, p->y_zero, p->q_min, p->q_max);
        multipliers[q] = row->requant[q].multiplier;
        shifts[q] = row->requant[q].shift;
        biases[q] =
            bias ? _mm512_maskz_loadu_epi32(nnacl_lanes_s32_avx512(left), bias + first) : _mm512_setzero_si512();
        up |= (uint64_t)row->requant[q].up << 16 * q;
    }
    reorder(multipliers);
    reorder(shifts);
    reorder(biases);
    uint64_t turned = 0;
    for (int32_t c = 0; c < NNACL_QUADS_BLOCK; c++) {
        turned |= (up >> c & 1) << nnacl_quads_place(c);
    }
    for (int32_t q = 0; q < 4; q++) {
        row->requant[q].multiplier = multipliers[q];
        row->requant[q].shift = shifts[q];
        row->requant[q].up = (__mmask16)(turned >> 16 * q);
        row->start[q] = _mm512_add_epi32(biases[q], _mm512_loadu_si512(packed + 64 * q));
    }
    row->weights = packed + 4 * NNACL_QUADS_BLOCK;
}

/* The same for all channels of each of the neighbours. */
static void prepare_pixels(quads_row *row, const int8_t *packed, const int32_t *bias, const int32_t *requant) {
    const int32_t channels = row->p->out_c;
    int32_t biases[NNACL_QUADS_BLOCK], numbers[2 * NNACL_QUADS_BLOCK];
    for (int32_t i = 0; i < NNACL_QUADS_BLOCK; i++) {
        const int32_t channel = i % channels;
        biases[i] = bias ? bias[channel] : 0;
        numbers[i] = requant[channel];
        numbers[NNACL_QUADS_BLOCK + i] = row->p->rounding == NNACL_ROUND_FLOAT_EVEN ? 0 : requant[channels + channel];
    }
    prepare(row, packed, biases, numbers, 0, NNACL_QUADS_BLOCK);
}

/* What stands in a block: a pixel, neighbouring ones, or every second one. */
typedef enum quads_of { ONE, NEAR, APART } quads_of;

/* Bytes of the pixels from `x` on; those outside of the line are padding. */
NNACL_ALWAYS_INLINE __m512i pixels_at(const quads_row *row, const int8_t *line, int32_t x, const bool inside,
                                      const quads_of kind) {
    const ptrdiff_t channels = row->channels;
    const __m512i flip = _mm512_set1_epi8((char)0x80);
    if (!inside) {
        const int32_t before = x < 0 ? -x : 0, end = row->in_w - x;
        if (!line || end <= 0 || before >= (kind == ONE ? 1 : row->pixels)) {
            return row->padding;
        }
        if (kind != ONE) {
            __mmask64 lanes = ~(__mmask64)0 << before * channels;
            lanes &= end < row->pixels ? ((__mmask64)1 << end * channels) - 1 : lanes;
            const __m512i others = _mm512_xor_si512(row->padding, flip);
            return _mm512_xor_si512(_mm512_mask_loadu_epi8(others, lanes, line + x * channels), flip);
        }
    }
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(row->lanes, line + x * channels), flip);
}

NNACL_ALWAYS_INLINE __m512i line_at(const quads_row *row, int32_t line, int32_t x, const bool inside,
                                    const quads_of kind) {
    const __m512i bytes = pixels_at(row, row->lines[line], x, inside, kind);
    if (kind != APART) {
        return bytes;
    }
    const __m512i further = pixels_at(row, row->lines[line], x + row->pixels, inside, kind);
    return _mm512_permutex2var_epi64(bytes, row->every_second, further);
}

NNACL_ALWAYS_INLINE void output(const quads_row *row, int32_t column, int32_t ix, const bool inside, const bool scales,
                                const quads_of kind) {
    __m512i sums[4] = {row->start[0], row->start[1], row->start[2], row->start[3]};
    const __m512i none = _mm512_setzero_si512();
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; kx++) {
        const __m512i a = line_at(row, 0, ix + kx, inside, kind), b = line_at(row, 1, ix + kx, inside, kind);
        const __m512i c = line_at(row, 2, ix + kx, inside, kind);
        const __m512i ab = _mm512_unpacklo_epi8(a, b), c0 = _mm512_unpacklo_epi8(c, none);
        const __m512i ab_high = _mm512_unpackhi_epi8(a, b), c0_high = _mm512_unpackhi_epi8(c, none);
        const int8_t *w = row->weights + kx * 4 * NNACL_QUADS_BLOCK;
        nnacl_dot_vnni(&sums[0], _mm512_unpacklo_epi16(ab, c0), _mm512_loadu_si512(w));
        nnacl_dot_vnni(&sums[1], _mm512_unpackhi_epi16(ab, c0), _mm512_loadu_si512(w + 64));
        nnacl_dot_vnni(&sums[2], _mm512_unpacklo_epi16(ab_high, c0_high), _mm512_loadu_si512(w + 128));
        nnacl_dot_vnni(&sums[3], _mm512_unpackhi_epi16(ab_high, c0_high), _mm512_loadu_si512(w + 192));
    }
    if (scales) {
        const __m512i zero = _mm512_set1_epi32(row->requant[0].zero);
#pragma GCC unroll 4
        for (int32_t q = 0; q < 4; q++) {
            sums[q] = nnacl_requant_unclamped_avx512(sums[q], row->requant[q].multiplier, zero);
        }
    } else {
        for (int32_t q = 0; q < 4; q++) {
            sums[q] = nnacl_requant_avx512(sums[q], &row->requant[q]);
        }
    }
    const __m512i words = _mm512_packs_epi32(sums[0], sums[1]), words_high = _mm512_packs_epi32(sums[2], sums[3]);
    const int32_t left = row->p->out_w - column;
    const bool rest = kind != ONE && left < row->pixels;
    const __mmask64 lanes = rest ? ((__mmask64)1 << left * row->channels) - 1 : row->lanes;
    _mm512_mask_storeu_epi8(row->y + column * row->channels, lanes, _mm512_packs_epi16(words, words_high));
}

/* All of the row; `whole`: no line is padding. `scales`: as nnacl_requant_lanes.saturates. */
NNACL_ALWAYS_INLINE void outputs(const quads_row *given, bool whole, const bool scales, const quads_of kind) {
    const quads_row row = *given; /* what is written cannot lie there */
    const int32_t pixels = kind == ONE ? 1 : row.pixels, reach = 2 + (kind == APART ? 2 : 1) * pixels;
    const int32_t end = row.p->out_w, step = pixels * row.p->stride_w, in_w = row.in_w;
    int32_t ix = -row.p->pad_left;
    for (int32_t column = 0; column < end; column += pixels, ix += step) {
        if (whole && ix >= 0 && ix + reach <= in_w) {
            output(&row, column, ix, true, scales, kind);
        } else {
            output(&row, column, ix, false, scales, kind);
        }
    }
}

static void outputs_one(const quads_row *row, bool whole) {
    outputs(row, whole, true, ONE);
}

static void outputs_near(const quads_row *row, bool whole) {
    outputs(row, whole, true, NEAR);
}

static void outputs_apart(const quads_row *row, bool whole) {
    outputs(row, whole, true, APART);
}

static void outputs_any_one(const quads_row *row, bool whole) {
    outputs(row, whole, false, ONE);
}

static void outputs_any_near(const quads_row *row, bool whole) {
    outputs(row, whole, false, NEAR);
}

static void outputs_any_apart(const quads_row *row, bool whole) {
    outputs(row, whole, false, APART);
}

/* Which eights of bytes of twice as many pixels belong to every second one. */
static __m512i every_second(int32_t channels) {
    int64_t from[8];
    const int32_t eights = channels / 8;
    for (int32_t i = 0; i < 8; i++) {
        from[i] = i / eights * 2 * eights + i % eights;
    }
    return _mm512_loadu_si512(from);
}

void nnacl_depthwise_conv2d_s8_vnni(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    static void (*const by_scales[])(const quads_row *, bool) = {outputs_one, outputs_near, outputs_apart};
    static void (*const by_any[])(const quads_row *, bool) = {outputs_any_one, outputs_any_near, outputs_any_apart};
    quads_row row = {.p = p,
                     .pixels = nnacl_quads_pixels(p),
                     .in_w = p->in_w,
                     .channels = p->in_c,
                     .padding = _mm512_set1_epi8((char)(p->x_zero ^ 0x80))};
    const quads_of kind = row.pixels == 1 ? ONE : p->stride_w == 1 ? NEAR : APART;
    row.every_second = kind == APART ? every_second(p->out_c) : _mm512_setzero_si512();
    for (int32_t block = 0; block < nnacl_quads_blocks(p); block++) {
        const int32_t channel = block * NNACL_QUADS_BLOCK, left = p->out_c * row.pixels - channel;
        row.lanes = left >= NNACL_QUADS_BLOCK ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
        const int8_t *packed = (const int8_t *)in[1] + (ptrdiff_t)block * NNACL_QUADS_BYTES;
        if (row.pixels > 1) {
            prepare_pixels(&row, packed, bias, in[3]);
        } else {
            prepare(&row, packed, bias, in[3], channel, p->out_c);
        }
        const bool scales = row.requant[0].saturates && row.requant[1].saturates && row.requant[2].saturates &&
                            row.requant[3].saturates;
        for (int32_t i = rows.begin; i < rows.end; i++) {
            const bool whole = nnacl_quads_lines(p, in[0], channel, i, row.lines);
            row.y = (int8_t *)out[0] + (ptrdiff_t)i * p->out_w * p->out_c + channel;
            (scales ? by_scales : by_any)[kind](&row, whole);
        }
    }
}
