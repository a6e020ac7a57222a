/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of s8 in panels of columns for the kernels of AArch64 (common/gemm_s8_*.h), with all that requantizes the
 * sums. Portable: the plan half packs for any target.
 *
 * The depth is `taps` runs of `run` elements, taken 16 at a time. The last of a run that is no multiple of 16 ends
 * where the run ends, so that it begins before what is left, or even before the run; the weights there are 0. A weight
 * of element d of 16 and column c stands at [d / deep][c][d % deep]; of the last 16 only what is needed of d / deep is
 * there.
 *
 * Packed are a head of four words, of which the first are flags, and the panels: s32 starts, multipliers, shifts and
 * fixes of `width` columns, and the weights. A start is bias - x_zero * sum(w), modulo 2^32. */
#ifndef NNACL_PANELS_ARM_H
#define NNACL_PANELS_ARM_H

#include <string.h>

#include "common/requant.h"
#include "nnacl_isa.h"

/* How sums are requantized: the first word of what is packed, without NNACL_ARM_WIDE. */
#define NNACL_ARM_UP 0     /* nnacl_requant_double_up() with shifts that go to the right */
#define NNACL_ARM_SCALE 1  /* float-even: multipliers are the scales, bit by bit */
#define NNACL_ARM_DOUBLE 2 /* fixes are -1 where halves go away from zero */
#define NNACL_ARM_SINGLE 3 /* shifts are those of the 64-bit product */
#define NNACL_ARM_MODE 3
/* There are weights of -128: two products of bytes may be too much for 16 bits. */
#define NNACL_ARM_WIDE 4
#define NNACL_ARM_HEAD 16
/* Elements that are taken at a time. */
#define NNACL_ARM_CHUNK 16
/* Rows of dense shorter than that which are copied at a time. */
#define NNACL_ARM_SHORT_ROWS 32

typedef struct nnacl_arm_layout {
    int32_t width, deep;
} nnacl_arm_layout;

/* What is packed: weights [channels][taps][run]. */
typedef struct nnacl_arm_layer {
    const int8_t *weights;
    const int32_t *bias; /* or NULL */
    const void *requant;
    int32_t first, channels; /* of `all` channels that the requantization knows */
    int32_t all;
    int32_t taps, run;
    int32_t rounding, x_zero;
    int32_t flags; /* nnacl_arm_flags() */
} nnacl_arm_layer;

/* Of the tiles for one instruction set. */
static inline nnacl_arm_layout nnacl_arm_layout_of(uint32_t isa) {
    return isa == NNACL_ISA_DOTPROD ? (nnacl_arm_layout){16, 4}
           : isa == NNACL_ISA_I8MM  ? (nnacl_arm_layout){16, 8}
                                    : (nnacl_arm_layout){8, 16};
}

static inline int32_t nnacl_arm_panels(int32_t columns, nnacl_arm_layout layout) {
    return columns / layout.width + (columns % layout.width != 0);
}

/* Bytes of a run in one column: whole chunks, and what is needed of the last one. */
static inline int32_t nnacl_arm_run_size(int32_t run, nnacl_arm_layout layout) {
    const int32_t rest = run % NNACL_ARM_CHUNK;
    return run - rest + (rest + layout.deep - 1) / layout.deep * layout.deep;
}

static inline size_t nnacl_arm_panel_size(int32_t taps, int32_t run, nnacl_arm_layout layout) {
    const size_t width = (size_t)layout.width;
    return width * (4 * sizeof(int32_t) + (size_t)taps * (size_t)nnacl_arm_run_size(run, layout));
}

static inline int32_t nnacl_arm_word(const void *requant, int32_t index) {
    int32_t word;
    memcpy(&word, (const char *)requant + (size_t)index * sizeof word, sizeof word);
    return word;
}

