/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/depthwise_3x3_mve.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_sweep_row) == 52 && sizeof(nnacl_taps) == 36,
               "the code below loads the fields in this order");

/* clang-format off */
/* On the stack: 0 and further the fields x, 4 x_step, 8 weights, 12 weights_step, 16 lines, 20 lines_step, 24 y,
 * 28 y_step, 32 channels, 36 count, 40 stride, 44 shift, 48 sums. Registers: r0, r2, r4 and r6 the sums of four outputs,
 * r1 x, r3 start, r5 offset, r7 y, r8 shift, r9 outputs left, r10 stride * 4; q1 weights, q2 multipliers, q3 where the
 * four outputs are. */
#define ROW_FUNCTION(name, step)                                                                                       \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #52\n"                                                                                                 \
    "ldr    r1, [r0, #48]\n"                                                                                           \
    "str    r1, [sp, #48]\n"                                                                                           \
    "ldm    r0, {r1-r12}\n"                                                                                            \
    "stm    sp, {r1-r12}\n"                                                                                            \
    "mov    r8, r12\n"                                                                                                 \
    "movs   r0, #0\n"                                                                                                  \
    "vidup.u32 q3, r0, #1\n"                                                                                           \
    "vmul.i32 q3, q3, r11\n"                                                                                           \
    "lsl    r10, r11, #2\n"                                                                                            \
    "mov    lr, r9\n"                                                                                                  \
    "1:\n" /* a channel */                                                                                             \
    "ldrd   r1, r0, [sp, #0]\n"                                                                                        \
    "ldrd   r2, r4, [sp, #8]\n"                                                                                        \
    "add    r0, r1\n"                                                                                                  \
    "str    r0, [sp, #0]\n"                                                                                            \
    "ldrd   r6, r0, [sp, #16]\n"                                                                                       \
    "vldrb.u8 q1, [r2]\n"                                                                                              \
    "add    r2, r4\n"                                                                                                  \
    "str    r2, [sp, #8]\n"                                                                                            \
    "add    r0, r6\n"                                                                                                  \
    "str    r0, [sp, #16]\n"                                                                                           \
    "ldm    r6, {r3, r4, r5}\n"                                                                                        \
    "ldrd   r7, r0, [sp, #24]\n"                                                                                       \
    "vdup.32 q2, r4\n"                                                                                                 \
    "add    r0, r7\n"                                                                                                  \
    "str    r0, [sp, #24]\n"                                                                                           \
    "ldr    r9, [sp, #36]\n"                                                                                           \
    "cmp    r8, #0\n"                                                                                                  \
    "beq    3f\n"                                                                                                      \
    "2:\n" /* four outputs */                                                                                          \
    ".irp   sum, r0, r2, r4, r6\n"                                                                                     \
    "vldrb.u8 q0, [r1], #" step "\n"                                                                                   \
    "vmladav.s8 \\sum, q0, q1\n"                                                                                       \
    ".endr\n"                                                                                                          \
    "vmov   q0[2], q0[0], r0, r4\n"                                                                                    \
    "vmov   q0[3], q0[1], r2, r6\n"                                                                                    \
    "vadd.i32 q0, q0, r3\n"                                                                                            \
    "vmulh.s32 q0, q0, q2\n"                                                                                           \
    "vctp.32 r9\n"                                                                                                     \
    "vadd.i32 q0, q0, r5\n"                                                                                            \
    "vshl.s32 q0, r8\n"                                                                                                \
    "vqmovnb.s32 q0, q0\n"                                                                                             \
    "vqmovnb.s16 q0, q0\n"                                                                                             \
    "vpst\n"                                                                                                           \
    "vstrbt.32 q0, [r7, q3]\n"                                                                                         \
    "add    r7, r10\n"                                                                                                 \
    "subs   r9, #4\n"                                                                                                  \
    "bgt    2b\n"                                                                                                      \
    "subs   lr, #1\n"                                                                                                  \
    "bne    1b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "add    sp, #52\n"                                                                                                 \
    "pop    {r4-r11, pc}\n"                                                                                            \
    "3:\n"                                                                                                             \
    ".irp   sum, r0, r2, r4, r6\n"                                                                                     \
    "vldrb.u8 q0, [r1], #" step "\n"                                                                                   \
    "vmladav.s8 \\sum, q0, q1\n"                                                                                       \
    "add    \\sum, r3\n"                                                                                               \
    ".endr\n"                                                                                                          \
    "ldr    r1, [sp, #48]\n"                                                                                           \
    "stm    r1, {r0, r2, r4, r6}\n"                                                                                    \
    "b      4b\n"                                                                                                      \
    NNACL_FUNCTION_END(name)

__asm__(ROW_FUNCTION("nnacl_depthwise_3x3_stride1_mve", "3"));
__asm__(ROW_FUNCTION("nnacl_depthwise_3x3_stride2_mve", "6"));

