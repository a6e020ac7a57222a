/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s16_mve.h"

#include "common/assembly.h"

/* clang-format off */
/* r0 the vector, r1, r3, r5 and r7 the rows, as only r0-r7 can be where bytes are widened; only even registers can
 * take the sums: r2, r4, r6 and r8. */
__asm__(NNACL_FUNCTION("nnacl_rows4_s16_mve")
    "push   {r4-r8, r10, r11, lr}\n"
    "ldr    r10, [sp, #32]\n"
    "mov    r12, r3\n"
    "add    r5, r1, r2\n"
    "add    r7, r5, r2\n"
    "add    r3, r7, r2\n"
    "ldrd   r2, r4, [r10]\n"
    "ldrd   r6, r8, [r10, #8]\n"
    "wlstp.16 lr, r12, 2f\n"
    "1:\n"
    "vldrh.u16 q0, [r0], #16\n"
    "vldrb.s16 q1, [r1], #8\n"
    "vmladava.s16 r2, q0, q1\n"
    "vldrb.s16 q2, [r5], #8\n"
    "vmladava.s16 r4, q0, q2\n"
    "vldrb.s16 q1, [r7], #8\n"
    "vmladava.s16 r6, q0, q1\n"
    "vldrb.s16 q2, [r3], #8\n"
    "vmladava.s16 r8, q0, q2\n"
    "letp   lr, 1b\n"
    "2:\n"
    "strd   r2, r4, [r10]\n"
    "strd   r6, r8, [r10, #8]\n"
    "pop    {r4-r8, r10, r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_rows4_s16_mve"));
/* clang-format on */
