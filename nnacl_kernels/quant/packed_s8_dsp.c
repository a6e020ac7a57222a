/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_s8_dsp.h"

#include <arm_acle.h>

#include "common/requant.h"
#include "common/share.h"
#include "quant/packed_columns.h"

/* The last `bytes` (1 .. 3) bytes of a row. */
static uint32_t load_rest(const uint8_t *row, int32_t bytes) {
    uint32_t word = row[0];
    word |= bytes > 1 ? (uint32_t)row[1] << 8 : 0;
    return word | (bytes > 2 ? (uint32_t)row[2] << 16 : 0);
}

static inline uint32_t load_word(const void *source) {
    uint32_t word;
    memcpy(&word, source, sizeof word);
    return word;
}

/* clang-format off */
/* A pair of codes of one row and four positions: 7 instructions, 8 multiply-accumulates. */
#define POSITIONS(shift)                                                                                               \
    "and    %[codes], %[mask], %[word], lsr #" #shift "\n"                                                            \
    "ldrd   %[a], %[b], [%[x]], #8\n"                                                                                 \
    "smlad  %[s0], %[codes], %[a], %[s0]\n"                                                                           \
    "smlad  %[s1], %[codes], %[b], %[s1]\n"                                                                           \
    "ldrd   %[a], %[b], [%[x]], #8\n"                                                                                 \
    "smlad  %[s2], %[codes], %[a], %[s2]\n"                                                                           \
    "smlad  %[s3], %[codes], %[b], %[s3]\n"

/* Pairs of codes of two rows and one position: 5 instructions, 4 multiply-accumulates. */
#define ROWS(shift)                                                                                                    \
    "ldr    %[a], [%[x]], #4\n"                                                                                       \
    "and    %[codes], %[mask], %[word], lsr #" #shift "\n"                                                            \
    "smlad  %[s0], %[codes], %[a], %[s0]\n"                                                                           \
    "and    %[codes], %[mask], %[other], lsr #" #shift "\n"                                                           \
    "smlad  %[s1], %[codes], %[a], %[s1]\n"

/* All codes of a word. */
#define STEPS_4(step) step(0) step(4) step(8) step(12)
#define STEPS_2(step) step(0) step(2) step(4) step(6) step(8) step(10) step(12) step(14)
#define STEPS_1(step)                                                                                                  \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)                                                    \
    step(8) step(9) step(10) step(11) step(12) step(13) step(14) step(15)
/* clang-format on */

/* The sums of the products of `row` with four positions, whose pairs lie side by side. */
#define DEFINE_FOUR(bits)                                                                                              \
    static void four_of_##bits(const uint8_t *row, int32_t bytes, const uint32_t *x, int32_t *sums) {                  \
        const uint32_t mask = ((1u << (bits)) - 1) * 0x10001u;                                                         \
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                        \
        for (; bytes > 0; bytes -= 4, row += 4) {                                                                      \
            const uint32_t word = bytes < 4 ? load_rest(row, bytes) : load_word(row);                                  \
            uint32_t a, b, codes;                                                                                      \
            __asm__ volatile(STEPS_##bits(POSITIONS)                                                                   \
                             : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [x] "+r"(x), [a] "=&r"(a),  \
                               [b] "=&r"(b), [codes] "=&r"(codes)                                                      \
                             : [word] "r"(word), [mask] "r"(mask)                                                      \
                             : "memory");                                                                              \
        }                                                                                                              \
        sums[0] = s0;                                                                                                  \
        sums[1] = s1;                                                                                                  \
        sums[2] = s2;                                                                                                  \
        sums[3] = s3;                                                                                                  \
    }

/* The sums of the products of `row` and the row behind it with one position. */
#define DEFINE_TWO(bits)                                                                                               \
    static void two_of_##bits(const uint8_t *row, int32_t bytes, const uint32_t *x, int32_t *sums) {                   \
        const uint32_t mask = ((1u << (bits)) - 1) * 0x10001u;                                                         \
        const uint8_t *second = row + bytes;                                                                           \
        int32_t s0 = 0, s1 = 0;                                                                                        \
        for (; bytes > 0; bytes -= 4, row += 4, second += 4) {                                                         \
            const uint32_t word = bytes < 4 ? load_rest(row, bytes) : load_word(row);                                  \
            const uint32_t other = bytes < 4 ? load_rest(second, bytes) : load_word(second);                           \
            uint32_t a, codes;                                                                                         \
            __asm__ volatile(STEPS_##bits(ROWS)                                                                        \
                             : [s0] "+r"(s0), [s1] "+r"(s1), [x] "+r"(x), [a] "=&r"(a), [codes] "=&r"(codes)           \
                             : [word] "r"(word), [other] "r"(other), [mask] "r"(mask)                                  \
                             : "memory");                                                                              \
        }                                                                                                              \
        sums[0] = s0;                                                                                                  \
        sums[1] = s1;                                                                                                  \
    }

DEFINE_FOUR(1)
DEFINE_FOUR(2)
DEFINE_FOUR(4)
DEFINE_TWO(1)
DEFINE_TWO(2)
DEFINE_TWO(4)

static inline uint32_t turned(uint32_t word) {
    return word >> 8 | word << 24;
}

