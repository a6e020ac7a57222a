/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_f32_mve.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_multiply_mve) == 76 && sizeof(nnacl_taps_mve) == 56,
               "the code below loads the fields in this order");

/* clang-format off */
#define ENTER                                                                                                          \
    "push   {r4-r11, lr}\n"                                                                                            \
    "vpush  {d8-d15}\n"
#define LEAVE                                                                                                          \
    "vpop   {d8-d15}\n"                                                                                                \
    "pop    {r4-r11, pc}\n"
/* Keeps a vector within r4 .. r5; what is not a number stays that: "greater" is false for it, but "less" is true. */
#define CLAMP(sums)                                                                                                    \
    "vdup.32 q4, r4\n"                                                                                                 \
    ".irp   sum, " sums "\n"                                                                                           \
    "vpt.f32 gt, q4, \\sum\n"                                                                                          \
    "vdupt.32 \\sum, r4\n"                                                                                             \
    "vpt.f32 gt, \\sum, r5\n"                                                                                          \
    "vdupt.32 \\sum, r5\n"                                                                                             \
    ".endr\n"

/* Of struct nnacl_multiply_mve: 0 weights, 4 panel_step, 8 bias, 12 channels, 16 length, 20 runs, 24 row_step,
 * 28 weights_step, 32 is_clamped, 36 clamps, 44 x, 60 y. */
#define BIAS                                                                                                           \
    "ldrd   r1, r2, [r0, #8]\n"                                                                                        \
    "vctp.32 r2\n"                                                                                                     \
    "vmov.i32 q0, #0\n"                                                                                                \
    "cbz    r1, 2f\n"                                                                                                  \
    "vpst\n"                                                                                                           \
    "vldrwt.u32 q0, [r1], #16\n"                                                                                       \
    "str    r1, [r0, #8]\n"                                                                                            \
    "2:\n"
/* On to the next four columns, r2 the channels. */
#define NEXT_PANEL                                                                                                     \
    "ldrd   r1, r3, [r0, #0]\n"                                                                                        \
    "add    r1, r3\n"                                                                                                  \
    "str    r1, [r0, #0]\n"                                                                                            \
    "subs   r2, #4\n"                                                                                                  \
    "str    r2, [r0, #12]\n"                                                                                           \
    "bgt    1b\n"

/* q0-q3 the sums, q4 and q5 weights; r0-r7 elements, r8-r11 where they are, r12 weights. On the stack: 0 the struct,
 * 4 runs left. */
__asm__(NNACL_FUNCTION("nnacl_multiply4_f32_mve")
    ENTER
    "sub    sp, #8\n"
    "str    r0, [sp, #0]\n"
    "1:\n" /* four columns */
    BIAS
    "vmov   q1, q0\n"
    "vmov   q2, q0\n"
    "vmov   q3, q0\n"
    "add    r1, r0, #44\n"
    "ldm    r1, {r8-r11}\n"
    "ldr    r12, [r0, #0]\n"
    "ldrd   r1, r2, [r0, #16]\n"
    "str    r2, [sp, #4]\n"
    "cmp    r2, #0\n"
    "beq    8f\n"
    "3:\n" /* a run */
    "lsrs   r1, r1, #1\n"
    "wls    lr, r1, 5f\n"
    "4:\n"
    "vldrw.u32 q4, [r12], #16\n"
    "ldrd   r0, r1, [r8], #8\n"
    "ldrd   r2, r3, [r9], #8\n"
    "vfma.f32 q0, q4, r0\n"
    "ldrd   r4, r5, [r10], #8\n"
    "vfma.f32 q1, q4, r2\n"
    "ldrd   r6, r7, [r11], #8\n"
    "vfma.f32 q2, q4, r4\n"
    "vldrw.u32 q5, [r12], #16\n"
    "vfma.f32 q3, q4, r6\n"
    "vfma.f32 q0, q5, r1\n"
    "vfma.f32 q1, q5, r3\n"
    "vfma.f32 q2, q5, r5\n"
    "vfma.f32 q3, q5, r7\n"
    "le     lr, 4b\n"
    "5:\n"
    "ldr    r0, [sp, #0]\n"
    "ldr    r1, [r0, #16]\n"
    "lsls   r2, r1, #31\n"
    "beq    6f\n"
    "vldrw.u32 q4, [r12], #16\n"
    "ldr    r2, [r8], #4\n"
    "ldr    r3, [r9], #4\n"
    "vfma.f32 q0, q4, r2\n"
    "ldr    r4, [r10], #4\n"
    "vfma.f32 q1, q4, r3\n"
    "ldr    r5, [r11], #4\n"
    "vfma.f32 q2, q4, r4\n"
    "vfma.f32 q3, q4, r5\n"
    "6:\n"
    "ldrd   r2, r3, [r0, #24]\n"
    "add    r12, r3\n"
    "add    r8, r2\n"
    "add    r9, r2\n"
    "add    r10, r2\n"
    "add    r11, r2\n"
    "ldr    r3, [sp, #4]\n"
    "subs   r3, #1\n"
    "str    r3, [sp, #4]\n"
    "bne    3b\n"
    "8:\n"
    "ldr    r1, [r0, #32]\n"
    "cbz    r1, 9f\n"
    "ldrd   r4, r5, [r0, #36]\n"
    CLAMP("q0, q1, q2, q3")
    "9:\n"
    "add    r1, r0, #60\n"
    "ldm    r1, {r4-r7}\n"
    "ldr    r2, [r0, #12]\n"
    "vctp.32 r2\n"
    "vpstttt\n"
    "vstrwt.32 q0, [r4], #16\n"
    "vstrwt.32 q1, [r5], #16\n"
    "vstrwt.32 q2, [r6], #16\n"
    "vstrwt.32 q3, [r7], #16\n"
    "stm    r1, {r4-r7}\n"
    NEXT_PANEL
    "add    sp, #8\n"
    LEAVE
    NNACL_FUNCTION_END("nnacl_multiply4_f32_mve"));

