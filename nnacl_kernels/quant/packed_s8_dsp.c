/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_s8_dsp.h"

#include "common/share.h"
#include "quant/packed_columns.h"
#include "quant/packed_finish_dsp.h"

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

/* Bytes 0 and 2 of a word, or with `odd` 1 and 3, widened, plus two halves. */
static inline uint32_t widened(uint32_t halves, uint32_t word, bool odd) {
    uint32_t result;
    if (odd) {
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(result) : "r"(halves), "r"(word));
    } else {
        __asm__("sxtab16 %0, %1, %2" : "=r"(result) : "r"(halves), "r"(word));
    }
    return result;
}

/* The low halves of two words side by side, and the high ones. */
static inline uint32_t low_halves(uint32_t low, uint32_t high) {
    uint32_t result;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(result) : "r"(low), "r"(high));
    return result;
}

static inline uint32_t high_halves(uint32_t low, uint32_t high) {
    uint32_t result;
    __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(result) : "r"(low), "r"(high));
    return result;
}

/* Widens the bytes of a window, less the zero point, into pairs `step` words apart; the sum of all. */
static inline int32_t widen(const int8_t *bytes, int32_t pairs, int32_t half, int32_t zero, uint32_t *to,
                            int32_t step) {
    const uint32_t minus = (uint32_t)-zero & 0xffff, shift = minus << 16 | minus;
    int32_t sum = 0;
    for (int32_t block = 0; block < pairs; block += half) {
        for (int32_t j = 0; j < half; j += 4) {
            const uint32_t low = load_word(bytes + j), high = load_word(bytes + half + j);
            const uint32_t low_even = widened(shift, low, false), low_odd = widened(shift, low, true);
            const uint32_t high_even = widened(shift, high, false), high_odd = widened(shift, high, true);
            to[0] = low_halves(low_even, high_even);
            to[step] = low_halves(low_odd, high_odd);
            to[2 * step] = high_halves(low_even, high_even);
            to[3 * step] = high_halves(low_odd, high_odd);
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

/* What all positions have in common. */
typedef struct packed_channels {
    const nnacl_packed_layer *layer;
    const uint32_t *weights; /* as packed_pack.h says, behind the shift */
    int32_t shift;
    int32_t words; /* codes of a channel */
    int32_t step;
} packed_channels;

/* The end of a channel, read once for all positions. */
typedef struct channel_end {
    const nnacl_packed_layer *layer;
    int32_t line[NNACL_PACKED_HEAD];
    int32_t channel, shift, step;
} channel_end;

static inline channel_end end_of(const packed_channels *c, const uint32_t *head, int32_t channel) {
    const channel_end end = {.layer = c->layer,
                             .line = {(int32_t)head[0], (int32_t)head[1], (int32_t)head[2]},
                             .channel = channel,
                             .shift = c->shift,
                             .step = c->step};
    return end;
}

/* The result from the sum of the products with the codes; `start` is what the offset of all codes adds. */
static inline int8_t finish(channel_end e, int32_t sum, uint32_t start) {
    return nnacl_packed_finish(e.layer, e.line, e.shift, e.channel, (uint32_t)e.step * (uint32_t)sum + start);
}

/* Four positions, whose pairs lie side by side; all channels. */
#define DEFINE_FOUR(bits)                                                                                              \
    static void four_of_##bits(const packed_channels *c, const uint32_t *columns, const uint32_t *starts, int8_t *y) { \
        const uint32_t mask = ((1u << (bits)) - 1) * 0x10001u, *row = c->weights;                                      \
        const int32_t channels = c->layer->out_c;                                                                      \
        for (int32_t channel = 0; channel < channels; channel++, y++) {                                                \
            const uint32_t *const head = row, *x = columns, *const end = row + NNACL_PACKED_HEAD + c->words;           \
            int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                    \
            uint32_t a, b, codes, word;                                                                                \
            row += NNACL_PACKED_HEAD;                                                                                  \
            __asm__ volatile("1:\n"                                                                                    \
                             "ldr    %[word], [%[row]], #4\n" STEPS_##bits(POSITIONS) "cmp    %[row], %[end]\n"        \
                                                                                      "bne    1b\n"                    \
                             : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [x] "+r"(x),                \
                               [row] "+r"(row), [a] "=&r"(a), [b] "=&r"(b), [codes] "=&r"(codes), [word] "=&r"(word)   \
                             : [end] "r"(end), [mask] "r"(mask)                                                        \
                             : "memory", "cc");                                                                        \
            const channel_end e = end_of(c, head, channel);                                                            \
            const int8_t y0 = finish(e, s0, starts[0]), y1 = finish(e, s1, starts[1]);                                 \
            const int8_t y2 = finish(e, s2, starts[2]), y3 = finish(e, s3, starts[3]);                                 \
            y[0] = y0;                                                                                                 \
            y[channels] = y1;                                                                                          \
            y[2 * channels] = y2;                                                                                      \
            y[3 * channels] = y3;                                                                                      \
        }                                                                                                              \
    }

/* One position; all channels, of an odd number of which the last but one is computed again. */
#define DEFINE_ONE(bits)                                                                                               \
    static void one_of_##bits(const packed_channels *c, const uint32_t *columns, const uint32_t *starts, int8_t *y) {  \
        const uint32_t mask = ((1u << (bits)) - 1) * 0x10001u;                                                         \
        const int32_t channels = c->layer->out_c, stride = NNACL_PACKED_HEAD + c->words;                               \
        for (int32_t channel = 0; channel < channels; channel += 2) {                                                  \
            const int32_t first = channel + 1 < channels ? channel : channels - 2;                                     \
            const uint32_t *const head = c->weights + (ptrdiff_t)first * stride, *const end = head + stride;           \
            const uint32_t *row = head + NNACL_PACKED_HEAD, *second = row + stride, *x = columns;                      \
            int32_t s0 = 0, s1 = 0;                                                                                    \
            uint32_t a, codes, word, other;                                                                            \
            __asm__ volatile("1:\n"                                                                                    \
                             "ldr    %[word], [%[row]], #4\n"                                                          \
                             "ldr    %[other], [%[second]], #4\n" STEPS_##bits(ROWS) "cmp    %[row], %[end]\n"         \
                                                                                     "bne    1b\n"                     \
                             : [s0] "+r"(s0), [s1] "+r"(s1), [x] "+r"(x), [row] "+r"(row), [second] "+r"(second),      \
                               [a] "=&r"(a), [codes] "=&r"(codes), [word] "=&r"(word), [other] "=&r"(other)            \
                             : [end] "r"(end), [mask] "r"(mask)                                                        \
                             : "memory", "cc");                                                                        \
            const int8_t y0 = finish(end_of(c, head, first), s0, starts[0]);                                           \
            const int8_t y1 = finish(end_of(c, end, first + 1), s1, starts[0]);                                        \
            y[first] = y0;                                                                                             \
            y[first + 1] = y1;                                                                                         \
        }                                                                                                              \
    }

DEFINE_FOUR(1)
DEFINE_FOUR(2)
DEFINE_FOUR(4)
DEFINE_ONE(1)
DEFINE_ONE(2)
DEFINE_ONE(4)

typedef void (*positions_fn)(const packed_channels *c, const uint32_t *columns, const uint32_t *starts, int8_t *y);

static positions_fn choose(int32_t bits, bool four) {
    if (NNACL_HAS_BITS(bits, 1)) {
        return four ? four_of_1 : one_of_1;
    }
    if (NNACL_HAS_BITS(bits, 2)) {
        return four ? four_of_2 : one_of_2;
    }
    if (NNACL_HAS_BITS(bits, 4)) {
        return four ? four_of_4 : one_of_4;
    }
    return NULL;
}

void nnacl_packed_s8_dsp(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], int8_t *y) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, pairs = nnacl_packed_pairs(p->bits, depth);
    const uint32_t *weights = in[1];
    const packed_channels channels = {.layer = p,
                                      .weights = weights + 1,
                                      .shift = (int32_t)weights[0],
                                      .words = nnacl_packed_words(p->bits, depth),
                                      .step = nnacl_packed_step(p->step)};
    const uint32_t offset = (uint32_t)nnacl_packed_offset(p->offset, p->step);
    const bool is_plain = nnacl_packed_is_plain(p);
    int8_t *window = ctx->workspace;
    uint32_t *columns = (uint32_t *)ctx->workspace;
    if (!is_plain) {
        memset(window, p->x_zero, (size_t)pairs * 2);
        columns += pairs / 2;
    }

    const nnacl_range positions = nnacl_share(ctx, p->batch * p->out_h * p->out_w);
    nnacl_packed_place place = nnacl_packed_place_at(p, positions.begin);
    y += (ptrdiff_t)positions.begin * p->out_c;
    for (int32_t left = positions.end - positions.begin, count; left > 0; left -= count) {
        uint32_t starts[NNACL_PACKED_POSITIONS];
        count = left >= NNACL_PACKED_POSITIONS ? NNACL_PACKED_POSITIONS : 1;
        for (int32_t i = 0; i < count; i++) {
            const int8_t *source = nnacl_packed_window(p, in[0], place, is_plain, window);
            const int32_t sum = count > 1 ? widen(source, pairs, 16 / p->bits, p->x_zero, columns + i, 4)
                                          : widen(source, pairs, 16 / p->bits, p->x_zero, columns, 1);
            starts[i] = offset * (uint32_t)sum;
            nnacl_packed_next(p, &place);
        }
        choose(p->bits, count > 1)(&channels, columns, starts, y);
        if (channels.shift) {
            nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
        }
        y += (ptrdiff_t)count * p->out_c;
    }
}
