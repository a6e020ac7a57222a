/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_mve.h"

#include "common/assembly.h"

/* Of at most NNACL_TAPS_IN_WORDS positions. */
void nnacl_sum_words_mve(const nnacl_taps *t, const int8_t *x, int32_t lanes, int32_t *sums);

/* clang-format off */
/* r1 row, r4 and r5 steps, r6 rows, r7 columns, r8 position; q0 sums of even channels, q1 of odd ones. */
#define SUMS(name, place, lanes, load, add, store)                                                                     \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r8, lr}\n"                                                                                             \
    place                                                                                                              \
    "ldrd   r4, r5, [r0, #4]\n"                                                                                        \
    "ldrd   r6, r7, [r0, #12]\n"                                                                                       \
    lanes                                                                                                              \
    "vmov.i32 q0, #0\n"                                                                                                \
    "vmov.i32 q1, #0\n"                                                                                                \
    "cbz    r6, 4f\n"                                                                                                  \
    "1:\n"                                                                                                             \
    "mov    r8, r1\n"                                                                                                  \
    "wls    lr, r7, 3f\n"                                                                                              \
    "2:\n"                                                                                                             \
    "vpst\n"                                                                                                           \
    load                                                                                                               \
    "add    r8, r5\n"                                                                                                  \
    add                                                                                                                \
    "le     lr, 2b\n"                                                                                                  \
    "3:\n"                                                                                                             \
    "add    r1, r4\n"                                                                                                  \
    "subs   r6, #1\n"                                                                                                  \
    "bne    1b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    store                                                                                                              \
    "pop    {r4-r8, pc}\n"                                                                                             \
    NNACL_FUNCTION_END(name)

__asm__(SUMS("nnacl_sum_words_mve", "",
    "vctp.8 r2\n",
    "vldrbt.u8 q2, [r8]\n",
    "vmovlb.s8 q3, q2\n"
    "vadd.i16 q0, q0, q3\n"
    "vmovlt.s8 q2, q2\n"
    "vadd.i16 q1, q1, q2\n",
    "vmovlt.s16 q2, q0\n"
    "vmovlt.s16 q3, q1\n"
    "vmovlb.s16 q0, q0\n"
    "vmovlb.s16 q1, q1\n"
    "vst40.32 {q0, q1, q2, q3}, [r3]\n"
    "vst41.32 {q0, q1, q2, q3}, [r3]\n"
    "vst42.32 {q0, q1, q2, q3}, [r3]\n"
    "vst43.32 {q0, q1, q2, q3}, [r3]\n"));

/* r1 is the first channel: the row begins with it. */
__asm__(SUMS("nnacl_sum_taps_s16_mve",
    "ldr    r12, [r0]\n"
    "add    r1, r12, r1, lsl #1\n",
    "vctp.16 r2\n",
    "vldrht.u16 q2, [r8]\n",
    "vmovlb.s16 q3, q2\n"
    "vadd.i32 q0, q0, q3\n"
    "vmovlt.s16 q2, q2\n"
    "vadd.i32 q1, q1, q2\n",
    "vst20.32 {q0, q1}, [r3]\n"
    "vst21.32 {q0, q1}, [r3]\n"));
/* clang-format on */

void nnacl_sum_taps_mve(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums) {
    const int8_t *x = t->x + channel;
    if (t->rows * t->columns <= NNACL_TAPS_IN_WORDS) {
        nnacl_sum_words_mve(t, x, lanes, sums);
        return;
    }
    for (int32_t i = 0; i < NNACL_TAP_LANES; i++) {
        sums[i] = 0;
    }
    nnacl_taps part = {.column_step = t->column_step, .rows = 1};
    for (int32_t row = 0; row < t->rows; row++, x += t->row_step) {
        for (int32_t j = 0; j < t->columns; j += part.columns) {
            const int32_t left = t->columns - j;
            int32_t some[NNACL_TAP_LANES];
            part.columns = left < NNACL_TAPS_IN_WORDS ? left : NNACL_TAPS_IN_WORDS;
            nnacl_sum_words_mve(&part, x + j * t->column_step, lanes, some);
            for (int32_t i = 0; i < lanes; i++) {
                sums[i] += some[i];
            }
        }
    }
}
