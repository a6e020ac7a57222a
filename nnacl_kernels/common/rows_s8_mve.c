/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s8_mve.h"

#include "common/assembly.h"

/* clang-format off */
/* r0 the vector, r1, r5, r7 and r9 the rows; only even registers can take the sums: r2, r4, r6 and r8. */
__asm__(NNACL_FUNCTION("nnacl_rows4_s8_mve")
    "push   {r4-r10, lr}\n"
    "ldr    r10, [sp, #32]\n"
    "add    r5, r1, r2\n"
    "add    r7, r5, r2\n"
    "add    r9, r7, r2\n"
    "ldrd   r2, r4, [r10]\n"
    "ldrd   r6, r8, [r10, #8]\n"
    "wlstp.8 lr, r3, 2f\n"
    "1:\n"
    "vldrb.u8 q0, [r0], #16\n"
    "vldrb.u8 q1, [r1], #16\n"
    "vmladava.s8 r2, q0, q1\n"
    "vldrb.u8 q2, [r5], #16\n"
    "vmladava.s8 r4, q0, q2\n"
    "vldrb.u8 q1, [r7], #16\n"
    "vmladava.s8 r6, q0, q1\n"
    "vldrb.u8 q2, [r9], #16\n"
    "vmladava.s8 r8, q0, q2\n"
    "letp   lr, 1b\n"
    "2:\n"
    "strd   r2, r4, [r10]\n"
    "strd   r6, r8, [r10, #8]\n"
    "pop    {r4-r10, pc}\n"
    NNACL_FUNCTION_END("nnacl_rows4_s8_mve"));

__asm__(NNACL_FUNCTION("nnacl_row_s8_mve")
    "push   {r4-r6, lr}\n"
    "ldrd   r4, r6, [r3]\n"
    "wlstp.8 lr, r2, 2f\n"
    "1:\n"
    "vldrb.u8 q0, [r0], #16\n"
    "vldrb.u8 q1, [r1], #16\n"
    "vmladava.s8 r4, q0, q1\n"
    "vaddva.s8 r6, q1\n"
    "letp   lr, 1b\n"
    "2:\n"
    "strd   r4, r6, [r3]\n"
    "pop    {r4-r6, pc}\n"
    NNACL_FUNCTION_END("nnacl_row_s8_mve"));

__asm__(NNACL_FUNCTION("nnacl_move_s16_mve")
    "push   {r4, lr}\n"
    "movs   r4, #0\n"
    "wlstp.16 lr, r3, 2f\n"
    "1:\n"
    "vldrh.u16 q0, [r0], #16\n"
    "vldrh.u16 q1, [r2], #16\n"
    "vstrh.16 q0, [r1], #16\n"
    "vmladava.s16 r4, q0, q1\n"
    "letp   lr, 1b\n"
    "2:\n"
    "mov    r0, r4\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_move_s16_mve"));
/* clang-format on */