/* What all channels of a layer need. */
static inline int32_t nnacl_arm_mode(const void *requant, int32_t channels, int32_t rounding) {
    if (rounding == NNACL_ROUND_FLOAT_EVEN) {
        return NNACL_ARM_SCALE;
    }
    if (rounding == NNACL_ROUND_SINGLE) {
        return NNACL_ARM_SINGLE;
    }
    for (int32_t c = 0; c < channels; c++) {
        if (nnacl_channel_rounding(rounding, channels, c) != NNACL_ROUND_TFLITE_UP ||
            nnacl_arm_word(requant, channels + c) > 0) {
            return NNACL_ARM_DOUBLE;
        }
    }
    return NNACL_ARM_UP;
}

static inline void nnacl_arm_put(char *to, int32_t index, int32_t value) {
    memcpy(to + (size_t)index * sizeof value, &value, sizeof value);
}

/* Starts, multipliers, shifts and fixes of the columns of a panel that there are; `sum` of the weights of one. */
static inline void nnacl_arm_put_column(const nnacl_arm_layer *layer, int32_t channel, uint32_t sum, int32_t width,
                                        int32_t column, char *panel) {
    const int32_t at = layer->first + channel, mode = layer->flags & NNACL_ARM_MODE;
    const uint32_t bias = layer->bias ? (uint32_t)layer->bias[at] : 0u;
    int32_t shift = mode == NNACL_ARM_SCALE ? 0 : nnacl_arm_word(layer->requant, layer->all + at);
    const bool away = nnacl_channel_rounding(layer->rounding, layer->all, at) != NNACL_ROUND_TFLITE_UP;
    const int32_t fix = mode == NNACL_ARM_DOUBLE && away && shift < 0 ? -1 : 0;
    if (mode == NNACL_ARM_SINGLE) {
        shift = (shift > 30 ? 30 : shift) - 31;
    }
    nnacl_arm_put(panel, column, (int32_t)(bias - (uint32_t)layer->x_zero * sum));
    nnacl_arm_put(panel, width + column, nnacl_arm_word(layer->requant, at));
    nnacl_arm_put(panel, 2 * width + column, shift);
    nnacl_arm_put(panel, 3 * width + column, fix);
}

/* For the head, of all weights of a layer. */
static inline int32_t nnacl_arm_flags(const nnacl_arm_layer *layer, size_t weights) {
    int32_t flags = nnacl_arm_mode(layer->requant, layer->all, layer->rounding);
    for (size_t i = 0; i < weights; i++) {
        flags |= layer->weights[i] == -128 ? NNACL_ARM_WIDE : 0;
    }
    return flags;
}

/* Returns where the panels begin. */
static inline char *nnacl_arm_pack_head(int32_t flags, void *packed) {
    memset(packed, 0, NNACL_ARM_HEAD);
    nnacl_arm_put((char *)packed, 0, flags);
    return (char *)packed + NNACL_ARM_HEAD;
}

/* The panels of a layer. */
static inline void nnacl_arm_pack(const nnacl_arm_layer *layer, nnacl_arm_layout layout, char *panel) {
    const int32_t depth = layer->taps * layer->run, whole = layer->run - layer->run % NNACL_ARM_CHUNK;
    const int32_t run_size = nnacl_arm_run_size(layer->run, layout);
    const size_t size = nnacl_arm_panel_size(layer->taps, layer->run, layout);
    /* Where the last chunk would begin in a run of the packed size. */
    const int32_t moved = run_size - layer->run;
    for (int32_t first = 0; first < layer->channels; first += layout.width, panel += size) {
        char *body = panel + (size_t)layout.width * 4 * sizeof(int32_t);
        memset(panel, 0, size);
        for (int32_t c = 0; c < layout.width && first + c < layer->channels; c++) {
            const int8_t *w = layer->weights + (ptrdiff_t)(first + c) * depth;
            uint32_t sum = 0;
            for (int32_t i = 0; i < depth; i++) {
                const int32_t tap = i / layer->run, at = i % layer->run;
                const int32_t d = tap * run_size + (at < whole ? at : at + moved);
                body[((ptrdiff_t)(d / layout.deep) * layout.width + c) * layout.deep + d % layout.deep] = (char)w[i];
                sum += (uint32_t)w[i];
            }
            nnacl_arm_put_column(layer, first + c, sum, layout.width, c, panel);
        }
    }
}

#endif
