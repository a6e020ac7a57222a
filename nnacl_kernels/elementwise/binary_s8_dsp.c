/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>

#include "common/assembly.h"
#include "common/finish_s8.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_add_s8_dsp);

/* Multipliers are at least 2^30 and stand as `excess` = 2 * multiplier - 2^32: with it SMMLAR makes value * multiplier
 * / 2^31, halves up, of a value. The source in assembly knows the order of these fields. */
typedef struct addition {
    int32_t a_factor, a_origin,
        a_excess; /* an operand in the common scale: (x * factor + origin) * multiplier / 2^31 */
    int32_t b_factor, b_origin, b_excess;
    int32_t y_excess, y_offset, y_shift; /* (sum * multiplier / 2^31, less 1 if negative, + offset) >> shift */
} addition;

void nnacl_add_quads_s8_dsp(const int8_t *a, const int8_t *b, int8_t *y, int32_t quads, const addition *addition);

/* clang-format off */
#define EACH(body)                                                                                                     \
    ".irp   sum, r4, r5, r6, r7\n" body ".endr\n"
#define OPERAND(sum, rotation, end)                                                                                    \
    "sxtb   r11, r12" rotation "\n"                                                                                    \
    "mla    r11, r11, r8, r9\n"                                                                                        \
    end
#define OF_A(sum, rotation) OPERAND(sum, rotation, "smmlar " sum ", r11, r10, r11\n")
#define OF_B(sum, rotation) OPERAND(sum, rotation, "smmlar r11, r11, r10, r11\nadd " sum ", r11\n")

__asm__(NNACL_FUNCTION("nnacl_add_quads_s8_dsp")
    "push   {r4-r11, lr}\n"
    "1:\n"
    "ldr    lr, [sp, #36]\n"
    "ldr    r12, [r0], #4\n"
    "ldm    lr!, {r8-r10}\n"
    OF_A("r4", "") OF_A("r5", ", ror #8") OF_A("r6", ", ror #16") OF_A("r7", ", ror #24")
    "ldr    r12, [r1], #4\n"
    "ldm    lr!, {r8-r10}\n"
    OF_B("r4", "") OF_B("r5", ", ror #8") OF_B("r6", ", ror #16") OF_B("r7", ", ror #24")
    "ldm    lr!, {r8-r10}\n"
    EACH("smmlar \\sum, \\sum, r8, \\sum\n")
    EACH("add    \\sum, \\sum, \\sum, asr #31\n")
    EACH("add    \\sum, r9\n")
    EACH("asr    \\sum, r10\n")
    EACH("ssat   \\sum, #8, \\sum\n")
    EACH("strb   \\sum, [r2], #1\n")
    "subs   r3, #1\n"
    "bne    1b\n"
    "pop    {r4-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_add_quads_s8_dsp"));
/* clang-format on */

static inline int32_t mul_high(int32_t value, int32_t excess) {
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(value), "r"(excess));
    return high;
}

void nnacl_add_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->dims[0]);
    const int8_t *a = in[0], *b = in[1];
    int8_t *y = out[0];
    const int32_t a_shift = p->left_shift + p->a_shift, b_shift = p->left_shift + p->b_shift, y_shift = -p->y_shift;
    const addition k = {
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
    const int32_t quads = (share.end - share.begin) / 4;
    if (quads > 0) {
        nnacl_add_quads_s8_dsp(a + share.begin, b + share.begin, y + share.begin, quads, &k);
    }
    for (int32_t i = share.begin + quads * 4; i < share.end; i++) {
        int32_t sum = mul_high(a[i] * k.a_factor + k.a_origin, k.a_excess);
        sum = mul_high(sum + mul_high(b[i] * k.b_factor + k.b_origin, k.b_excess), k.y_excess);
        y[i] = (int8_t)__ssat((sum + (sum >> 31) + k.y_offset) >> y_shift, 8);
    }
    nnacl_clamp_bytes(y + share.begin, share.end - share.begin, p->q_min, p->q_max);
}
