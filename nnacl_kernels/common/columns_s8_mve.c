/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_mve.h"

#include "common/assembly.h"

/* Sixteen columns, and at most four. */
void nnacl_columns16_s8_mve(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride,
                            int32_t *sums);
void nnacl_columns4_s8_mve(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride, int32_t *sums,
                           int32_t columns);

/* clang-format off */
/* r0 the vector, r1 its zero point, r3 row, r4 stride, r5 sums, r6 an element. */
__asm__(NNACL_FUNCTION("nnacl_columns16_s8_mve")
    "push   {r4-r6, lr}\n"
    "vpush  {d8-d9}\n"
    "ldrd   r4, r5, [sp, #32]\n"
    "vldrw.u32 q0, [r5]\n"
    "vldrw.u32 q1, [r5, #16]\n"
    "vldrw.u32 q2, [r5, #32]\n"
    "vldrw.u32 q3, [r5, #48]\n"
    "wls    lr, r2, 2f\n"
    "1:\n"
    "ldrsb  r6, [r0], #1\n"
    "vldrb.s32 q4, [r3]\n"
    "subs   r6, r6, r1\n"
    "vmla.s32 q0, q4, r6\n"
    "vldrb.s32 q4, [r3, #4]\n"
    "vmla.s32 q1, q4, r6\n"
    "vldrb.s32 q4, [r3, #8]\n"
    "vmla.s32 q2, q4, r6\n"
    "vldrb.s32 q4, [r3, #12]\n"
    "vmla.s32 q3, q4, r6\n"
    "add    r3, r4\n"
    "le     lr, 1b\n"
    "2:\n"
    "vstrw.32 q0, [r5]\n"
    "vstrw.32 q1, [r5, #16]\n"
    "vstrw.32 q2, [r5, #32]\n"
    "vstrw.32 q3, [r5, #48]\n"
    "vpop   {d8-d9}\n"
    "pop    {r4-r6, pc}\n"
    NNACL_FUNCTION_END("nnacl_columns16_s8_mve"));

__asm__(NNACL_FUNCTION("nnacl_columns4_s8_mve")
    "push   {r4-r6, lr}\n"
    "ldrd   r4, r5, [sp, #16]\n"
    "ldr    r6, [sp, #24]\n"
    "vctp.32 r6\n"
    "vpst\n"
    "vldrwt.u32 q0, [r5]\n"
    "wls    lr, r2, 2f\n"
    "1:\n"
    "ldrsb  r6, [r0], #1\n"
    "vpst\n"
    "vldrbt.s32 q1, [r3]\n"
    "subs   r6, r6, r1\n"
    "vmla.s32 q0, q1, r6\n"
    "add    r3, r4\n"
    "le     lr, 1b\n"
    "2:\n"
    "vpst\n"
    "vstrwt.32 q0, [r5]\n"
    "pop    {r4-r6, pc}\n"
    NNACL_FUNCTION_END("nnacl_columns4_s8_mve"));
/* clang-format on */

void nnacl_columns_s8_mve(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride, int32_t columns,
                          int32_t *sums) {
    for (; columns >= 16; columns -= 16, w += 16, sums += 16) {
        nnacl_columns16_s8_mve(x, zero, rows, w, stride, sums);
    }
    for (; columns > 0; columns -= 4, w += 4, sums += 4) {
        nnacl_columns4_s8_mve(x, zero, rows, w, stride, sums, columns);
    }
}
