/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "dense/matmul_pairs_s16.h"

NNACL_DECLARE(nnacl_matmul_s16_mve);

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_matmul_pair_s16) == 28,
               "the code below loads the fields in this order");

/* Where the elements of columns are neighbours, and where they are not. */
void nnacl_matmul_runs_s16_mve(const nnacl_matmul_pair_s16 *m);
void nnacl_matmul_steps_s16_mve(const nnacl_matmul_pair_s16 *m);

/* clang-format off */
/* r1 and r2 rows, r3 and r0 columns, r4-r11 the sums; q4 the places of eight elements of a column, r12 the bytes of all
 * eight. The pointer to the sums is on the stack. */
#define MULTIPLY(name, places, first, second)                                                                          \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #4\n"                                                                                                  \
    "vpush  {d8-d9}\n"                                                                                                 \
    "ldm    r0, {r1-r7}\n"                                                                                             \
    "mov    lr, r5\n"                                                                                                  \
    "str    r7, [sp, #16]\n"                                                                                           \
    "add    r0, r3, r4\n"                                                                                              \
    places                                                                                                             \
    "ldm    r7, {r4-r11}\n"                                                                                            \
    "dlstp.16 lr, lr\n"                                                                                                \
    "1:\n"                                                                                                             \
    "vldrh.u16 q0, [r1], #16\n"                                                                                        \
    first                                                                                                              \
    "vldrh.u16 q1, [r2], #16\n"                                                                                        \
    "vmlaldava.s16 r4, r5, q0, q2\n"                                                                                   \
    second                                                                                                             \
    "vmlaldava.s16 r8, r9, q1, q2\n"                                                                                   \
    "vmlaldava.s16 r6, r7, q0, q3\n"                                                                                   \
    "vmlaldava.s16 r10, r11, q1, q3\n"                                                                                 \
    "letp   lr, 1b\n"                                                                                                  \
    "ldr    r0, [sp, #16]\n"                                                                                           \
    "stm    r0, {r4-r11}\n"                                                                                            \
    "vpop   {d8-d9}\n"                                                                                                 \
    "add    sp, #4\n"                                                                                                  \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(MULTIPLY("nnacl_matmul_runs_s16_mve", "", "vldrh.u16 q2, [r3], #16\n", "vldrh.u16 q3, [r0], #16\n"));
__asm__(MULTIPLY("nnacl_matmul_steps_s16_mve",
                 "mov    r4, #0\n"
                 "vidup.u16 q4, r4, #1\n"
                 "vmul.i16 q4, q4, r6\n"
                 "lsl    r12, r6, #4\n",
                 "vldrh.u16 q2, [r3, q4, uxtw #1]\nadd r3, r12\n",
                 "vldrh.u16 q3, [r0, q4, uxtw #1]\nadd r0, r12\n"));
/* clang-format on */

static inline void multiply(const nnacl_matmul_pair_s16 *m) {
    if (m->step == 1) {
        nnacl_matmul_runs_s16_mve(m);
    } else {
        nnacl_matmul_steps_s16_mve(m);
    }
}

void nnacl_matmul_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_matmul_pairs_s16(ctx, params, in, out, 2, multiply);
}
