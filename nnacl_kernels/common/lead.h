/* SPDX-License-Identifier: Apache-2.0 */
/* How far behind the beginning of its output an input has to begin (nnacl_lead), for kernels that compute the positions
 * of an image one after another, row by row. */
#ifndef NNACL_LEAD_H
#define NNACL_LEAD_H

#include "nnacl_kernels.h"

/* More rows of outputs are not looked at. */
#define NNACL_LEAD_ROWS 65536

typedef struct nnacl_lead_window {
    int32_t batch;
    int32_t in_h, in_w, out_h, out_w;
    int32_t stride_h, stride_w, pad_top, pad_left;
    int64_t in_bytes, out_bytes; /* of one position */
    int32_t ahead; /* positions whose outputs may be written before the window of the first of them is done with; 0:
                      windows are copied first */
} nnacl_lead_window;

/* For an initialiser: what the parameters of ops with windows have under the same names. */
#define NNACL_LEAD_SAME(p)                                                                                             \
    .batch = (p)->batch, .in_h = (p)->in_h, .in_w = (p)->in_w, .out_h = (p)->out_h, .out_w = (p)->out_w,               \
    .stride_h = (p)->stride_h, .stride_w = (p)->stride_w, .pad_top = (p)->pad_top, .pad_left = (p)->pad_left

/* Nothing but the same place is known to be right. */
static inline nnacl_lead nnacl_lead_at_start(void) {
    return (nnacl_lead){0, NNACL_LEAD_AT};
}

static inline nnacl_lead nnacl_lead_from(int64_t bytes) {
    return (nnacl_lead){bytes, NNACL_LEAD_FROM};
}

static inline nnacl_lead nnacl_lead_none(void) {
    return (nnacl_lead){0, NNACL_LEAD_NONE};
}

/* The first row or column of a window that is not in the padding. */
static inline int64_t nnacl_lead_first(int32_t output, int32_t stride, int32_t pad) {
    const int64_t first = (int64_t)output * stride - pad;
    return first > 0 ? first : 0;
}

/* The greatest distance of what is written (from the beginning of the output) before what is still to be read (from
 * the beginning of the input), over all positions. Along a row of outputs the writes go on steadily, and the reads wait
 * until the window has left the padding and then go on steadily: so five positions of each row decide. */
static inline nnacl_lead nnacl_window_lead(const nnacl_lead_window *w) {
    const int64_t rows = (int64_t)w->batch * w->out_h, positions = rows * w->out_w;
    if (positions <= 0 || rows > NNACL_LEAD_ROWS || w->pad_top < 0 || w->pad_left < 0) {
        return nnacl_lead_none();
    }
    int64_t most = INT64_MIN;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t image = row / w->out_h * w->in_h, next_image = (row + 1) / w->out_h * w->in_h;
        const int32_t y = (int32_t)(row % w->out_h), next_y = (int32_t)((row + 1) % w->out_h);
        const int64_t here = (image + nnacl_lead_first(y, w->stride_h, w->pad_top)) * w->in_w;
        const int64_t next = (next_image + nnacl_lead_first(next_y, w->stride_h, w->pad_top)) * w->in_w;
        const int64_t turn = w->pad_left / w->stride_w, last = w->out_w - 1;
        const int64_t end = last + 1 - w->ahead; /* the last one behind which as much is written as behind others */
        const int64_t columns[] = {0, turn < last ? turn : last, turn + 1 < last ? turn + 1 : last,
                                   end > 0 && end < last ? end : last, last};
        for (int32_t i = 0; i < 5; i++) {
            int64_t read = here + nnacl_lead_first((int32_t)columns[i], w->stride_w, w->pad_left);
            read = row + 1 < rows && next < read ? next : read;
            int64_t written = row * w->out_w + columns[i] + w->ahead;
            written = written < positions ? written : positions;
            const int64_t lead = written * w->out_bytes - read * w->in_bytes;
            most = lead > most ? lead : most;
        }
    }
    return nnacl_lead_from(most);
}

#endif
