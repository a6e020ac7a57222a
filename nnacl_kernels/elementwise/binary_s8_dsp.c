/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>

#include "common/assembly.h"
#include "elementwise/binary_rows_s8.h"

NNACL_DECLARE(nnacl_add_s8_dsp);
NNACL_DECLARE(nnacl_sub_s8_dsp);

/* Multipliers are at least 2^30 and stand as `excess` = 2 * multiplier - 2^32: with it SMMLAR makes value * multiplier
 * / 2^31, halves up, of a value. The source in assembly knows the order of these fields. */
typedef struct addition {
    int32_t a_factor, a_origin,
        a_excess; /* an operand in the common scale: (x * factor + origin) * multiplier / 2^31 */
    int32_t b_factor, b_origin, b_excess;
    int32_t y_excess, y_offset, y_shift; /* (sum * multiplier / 2^31, less 1 if negative, + offset) >> shift */
} addition;

void nnacl_add_quads_s8_dsp(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const addition *addition);
void nnacl_sub_quads_s8_dsp(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const addition *addition);

/* clang-format off */
#define EACH(body)                                                                                                     \
    ".irp   sum, r4, r5, r6, r7\n" body ".endr\n"
#define OPERAND(sum, rotation, end)                                                                                    \
    "sxtb   r11, r12" rotation "\n"                                                                                    \
    "mla    r11, r11, r8, r9\n"                                                                                        \
    end
#define OF_A(sum, rotation) OPERAND(sum, rotation, "smmlar " sum ", r11, r10, r11\n")
#define OF_B(sum, rotation, join) OPERAND(sum, rotation, "smmlar r11, r11, r10, r11\n" join " " sum ", r11\n")
#define QUADS(name, join)                                                                                              \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "1:\n"                                                                                                             \
    "ldr    lr, [sp, #36]\n"                                                                                           \
    "ldr    r12, [r0], #4\n"                                                                                           \
    "ldm    lr!, {r8-r10}\n"                                                                                           \
    OF_A("r4", "") OF_A("r5", ", ror #8") OF_A("r6", ", ror #16") OF_A("r7", ", ror #24")                              \
    "ldr    r12, [r1], #4\n"                                                                                           \
    "ldm    lr!, {r8-r10}\n"                                                                                           \
    OF_B("r4", "", join) OF_B("r5", ", ror #8", join) OF_B("r6", ", ror #16", join) OF_B("r7", ", ror #24", join)      \
    "ldm    lr!, {r8-r10}\n"                                                                                           \
    EACH("smmlar \\sum, \\sum, r8, \\sum\n")                                                                          \
    EACH("add    \\sum, \\sum, \\sum, asr #31\n")                                                                     \
    EACH("add    \\sum, r9\n")                                                                                        \
    EACH("asr    \\sum, r10\n")                                                                                       \
    EACH("ssat   \\sum, #8, \\sum\n")                                                                                \
    EACH("strb   \\sum, [r2], #1\n")                                                                                  \
    "subs   r3, #1\n"                                                                                                  \
    "bne    1b\n"                                                                                                      \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(QUADS("nnacl_add_quads_s8_dsp", "add"));
__asm__(QUADS("nnacl_sub_quads_s8_dsp", "sub"));
/* clang-format on */

static inline int32_t mul_high(int32_t value, int32_t excess) {
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(value), "r"(excess));
    return high;
}

static addition addition_of(const nnacl_binary_params *p) {
    const int32_t a_shift = p->left_shift + p->a_shift, b_shift = p->left_shift + p->b_shift, y_shift = -p->y_shift;
    return (addition){
        .a_factor = (int32_t)(1u << a_shift),
        .a_origin = (int32_t)((uint32_t)-p->a_zero << a_shift),
        .a_excess = (int32_t)((uint32_t)p->a_mult << 1),
        .b_factor = (int32_t)(1u << b_shift),
        .b_origin = (int32_t)((uint32_t)-p->b_zero << b_shift),
        .b_excess = (int32_t)((uint32_t)p->b_mult << 1),
        .y_excess = (int32_t)((uint32_t)p->y_mult << 1),
        .y_offset = (1 << (y_shift - 1)) + p->y_zero * (1 << y_shift),
        .y_shift = y_shift,
    };
}

/* Elements that are no quad. */
static void rest(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const addition *k, bool subtract) {
    for (int32_t i = 0; i < count; i++) {
        const int32_t left = mul_high(a[i] * k->a_factor + k->a_origin, k->a_excess);
        const int32_t right = mul_high(b[i] * k->b_factor + k->b_origin, k->b_excess);
        const int32_t sum = mul_high(subtract ? left - right : left + right, k->y_excess);
        y[i] = (int8_t)__ssat((sum + (sum >> 31) + k->y_offset) >> k->y_shift, 8);
    }
}

#define SUM(op, subtract)                                                                                              \
    static void op##_row(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {          \
        const int32_t whole = count & ~3;                                                                              \
        if (whole > 0) {                                                                                               \
            nnacl_##op##_quads_s8_dsp(a, b, y, whole / 4, constants);                                                  \
        }                                                                                                              \
        rest(a + whole, b + whole, y + whole, count - whole, constants, subtract);                                     \
    }                                                                                                                  \
    void nnacl_##op##_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {    \
        const addition k = addition_of(params);                                                                        \
        nnacl_binary_rows_s8(ctx, params, in, out, op##_row, &k);                                                      \
    }

SUM(add, false)
SUM(sub, true)
