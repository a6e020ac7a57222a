/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of layers with weights of 1, 2 or 4 bits, as the kernels for several positions at a time read them.
 *
 * A word of a row of weights holds 32 / bits codes. Masked behind a shift of bits * j it leaves code j in its low half
 * and code j + 16 / bits in its high half. The elements of a window are therefore put into pairs of 16 bits in this
 * order, so that a pair of codes meets its pair of elements without being moved: the same bytes of weights serve as
 * they are. What is left of the last word of a row meets zeros. */
#ifndef NNACL_PACKED_COLUMNS_H
#define NNACL_PACKED_COLUMNS_H

#include <string.h>

#include "quant/decode_weights.h"
#include "quant/packed_layer.h"

/* Positions that are computed together. */
#define NNACL_PACKED_POSITIONS 4

/* Whether so many positions are split between threads; else the channels are. */
static inline bool nnacl_packed_by_positions(int32_t positions) {
    return positions >= 16 * NNACL_PACKED_POSITIONS;
}

/* Words of a row of weights, the last of which may have fewer bytes. */
static inline int32_t nnacl_packed_words(int32_t bits, int32_t depth) {
    return (nnacl_packed_stride(bits, depth) + 3) / 4;
}

/* Pairs of elements of a position. */
static inline int32_t nnacl_packed_pairs(int32_t bits, int32_t depth) {
    return nnacl_packed_words(bits, depth) * (16 / bits);
}

/* Whether windows need not be copied: they are pixels, and whole words of codes belong to them. */
static inline bool nnacl_packed_is_plain(const nnacl_packed_layer *p) {
    return p->kernel_h == 1 && p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 &&
           (p->out_h - 1) * p->stride_h < p->in_h && (p->out_w - 1) * p->stride_w < p->in_w &&
           p->in_c % (32 / p->bits) == 0;
}

/* Bytes of scratch memory: the bytes of one window, and the pairs of `positions` positions. */
static inline size_t nnacl_packed_workspace(const nnacl_packed_layer *p, int32_t positions) {
    const size_t pairs = (size_t)nnacl_packed_pairs(p->bits, p->kernel_h * p->kernel_w * p->in_c);
    return (nnacl_packed_is_plain(p) ? 0 : pairs * 2) + pairs * sizeof(uint32_t) * (size_t)positions;
}

/* An output position. */
typedef struct nnacl_packed_place {
    int32_t image, row, column;
} nnacl_packed_place;

static inline nnacl_packed_place nnacl_packed_place_at(const nnacl_packed_layer *p, int32_t position) {
    const int32_t line = position / p->out_w, image = line / p->out_h;
    return (nnacl_packed_place){image, line - image * p->out_h, position - line * p->out_w};
}

static inline void nnacl_packed_next(const nnacl_packed_layer *p, nnacl_packed_place *place) {
    if (++place->column == p->out_w) {
        place->column = 0;
        if (++place->row == p->out_h) {
            place->row = 0;
            place->image++;
        }
    }
}

/* The pixel of a position. */
static inline const void *nnacl_packed_pixel(const nnacl_packed_layer *p, const int8_t *x, nnacl_packed_place place) {
    const int32_t line = place.image * p->in_h + place.row * p->stride_h;
    return x + ((ptrdiff_t)line * p->in_w + place.column * p->stride_w) * p->in_c;
}

/* Copies the window of a position, kernel row by kernel row, to `to`. `blank` (the bytes of one kernel row) stands for
 * what lies in the padding; `size` are the bytes of an element. */
static inline void nnacl_packed_gather(const nnacl_packed_layer *p, const void *x, size_t size,
                                       nnacl_packed_place place, int32_t blank, void *to) {
    const size_t pixel = (size_t)p->in_c * size;
    const char *image = (const char *)x + (ptrdiff_t)place.image * p->in_h * p->in_w * (ptrdiff_t)pixel;
    const int32_t top = place.row * p->stride_h - p->pad_top, left = place.column * p->stride_w - p->pad_left;
    const bool whole = p->dilation_w == 1 && left >= 0 && left + p->kernel_w <= p->in_w;
    char *next = to;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t iy = top + ky * p->dilation_h;
        const char *line = image + ((ptrdiff_t)iy * p->in_w + left) * (ptrdiff_t)pixel;
        const bool outside = iy < 0 || iy >= p->in_h;
        if (whole || outside) {
            const size_t bytes = pixel * (size_t)p->kernel_w;
            if (outside) {
                memset(next, blank, bytes);
            } else {
                memcpy(next, line, bytes);
            }
            next += bytes;
            continue;
        }
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t ix = left + kx * p->dilation_w;
            if (ix < 0 || ix >= p->in_w) {
                memset(next, blank, pixel);
            } else {
                memcpy(next, line + (ptrdiff_t)kx * p->dilation_w * (ptrdiff_t)pixel, pixel);
            }
            next += pixel;
        }
    }
}

/* The window of a position of s8: where it is if it `is_plain`, else a copy in `room`. */
static inline const int8_t *nnacl_packed_window(const nnacl_packed_layer *p, const int8_t *x, nnacl_packed_place place,
                                                bool is_plain, int8_t *room) {
    if (is_plain) {
        return nnacl_packed_pixel(p, x, place);
    }
    nnacl_packed_gather(p, x, 1, place, p->x_zero, room);
    return room;
}

#endif
