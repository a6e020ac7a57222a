/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_sums_mve.h"

#include "common/assembly.h"
#include "common/finish_s8.h"
#include "common/requant.h"

/* The source in assembly knows the order of these fields. */
typedef struct lines {
    const int32_t *mult, *shift; /* of the first four sums */
    int32_t step;                /* bytes to those of the next four, 0 or 16 */
    int32_t zero;
} lines;

/* Under tflite-double, and with halves up in the last shift; to bytes and to halves. */
void nnacl_requant_away_mve(const int32_t *sums, int8_t *y, int32_t count, const lines *k);
void nnacl_requant_up_mve(const int32_t *sums, int8_t *y, int32_t count, const lines *k);
void nnacl_requant_away_halves_mve(const int32_t *sums, int16_t *y, int32_t count, const lines *k);
void nnacl_requant_up_halves_mve(const int32_t *sums, int16_t *y, int32_t count, const lines *k);

/* The source in assembly knows the order of these fields. */
typedef struct scaling {
    float scale;
    int32_t zero;
} scaling;

/* Under float-even. */
void nnacl_scale_even_mve(const int32_t *sums, int8_t *y, int32_t count, const scaling *k);
void nnacl_scale_even_halves_mve(const int32_t *sums, int16_t *y, int32_t count, const scaling *k);

/* clang-format off */
/* r0 sums, r1 y, r4 multipliers, r5 shifts, r6 step, r7 zero point; q1 shifts to the left, q2 to the right, q3 zeros. */
#define BYTES "vqmovnb.s32 q0, q0\nvqmovnb.s16 q0, q0\nvstrb.32 q0, [r1], #4\n"
#define HALVES "vqmovnb.s32 q0, q0\nvstrh.32 q0, [r1], #8\n"
#define AWAY "vand q1, q0, q2\nvshr.s32 q1, q1, #31\nvadd.i32 q0, q0, q1\n"
#define SUMS(name, fix, narrow)                                                                                        \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r7, lr}\n"                                                                                             \
    "ldm    r3, {r4-r7}\n"                                                                                             \
    "vmov.i32 q3, #0\n"                                                                                                \
    "wlstp.32 lr, r2, 2f\n"                                                                                            \
    "1:\n"                                                                                                             \
    "vldrw.u32 q2, [r5]\n"                                                                                             \
    "vldrw.u32 q0, [r0], #16\n"                                                                                        \
    "vmax.s32 q1, q2, q3\n"                                                                                            \
    "vmin.s32 q2, q2, q3\n"                                                                                            \
    "vshl.s32 q0, q0, q1\n"                                                                                            \
    "vldrw.u32 q1, [r4]\n"                                                                                             \
    "add    r4, r6\n"                                                                                                  \
    "add    r5, r6\n"                                                                                                  \
    "vqrdmulh.s32 q0, q0, q1\n"                                                                                        \
    fix                                                                                                                \
    "vrshl.s32 q0, q0, q2\n"                                                                                           \
    "vqadd.s32 q0, q0, r7\n"                                                                                           \
    narrow                                                                                                             \
    "letp   lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "pop    {r4-r7, pc}\n"                                                                                             \
    NNACL_FUNCTION_END(name)
/* r0 sums, r1 y, r3 scale, r12 zero point. */
#define EVEN(name, narrow)                                                                                             \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4, lr}\n"                                                                                                \
    "ldrd   r3, r12, [r3]\n"                                                                                           \
    "wlstp.32 lr, r2, 2f\n"                                                                                            \
    "1:\n"                                                                                                             \
    "vldrw.u32 q0, [r0], #16\n"                                                                                        \
    "vcvt.f32.s32 q0, q0\n"                                                                                            \
    "vmul.f32 q0, q0, r3\n"                                                                                            \
    "vcvtn.s32.f32 q0, q0\n"                                                                                           \
    "vqadd.s32 q0, q0, r12\n"                                                                                          \
    narrow                                                                                                             \
    "letp   lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "pop    {r4, pc}\n"                                                                                                \
    NNACL_FUNCTION_END(name)

