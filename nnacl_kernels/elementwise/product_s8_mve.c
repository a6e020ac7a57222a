/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "elementwise/binary_rows_s8.h"
#include "elementwise/product_lines.h"

NNACL_DECLARE(nnacl_mul_s8_mve);
NNACL_DECLARE(nnacl_prelu_s8_mve);

/* By the ways to round: halves away from zero or up in the last shift, and the contract single. `count` is at least 1.
 */
void nnacl_mul_away_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants);
void nnacl_mul_up_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants);
void nnacl_mul_single_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants);
void nnacl_prelu_away_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants);
void nnacl_prelu_up_s8_mve(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants);

/* clang-format off */
/* r0 a, r1 b, r2 y, r4 and r5 zero points, r6-r8 the line of products, r9-r12 that of a alone; q0 products. */
#define BEGIN                                                                                                          \
    "push   {r4-r12, lr}\n"                                                                                            \
    "ldr    r12, [sp, #40]\n"                                                                                          \
    "ldrd   r4, r5, [r12]\n"                                                                                           \
    "ldrd   r6, r7, [r12, #8]\n"                                                                                       \
    "ldr    r8, [r12, #16]\n"                                                                                          \
    "rsb    r8, r8, #0\n"                                                                                              \
    "ldrd   r9, r10, [r12, #24]\n"                                                                                     \
    "ldrd   r11, r12, [r12, #32]\n"                                                                                    \
    "rsb    r11, r11, #0\n"                                                                                            \
    "vdup.32 q3, r6\n"                                                                                                 \
    "dlstp.32 lr, r3\n"                                                                                                \
    "1:\n"                                                                                                             \
    "vldrb.s32 q0, [r0], #4\n"                                                                                         \
    "vldrb.s32 q1, [r1], #4\n"                                                                                         \
    "vsub.i32 q2, q0, r4\n"                                                                                            \
    "vsub.i32 q1, q1, r5\n"                                                                                            \
    "vmul.i32 q0, q2, q1\n"
#define END                                                                                                            \
    "vqmovnb.s32 q0, q0\n"                                                                                             \
    "vqmovnb.s16 q0, q0\n"                                                                                             \
    "vstrb.32 q0, [r2], #4\n"                                                                                          \
    "letp   lr, 1b\n"                                                                                                  \
    "pop    {r4-r12, pc}\n"
#define SHIFTED                                                                                                        \
    "vadd.i32 q0, q0, r7\n"                                                                                            \
    "vshl.s32 q0, r8\n"
#define UP "vqrdmulh.s32 q0, q0, r6\n"
#define AWAY UP                                                                                                        \
    "vshr.s32 q1, q0, #31\n"                                                                                           \
    "vadd.i32 q0, q0, q1\n"
#define SINGLE "vmulh.s32 q0, q0, q3\n"
#define POSITIVE                                                                                                       \
    "vmov   q3, q2\n"                                                                                                  \
    "vshl.s32 q3, r12\n"                                                                                               \
    "vqrdmulh.s32 q3, q3, r9\n"                                                                                        \
    "vadd.i32 q3, q3, r10\n"                                                                                           \
    "vshl.s32 q3, r11\n"                                                                                               \
    "vcmp.s32 gt, q2, zr\n"                                                                                            \
    "vpsel  q0, q3, q0\n"
#define ROW(name, body) NNACL_FUNCTION(name) BEGIN body END NNACL_FUNCTION_END(name)

__asm__(ROW("nnacl_mul_away_s8_mve", AWAY SHIFTED));
__asm__(ROW("nnacl_mul_up_s8_mve", UP SHIFTED));
__asm__(ROW("nnacl_mul_single_s8_mve", SINGLE SHIFTED));
__asm__(ROW("nnacl_prelu_away_s8_mve", AWAY SHIFTED POSITIVE));
__asm__(ROW("nnacl_prelu_up_s8_mve", UP SHIFTED POSITIVE));
/* clang-format on */

void nnacl_mul_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    const nnacl_product_lines k = nnacl_product_lines_of(p);
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_SINGLE)) {
        nnacl_binary_rows_s8(ctx, p, in, out, nnacl_mul_single_s8_mve, &k);
    } else if (nnacl_product_is_away(p->rounding)) {
        nnacl_binary_rows_s8(ctx, p, in, out, nnacl_mul_away_s8_mve, &k);
    } else {
        nnacl_binary_rows_s8(ctx, p, in, out, nnacl_mul_up_s8_mve, &k);
    }
}

void nnacl_prelu_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    const nnacl_product_lines k = nnacl_product_lines_of(p);
    nnacl_binary_rows_s8(ctx, p, in, out,
                         nnacl_product_is_away(p->rounding) ? nnacl_prelu_away_s8_mve : nnacl_prelu_up_s8_mve, &k);
}
