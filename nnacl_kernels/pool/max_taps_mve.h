/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of max_pool2d for MVE, whose assembly knows order and size of the fields. */
#ifndef NNACL_MAX_TAPS_MVE_H
#define NNACL_MAX_TAPS_MVE_H

#include "common/assembly.h"
#include "common/share.h"
#include "pool/pool_window.h"

typedef union nnacl_limit_mve {
    float real;
    int32_t integer;
} nnacl_limit_mve;

/* A window over channels; the assembly changes some of it. */
typedef struct nnacl_max_taps {
    const void *x;
    int32_t taps, rows;         /* of the window; rows 0 or more, taps at least 1 */
    int32_t tap_step, row_step; /* bytes from a tap to the next, from behind the
                                   last one to the next row */
    void *y;
    int32_t channels; /* at least 1 */
    nnacl_limit_mve least, most;
} nnacl_max_taps;

/* All windows of elements of `size` bytes. */
static inline void nnacl_max_windows(const nnacl_ctx *ctx, const nnacl_pool2d_params *p, const int8_t *x, int8_t *y,
                                     int32_t size, nnacl_limit_mve least, nnacl_limit_mve most,
                                     void (*max_taps)(nnacl_max_taps *w)) {
    const int32_t pixel = p->channels * size;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end && pixel > 0; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * pixel;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        const int32_t iy = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            const int32_t taps = wide.end - wide.begin, ix = wide.origin + wide.begin * p->dilation_w;
            nnacl_max_taps w = {
                .x = image + ((ptrdiff_t)iy * p->in_w + ix) * pixel,
                .taps = taps,
                .rows = taps > 0 ? tall.end - tall.begin : 0,
                .tap_step = p->dilation_w * pixel,
                .row_step = (p->dilation_h * p->in_w - taps * p->dilation_w) * pixel,
                .y = y + ((ptrdiff_t)row * p->out_w + column) * pixel,
                .channels = p->channels,
                .least = least,
                .most = most,
            };
            max_taps(&w);
        }
    }
}

/* clang-format off */
/* The function of such a window for integers of so many bits, `lanes` of which are a vector. r1 x, r2 taps, r3 rows
 * left, r4 and r5 steps, r6 y, r7 channels left; q2 and q3 the limits. */
#define NNACL_MAX_TAPS(name, bits, load, lanes)                                                                        \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r9, lr}\n"                                                                                             \
    "ldrd   r4, r5, [r0, #12]\n"                                                                                       \
    "ldrd   r6, r7, [r0, #20]\n"                                                                                       \
    "ldrd   r8, r9, [r0, #28]\n"                                                                                       \
    "vdup." bits " q2, r8\n"                                                                                           \
    "vdup." bits " q3, r9\n"                                                                                           \
    "1:\n" /* a vector of channels */                                                                                  \
    "ldm    r0, {r1, r2, r3}\n"                                                                                        \
    "vmov   q0, q2\n"                                                                                                  \
    "add    r12, r1, #16\n"                                                                                            \
    "str    r12, [r0]\n"                                                                                               \
    "vctp." bits " r7\n"                                                                                               \
    "cbz    r3, 4f\n"                                                                                                  \
    "2:\n" /* a row */                                                                                                 \
    "dls    lr, r2\n"                                                                                                  \
    "3:\n"                                                                                                             \
    "vpst\n"                                                                                                           \
    "vldr" load "t.u" bits " q1, [r1]\n"                                                                               \
    "add    r1, r4\n"                                                                                                  \
    "vmax.s" bits " q0, q0, q1\n"                                                                                      \
    "le     lr, 3b\n"                                                                                                  \
    "add    r1, r5\n"                                                                                                  \
    "subs   r3, #1\n"                                                                                                  \
    "bne    2b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "vmin.s" bits " q0, q0, q3\n"                                                                                      \
    "vpst\n"                                                                                                           \
    "vstr" load "t." bits " q0, [r6], #16\n"                                                                           \
    "subs   r7, #" lanes "\n"                                                                                          \
    "bgt    1b\n"                                                                                                      \
    "pop    {r4-r9, pc}\n"                                                                                             \
    NNACL_FUNCTION_END(name)
/* clang-format on */

#endif
