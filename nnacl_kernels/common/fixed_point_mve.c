/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fixed_point_mve.h"

#include <arm_mve.h>

/* The lines of nnacl_exp_quarter_q15() to nnacl_reciprocal_q13(), for a < 0: 2 / (1 + e^a) in Q2.13. */
static inline int16x8_t reciprocal(int16x8_t a, int32_t integer_bits) {
    static const int16_t factors[] = {25520, 19875, 12055, 4435, 600, 11, 0};
    const int16_t quarter = (int16_t)(1 << (13 - integer_bits));
    const int16x8_t rest = vsubq_n_s16(vandq_s16(a, vdupq_n_s16((int16_t)(quarter - 1))), quarter);
    const int16x8_t x = vaddq_n_s16(vshlq_r_s16(rest, integer_bits), 4096);
    const int16x8_t x2 = vqrdmulhq_s16(x, x), x3 = vqrdmulhq_s16(x2, x), x4 = vqrdmulhq_s16(x2, x2);
    const int16x8_t cubic = vaddq_s16(vrshrq_n_s16(x4, 2), x3);
    const int16x8_t tail = vrshrq_n_s16(vaddq_s16(vqrdmulhq_n_s16(cubic, 10923), x2), 1);
    int16x8_t power = vaddq_n_s16(vqrdmulhq_n_s16(vaddq_s16(x, tail), 28918), 28918);
    const int16x8_t above = vsubq_s16(rest, a);
    for (int32_t i = 0; i < integer_bits + 2 && i < 7; i++) {
        const int16x8_t bit = vshlq_r_s16(above, integer_bits + 2 - i); /* in place of the sign */
        power = vqrdmulhq_m_n_s16(power, power, factors[i], vcmpltq_n_s16(bit, 0));
    }
    if (integer_bits > 5) {
        const mve_pred16_t is_far = vcmpltq_n_s16(a, (int16_t) - (1 << (20 - integer_bits)));
        power = vpselq_s16(vdupq_n_s16(0), power, is_far);
    }
    const int16x8_t half = vaddq_n_s16(vshrq_n_s16(power, 1), 16384), one = vdupq_n_s16(8192);
    int16x8_t inverse = vaddq_n_s16(vqrdmulhq_n_s16(half, -15420), 23130);
    for (int32_t i = 0; i < 3; i++) {
        const int16x8_t missing = vsubq_s16(one, vqrdmulhq_s16(half, inverse));
        inverse = vaddq_s16(inverse, vshlq_n_s16(vqrdmulhq_s16(inverse, missing), 2));
    }
    return inverse;
}

static inline int16x8_t minus_magnitude(int16x8_t a) {
    return vminq_s16(a, vnegq_s16(a));
}

void nnacl_logistic_q15_mve(int16_t *values, int32_t count) {
    for (; count > 0; count -= 8, values += 8) {
        const mve_pred16_t present = vctp16q((uint32_t)count);
        const int16x8_t a = vldrhq_z_s16(values, present);
        const int16x8_t positive = vqshlq_n_s16(reciprocal(minus_magnitude(a), 3), 1);
        int16x8_t y = vpselq_s16(positive, vsubq_s16(vdupq_n_s16(32767), positive), vcmpgtq_n_s16(a, 0));
        y = vpselq_s16(vdupq_n_s16(16384), y, vcmpeqq_n_s16(a, 0));
        vstrhq_p_s16(values, y, present);
    }
}

void nnacl_tanh_q15_mve(int16_t *values, int32_t count, int32_t integer_bits) {
    for (; count > 0; count -= 8, values += 8) {
        const mve_pred16_t present = vctp16q((uint32_t)count);
        const int16x8_t a = vldrhq_z_s16(values, present);
        /* With one more integer bit the same number stands for 2 a. */
        const int16x8_t inverse = reciprocal(minus_magnitude(a), integer_bits + 1);
        const int16x8_t positive = vqshlq_n_s16(vsubq_n_s16(inverse, 8192), 2);
        int16x8_t y = vnegq_m_s16(positive, positive, vcmpltq_n_s16(a, 0));
        y = vpselq_s16(vdupq_n_s16(0), y, vcmpeqq_n_s16(a, 0));
        vstrhq_p_s16(values, y, present);
    }
}
