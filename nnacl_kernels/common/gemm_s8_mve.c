/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_mve.h"

#include "common/gemm_mve_assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_gemm_mve) == 48, "the code below loads the fields in this order");

/* clang-format off */
#define CHUNK                                                                                                          \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    "vmladava.s8  r0, q0, q2\n"                                                                                        \
    "vldrb.u8     q3, [r1], #16\n"                                                                                     \
    "vmladava.s8  r8, q1, q2\n"                                                                                        \
    "vmladava.s8  r2, q0, q3\n"                                                                                        \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    "vmladava.s8  r10, q1, q3\n"                                                                                       \
    "vmladava.s8  r4, q0, q2\n"                                                                                        \
    "vldrb.u8     q3, [r1], #16\n"                                                                                     \
    "vmladava.s8  r12, q1, q2\n"                                                                                       \
    "vmladava.s8  r6, q0, q3\n"                                                                                        \
    "vmladava.s8  lr, q1, q3\n"

__asm__(NNACL_GEMM2_MVE("nnacl_gemm2_s8_mve", "52", "",
    "mov r8, r0\n" "mov r10, r2\n" "mov r12, r4\n" "mov lr, r6\n", CHUNK, ""));
__asm__(NNACL_GEMM2_MVE("nnacl_gemm2_zero_s8_mve", "52", "ldrd r2, r3, [r0, #40]\n" "strd r2, r3, [sp, #40]\n",
    "ldrd   r3, r5, [sp, #40]\n"
    "add    r8, r0, r5\n"
    "add    r0, r3\n"
    "add    r10, r2, r5\n"
    "add    r2, r3\n"
    "add    r12, r4, r5\n"
    "add    r4, r3\n"
    "add    lr, r6, r5\n"
    "add    r6, r3\n", CHUNK, ""));

#define CHUNK1                                                                                                         \
    "vldrb.u8     q1, [r1], #16\n"                                                                                     \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    "vmladava.s8  r0, q0, q1\n"                                                                                        \
    "vldrb.u8     q1, [r1], #16\n"                                                                                     \
    "vmladava.s8  r2, q0, q2\n"                                                                                        \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    "vmladava.s8  r4, q0, q1\n"                                                                                        \
    "vmladava.s8  r6, q0, q2\n"

__asm__(NNACL_GEMM1_MVE("nnacl_gemm1_s8_mve", "", CHUNK1, ""));
__asm__(NNACL_GEMM1_MVE("nnacl_gemm1_zero_s8_mve",
    "ldr    r3, [sp]\n"
    "ldr    r3, [r3, #40]\n"
    "add    r0, r3\n"
    "add    r2, r3\n"
    "add    r4, r3\n"
    "add    r6, r3\n", CHUNK1, ""));

/* r2 the list, r3 its end, r4 chunks, r5 rest, r6 a run. */
__asm__(NNACL_FUNCTION("nnacl_sum_runs_s8_mve")
    "push   {r4-r7, lr}\n"
    "ldrd   r2, r3, [r0]\n"
    "ldrd   r4, r5, [r0, #8]\n"
    "add    r2, r2, r1, lsl #2\n"
    "add    r3, r3, r1, lsl #2\n"
    "movs   r0, #0\n"
    "1:\n"
    "ldr    r6, [r2], #8\n"
    "wls    lr, r4, 3f\n"
    "2:\n"
    "vldrb.u8 q0, [r6], #16\n"
    "vaddva.s8 r0, q0\n"
    "le     lr, 2b\n"
    "3:\n"
    "cbz    r5, 4f\n"
    "vctp.8 r5\n"
    "vpstt\n"
    "vldrbt.u8 q0, [r6]\n"
    "vaddvat.s8 r0, q0\n"
    "4:\n"
    "cmp    r2, r3\n"
    "bne    1b\n"
    "pop    {r4-r7, pc}\n"
    NNACL_FUNCTION_END("nnacl_sum_runs_s8_mve"));

__asm__(NNACL_FUNCTION("nnacl_copy_rows_mve")
    "push   {r4-r7, lr}\n"
    "ldrd   r4, r5, [sp, #20]\n"
    "1:\n"
    "mov    r6, r0\n"
    "mov    r7, r2\n"
    "wlstp.8 lr, r4, 3f\n"
    "2:\n"
    "vldrb.u8 q0, [r7], #16\n"
    "vstrb.8 q0, [r6], #16\n"
    "letp   lr, 2b\n"
    "3:\n"
    "add    r0, r1\n"
    "add    r2, r3\n"
    "subs   r5, #1\n"
    "bne    1b\n"
    "pop    {r4-r7, pc}\n"
    NNACL_FUNCTION_END("nnacl_copy_rows_mve"));
/* clang-format on */
