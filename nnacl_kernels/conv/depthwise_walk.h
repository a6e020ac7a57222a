/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of depthwise_conv2d for the DSP extension and for MVE have in common: the order in which they go
 * over an image. The innermost parts are theirs. */
#ifndef NNACL_DEPTHWISE_WALK_H
#define NNACL_DEPTHWISE_WALK_H

#include <string.h>

#include "common/finish_s8.h"
#include "common/requant.h"
#include "common/share.h"
#include "conv/depthwise_axes.h"

/* --- 3 x 3 taps ------------------------------------------------------------------------------------------------- */

/* Everything about one call that stays the same. Steps are in elements. */
typedef struct nnacl_sweep {
    const nnacl_conv2d_params *p;
    nnacl_axis sweep, ring;
    bool swapped;
    int32_t multiplier;
    int32_t x_along, x_across; /* from an input to the next along the sweep, and from a row of the ring to the next */
    int32_t y_along, y_across;
    int32_t shift;
    bool is_exact;        /* in some channels or all */
    const int32_t *lines; /* of all output channels */
    const int8_t *taps;   /* of all output channels */
    int32_t first, count; /* outputs along the sweep that are wanted */
    void *weights;        /* of the output channels at hand, and their ring */
    int8_t *ring_start;
    int32_t plane; /* of the ring from channel to channel */
    void *row;     /* what the kernel keeps for the channels at hand */
} nnacl_sweep;

/* What a kernel does for the `channels` channels at hand, of which `channel` is the first. */
typedef struct nnacl_sweep_steps {
    int32_t channels; /* at most at a time */
    /* New channels, or a new image: first and count may differ. */
    void (*begin)(const nnacl_sweep *s, int32_t channel, int32_t channels);
    /* A row of the ring's axis: x is its first position, NULL when the row is in the padding. */
    void (*fill)(const nnacl_sweep *s, const int8_t *x, int32_t slot, int32_t channels);
    /* A row of outputs; `slot` is where in the ring the first row of the windows is. */
    void (*run)(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y);
} nnacl_sweep_steps;

/* One row of outputs, which a function in assembly computes channel by channel. It knows the order and size of these
 * fields. */
typedef struct nnacl_sweep_row {
    const int8_t *x; /* in the ring, of the first channel */
    int32_t x_step;  /* all steps are from channel to channel, in bytes */
    const int8_t *weights;
    int32_t weights_step;
    const int32_t *lines; /* start, multiplier, offset */
    int32_t lines_step;
    int8_t *y;
    int32_t y_step;
    int32_t channels;
    int32_t count;  /* outputs along the sweep, at least 1 */
    int32_t stride; /* bytes from one to the next */
    int32_t shift; /* of the lines, for MVE less than 0; 0: `sums` is wanted, of one channel and at most four outputs */
    int32_t *sums; /* room for four */
} nnacl_sweep_row;

typedef void (*nnacl_sweep_function)(const nnacl_sweep_row *row);

/* Fills in what follows from the parameters; the rest is the kernel's. (Field by field: compilers build a whole struct
 * beside it first, and keep both on the stack.) */
static inline void nnacl_sweep_begin(nnacl_sweep *s, const nnacl_conv2d_params *p) {
    const nnacl_depthwise_axes axes = nnacl_depthwise_axes_of(p);
    const int32_t x_row = p->in_w * p->in_c, y_row = p->out_w * p->out_c;
    s->p = p;
    s->sweep = axes.sweep;
    s->ring = axes.ring;
    s->swapped = axes.swapped;
    s->multiplier = p->out_c / p->in_c;
    s->x_along = axes.swapped ? x_row : p->in_c;
    s->x_across = axes.swapped ? p->in_c : x_row;
    s->y_along = axes.swapped ? y_row : p->out_c;
    s->y_across = axes.swapped ? p->out_c : y_row;
}

/* The same for lines in whole words, before the taps. */
static inline void nnacl_sweep_wide_lines(nnacl_sweep *s, const int32_t *packed) {
    s->shift = NNACL_SHIFT_OF(packed[0]);
    s->is_exact = packed[0] == 0 || packed[0] & NNACL_LINES_MIXED;
    s->lines = packed + 1;
    s->taps = (const int8_t *)(packed + 1 + 3 * s->p->out_c);
}

