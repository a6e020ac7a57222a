/* SPDX-License-Identifier: Apache-2.0 */
/* Along the last axis, with results of s8. */
#include "common/assembly.h"
#include "common/share.h"
#include "softmax/softmax_s8.h"

NNACL_DECLARE(nnacl_softmax_s8_mve);

/* The sources in assembly know the order of these fields. */
typedef struct line {
    int32_t offset; /* to x: the place in the table; where it is packed, minus the steps below the maximum */
    float number;   /* the sum, later what each exponential is multiplied with */
    int32_t zero;
    float scale; /* of y: what products are divided by under float-even */
} line;

/* The largest of count (at least 1) elements. */
int32_t nnacl_softmax_max_mve(const int8_t *x, int32_t count);
/* Adds the exponentials of quads times four elements to line->number, in their order. */
void nnacl_softmax_sum_mve(const int8_t *x, int32_t quads, const float *table, line *line);
void nnacl_softmax_packed_sum_mve(const int8_t *x, int32_t quads, const float *table, line *line);
/* y of quads times four elements. */
void nnacl_softmax_row_mve(const int8_t *x, int32_t quads, const float *table, line *line, int8_t *y);
void nnacl_softmax_packed_row_mve(const int8_t *x, int32_t quads, const float *table, line *line, int8_t *y);
void nnacl_softmax_even_row_mve(const int8_t *x, int32_t quads, const float *table, line *line, int8_t *y);
void nnacl_softmax_packed_even_row_mve(const int8_t *x, int32_t quads, const float *table, line *line, int8_t *y);

/* clang-format off */
__asm__(NNACL_FUNCTION("nnacl_softmax_max_mve")
    "push   {r4, lr}\n"
    "mvn    r2, #127\n"
    "dlstp.8 lr, r1\n"
    "1:\n"
    "vldrb.u8 q0, [r0], #16\n"
    "vmaxv.s8 r2, q0\n"
    "letp   lr, 1b\n"
    "mov    r0, r2\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_softmax_max_mve"));

/* r0 x, r1 quads, r2 table, r4 and r5 its other parts where it is packed, r12 offset. The exponentials are in q1. A
 * product that is too small for a number is 0 here: units taken from it must not make it less. */
#define BEGIN                                                                                                          \
    "push   {r4-r8, lr}\n"                                                                                             \
    "vpush  {d8-d13}\n"                                                                                                \
    "ldr    r12, [r3]\n"                                                                                               \
    "add    r4, r2, #64\n"                                                                                             \
    "add    r5, r2, #128\n"                                                                                            \
    "vmov.i32 q3, #15\n"                                                                                               \
    "vmov.i32 q5, #0\n"
#define END                                                                                                            \
    "vpop   {d8-d13}\n"                                                                                                \
    "pop    {r4-r8, pc}\n"
#define PLAIN                                                                                                          \
    "vldrb.s32 q0, [r0], #4\n"                                                                                         \
    "vadd.i32 q0, q0, r12\n"                                                                                           \
    "vldrw.u32 q1, [r2, q0, uxtw #2]\n"
#define PACKED                                                                                                         \
    "vldrb.s32 q0, [r0], #4\n"                                                                                         \
    "vadd.i32 q0, q0, r12\n"                                                                                           \
    "vneg.s32 q0, q0\n"                                                                                                \
    "vshr.u32 q1, q0, #4\n"                                                                                            \
    "vldrw.u32 q2, [r2, q1, uxtw #2]\n"                                                                                \
    "vand   q1, q0, q3\n"                                                                                              \
    "vldrw.u32 q4, [r4, q1, uxtw #2]\n"                                                                                \
    "vldrb.s32 q1, [r5, q0]\n"                                                                                         \
    "vmul.f32 q2, q2, q4\n"                                                                                            \
    "vadd.i32 q1, q1, q2\n"                                                                                            \
    "vmax.s32 q1, q1, q5\n"
