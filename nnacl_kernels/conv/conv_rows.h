/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as a product of matrices whose left one is never written down: a row of it, which is the window of one
 * output position, is a list of pointers to runs of neighbours in the input. Windows whose runs would be too short are
 * copied. Portable: the plan half asks for the workspace here. */
#ifndef NNACL_CONV_ROWS_H
#define NNACL_CONV_ROWS_H

#include <string.h>

#include "common/share.h"
#include "conv/conv.h"

/* Rows that are listed at a time, and the most in one tile. */
#define NNACL_CONV_ROWS 128
#define NNACL_CONV_TILE 8
/* Those of AVX-VNNI, those of f32 for AArch64, and those of halves. */
#define NNACL_CONV_TILE_AVXVNNI 6
#define NNACL_CONV_TILE_NEON 5
#define NNACL_CONV_TILE_F16 4

/* Bytes of a kernel row that is one run: copying it at the borders costs little beside what pointers to its positions
 * would. */
#define NNACL_CONV_LINE 256

typedef enum nnacl_conv_runs_of {
    NNACL_CONV_TAPS,    /* one for each tap, channels long; padding is one run for all */
    NNACL_CONV_LINES,   /* one for each kernel row; those not inside the input are copied */
    NNACL_CONV_WINDOWS, /* one, a copy of the window, rounded up to 4 bytes */
} nnacl_conv_runs_of;

typedef struct nnacl_conv_rows {
    int32_t element; /* bytes */
    int32_t taps;    /* pointers in a row */
    int32_t run;     /* elements at each pointer */
    nnacl_conv_runs_of kind;
} nnacl_conv_rows;

static inline nnacl_conv_rows nnacl_conv_rows_of(const nnacl_conv2d_params *p, int32_t element) {
    const int32_t channels = p->in_c / p->groups, taps = p->kernel_h * p->kernel_w, line = p->kernel_w * channels;
    const bool lines = taps > 1 && p->dilation_w == 1 && p->groups == 1 && line * element % 4 == 0;
    const bool long_enough = (taps == 1 || channels >= 16) && channels * element % 4 == 0;
    if (lines && (line * element <= NNACL_CONV_LINE || (!long_enough && element == 4))) {
        return (nnacl_conv_rows){element, p->kernel_h, line, NNACL_CONV_LINES};
    }
    if (long_enough) {
        return (nnacl_conv_rows){element, taps, channels, NNACL_CONV_TAPS};
    }
    const int32_t unit = 4 / element;
    return (nnacl_conv_rows){element, 1, (taps * channels + unit - 1) / unit * unit, NNACL_CONV_WINDOWS};
}

/* Bytes: the pointers, then a run of padding or the copied windows. */
static inline size_t nnacl_conv_rows_workspace(nnacl_conv_rows rows) {
    const size_t run = (size_t)rows.run * (size_t)rows.element;
    const size_t copies = rows.kind == NNACL_CONV_TAPS ? 1 : NNACL_CONV_ROWS * (size_t)rows.taps;
    const size_t size = NNACL_CONV_ROWS * (size_t)rows.taps * sizeof(void *) + copies * run;
    return (size + 15) / 16 * 16;
}

static inline int32_t nnacl_conv_positions(const nnacl_conv2d_params *p) {
    return p->batch * p->out_h * p->out_w;
}

/* Into how many tiles of up to `tile` positions they go: into an even number where there are many, so that two threads
 * meet where an image of even height has its middle, as in layers that are split by rows. */
static inline int32_t nnacl_conv_tiles(const nnacl_conv2d_params *p, int32_t tile) {
    const int32_t positions = nnacl_conv_positions(p), count = positions / tile + (positions % tile != 0);
    return count < 16 ? count : count + count % 2;
}

/* First position of tile `index` of `tiles`, which are of almost equal size. */
static inline int32_t nnacl_conv_tile_begin(int32_t positions, int32_t tiles, int32_t index) {
    return (int32_t)((int64_t)positions * index / tiles);
}

/* Into how many chunks the panels of a tile go, where there are too few tiles for many threads: neighbouring units of
 * work belong to the same positions, which the layer after this one reads on the same core. */
static inline int32_t nnacl_conv_chunks(const nnacl_conv2d_params *p, int32_t tiles, int32_t panels) {
    const int32_t wanted = tiles > 0 ? 32 / tiles : 1, most = (panels + 2) / 3;
    return p->groups > 1 || wanted < 2 ? 1 : wanted < most ? wanted : most;
}

/* Some panels for some tiles. */
typedef struct nnacl_conv_piece {
    nnacl_range tiles, panels;
} nnacl_conv_piece;

/* Panels first .. end - 1 of `chunks`; chunks begin at multiples of three panels. */
static inline nnacl_range nnacl_conv_chunk(int32_t panels, int32_t chunks, int32_t first, int32_t end) {
    const int32_t threes = (panels + 2) / 3, last = 3 * (int32_t)((int64_t)threes * end / chunks);
    const nnacl_range range = {3 * (int32_t)((int64_t)threes * first / chunks), last < panels ? last : panels};
    return range;
}