/* One row of outputs, some or all channels requantized exactly. `element`: bytes of a position in the ring. */
static inline void nnacl_sweep_row_exact(const nnacl_sweep *s, nnacl_sweep_function run, const nnacl_sweep_row *row,
                                         int32_t channel, const int32_t element) {
    int32_t sums[NNACL_SWEEP_BLOCK];
    for (int32_t i = 0; i < row->channels * s->count; i++) {
        const int32_t c = i / s->count, output = i % s->count, left = output % NNACL_SWEEP_BLOCK;
        nnacl_sweep_row block = *row;
        block.channels = block.count = 1;
        block.sums = sums;
        block.x += c * row->x_step + (output - left) * element * s->sweep.stride * NNACL_RING_ROWS;
        block.weights += c * row->weights_step;
        block.lines += c * row->lines_step / 4;
        if (row->shift && block.lines[1] >= 0) {
            block.count = s->count;
            block.y += c * row->y_step;
            run(&block);
            i += s->count - 1;
            continue;
        }
        block.shift = 0;
        if (left == 0) {
            run(&block);
        }
        row->y[c * row->y_step + output * row->stride] =
            nnacl_finish_exact(sums[left], block.lines + 1,
                               nnacl_channel_rounding(s->p->rounding, s->p->out_c, channel + c * s->multiplier),
                               s->p->y_zero, s->p->q_min, s->p->q_max);
    }
}

/* The outputs of input channels from `channel` on. `weights`: bytes of those of an output channel. */
static inline void nnacl_sweep_outputs(const nnacl_sweep *s, nnacl_sweep_function run, nnacl_sweep_row *row,
                                       int32_t channel, const int32_t element, const int32_t weights) {
    for (int32_t m = 0; m < s->multiplier; m++) {
        if (!NNACL_NEEDS_EXACT || !s->is_exact) {
            run(row);
        } else {
            nnacl_sweep_row_exact(s, run, row, channel * s->multiplier + m, element);
        }
        row->weights += weights;
        row->lines += 3;
        row->y++;
    }
}

/* Outputs first .. last - 1 along the ring of an image. */
static inline void nnacl_sweep_image(const nnacl_sweep *s, const nnacl_sweep_steps *steps, const int8_t *x, int8_t *y,
                                     int32_t channel, int32_t channels, int32_t first, int32_t last) {
    int32_t next = first * s->ring.stride; /* the first row that is not in the ring, the padding counted */
    int32_t slot = next % NNACL_RING_ROWS;
    for (int32_t output = first; output < last; output++) {
        const int32_t top = output * s->ring.stride;
        if (next < top) {
            next = top;
            slot = top % NNACL_RING_ROWS;
        }
        for (; next < top + NNACL_RING_ROWS; next++) {
            const int32_t row = next - s->ring.pad;
            const bool inside = row >= 0 && row < s->ring.in;
            steps->fill(s, inside ? x + (ptrdiff_t)row * s->x_across : NULL, slot, channels);
            slot = slot + 1 < NNACL_RING_ROWS ? slot + 1 : 0;
        }
        /* slot has come round to the first row of the windows */
        steps->run(s, channel, slot, y + (ptrdiff_t)output * s->y_across);
    }
}

/* All that a part of the work has to do: rows of outputs as they lie in y, whichever axis they are. */
static inline void nnacl_sweep_all(nnacl_sweep *s, const nnacl_sweep_steps *steps, const int8_t *x, int8_t *y,
                                   nnacl_range share) {
    const nnacl_conv2d_params *p = s->p;
    const bool swapped = s->swapped;
    for (int32_t c = 0; c < p->in_c; c += steps->channels) {
        const int32_t channels = p->in_c - c < steps->channels ? p->in_c - c : steps->channels;
        for (int32_t image = 0; image < p->batch; image++) {
            const int32_t begin = share.begin - image * p->out_h, end = share.end - image * p->out_h;
            const int32_t first = begin > 0 ? begin : 0, last = end < p->out_h ? end : p->out_h;
            const int8_t *source = x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c + c;
            int8_t *target = y + (ptrdiff_t)image * p->out_h * p->out_w * p->out_c + c * s->multiplier;
            s->first = swapped ? first : 0;
            s->count = swapped ? last - first : p->out_w;
            if (first < last) {
                steps->begin(s, c, channels);
                nnacl_sweep_image(s, steps, source, target + (ptrdiff_t)s->first * s->y_along, c, channels,
                                  swapped ? 0 : first, swapped ? p->out_w : last);
            }
        }
    }
}

