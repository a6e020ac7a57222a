/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_mve);

/* A window over channels. The assembly knows order and size of the fields; it changes some. */
typedef struct window_max {
    const int8_t *x;
    int32_t taps, rows;         /* of the window; rows 0 or more, taps at least 1 */
    int32_t tap_step, row_step; /* bytes from a tap to the next, from behind the last one to the next row */
    int8_t *y;
    int32_t channels; /* at least 1 */
    int32_t q_min, q_max;
} window_max;

void nnacl_max_taps_s8_mve(window_max *w);

/* clang-format off */
/* r1 x, r2 taps, r3 rows left, r4 and r5 steps, r6 y, r7 channels left; q2 and q3 the limits. */
__asm__(NNACL_FUNCTION("nnacl_max_taps_s8_mve")
    "push   {r4-r9, lr}\n"
    "ldrd   r4, r5, [r0, #12]\n"
    "ldrd   r6, r7, [r0, #20]\n"
    "ldrd   r8, r9, [r0, #28]\n"
    "vdup.8 q2, r8\n"
    "vdup.8 q3, r9\n"
    "1:\n" /* sixteen channels */
    "ldm    r0, {r1, r2, r3}\n"
    "vmov   q0, q2\n"
    "add    r12, r1, #16\n"
    "str    r12, [r0]\n"
    "vctp.8 r7\n"
    "cbz    r3, 4f\n"
    "2:\n" /* a row */
    "dls    lr, r2\n"
    "3:\n"
    "vpst\n"
    "vldrbt.u8 q1, [r1]\n"
    "add    r1, r4\n"
    "vmax.s8 q0, q0, q1\n"
    "le     lr, 3b\n"
    "add    r1, r5\n"
    "subs   r3, #1\n"
    "bne    2b\n"
    "4:\n"
    "vmin.s8 q0, q0, q3\n"
    "vpst\n"
    "vstrbt.8 q0, [r6], #16\n"
    "subs   r7, #16\n"
    "bgt    1b\n"
    "pop    {r4-r9, pc}\n"
    NNACL_FUNCTION_END("nnacl_max_taps_s8_mve"));
/* clang-format on */

void nnacl_max_pool2d_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = (const int8_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        const int32_t iy = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            const int32_t taps = wide.end - wide.begin, ix = wide.origin + wide.begin * p->dilation_w;
            window_max w = {
                .x = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels,
                .taps = taps,
                .rows = taps > 0 ? tall.end - tall.begin : 0,
                .tap_step = p->dilation_w * p->channels,
                .row_step = (p->dilation_h * p->in_w - taps * p->dilation_w) * p->channels,
                .y = (int8_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels,
                .channels = p->channels,
                .q_min = p->q_min,
                .q_max = p->q_max,
            };
            if (p->channels > 0) {
                nnacl_max_taps_s8_mve(&w);
            }
        }
    }
}