/* What a part has to do: up to three pieces, the chunks of a tile that it begins with, whole tiles, and the chunks of
 * one that it ends with. Returns how many there are. */
static inline int32_t nnacl_conv_pieces(const nnacl_ctx *ctx, int32_t tiles, int32_t panels, int32_t chunks,
                                        nnacl_conv_piece pieces[3]) {
    const nnacl_range units = nnacl_share(ctx, tiles * chunks);
    int32_t count = 0;
    for (int32_t unit = units.begin; unit < units.end;) {
        const int32_t tile = unit / chunks, first = unit - tile * chunks, left = units.end - unit;
        nnacl_conv_piece *piece = &pieces[count++];
        if (first == 0 && left >= chunks) {
            piece->tiles = (nnacl_range){tile, tile + left / chunks};
            piece->panels = (nnacl_range){0, panels};
            unit += left / chunks * chunks;
        } else {
            const int32_t end = first + left < chunks ? first + left : chunks;
            piece->tiles = (nnacl_range){tile, tile + 1};
            piece->panels = nnacl_conv_chunk(panels, chunks, first, end);
            unit += end - first;
        }
    }
    return count;
}

/* memcpy() without a call. */
static inline void nnacl_conv_rows_run(char *to, const char *from, size_t size) {
    if (size < 16) {
        for (size_t i = 0; i < size; i++) {
            to[i] = from[i];
        }
        return;
    }
    for (size_t i = 0; i + 16 < size; i += 16) {
        memcpy(to + i, from + i, 16);
    }
    memcpy(to + size - 16, from + size - 16, 16);
}

/* Copies one kernel row, whose begin (row `y`, column `x` of the input, perhaps in the padding) is at `a`. Neighbours
 * that are neighbours in memory are copied at once. */
static NNACL_NOINLINE void nnacl_conv_rows_line(const nnacl_conv2d_params *p, const char *a, int32_t y, int32_t x,
                                                int32_t element, int32_t fill, char *copy) {
    const size_t part = (size_t)(p->in_c / p->groups) * (size_t)element, line = part * (size_t)p->kernel_w;
    const ptrdiff_t step = (ptrdiff_t)p->in_c * element * p->dilation_w;
    if (y < 0 || y >= p->in_h) {
        memset(copy, fill, line);
        return;
    }
    if (p->dilation_w == 1 && p->groups == 1 && x >= 0 && x + p->kernel_w <= p->in_w) {
        nnacl_conv_rows_run(copy, a, line);
        return;
    }
    for (int32_t kx = 0; kx < p->kernel_w; kx++, x += p->dilation_w, copy += part) {
        if (x >= 0 && x < p->in_w) {
            nnacl_conv_rows_run(copy, a + kx * step, part);
        } else {
            memset(copy, fill, part);
        }
    }
}

/* Neighbouring windows in one line of the output. */
typedef struct nnacl_conv_stretch {
    const char *image;   /* the input, at line 0 and column 0 */
    int32_t y, x, count; /* where the first window begins, perhaps in the padding */
} nnacl_conv_stretch;

/* Which of `count` positions x, x + stride, ... are in 0 .. last. */
static inline nnacl_range nnacl_conv_inside(int32_t x, int32_t stride, int32_t last, int32_t count) {
    const int32_t before = x < 0 ? (stride - 1 - x) / stride : 0, fitting = x > last ? 0 : (last - x) / stride + 1;
    const int32_t end = fitting < count ? fitting : count;
    const nnacl_range inside = {before < end ? before : end, end};
    return inside;
}

/* One pointer for each tap. */
static inline void nnacl_conv_list_taps(const nnacl_conv2d_params *p, nnacl_conv_stretch s, int32_t element,
                                        const char *padding, const char **list) {
    const ptrdiff_t column_step = (ptrdiff_t)p->in_c * element, row_step = column_step * p->in_w;
    const ptrdiff_t step = column_step * p->stride_w;
    const int32_t kernel_w = p->kernel_w, taps = p->kernel_h * kernel_w;
    for (int32_t tap = 0; tap < taps; tap++) {
        const int32_t y = s.y + tap / kernel_w * p->dilation_h, x = s.x + tap % kernel_w * p->dilation_w;
        const bool present = y >= 0 && y < p->in_h;
        const nnacl_range inside = nnacl_conv_inside(x, p->stride_w, present ? p->in_w - 1 : -1, s.count);
        const char *at = s.image + y * row_step + x * column_step, **to = list + tap;
        for (int32_t i = 0; i < inside.begin; i++) {
            to[i * taps] = padding;
        }
        for (int32_t i = inside.begin; i < inside.end; i++) {
            to[i * taps] = at + i * step;
        }
        for (int32_t i = inside.end; i < s.count; i++) {
            to[i * taps] = padding;
        }
    }
}

