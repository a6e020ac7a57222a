/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_packed_mve.h"

#include "common/gemm_mve_assembly.h"

_Static_assert(sizeof(void *) == 4 && offsetof(nnacl_gemm_packed_mve, gemm.zero) == 40 &&
                   offsetof(nnacl_gemm_packed_mve, last) == 48,
               "the code below loads the fields in this order");

/* clang-format off */
#define TWO_POSITIONS(first, second, weights)                                                                          \
    "vmladava.s8  " first ", q0, " weights "\n"                                                                        \
    "vmladava.s8  " second ", q1, " weights "\n"

#define CHUNK_4                                                                                                        \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    TWO_POSITIONS("r0", "r8", "q2")                                                                                    \
    "vldrb.u8     q3, [r1], #16\n"                                                                                     \
    "vshr.s8      q2, q2, #4\n"                                                                                        \
    TWO_POSITIONS("r4", "r12", "q3")                                                                                   \
    TWO_POSITIONS("r2", "r10", "q2")                                                                                   \
    "vshr.s8      q3, q3, #4\n"                                                                                        \
    TWO_POSITIONS("r6", "lr", "q3")

#define CHUNK_2                                                                                                        \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    TWO_POSITIONS("r0", "r8", "q2")                                                                                    \
    "vshr.s8      q3, q2, #2\n"                                                                                        \
    TWO_POSITIONS("r2", "r10", "q3")                                                                                   \
    "vshr.s8      q2, q2, #4\n"                                                                                        \
    TWO_POSITIONS("r4", "r12", "q2")                                                                                   \
    "vshr.s8      q3, q3, #4\n"                                                                                        \
    TWO_POSITIONS("r6", "lr", "q3")

#define FIELDS                                                                                                         \
    "add    r1, r0, #40\n"                                                                                             \
    "ldm    r1, {r2-r5}\n"                                                                                             \
    "add    r1, sp, #40\n"                                                                                             \
    "stm    r1, {r2-r5}\n"                                                                                             \
    "ldr    r5, [sp, #16]\n"
#define STARTS "mov r8, r0\n" "mov r10, r2\n" "mov r12, r4\n" "mov lr, r6\n"
#define LOAD_ZEROS                                                                                                     \
    "ldrd   r3, r5, [sp, #40]\n"                                                                                       \
    "ldrd   r7, r9, [sp, #48]\n"

#define ENDS_4                                                                                                         \
    LOAD_ZEROS                                                                                                         \
    "sub    r0, r0, r2, lsl #4\n"                                                                                      \
    "sub    r8, r8, r10, lsl #4\n"                                                                                     \
    "sub    r4, r4, r6, lsl #4\n"                                                                                      \
    "sub    r12, r12, lr, lsl #4\n"                                                                                    \
    "add    r0, r3\n"                                                                                                  \
    "add    r8, r5\n"                                                                                                  \
    "add    r2, r7\n"                                                                                                  \
    "add    r10, r9\n"                                                                                                 \
    "add    r4, r3\n"                                                                                                  \
    "add    r12, r5\n"                                                                                                 \
    "add    r6, r7\n"                                                                                                  \
    "add    lr, r9\n"

#define ENDS_2                                                                                                         \
    LOAD_ZEROS                                                                                                         \
    "sub    r0, r0, r2, lsl #2\n"                                                                                      \
    "sub    r8, r8, r10, lsl #2\n"                                                                                     \
    "sub    r2, r2, r4, lsl #2\n"                                                                                      \
    "sub    r10, r10, r12, lsl #2\n"                                                                                   \
    "sub    r4, r4, r6, lsl #2\n"                                                                                      \
    "sub    r12, r12, lr, lsl #2\n"                                                                                    \
    "add    r0, r3\n"                                                                                                  \
    "add    r8, r5\n"                                                                                                  \
    "add    r2, r3\n"                                                                                                  \
    "add    r10, r5\n"                                                                                                 \
    "add    r4, r3\n"                                                                                                  \
    "add    r12, r5\n"                                                                                                 \
    "add    r6, r7\n"                                                                                                  \
    "add    lr, r9\n"

__asm__(NNACL_GEMM2_MVE("nnacl_gemm2_s4_mve", "60", FIELDS, STARTS, CHUNK_4, ENDS_4));
__asm__(NNACL_GEMM2_MVE("nnacl_gemm2_s2_mve", "60", FIELDS, STARTS, CHUNK_2, ENDS_2));

#define CHUNK1_4                                                                                                       \
    "vldrb.u8     q1, [r1], #16\n"                                                                                     \
    "vldrb.u8     q2, [r1], #16\n"                                                                                     \
    "vmladava.s8  r0, q0, q1\n"                                                                                        \
    "vshr.s8      q1, q1, #4\n"                                                                                        \
    "vmladava.s8  r4, q0, q2\n"                                                                                        \
    "vshr.s8      q2, q2, #4\n"                                                                                        \
    "vmladava.s8  r2, q0, q1\n"                                                                                        \
    "vmladava.s8  r6, q0, q2\n"

#define CHUNK1_2                                                                                                       \
    "vldrb.u8     q1, [r1], #16\n"                                                                                     \
    "vmladava.s8  r0, q0, q1\n"                                                                                        \
    "vshr.s8      q2, q1, #2\n"                                                                                        \
    "vmladava.s8  r2, q0, q2\n"                                                                                        \
    "vshr.s8      q1, q1, #4\n"                                                                                        \
    "vmladava.s8  r4, q0, q1\n"                                                                                        \
    "vshr.s8      q2, q2, #4\n"                                                                                        \
    "vmladava.s8  r6, q0, q2\n"

#define ENDS1_4                                                                                                        \
    "ldr    r3, [sp]\n"                                                                                                \
    "ldr    lr, [r3, #40]\n"                                                                                           \
    "ldr    r3, [r3, #48]\n"                                                                                           \
    "sub    r0, r0, r2, lsl #4\n"                                                                                      \
    "sub    r4, r4, r6, lsl #4\n"                                                                                      \
    "add    r0, lr\n"                                                                                                  \
    "add    r2, r3\n"                                                                                                  \
    "add    r4, lr\n"                                                                                                  \
    "add    r6, r3\n"

#define ENDS1_2                                                                                                        \
    "ldr    r3, [sp]\n"                                                                                                \
    "ldr    lr, [r3, #40]\n"                                                                                           \
    "ldr    r3, [r3, #48]\n"                                                                                           \
    "sub    r0, r0, r2, lsl #2\n"                                                                                      \
    "sub    r2, r2, r4, lsl #2\n"                                                                                      \
    "sub    r4, r4, r6, lsl #2\n"                                                                                      \
    "add    r0, lr\n"                                                                                                  \
    "add    r2, lr\n"                                                                                                  \
    "add    r4, lr\n"                                                                                                  \
    "add    r6, r3\n"

__asm__(NNACL_GEMM1_MVE("nnacl_gemm1_s4_mve", "", CHUNK1_4, ENDS1_4));
__asm__(NNACL_GEMM1_MVE("nnacl_gemm1_s2_mve", "", CHUNK1_2, ENDS1_2));
/* clang-format on */
