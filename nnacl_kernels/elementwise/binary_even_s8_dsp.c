/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lanes_dsp.h"
#include "elementwise/binary_even.h"

static inline int8_t finish(float value, float scale, int32_t zero) {
#ifdef __ARM_FP
    return (int8_t)__ssat(__qadd(nnacl_nearest_dsp(value / scale), zero), 8);
#else
    return (int8_t)(nnacl_round_even(value / scale, -128 - zero, 127 - zero) + zero);
#endif
}

#define ROW(op, join)                                                                                                  \
    static void op##_row(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {          \
        const nnacl_binary_even k = *(const nnacl_binary_even *)constants;                                             \
        for (int32_t i = 0; i < count; i++) {                                                                          \
            const float left = k.a_scale * (float)(a[i] - k.a_zero), right = k.b_scale * (float)(b[i] - k.b_zero);     \
            y[i] = finish(left join right, k.y_scale, k.zero);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_BINARY_EVEN(op, dsp)

ROW(add, +)
ROW(sub, -)
ROW(mul, *)