/* --- any taps, output by output --------------------------------------------------------------------------------- */

/* One output position. The sources in assembly know the order and size of these fields. */
typedef struct nnacl_taps {
    const int8_t *const *taps; /* where the channels of each tap begin */
    int32_t count;             /* at least 1 */
    const int32_t *group;      /* the first group of channels */
    int32_t groups;            /* at least 1 */
    int32_t channel;           /* the first one */
    int8_t *y;                 /* of that */
    int32_t shift;             /* of the lines, for MVE less than 0; 0: `sums` is wanted, of one group */
    int32_t *sums;
    const int32_t *lines; /* of the first group, for the DSP extension */
} nnacl_taps;

/* Computes one group of channels, exactly when `shift` is 0. */
typedef void (*nnacl_taps_group)(const nnacl_conv2d_params *p, nnacl_taps *position);
/* Computes many, with lines. Returns where the next group begins. */
typedef const int32_t *(*nnacl_taps_groups)(const nnacl_taps *position);

/* Where the taps of an output position are; those in the padding point to zero points. */
static inline void nnacl_find_taps(const nnacl_conv2d_params *p, const int8_t *image, int32_t row, int32_t column,
                                   const int8_t *zeros, const int8_t **taps) {
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t y = row * p->stride_h - p->pad_top + ky * p->dilation_h;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t x = column * p->stride_w - p->pad_left + kx * p->dilation_w;
            const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
            *taps++ = inside ? image + ((ptrdiff_t)y * p->in_w + x) * p->in_c : zeros;
        }
    }
}

/* How a kernel goes over the channels of a position. */
typedef struct nnacl_taps_walk {
    int32_t width;        /* channels of a group */
    int32_t group_words;  /* of a group beside its weights */
    int32_t ends;         /* words from the end of a group, or of its lines, back to its first multiplier */
    const int32_t *first; /* the first group */
    const int32_t *lines; /* of the first group, NULL: they are in the groups */
    int32_t line_words;   /* of a group */
    nnacl_taps_groups all;
    nnacl_taps_group one;
} nnacl_taps_walk;

/* The rows of outputs in `share`. The last group overlaps the one before it when the channels are no multiple of the
 * width. `shift` is that of the lines as the functions want it; `is_mixed`: there are groups without among those with.
 */
static inline void nnacl_walk_taps(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, bool is_mixed,
                                   int32_t shift, int8_t *y, nnacl_range share, const nnacl_taps_walk *walk) {
    const int8_t **taps = ctx->workspace;
    const int32_t count = p->kernel_h * p->kernel_w, width = walk->width, groups = nnacl_channel_groups(p->in_c, width);
    const int32_t tap_bytes = NNACL_NEEDS_W_ZERO && p->w_zero ? 2 * width : width;
    const int32_t words = walk->group_words + count * tap_bytes / 4;
    int8_t *zeros = (int8_t *)(taps + count);
    memset(zeros, p->x_zero, (size_t)p->in_c);
    nnacl_taps at = {.taps = taps, .count = count};
    for (int32_t row = share.begin; row < share.end; row++) {
        const int32_t image = row / p->out_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            nnacl_find_taps(p, x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c, row - image * p->out_h, column,
                            zeros, taps);
            int8_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            int32_t done = 0;
            at.shift = shift;
            if (!is_mixed && (!NNACL_NEEDS_EXACT || shift)) {
                at.group = walk->first;
                at.lines = walk->lines;
                at.groups = done = p->in_c / width;
                at.channel = 0;
                at.y = pixel;
                walk->all(&at);
            }
            for (at.groups = 1; done < groups; done++) {
                at.group = walk->first + (ptrdiff_t)done * words;
                at.lines = walk->lines ? walk->lines + (ptrdiff_t)done * walk->line_words : NULL;
                const int32_t *end = at.lines ? at.lines + walk->line_words : at.group + words;
                at.channel = nnacl_group_channel(p->in_c, done, width);
                at.y = pixel + at.channel;
                at.shift = is_mixed && end[-walk->ends] < 0 ? 0 : shift;
                walk->one(p, &at);
            }
        }
    }
}

#endif
