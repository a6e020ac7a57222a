/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "elementwise/binary_rows_s8.h"

NNACL_DECLARE(nnacl_add_s8_mve);
NNACL_DECLARE(nnacl_sub_s8_mve);

/* The source in assembly knows the order of these fields. */
typedef struct addition {
    int32_t a_factor, a_origin, a_mult; /* an operand in the common scale: (x * factor + origin) * mult / 2^31 */
    int32_t b_factor, b_origin, b_mult;
    int32_t y_mult, y_offset, y_shift; /* (sum * mult / 2^31, less 1 if negative, + offset) << shift */
} addition;

/* `count` is at least 1. */
void nnacl_add_bytes_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const addition *addition);
void nnacl_sub_bytes_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const addition *addition);

/* clang-format off */
/* r0 a, r1 b, r2 y, r3-r11 the fields; q2 and q3 the factors. The rounding of VQRDMULH is that of nnacl_mul_high(). */
#define BYTES(name, join)                                                                                              \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "mov    lr, r3\n"                                                                                                  \
    "ldr    r12, [sp, #36]\n"                                                                                          \
    "ldm    r12, {r3-r11}\n"                                                                                           \
    "vdup.32 q2, r3\n"                                                                                                 \
    "vdup.32 q3, r6\n"                                                                                                 \
    "dlstp.32 lr, lr\n"                                                                                                \
    "1:\n"                                                                                                             \
    "vldrb.s32 q0, [r0], #4\n"                                                                                         \
    "vmlas.s32 q0, q2, r4\n"                                                                                           \
    "vldrb.s32 q1, [r1], #4\n"                                                                                         \
    "vqrdmulh.s32 q0, q0, r5\n"                                                                                        \
    "vmlas.s32 q1, q3, r7\n"                                                                                           \
    "vqrdmulh.s32 q1, q1, r8\n"                                                                                        \
    join " q0, q0, q1\n"                                                                                               \
    "vqrdmulh.s32 q0, q0, r9\n"                                                                                        \
    "vshr.s32 q1, q0, #31\n"                                                                                           \
    "vadd.i32 q0, q0, q1\n"                                                                                            \
    "vadd.i32 q0, q0, r10\n"                                                                                           \
    "vshl.s32 q0, r11\n"                                                                                               \
    "vqmovnb.s32 q0, q0\n"                                                                                             \
    "vqmovnb.s16 q0, q0\n"                                                                                             \
    "vstrb.32 q0, [r2], #4\n"                                                                                          \
    "letp   lr, 1b\n"                                                                                                  \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(BYTES("nnacl_add_bytes_s8_mve", "vadd.i32"));
__asm__(BYTES("nnacl_sub_bytes_s8_mve", "vsub.i32"));
/* clang-format on */

static addition addition_of(const nnacl_binary_params *p) {
    const int32_t a_shift = p->left_shift + p->a_shift, b_shift = p->left_shift + p->b_shift, y_shift = -p->y_shift;
    return (addition){
        .a_factor = (int32_t)(1u << a_shift),
        .a_origin = (int32_t)((uint32_t)-p->a_zero << a_shift),
        .a_mult = p->a_mult,
        .b_factor = (int32_t)(1u << b_shift),
        .b_origin = (int32_t)((uint32_t)-p->b_zero << b_shift),
        .b_mult = p->b_mult,
        .y_mult = p->y_mult,
        .y_offset = (1 << (y_shift - 1)) + p->y_zero * (1 << y_shift),
        .y_shift = -y_shift,
    };
}

#define SUM(op)                                                                                                        \
    static void op##_row(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {          \
        nnacl_##op##_bytes_s8_mve(a, b, y, count, constants);                                                          \
    }                                                                                                                  \
    void nnacl_##op##_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {    \
        const addition k = addition_of(params);                                                                        \
        nnacl_binary_rows_s8(ctx, params, in, out, op##_row, &k);                                                      \
    }

SUM(add)
SUM(sub)
