/* SPDX-License-Identifier: Apache-2.0 */
/* 3 x 3 taps, 32 channels at a time, as depthwise_conv2d_s8_vnni.c has 64: half a block of conv/depthwise_quads.h. */
#include "common/gemm_s8_avxvnni.h"
#include "common/share.h"
#include "conv/conv.h"
#include "conv/depthwise_quads.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_avxvnni);

#define CHANNELS 32

/* Some channels of an output row. */
typedef struct quads_row {
    const nnacl_conv2d_params *p;
    int32_t count;          /* channels: 32 or 16 */
    const int8_t *lines[3]; /* at the first of them; NULL: padding */
    const int8_t *weights;
    __m256i padding, start[4];
    nnacl_requant_eight requant[4];
    int8_t *y;
} quads_row;

/* Channel c, of 32, in four vectors: as nnacl_quads_place() has it, of half a block. */
static int32_t place_of(int32_t c) {
    return c / 4 % 4 * 8 + c / 16 * 4 + c % 4;
}

/* Requantization and the sums to start from, for the channels from `channel` on; `packed` is their half of the block.
 */
static void prepare(quads_row *row, const int8_t *packed, const int32_t *bias, const int32_t *requant,
                    int32_t channel) {
    const nnacl_conv2d_params *p = row->p;
    const bool scales = p->rounding == NNACL_ROUND_FLOAT_EVEN;
    int32_t multipliers[CHANNELS] = {0}, shifts[CHANNELS] = {0}, ups[CHANNELS] = {0}, biases[CHANNELS] = {0};
    for (int32_t c = 0; c < row->count; c++) {
        const int32_t place = place_of(c);
        multipliers[place] = requant[channel + c];
        shifts[place] = scales ? 0 : requant[p->out_c + channel + c];
        ups[place] = p->rounding == NNACL_ROUND_TFLITE_UP ||
                             (p->rounding == NNACL_ROUND_TFLITE_UP_BY_8 && channel + c < p->out_c / 8 * 8)
                         ? -1
                         : 0;
        biases[place] = bias ? bias[channel + c] : 0;
    }
    for (int32_t q = 0; q < 4; q++) {
        row->requant[q] = (nnacl_requant_eight){nnacl_vector_load(multipliers + 8 * q),
                                                nnacl_vector_load(shifts + 8 * q),
                                                nnacl_vector_load(ups + 8 * q),
                                                p->rounding,
                                                p->y_zero,
                                                p->q_min - p->y_zero,
                                                p->q_max - p->y_zero};
        row->start[q] = nnacl_vector_add(nnacl_vector_load(biases + 8 * q), nnacl_vector_load(packed + 64 * q));
    }
    row->weights = packed + 4 * NNACL_QUADS_BLOCK;
}

/* Bytes of the pixel at `x`, 128 more each. */
NNACL_ALWAYS_INLINE __m256i pixel_at(const quads_row *row, const int8_t *line, int32_t x, const bool inside,
                                     const int32_t count) {
    if (!inside && (!line || x < 0 || x >= row->p->in_w)) {
        return row->padding;
    }
    const int8_t *from = line + (ptrdiff_t)x * row->p->in_c;
    const __m256i bytes = count == CHANNELS
                              ? nnacl_vector_load(from)
                              : _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));
    return _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80));
}

static NNACL_NOINLINE void requant_any(const quads_row *row, __m256i sums[4]) {
    for (int32_t q = 0; q < 4; q++) {
        sums[q] = nnacl_requant_avx2(sums[q], &row->requant[q]);
    }
}

NNACL_ALWAYS_INLINE void output(const quads_row *row, int32_t column, int32_t ix, const bool inside,
                                const int32_t count) {
    __m256i sums[4] = {row->start[0], row->start[1], row->start[2], row->start[3]};
    const __m256i none = _mm256_setzero_si256();
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; kx++) {
        const __m256i a = pixel_at(row, row->lines[0], ix + kx, inside, count);
        const __m256i b = pixel_at(row, row->lines[1], ix + kx, inside, count);
        const __m256i c = pixel_at(row, row->lines[2], ix + kx, inside, count);
        const __m256i ab = _mm256_unpacklo_epi8(a, b), c0 = _mm256_unpacklo_epi8(c, none);
        const __m256i ab_high = _mm256_unpackhi_epi8(a, b), c0_high = _mm256_unpackhi_epi8(c, none);
        const int8_t *w = row->weights + kx * 4 * NNACL_QUADS_BLOCK;
        nnacl_vector_dot(&sums[0], _mm256_unpacklo_epi16(ab, c0), nnacl_vector_load(w));
        nnacl_vector_dot(&sums[1], _mm256_unpackhi_epi16(ab, c0), nnacl_vector_load(w + 64));
        nnacl_vector_dot(&sums[2], _mm256_unpacklo_epi16(ab_high, c0_high), nnacl_vector_load(w + 128));
        nnacl_vector_dot(&sums[3], _mm256_unpackhi_epi16(ab_high, c0_high), nnacl_vector_load(w + 192));
    }
    if (row->requant[0].rounding == NNACL_ROUND_FLOAT_EVEN) {
        const __m256i zero = _mm256_set1_epi32(row->requant[0].zero);
        const __m256i low = _mm256_set1_epi32(row->requant[0].low), high = _mm256_set1_epi32(row->requant[0].high);
#pragma GCC unroll 4
        for (int32_t q = 0; q < 4; q++) {
            const __m256i scaled = nnacl_requant_scaled_avx2(sums[q], row->requant[q].multiplier, low, high);
            sums[q] = _mm256_add_epi32(scaled, zero);
        }
    } else {
        requant_any(row, sums);
    }
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3]));
    int8_t *to = row->y + (ptrdiff_t)column * row->p->out_c;
    if (count == CHANNELS) {
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    } else {
        _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(bytes));
    }
}

/* All of the row; `whole`: no line is padding. */
NNACL_ALWAYS_INLINE void outputs(const quads_row *given, bool whole, const int32_t count) {
    const quads_row row = *given; /* what is written cannot lie there */
    const int32_t end = row.p->out_w, step = row.p->stride_w, in_w = row.p->in_w;
    int32_t ix = -row.p->pad_left;
    for (int32_t column = 0; column < end; column++, ix += step) {
        if (whole && ix >= 0 && ix + 3 <= in_w) {
            output(&row, column, ix, true, count);
        } else {
            output(&row, column, ix, false, count);
        }
    }
}

void nnacl_depthwise_conv2d_s8_avxvnni(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                       void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    quads_row row = {.p = p, .padding = _mm256_set1_epi8((char)(p->x_zero ^ 0x80))};
    for (int32_t channel = 0; channel < p->out_c; channel += CHANNELS) {
        const int8_t *block = (const int8_t *)in[1] + (ptrdiff_t)(channel / NNACL_QUADS_BLOCK) * NNACL_QUADS_BYTES;
        row.count = p->out_c - channel < CHANNELS ? p->out_c - channel : CHANNELS;
        prepare(&row, block + channel % NNACL_QUADS_BLOCK, p->has_bias ? in[2] : NULL, in[3], channel);
        for (int32_t i = rows.begin; i < rows.end; i++) {
            const bool whole = nnacl_quads_lines(p, in[0], channel, i, row.lines);
            row.y = (int8_t *)out[0] + (ptrdiff_t)i * p->out_w * p->out_c + channel;
            if (row.count == CHANNELS) {
                outputs(&row, whole, CHANNELS);
            } else {
                outputs(&row, whole, CHANNELS / 2);
            }
        }
    }
}
