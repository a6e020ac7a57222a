/* SPDX-License-Identifier: Apache-2.0 */
/* Along the last axis. */
#include "common/assembly.h"
#include "common/share.h"
#include "softmax/softmax_rows_s16.h"

NNACL_DECLARE(nnacl_softmax_s16_mve);

/* The source in assembly knows the order of these fields. */
typedef struct line {
    const int16_t *curve; /* of 513 points */
    int32_t max;
    int32_t left, mult; /* of requantization */
    int32_t fix;        /* what is added before the shift to the right: halves of negative numbers go down */
    int32_t right;      /* negative */
} line;

/* The largest of count (at least 1) elements. */
int32_t nnacl_softmax_max_s16_mve(const int16_t *x, int32_t count);
/* Writes the exponentials of count elements to y and returns their sum. */
uint32_t nnacl_softmax_exp_s16_mve(const int16_t *x, int32_t count, const line *line, int16_t *y);
/* y = clamp(y * factor / 2^-right, 0, 32767) of count elements, halves up. */
void nnacl_softmax_scale_s16_mve(int16_t *y, int32_t count, int32_t factor, int32_t right);

/* clang-format off */
__asm__(NNACL_FUNCTION("nnacl_softmax_max_s16_mve")
    "push   {r4, lr}\n"
    "movw   r2, #32768\n"
    "dlstp.16 lr, r1\n"
    "1:\n"
    "vldrh.u16 q0, [r0], #16\n"
    "vmaxv.s16 r2, q0\n"
    "letp   lr, 1b\n"
    "sxth   r0, r2\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_softmax_max_s16_mve"));

/* r0 x, r1 count, r3 y, r4 and r10 the curve and its second point, r5-r9 the rest of the line, r12 the sum. q0 places
 * from 0 on, q1 points, q2 and q5 their values, q3 zeros, q4 the bits of a place between two points. */
__asm__(NNACL_FUNCTION("nnacl_softmax_exp_s16_mve")
    "push   {r4-r11, lr}\n"
    "sub    sp, #4\n"
    "vpush  {d8-d11}\n"
    "ldm    r2, {r4-r9}\n"
    "add    r10, r4, #2\n"
    "movw   r11, #65535\n"
    "mov    r12, #0\n"
    "vmov.i32 q3, #0\n"
    "vmov.i32 q4, #127\n"
    "wlstp.32 lr, r1, 2f\n"
    "1:\n"
    "vldrh.s32 q0, [r0], #8\n"
    "vsub.i32 q0, q0, r5\n"
    "vshl.s32 q0, r6\n"
    "vqrdmulh.s32 q0, q0, r7\n"
    "vadd.i32 q0, q0, r8\n"
    "vrshl.s32 q0, r9\n"
    "vadd.i32 q0, q0, r11\n"
    "vmax.s32 q0, q0, q3\n"
    "vshr.u32 q1, q0, #7\n"
    "vldrh.s32 q2, [r4, q1, uxtw #1]\n"
    "vand   q0, q0, q4\n"
    "vldrh.s32 q5, [r10, q1, uxtw #1]\n"
    "vsub.i32 q5, q5, q2\n"
    "vmovlb.s16 q5, q5\n"
    "vmul.i32 q0, q0, q5\n"
    "vrshr.s32 q0, q0, #7\n"
    "vadd.i32 q0, q0, q2\n"
    "vstrh.32 q0, [r3], #8\n"
    "vaddva.u32 r12, q0\n"
    "letp   lr, 1b\n"
    "2:\n"
    "mov    r0, r12\n"
    "vpop   {d8-d11}\n"
    "add    sp, #4\n"
    "pop    {r4-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_softmax_exp_s16_mve"));

__asm__(NNACL_FUNCTION("nnacl_softmax_scale_s16_mve")
    "push   {r4, lr}\n"
    "movw   r12, #32767\n"
    "vmov.i32 q3, #0\n"
    "vdup.32 q2, r12\n"
    "wlstp.32 lr, r1, 2f\n"
    "1:\n"
    "vldrh.s32 q0, [r0]\n"
    "vmul.i32 q0, q0, r2\n"
    "vrshl.s32 q0, r3\n"
    "vmax.s32 q0, q0, q3\n"
    "vmin.s32 q0, q0, q2\n"
    "vstrh.32 q0, [r0], #8\n"
    "letp   lr, 1b\n"
    "2:\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_softmax_scale_s16_mve"));
/* clang-format on */

void nnacl_softmax_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int16_t *exponential = in[1];
    const nnacl_range share = nnacl_share(ctx, p->outer);
    line k = {
        .curve = exponential,
        .left = p->shift > 0 ? p->shift : 0,
        .mult = p->mult,
        .fix = p->shift < 0 ? -1 : 0,
        .right = p->shift < 0 ? p->shift : 0,
    };
    for (int32_t row = share.begin; row < share.end && p->depth > 0; row++) {
        const int16_t *x = (const int16_t *)in[0] + (ptrdiff_t)row * p->depth;
        int16_t *y = (int16_t *)out[0] + (ptrdiff_t)row * p->depth;
        k.max = nnacl_softmax_max_s16_mve(x, p->depth);
        const uint32_t sum = nnacl_softmax_exp_s16_mve(x, p->depth, &k, y);
        const nnacl_softmax_inverse inverse = nnacl_softmax_invert_s16(sum, exponential + 513);
        nnacl_softmax_scale_s16_mve(y, p->depth, inverse.factor, -inverse.right);
    }
}