/* q0 and q1 the sums of even and odd elements, q2-q5 weights; r4-r7 elements, r8 where they are, r9 weights, r10 runs
 * left. */
__asm__(NNACL_FUNCTION("nnacl_multiply1_f32_mve")
    ENTER
    "1:\n" /* four columns */
    BIAS
    "vmov.i32 q1, #0\n"
    "ldr    r8, [r0, #44]\n"
    "ldr    r9, [r0, #0]\n"
    "ldrd   r11, r10, [r0, #16]\n"
    "ldrd   r2, r3, [r0, #24]\n"
    "cmp    r10, #0\n"
    "beq    8f\n"
    "3:\n" /* a run */
    "lsr    r12, r11, #2\n"
    "wls    lr, r12, 5f\n"
    "4:\n"
    "ldm    r8!, {r4-r7}\n"
    "vldrw.u32 q2, [r9], #16\n"
    "vldrw.u32 q3, [r9], #16\n"
    "vfma.f32 q0, q2, r4\n"
    "vldrw.u32 q4, [r9], #16\n"
    "vfma.f32 q1, q3, r5\n"
    "vldrw.u32 q5, [r9], #16\n"
    "vfma.f32 q0, q4, r6\n"
    "vfma.f32 q1, q5, r7\n"
    "le     lr, 4b\n"
    "5:\n"
    "and    r12, r11, #3\n"
    "wls    lr, r12, 7f\n"
    "6:\n"
    "vldrw.u32 q2, [r9], #16\n"
    "ldr    r4, [r8], #4\n"
    "vfma.f32 q0, q2, r4\n"
    "le     lr, 6b\n"
    "7:\n"
    "add    r8, r2\n"
    "add    r9, r3\n"
    "subs   r10, #1\n"
    "bne    3b\n"
    "8:\n"
    "vadd.f32 q0, q0, q1\n"
    "ldr    r1, [r0, #32]\n"
    "cbz    r1, 9f\n"
    "ldrd   r4, r5, [r0, #36]\n"
    CLAMP("q0")
    "9:\n"
    "ldr    r4, [r0, #60]\n"
    "ldr    r2, [r0, #12]\n"
    "vctp.32 r2\n"
    "vpst\n"
    "vstrwt.32 q0, [r4], #16\n"
    "str    r4, [r0, #60]\n"
    NEXT_PANEL
    LEAVE
    NNACL_FUNCTION_END("nnacl_multiply1_f32_mve"));

/* The window over one to four vectors of channels: `begin` loads the bias, `tap` adds the products, `store` writes.
 * r1 x, r2 weights, r3 taps, r4 rows left, r5-r8 steps, r9 bias, r10 y, r11 channels left. */
