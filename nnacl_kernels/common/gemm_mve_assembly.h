/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of the functions of gemm_s8_mve.h and gemm_packed_mve.h. `chunk` multiplies 16 elements of the positions
 * in q0 and q1 with the weights of four channels at r1, and may use q2 and q3; `starts` and `ends` change the sums
 * before and behind all products. */
#ifndef NNACL_GEMM_MVE_ASSEMBLY_H
#define NNACL_GEMM_MVE_ASSEMBLY_H

#include "common/assembly.h"

/* clang-format off */
/* Only even registers can take the sums of VMLADAVA: r0, r2, r4 and r6 for the one position, r8, r10, r12 and lr for the
 * other. r1 weights, r3 and r5 positions; `starts` has to set the latter sums and may use r3 and r5, `ends` r7 and r9
 * too. `space` are the bytes of the fields on the stack, `fields` copies those behind the sums.
 * On the stack the fields: 0 runs, 4 runs_end, 8 chunks, 12 rest, 16 weights, 20 channels, 24 y[0], 28 y[1], 32 shift,
 * 36 sums. */
#define NNACL_GEMM2_MVE(name, space, fields, starts, chunk, ends)                                                      \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #" space "\n"                                                                                          \
    "ldm    r0, {r1-r10}\n"                                                                                            \
    "stm    sp, {r1-r10}\n"                                                                                            \
    fields                                                                                                             \
    "mov    r11, r9\n" /* shift */                                                                                     \
    "mov    r1, r5\n"                                                                                                  \
    "1:\n" /* four channels */                                                                                         \
    "ldm    r1!, {r0, r2, r4, r6}\n"                                                                                   \
    starts                                                                                                             \
    "ldr    r9, [sp, #0]\n"                                                                                            \
    "2:\n" /* a run */                                                                                                 \
    "ldm    r9!, {r3, r5}\n"                                                                                           \
    "ldr    r7, [sp, #8]\n"                                                                                            \
    "cbz    r7, 4f\n"                                                                                                  \
    "3:\n"                                                                                                             \
    "vldrb.u8 q0, [r3], #16\n"                                                                                         \
    "vldrb.u8 q1, [r5], #16\n"                                                                                         \
    chunk                                                                                                              \
    "subs   r7, #1\n"                                                                                                  \
    "bne    3b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "ldr    r7, [sp, #12]\n"                                                                                           \
    "cmp    r7, #0\n"                                                                                                  \
    "beq    5f\n"                                                                                                      \
    "vctp.8 r7\n"                                                                                                      \
    "vpstt\n"                                                                                                          \
    "vldrbt.u8 q0, [r3]\n"                                                                                             \
    "vldrbt.u8 q1, [r5]\n"                                                                                             \
    chunk                                                                                                              \
    "5:\n"                                                                                                             \
    "ldr    r7, [sp, #4]\n"                                                                                            \
    "cmp    r9, r7\n"                                                                                                  \
    "bne    2b\n"                                                                                                      \
    ends                                                                                                               \
    "cmp    r11, #0\n"                                                                                                 \
    "beq    6f\n"                                                                                                      \
    "vmov   q2[2], q2[0], r0, r4\n"                                                                                    \
    "vmov   q2[3], q2[1], r2, r6\n"                                                                                    \
    "vldrw.u32 q0, [r1], #16\n"                                                                                        \
    "vmov   q3[2], q3[0], r8, r12\n"                                                                                   \
    "vmov   q3[3], q3[1], r10, lr\n"                                                                                   \
    "vmulh.s32 q2, q2, q0\n"                                                                                           \
    "vldrw.u32 q1, [r1], #16\n"                                                                                        \
    "vmulh.s32 q3, q3, q0\n"                                                                                           \
    "ldrd   r3, r5, [sp, #24]\n"                                                                                       \
    "vadd.i32 q2, q2, q1\n"                                                                                            \
    "vadd.i32 q3, q3, q1\n"                                                                                            \
    "ldr    r0, [sp, #20]\n"                                                                                           \
    "vshl.s32 q2, r11\n"                                                                                               \
    "vshl.s32 q3, r11\n"                                                                                               \
    "vqmovnb.s32 q2, q2\n"                                                                                             \
    "vqmovnb.s32 q3, q3\n"                                                                                             \
    "vqmovnb.s16 q2, q2\n"                                                                                             \
    "vqmovnb.s16 q3, q3\n"                                                                                             \
    "vctp.32 r0\n"                                                                                                     \
    "vpstt\n"                                                                                                          \
    "vstrbt.32 q2, [r3], #4\n"                                                                                         \
    "vstrbt.32 q3, [r5], #4\n"                                                                                         \
    "strd   r3, r5, [sp, #24]\n"                                                                                       \
    "subs   r0, #4\n"                                                                                                  \
    "str    r0, [sp, #20]\n"                                                                                           \
    "bgt    1b\n"                                                                                                      \
    "7:\n"                                                                                                             \
    "mov    r0, r1\n"                                                                                                  \
    "add    sp, #" space "\n"                                                                                          \
    "pop    {r4-r11, pc}\n"                                                                                            \
    "6:\n"                                                                                                             \
    "ldr    r7, [sp, #36]\n"                                                                                           \
    "stm    r7!, {r0, r2, r4, r6}\n"                                                                                   \
    "stm    r7, {r8, r10, r12, lr}\n"                                                                                  \
    "adds   r1, #32\n"                                                                                                 \
    "b      7b\n"                                                                                                      \
    NNACL_FUNCTION_END(name)

/* r7 chunks, r8 rest, r5 y, r10 channels, r11 shift, r12 the run. */
#define NNACL_GEMM1_MVE(name, starts, chunk, ends)                                                                     \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r0, r4-r11, lr}\n"                                                                                        \
    "ldr    r12, [r0, #0]\n"                                                                                           \
    "ldr    r12, [r12]\n"                                                                                              \
    "ldrd   r7, r8, [r0, #8]\n"                                                                                        \
    "ldrd   r1, r10, [r0, #16]\n"                                                                                      \
    "ldr    r5, [r0, #24]\n"                                                                                           \
    "ldr    r11, [r0, #32]\n"                                                                                          \
    "1:\n"                                                                                                             \
    "ldm    r1!, {r0, r2, r4, r6}\n"                                                                                   \
    starts                                                                                                             \
    "mov    r3, r12\n"                                                                                                 \
    "wls    lr, r7, 3f\n"                                                                                              \
    "2:\n"                                                                                                             \
    "vldrb.u8 q0, [r3], #16\n"                                                                                         \
    chunk                                                                                                              \
    "le     lr, 2b\n"                                                                                                  \
    "3:\n"                                                                                                             \
    "cmp    r8, #0\n"                                                                                                  \
    "beq    4f\n"                                                                                                      \
    "vctp.8 r8\n"                                                                                                      \
    "vpst\n"                                                                                                           \
    "vldrbt.u8 q0, [r3]\n"                                                                                             \
    chunk                                                                                                              \
    "4:\n"                                                                                                             \
    ends                                                                                                               \
    "cmp    r11, #0\n"                                                                                                 \
    "beq    5f\n"                                                                                                      \
    "vmov   q2[2], q2[0], r0, r4\n"                                                                                    \
    "vmov   q2[3], q2[1], r2, r6\n"                                                                                    \
    "vldrw.u32 q0, [r1], #16\n"                                                                                        \
    "vmulh.s32 q2, q2, q0\n"                                                                                           \
    "vldrw.u32 q1, [r1], #16\n"                                                                                        \
    "vadd.i32 q2, q2, q1\n"                                                                                            \
    "vshl.s32 q2, r11\n"                                                                                               \
    "vqmovnb.s32 q2, q2\n"                                                                                             \
    "vqmovnb.s16 q2, q2\n"                                                                                             \
    "vctp.32 r10\n"                                                                                                    \
    "vpst\n"                                                                                                           \
    "vstrbt.32 q2, [r5], #4\n"                                                                                         \
    "subs   r10, #4\n"                                                                                                 \
    "bgt    1b\n"                                                                                                      \
    "6:\n"                                                                                                             \
    "mov    r0, r1\n"                                                                                                  \
    "add    sp, #4\n"                                                                                                  \
    "pop    {r4-r11, pc}\n"                                                                                            \
    "5:\n"                                                                                                             \
    "ldr    r7, [sp]\n"                                                                                                \
    "ldr    r7, [r7, #36]\n"                                                                                           \
    "stm    r7!, {r0, r2, r4, r6}\n"                                                                                   \
    "adds   r1, #32\n"                                                                                                 \
    "b      6b\n"                                                                                                      \
    NNACL_FUNCTION_END(name)
/* clang-format on */

#endif
