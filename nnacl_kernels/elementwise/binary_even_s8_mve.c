/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "common/requant.h"
#include "elementwise/binary_even.h"

/* `quads` times four elements. */
void nnacl_add_even_quads_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const void *constants);
void nnacl_sub_even_quads_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const void *constants);
void nnacl_mul_even_quads_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const void *constants);

/* clang-format off */
/* r0 a, r1 b, r2 y, r4 and r5 zero points, r6 and r7 scales, r9 zero point of y; s12 its scale. */
#define QUADS(name, join)                                                                                              \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r10, lr}\n"                                                                                            \
    "ldr    r12, [sp, #32]\n"                                                                                          \
    "ldm    r12, {r4-r9}\n"                                                                                            \
    "vmov   s12, r8\n"                                                                                                 \
    "wls    lr, r3, 2f\n"                                                                                              \
    "1:\n"                                                                                                             \
    "vldrb.s32 q0, [r0], #4\n"                                                                                         \
    "vldrb.s32 q1, [r1], #4\n"                                                                                         \
    "vsub.i32 q0, q0, r4\n"                                                                                            \
    "vsub.i32 q1, q1, r5\n"                                                                                            \
    "vcvt.f32.s32 q0, q0\n"                                                                                            \
    "vcvt.f32.s32 q1, q1\n"                                                                                            \
    "vmul.f32 q0, q0, r6\n"                                                                                            \
    "vmul.f32 q1, q1, r7\n"                                                                                            \
    join " q0, q0, q1\n"                                                                                               \
    "vdiv.f32 s0, s0, s12\n"                                                                                           \
    "vdiv.f32 s1, s1, s12\n"                                                                                           \
    "vdiv.f32 s2, s2, s12\n"                                                                                           \
    "vdiv.f32 s3, s3, s12\n"                                                                                           \
    "vcvtn.s32.f32 q0, q0\n"                                                                                           \
    "vqadd.s32 q0, q0, r9\n"                                                                                           \
    "vqmovnb.s32 q0, q0\n"                                                                                             \
    "vqmovnb.s16 q0, q0\n"                                                                                             \
    "vstrb.32 q0, [r2], #4\n"                                                                                          \
    "le     lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "pop    {r4-r10, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(QUADS("nnacl_add_even_quads_mve", "vadd.f32"));
__asm__(QUADS("nnacl_sub_even_quads_mve", "vsub.f32"));
__asm__(QUADS("nnacl_mul_even_quads_mve", "vmul.f32"));
/* clang-format on */

#define ROW(op, join)                                                                                                  \
    static void op##_row(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {          \
        const nnacl_binary_even *k = constants;                                                                        \
        nnacl_##op##_even_quads_mve(a, b, y, count / 4, k);                                                            \
        for (int32_t i = count & ~3; i < count; i++) {                                                                 \
            const float left = k->a_scale * (float)(a[i] - k->a_zero), right = k->b_scale * (float)(b[i] - k->b_zero); \
            y[i] =                                                                                                     \
                (int8_t)(nnacl_round_even((left join right) / k->y_scale, -128 - k->zero, 127 - k->zero) + k->zero);   \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_BINARY_EVEN(op, mve)

ROW(add, +)
ROW(sub, -)
ROW(mul, *)
