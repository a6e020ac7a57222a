/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "image/resize_blend_s8.h"

NNACL_DECLARE(nnacl_resize_s8_mve);

void nnacl_blend_bytes_mve(const nnacl_blend_s8 *blend, int32_t count, int8_t *y);

/* clang-format off */
/* r2 y, r3-r6 x, r7-r10 weights, r11 minus the bits. */
__asm__(NNACL_FUNCTION("nnacl_blend_bytes_mve")
    "push   {r4-r11, lr}\n"
    "ldm    r0!, {r3-r6}\n"
    "ldm    r0, {r7-r11}\n"
    "rsb    r11, r11, #0\n"
    "dlstp.32 lr, r1\n"
    "1:\n"
    "vldrb.s32 q0, [r3], #4\n"
    "vldrb.s32 q1, [r4], #4\n"
    "vmul.i32 q0, q0, r7\n"
    "vldrb.s32 q2, [r5], #4\n"
    "vmla.s32 q0, q1, r8\n"
    "vldrb.s32 q1, [r6], #4\n"
    "vmla.s32 q0, q2, r9\n"
    "vmla.s32 q0, q1, r10\n"
    "vshr.s32 q1, q0, #31\n"
    "vadd.i32 q0, q0, q1\n"
    "vrshl.s32 q0, r11\n"
    "vstrb.32 q0, [r2], #4\n"
    "letp   lr, 1b\n"
    "pop    {r4-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_blend_bytes_mve"));
/* clang-format on */

void nnacl_resize_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_resize_blend_s8(ctx, params, in[0], out[0], nnacl_blend_bytes_mve);
}