/* Widens the bytes of a window, less the zero point, into pairs `step` words apart; the sum of all. */
static int32_t widen(const int8_t *bytes, int32_t pairs, int32_t half, int32_t zero, uint32_t *to, int32_t step) {
    const uint32_t minus = (uint32_t)-zero & 0xffff, shift = minus << 16 | minus;
    int32_t sum = 0;
    for (int32_t block = 0; block < pairs; block += half) {
        for (int32_t j = 0; j < half; j += 4) {
            const uint32_t low = load_word(bytes + j), high = load_word(bytes + half + j);
            const uint32_t low_even = (uint32_t)__sxtab16((int16x2_t)shift, (int8x4_t)low);
            const uint32_t low_odd = (uint32_t)__sxtab16((int16x2_t)shift, (int8x4_t)turned(low));
            const uint32_t high_even = (uint32_t)__sxtab16((int16x2_t)shift, (int8x4_t)high);
            const uint32_t high_odd = (uint32_t)__sxtab16((int16x2_t)shift, (int8x4_t)turned(high));
            to[0] = (low_even & 0xffff) | high_even << 16;
            to[step] = (low_odd & 0xffff) | high_odd << 16;
            to[2 * step] = low_even >> 16 | (high_even & 0xffff0000u);
            to[3 * step] = low_odd >> 16 | (high_odd & 0xffff0000u);
            to += 4 * step;
            sum = __smlad((int16x2_t)0x10001, (int16x2_t)low_even, sum);
            sum = __smlad((int16x2_t)0x10001, (int16x2_t)low_odd, sum);
            sum = __smlad((int16x2_t)0x10001, (int16x2_t)high_even, sum);
            sum = __smlad((int16x2_t)0x10001, (int16x2_t)high_odd, sum);
        }
        bytes += 2 * half;
    }
    return sum;
}

typedef void (*multiply_fn)(const uint8_t *row, int32_t bytes, const uint32_t *x, int32_t *sums);

static multiply_fn choose_multiply(int32_t bits, bool four) {
    if (NNACL_HAS_BITS(bits, 1)) {
        return four ? four_of_1 : two_of_1;
    }
    if (NNACL_HAS_BITS(bits, 2)) {
        return four ? four_of_2 : two_of_2;
    }
    if (NNACL_HAS_BITS(bits, 4)) {
        return four ? four_of_4 : two_of_4;
    }
    return NULL;
}

/* What all positions have in common. */
typedef struct packed_rows {
    const nnacl_packed_layer *layer;
    const uint8_t *weights;
    const int32_t *bias;
    const void *requant;
    int32_t stride; /* bytes of a row */
    int32_t step;
} packed_rows;

/* Finishes the sum of the products of codes; `start` is what the offset of all codes adds. */
static int8_t finish(const packed_rows *r, int32_t channel, int32_t sum, uint32_t start) {
    const nnacl_packed_layer *p = r->layer;
    const uint32_t total = (uint32_t)r->step * (uint32_t)sum + start + (r->bias ? (uint32_t)r->bias[channel] : 0);
    return (int8_t)nnacl_requant_channel((int32_t)total, r->requant, p->out_c, channel, p->rounding, p->y_zero,
                                         p->q_min, p->q_max);
}

static void run_four(const packed_rows *r, const uint32_t *columns, const uint32_t starts[4], int8_t *y) {
    const multiply_fn multiply = choose_multiply(r->layer->bits, true);
    const int32_t channels = r->layer->out_c;
    const uint8_t *row = r->weights;
    for (int32_t channel = 0; channel < channels; channel++) {
        int32_t sums[4];
        multiply(row, r->stride, columns, sums);
        row += r->stride;
        for (int32_t i = 0; i < 4; i++) {
            y[(ptrdiff_t)i * channels + channel] = finish(r, channel, sums[i], starts[i]);
        }
    }
}

/* One position; of an odd number of channels the last two are computed again. */
static void run_one(const packed_rows *r, const uint32_t *columns, uint32_t start, int8_t *y) {
    const multiply_fn multiply = choose_multiply(r->layer->bits, false);
    const int32_t channels = r->layer->out_c;
    for (int32_t channel = 0; channel < channels; channel += 2) {
        const int32_t first = channel + 1 < channels ? channel : channels - 2;
        int32_t sums[2];
        multiply(r->weights + (ptrdiff_t)first * r->stride, r->stride, columns, sums);
        y[first] = finish(r, first, sums[0], start);
        y[first + 1] = finish(r, first + 1, sums[1], start);
    }
}

void nnacl_packed_s8_dsp(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], int8_t *y) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, pairs = nnacl_packed_pairs(p->bits, depth);
    const packed_rows rows = {.layer = p,
                              .weights = in[1],
                              .bias = p->has_bias ? in[2] : NULL,
                              .requant = in[3],
                              .stride = nnacl_packed_stride(p->bits, depth),
                              .step = nnacl_packed_step(p->step)};
    const uint32_t offset = (uint32_t)nnacl_packed_offset(p->offset, p->step);
    uint32_t *columns = ctx->workspace;
    int8_t *window = (int8_t *)(columns + pairs * NNACL_PACKED_POSITIONS);
    memset(window, p->x_zero, (size_t)pairs * 2);

    const nnacl_range positions = nnacl_share(ctx, p->batch * p->out_h * p->out_w);
    nnacl_packed_place place = nnacl_packed_place_at(p, positions.begin);
    y += (ptrdiff_t)positions.begin * p->out_c;
    for (int32_t left = positions.end - positions.begin, count; left > 0; left -= count) {
        uint32_t starts[NNACL_PACKED_POSITIONS];
        count = left >= NNACL_PACKED_POSITIONS ? NNACL_PACKED_POSITIONS : 1;
        for (int32_t i = 0; i < count; i++) {
            nnacl_packed_gather(p, in[0], 1, place, p->x_zero, window);
            starts[i] = offset * (uint32_t)widen(window, pairs, 16 / p->bits, p->x_zero, columns + i, count);
            nnacl_packed_next(p, &place);
        }
        if (count == 1) {
            run_one(&rows, columns, starts[0], y);
        } else {
            run_four(&rows, columns, starts, y);
        }
        y += (ptrdiff_t)count * p->out_c;
    }
}