#define SUM(name, exponentials)                                                                                        \
    NNACL_FUNCTION(name) BEGIN                                                                                         \
    "vldr   s24, [r3, #4]\n"                                                                                           \
    "wls    lr, r1, 2f\n"                                                                                              \
    "1:\n"                                                                                                             \
    exponentials                                                                                                       \
    "vadd.f32 s24, s24, s4\n"                                                                                          \
    "vadd.f32 s24, s24, s5\n"                                                                                          \
    "vadd.f32 s24, s24, s6\n"                                                                                          \
    "vadd.f32 s24, s24, s7\n"                                                                                          \
    "le     lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "vstr   s24, [r3, #4]\n"                                                                                           \
    END NNACL_FUNCTION_END(name)
#define NO_DIVISOR ""
#define DIVISOR "vldr s24, [r3, #12]\n"
#define AWAY "vcvta.s32.f32 q1, q1\n"
#define EVEN                                                                                                           \
    "vdiv.f32 s4, s4, s24\n"                                                                                           \
    "vdiv.f32 s5, s5, s24\n"                                                                                           \
    "vdiv.f32 s6, s6, s24\n"                                                                                           \
    "vdiv.f32 s7, s7, s24\n"                                                                                           \
    "vcvtn.s32.f32 q1, q1\n"
#define ROW(name, exponentials, divisor, round)                                                                        \
    NNACL_FUNCTION(name) BEGIN                                                                                         \
    "ldrd   r6, r7, [r3, #4]\n"                                                                                        \
    divisor                                                                                                            \
    "ldr    r3, [sp, #72]\n"                                                                                           \
    "wls    lr, r1, 2f\n"                                                                                              \
    "1:\n"                                                                                                             \
    exponentials                                                                                                       \
    "vmul.f32 q1, q1, r6\n"                                                                                            \
    round                                                                                                              \
    "vqadd.s32 q1, q1, r7\n"                                                                                           \
    "vqmovnb.s32 q1, q1\n"                                                                                             \
    "vqmovnb.s16 q1, q1\n"                                                                                             \
    "vstrb.32 q1, [r3], #4\n"                                                                                          \
    "le     lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    END NNACL_FUNCTION_END(name)

__asm__(SUM("nnacl_softmax_sum_mve", PLAIN));
__asm__(SUM("nnacl_softmax_packed_sum_mve", PACKED));
__asm__(ROW("nnacl_softmax_row_mve", PLAIN, NO_DIVISOR, AWAY));
__asm__(ROW("nnacl_softmax_packed_row_mve", PACKED, NO_DIVISOR, AWAY));
__asm__(ROW("nnacl_softmax_even_row_mve", PLAIN, DIVISOR, EVEN));
__asm__(ROW("nnacl_softmax_packed_even_row_mve", PACKED, DIVISOR, EVEN));
/* clang-format on */

static void run(const nnacl_softmax_params *p, const int8_t *x, const float *table, int8_t *y) {
    const bool is_even = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN);
    const int32_t quads = p->depth / 4, max = nnacl_softmax_max_mve(x, p->depth);
    line k;
    k.offset = (NNACL_NEEDS_PACKED_EXP ? 0 : 255) - max;
    k.number = 0.0f;
    k.zero = p->y_zero;
    if (is_even) {
        k.scale = p->y_scale;
    }
    if (NNACL_NEEDS_PACKED_EXP) {
        nnacl_softmax_packed_sum_mve(x, quads, table, &k);
    } else {
        nnacl_softmax_sum_mve(x, quads, table, &k);
    }
    for (int32_t j = quads * 4; j < p->depth; j++) {
        k.number += nnacl_softmax_s8_exp(table, max - x[j]);
    }
    k.number = nnacl_softmax_s8_factor(p, k.number);
    if (NNACL_NEEDS_PACKED_EXP) {
        (is_even ? nnacl_softmax_packed_even_row_mve : nnacl_softmax_packed_row_mve)(x, quads, table, &k, y);
    } else {
        (is_even ? nnacl_softmax_even_row_mve : nnacl_softmax_row_mve)(x, quads, table, &k, y);
    }
    for (int32_t j = quads * 4; j < p->depth; j++) {
        y[j] = nnacl_softmax_s8_finish(p, nnacl_softmax_s8_exp(table, max - x[j]), k.number);
    }
}

void nnacl_softmax_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t row = share.begin; row < share.end && p->depth > 0; row++) {
        const ptrdiff_t start = (ptrdiff_t)row * p->depth;
        run(p, (const int8_t *)in[0] + start, in[1], (int8_t *)out[0] + start);
    }
}