#define BLOCK(channels, zeros, begin, tap, sums, store)                                                                \
    "ldrd   r1, r2, [r0, #0]\n"                                                                                        \
    "ldrd   r3, r4, [r0, #8]\n"                                                                                        \
    "ldrd   r5, r6, [r0, #16]\n"                                                                                       \
    zeros                                                                                                              \
    "cmp    r9, #0\n"                                                                                                  \
    "beq    2f\n"                                                                                                      \
    begin                                                                                                              \
    "2:\n"                                                                                                             \
    "cbz    r4, 5f\n"                                                                                                  \
    "3:\n" /* a row */                                                                                                 \
    "dls    lr, r3\n"                                                                                                  \
    "4:\n"                                                                                                             \
    tap                                                                                                                \
    "add    r1, r5\n"                                                                                                  \
    "add    r2, r7\n"                                                                                                  \
    "le     lr, 4b\n"                                                                                                  \
    "add    r1, r6\n"                                                                                                  \
    "add    r2, r8\n"                                                                                                  \
    "subs   r4, #1\n"                                                                                                  \
    "bne    3b\n"                                                                                                      \
    "5:\n"                                                                                                             \
    "ldr    r12, [r0, #44]\n"                                                                                          \
    "cmp    r12, #0\n"                                                                                                 \
    "beq    6f\n"                                                                                                      \
    "ldrd   r4, r5, [r0, #48]\n"                                                                                       \
    CLAMP(sums)                                                                                                        \
    "6:\n"                                                                                                             \
    store                                                                                                              \
    "ldrd   r1, r2, [r0, #0]\n"                                                                                        \
    "adds   r1, #4 * " channels "\n"                                                                                   \
    "adds   r2, #4 * " channels "\n"                                                                                   \
    "strd   r1, r2, [r0, #0]\n"                                                                                        \
    "subs   r11, #" channels "\n"
#define TAP(sum, x, w, offset)                                                                                         \
    "vldrw.u32 " x ", [r1, #" offset "]\n"                                                                             \
    "vldrw.u32 " w ", [r2, #" offset "]\n"                                                                             \
    "vfma.f32 " sum ", " x ", " w "\n"

__asm__(NNACL_FUNCTION("nnacl_taps_f32_mve")
    ENTER
    "ldrd   r7, r8, [r0, #24]\n"
    "ldrd   r9, r10, [r0, #32]\n"
    "ldr    r11, [r0, #40]\n"
    "subs   r11, #16\n"
    "blt    7f\n"
    "1:\n"
    BLOCK("16",
          "vmov.i32 q0, #0\n" "vmov.i32 q1, #0\n" "vmov.i32 q2, #0\n" "vmov.i32 q3, #0\n",
          "vldrw.u32 q0, [r9], #16\n" "vldrw.u32 q1, [r9], #16\n" "vldrw.u32 q2, [r9], #16\n"
          "vldrw.u32 q3, [r9], #16\n",
          TAP("q0", "q4", "q5", "0") TAP("q1", "q6", "q7", "16") TAP("q2", "q4", "q5", "32")
          TAP("q3", "q6", "q7", "48"),
          "q0, q1, q2, q3",
          "vstrw.32 q0, [r10], #16\n" "vstrw.32 q1, [r10], #16\n" "vstrw.32 q2, [r10], #16\n"
          "vstrw.32 q3, [r10], #16\n")
    "bge    1b\n"
    "7:\n"
    "adds   r11, #8\n"
    "blt    8f\n"
    BLOCK("8",
          "vmov.i32 q0, #0\n" "vmov.i32 q1, #0\n",
          "vldrw.u32 q0, [r9], #16\n" "vldrw.u32 q1, [r9], #16\n",
          TAP("q0", "q4", "q5", "0") TAP("q1", "q6", "q7", "16"),
          "q0, q1",
          "vstrw.32 q0, [r10], #16\n" "vstrw.32 q1, [r10], #16\n")
    "8:\n"
    "adds   r11, #8\n"
    "ble    9f\n"
    "1:\n"
    "vctp.32 r11\n"
    BLOCK("4",
          "vmov.i32 q0, #0\n",
          "vpst\n" "vldrwt.u32 q0, [r9], #16\n",
          "vpstt\n" "vldrwt.u32 q4, [r1]\n" "vldrwt.u32 q5, [r2]\n" "vfma.f32 q0, q4, q5\n",
          "q0",
          "vctp.32 r11\n" "vpst\n" "vstrwt.32 q0, [r10], #16\n")
    "bgt    1b\n"
    "9:\n"
    LEAVE
    NNACL_FUNCTION_END("nnacl_taps_f32_mve"));
/* clang-format on */
