/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "pool/max_taps_mve.h"

NNACL_DECLARE(nnacl_max_pool2d_f32_mve);

void nnacl_max_taps_f32_mve(nnacl_max_taps *w);

/* clang-format off */
/* r1 x, r2 taps, r3 rows left, r4 and r5 steps, r6 y, r7 channels left. */
__asm__(NNACL_FUNCTION("nnacl_max_taps_f32_mve")
    "push   {r4-r9, lr}\n"
    "ldrd   r4, r5, [r0, #12]\n"
    "ldrd   r6, r7, [r0, #20]\n"
    "ldrd   r8, r9, [r0, #28]\n"
    "1:\n" /* four channels */
    "ldm    r0, {r1, r2, r3}\n"
    "movw   r12, #0\n"
    "movt   r12, #0xff80\n"
    "vdup.32 q0, r12\n"
    "add    r12, r1, #16\n"
    "str    r12, [r0]\n"
    "cbz    r3, 4f\n"
    "2:\n" /* a row */
    "dls    lr, r2\n"
    "3:\n"
    "vctp.32 r7\n"
    "vpst\n"
    "vldrwt.u32 q1, [r1]\n"
    "vpt.f32 gt, q1, q0\n"
    "vorrt  q0, q1, q1\n"
    "add    r1, r4\n"
    "le     lr, 3b\n"
    "add    r1, r5\n"
    "subs   r3, #1\n"
    "bne    2b\n"
    "4:\n"
    "vdup.32 q1, r8\n"
    "vpt.f32 gt, q1, q0\n"
    "vdupt.32 q0, r8\n"
    "vpt.f32 gt, q0, r9\n"
    "vdupt.32 q0, r9\n"
    "vctp.32 r7\n"
    "vpst\n"
    "vstrwt.32 q0, [r6], #16\n"
    "subs   r7, #4\n"
    "bgt    1b\n"
    "pop    {r4-r9, pc}\n"
    NNACL_FUNCTION_END("nnacl_max_taps_f32_mve"));
/* clang-format on */

void nnacl_max_pool2d_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_limit_mve least = {.real = p->clamp_min}, most = {.real = p->clamp_max};
    nnacl_max_windows(ctx, p, in[0], out[0], 4, least, most, nnacl_max_taps_f32_mve);
}
