/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"

#include "common/requant.h"

int8_t nnacl_finish_exact(int32_t sum, const int32_t *requant, int32_t rounding, int32_t zero, int32_t q_min,
                          int32_t q_max) {
    const int32_t own[2] = {requant[0] & ~NNACL_LINE_EXACT, requant[1]};
    return (int8_t)nnacl_requant_channel(sum, own, 1, 0, rounding, zero, q_min, q_max);
}

void nnacl_clamp_bytes(int8_t *y, int32_t count, int32_t q_min, int32_t q_max) {
    if (q_min == -128 && q_max == 127) {
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        y[i] = (int8_t)nnacl_clamp_s32(y[i], q_min, q_max);
    }
}