/* Line `y` of windows first .. end - 1, copied. */
static inline void nnacl_conv_copy_lines(const nnacl_conv2d_params *p, nnacl_conv_stretch s, int32_t y, int32_t first,
                                         int32_t end, int32_t element, int32_t fill, char *copies, const char **list) {
    const ptrdiff_t column_step = (ptrdiff_t)p->in_c * element, run = column_step * p->kernel_w;
    for (int32_t i = first; i < end; i++) {
        const int32_t x = s.x + i * p->stride_w;
        char *copy = copies + i * p->kernel_h * run;
        nnacl_conv_rows_line(p, s.image + ((ptrdiff_t)y * p->in_w + x) * column_step, y, x, element, fill, copy);
        list[i * p->kernel_h] = copy;
    }
}

/* One pointer for each kernel row. */
static inline void nnacl_conv_list_lines(const nnacl_conv2d_params *p, nnacl_conv_stretch s, int32_t element,
                                         int32_t fill, char *copies, const char **list) {
    const ptrdiff_t column_step = (ptrdiff_t)p->in_c * element, row_step = column_step * p->in_w;
    const ptrdiff_t run = column_step * p->kernel_w, step = column_step * p->stride_w;
    const int32_t kernel_h = p->kernel_h, last = p->in_w - p->kernel_w;
    for (int32_t ky = 0; ky < kernel_h; ky++, copies += run, list++) {
        const int32_t y = s.y + ky * p->dilation_h;
        const bool present = y >= 0 && y < p->in_h;
        const nnacl_range inside = nnacl_conv_inside(s.x, p->stride_w, present ? last : -1, s.count);
        const char *line = s.image + y * row_step + s.x * column_step;
        nnacl_conv_copy_lines(p, s, y, 0, inside.begin, element, fill, copies, list);
        for (int32_t i = inside.begin; i < inside.end; i++) {
            list[i * kernel_h] = line + i * step;
        }
        nnacl_conv_copy_lines(p, s, y, inside.end, s.count, element, fill, copies, list);
    }
}

/* One pointer, to a copy of `run` bytes. */
static inline void nnacl_conv_list_windows(const nnacl_conv2d_params *p, nnacl_conv_stretch s, int32_t element,
                                           int32_t fill, size_t run, char *copies, const char **list) {
    const ptrdiff_t column_step = (ptrdiff_t)p->in_c * element, row_step = column_step * p->in_w;
    const size_t line_size = (size_t)p->kernel_w * (size_t)(p->in_c / p->groups) * (size_t)element;
    for (int32_t i = 0; i < s.count; i++, copies += run) {
        const int32_t x = s.x + i * p->stride_w;
        char *to = copies;
        for (int32_t ky = 0; ky < p->kernel_h; ky++, to += line_size) {
            const int32_t y = s.y + ky * p->dilation_h;
            nnacl_conv_rows_line(p, s.image + y * row_step + x * column_step, y, x, element, fill, to);
        }
        for (; to < copies + run; to++) {
            *to = (char)fill;
        }
        list[i] = copies;
    }
}

/* Lists rows first .. first + count - 1 of one group; `image` is the input at the first channel of the group, `fill`
 * the byte that padding consists of. */
static inline void nnacl_conv_rows_list(const nnacl_conv2d_params *p, nnacl_conv_rows rows, const char *image,
                                        int32_t first, int32_t count, int32_t fill, void *workspace) {
    const char **list = (const char **)workspace;
    char *space = (char *)workspace + NNACL_CONV_ROWS * (size_t)rows.taps * sizeof(void *);
    const ptrdiff_t image_step = (ptrdiff_t)p->in_c * rows.element * p->in_w * p->in_h;
    const size_t run = (size_t)rows.run * (size_t)rows.element;
    if (rows.taps == 1 && p->stride_h == 1 && p->stride_w == 1 &&
        p->pad_top + p->pad_left + p->pad_bottom + p->pad_right == 0 &&
        rows.kind == NNACL_CONV_TAPS) { /* the input's positions one by one */
        const ptrdiff_t step = (ptrdiff_t)p->in_c * rows.element;
        for (int32_t i = 0; i < count; i++) {
            list[i] = image + (first + i) * step;
        }
        return;
    }
    if (rows.kind == NNACL_CONV_TAPS) {
        memset(space, fill, run);
    }
    for (int32_t done = 0; done < count;) {
        const int32_t at = first + done, column = at % p->out_w, line = at / p->out_w;
        const int32_t left = count - done, width = p->out_w - column;
        const nnacl_conv_stretch s = {.image = image + line / p->out_h * image_step,
                                      .y = line % p->out_h * p->stride_h - p->pad_top,
                                      .x = column * p->stride_w - p->pad_left,
                                      .count = left < width ? left : width};
        char *copies = space + (size_t)done * (size_t)rows.taps * run;
        const char **to = list + (ptrdiff_t)done * rows.taps;
        if (rows.kind == NNACL_CONV_TAPS) {
            nnacl_conv_list_taps(p, s, rows.element, space, to);
        } else if (rows.kind == NNACL_CONV_LINES) {
            nnacl_conv_list_lines(p, s, rows.element, fill, copies, to);
        } else {
            nnacl_conv_list_windows(p, s, rows.element, fill, run, copies, to);
        }
        done += s.count;
    }
}

#endif