__asm__(SUMS("nnacl_requant_away_mve", AWAY, BYTES));
__asm__(SUMS("nnacl_requant_up_mve", "", BYTES));
__asm__(SUMS("nnacl_requant_away_halves_mve", AWAY, HALVES));
__asm__(SUMS("nnacl_requant_up_halves_mve", "", HALVES));
__asm__(EVEN("nnacl_scale_even_mve", BYTES));
__asm__(EVEN("nnacl_scale_even_halves_mve", HALVES));
/* clang-format on */

/* Whether there is a function for all sums. */
static bool is_uniform(int32_t rounding) {
    return !NNACL_ROUNDS(rounding, NNACL_ROUND_SINGLE) && !NNACL_ROUNDS(rounding, NNACL_ROUND_FLOAT_EVEN) &&
           !NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP_BY_8);
}

static void run(const int32_t *sums, int8_t *y, int32_t count, const lines *k, int32_t rounding) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP)) {
        nnacl_requant_up_mve(sums, y, count, k);
    } else {
        nnacl_requant_away_mve(sums, y, count, k);
    }
}

void nnacl_requant_channels_mve(const int32_t *sums, const void *requant, int32_t channels, int32_t rounding,
                                int32_t zero, int32_t q_min, int32_t q_max, int8_t *y) {
    if (!is_uniform(rounding)) {
        for (int32_t i = 0; i < channels; i++) {
            y[i] = (int8_t)nnacl_requant_channel(sums[i], requant, channels, i, rounding, zero, q_min, q_max);
        }
        return;
    }
    const int32_t *rows = requant;
    const lines k = {rows, rows + channels, 16, zero};
    run(sums, y, channels, &k, rounding);
    nnacl_clamp_bytes(y, channels, q_min, q_max);
}

void nnacl_requant_sums_mve(const int32_t *sums, int32_t count, int32_t mult, int32_t shift, int32_t rounding,
                            int32_t zero, int32_t q_min, int32_t q_max, int8_t *y) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_SINGLE)) {
        for (int32_t i = 0; i < count; i++) {
            const int32_t scaled = nnacl_requant_single(sums[i], mult, shift);
            y[i] = (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, zero), q_min, q_max);
        }
        return;
    }
    const int32_t mults[4] = {mult, mult, mult, mult}, shifts[4] = {shift, shift, shift, shift};
    const lines k = {mults, shifts, 0, zero};
    run(sums, y, count, &k, NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP_BY_8) ? NNACL_ROUND_TFLITE_UP : rounding);
    nnacl_clamp_bytes(y, count, q_min, q_max);
}

static void clamp_halves(int16_t *y, int32_t count, int32_t q_min, int32_t q_max) {
    for (int32_t i = 0; i < count && (q_min > INT16_MIN || q_max < INT16_MAX); i++) {
        y[i] = (int16_t)nnacl_clamp_s32(y[i], q_min, q_max);
    }
}

void nnacl_requant_halves_mve(const int32_t *sums, int32_t count, int32_t mult, int32_t shift, int32_t rounding,
                              int32_t zero, int32_t q_min, int32_t q_max, int16_t *y) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_SINGLE)) {
        for (int32_t i = 0; i < count; i++) {
            const int32_t scaled = nnacl_requant_single(sums[i], mult, shift);
            y[i] = (int16_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, zero), q_min, q_max);
        }
        return;
    }
    const int32_t mults[4] = {mult, mult, mult, mult}, shifts[4] = {shift, shift, shift, shift};
    const lines k = {mults, shifts, 0, zero};
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP) || NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP_BY_8)) {
        nnacl_requant_up_halves_mve(sums, y, count, &k);
    } else {
        nnacl_requant_away_halves_mve(sums, y, count, &k);
    }
    clamp_halves(y, count, q_min, q_max);
}

void nnacl_scale_sums_mve(const int32_t *sums, int32_t count, float scale, int32_t zero, int32_t q_min, int32_t q_max,
                          int8_t *y) {
    const scaling k = {scale, zero};
    nnacl_scale_even_mve(sums, y, count, &k);
    nnacl_clamp_bytes(y, count, q_min, q_max);
}

void nnacl_scale_halves_mve(const int32_t *sums, int32_t count, float scale, int32_t zero, int32_t q_min, int32_t q_max,
                            int16_t *y) {
    const scaling k = {scale, zero};
    nnacl_scale_even_halves_mve(sums, y, count, &k);
    clamp_halves(y, count, q_min, q_max);
}
