/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "pool/max_taps_mve.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_mve);

void nnacl_max_taps_s8_mve(nnacl_max_taps *w);

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
    const nnacl_limit_mve least = {.integer = p->q_min}, most = {.integer = p->q_max};
    nnacl_max_windows(ctx, p, in[0], out[0], 1, least, most, nnacl_max_taps_s8_mve);
}