/* In slot i % 3 of position i / 3 is row (i - first) % 3 of the kernel: where its tap is. */
__asm__(NNACL_FUNCTION("nnacl_unpack_3x3_mve")
    "push   {r4, lr}\n"
    "adr    r3, 2f\n"
    "vldrb.u8 q1, [r3]\n"
    "vldrb.u8 q2, [r3, #16]\n"
    "vldrb.u8 q3, [r3, #32]\n"
    "movs   r4, #9\n"
    "vctp.8 r4\n"
    "dls    lr, r2\n"
    "1:\n"
    "vpst\n"
    "vldrbt.u8 q0, [r0, q1]\n"
    "vstrb.8 q0, [r1], #16\n"
    "vpst\n"
    "vldrbt.u8 q0, [r0, q2]\n"
    "vstrb.8 q0, [r1], #16\n"
    "vpst\n"
    "vldrbt.u8 q0, [r0, q3]\n"
    "vstrb.8 q0, [r1], #16\n"
    "adds   r0, #9\n"
    "le     lr, 1b\n"
    "pop    {r4, pc}\n"
    ".balign 4\n"
    "2:\n"
    ".byte  0, 3, 6, 1, 4, 7, 2, 5, 8, 0, 0, 0, 0, 0, 0, 0\n"
    ".byte  6, 0, 3, 7, 1, 4, 8, 2, 5, 0, 0, 0, 0, 0, 0, 0\n"
    ".byte  3, 6, 0, 4, 7, 1, 5, 8, 2, 0, 0, 0, 0, 0, 0, 0\n"
    NNACL_FUNCTION_END("nnacl_unpack_3x3_mve"));

__asm__(NNACL_FUNCTION("nnacl_strew_mve")
    "push   {r4, lr}\n"
    "ldrd   r12, lr, [sp, #8]\n"
    "movs   r4, #0\n"
    "vidup.u16 q1, r4, #1\n"
    "vmul.i16 q1, q1, r3\n"
    "vctp.16 r12\n"
    "dls    lr, lr\n"
    "1:\n"
    "vpstt\n"
    "vldrbt.u16 q0, [r0]\n"
    "vstrbt.16 q0, [r2, q1]\n"
    "add    r0, r1\n"
    "adds   r2, #3\n"
    "le     lr, 1b\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_strew_mve"));

/* r0 y, r1 weights, r2 taps, r3 a tap, r4 the fields, r5 channel, r6 groups left, r7 shift, r8 taps, r9 their number. */
#define TAPS_FUNCTION(name, weights)                                                                                   \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r9, lr}\n"                                                                                             \
    "vpush  {d8-d9}\n"                                                                                                 \
    "mov    r4, r0\n"                                                                                                  \
    "ldrd   r8, r9, [r4]\n"                                                                                            \
    "ldrd   r1, r6, [r4, #8]\n"                                                                                        \
    "ldrd   r5, r0, [r4, #16]\n"                                                                                       \
    "ldr    r7, [r4, #24]\n"                                                                                           \
    "1:\n" /* a group */                                                                                               \
    "vldrw.u32 q0, [r1], #16\n"                                                                                        \
    "mov    r2, r8\n"                                                                                                  \
    "vldrw.u32 q1, [r1], #16\n"                                                                                        \
    "dls    lr, r9\n"                                                                                                  \
    "2:\n" /* a tap */                                                                                                 \
    "ldr    r3, [r2], #4\n"                                                                                            \
    "add    r3, r5\n"                                                                                                  \
    "vldrb.s16 q2, [r3]\n"                                                                                             \
    weights                                                                                                            \
    "vmullb.s16 q4, q2, q3\n"                                                                                          \
    "vadd.i32 q0, q0, q4\n"                                                                                            \
    "vmullt.s16 q4, q2, q3\n"                                                                                          \
    "vadd.i32 q1, q1, q4\n"                                                                                            \
    "le     lr, 2b\n"                                                                                                  \
    "cmp    r7, #0\n"                                                                                                  \
    "beq    3f\n"                                                                                                      \
    "vldrw.u32 q2, [r1], #16\n"                                                                                        \
    "vmulh.s32 q0, q0, q2\n"                                                                                           \
    "vldrw.u32 q3, [r1], #16\n"                                                                                        \
    "vmulh.s32 q1, q1, q3\n"                                                                                           \
    "vldrw.u32 q2, [r1], #16\n"                                                                                        \
    "vadd.i32 q0, q0, q2\n"                                                                                            \
    "vldrw.u32 q3, [r1], #16\n"                                                                                        \
    "vadd.i32 q1, q1, q3\n"                                                                                            \
    "vshl.s32 q0, r7\n"                                                                                                \
    "vshl.s32 q1, r7\n"                                                                                                \
    "vqmovnb.s32 q0, q0\n"                                                                                             \
    "vqmovnt.s32 q0, q1\n"                                                                                             \
    "vqmovnb.s16 q0, q0\n"                                                                                             \
    "vstrb.16 q0, [r0], #8\n"                                                                                          \
    "adds   r5, #8\n"                                                                                                  \
    "subs   r6, #1\n"                                                                                                  \
    "bne    1b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "mov    r0, r1\n"                                                                                                  \
    "vpop   {d8-d9}\n"                                                                                                 \
    "pop    {r4-r9, pc}\n"                                                                                             \
    "3:\n"                                                                                                             \
    "ldr    r3, [r4, #28]\n"                                                                                           \
    "vstrw.32 q0, [r3], #16\n"                                                                                         \
    "vstrw.32 q1, [r3]\n"                                                                                              \
    "adds   r1, #64\n"                                                                                                 \
    "b      4b\n"                                                                                                      \
    NNACL_FUNCTION_END(name)

__asm__(TAPS_FUNCTION("nnacl_taps_s8_mve", "vldrb.s16 q3, [r1], #8\n"));
__asm__(TAPS_FUNCTION("nnacl_taps_s16_mve", "vldrh.u16 q3, [r1], #16\n"));
/* clang-format on */
