/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fixed_point.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_sigmoid_table_s16_c);

/* The table at `place`, which has `bits` fractional bits, with so many more than the table; the end of it counts as 1.
 */
static uint32_t look_up(const uint16_t *table, uint32_t place, int32_t bits, uint32_t end) {
    const uint32_t index = place >> bits;
    if (index >= 255) {
        return end << bits;
    }
    const uint32_t low = table[index], high = table[index + 1];
    return (low << bits) + (place & ((1u << bits) - 1)) * (high - low);
}

/* value / 2^shift, halves up. */
static int32_t scaled(int32_t value, int32_t mult, int32_t shift) {
    return (int32_t)(((int64_t)value * mult + ((int64_t)1 << shift >> 1)) >> shift);
}

void nnacl_sigmoid_table_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_sigmoid_table_params *p = params;
    const int16_t *x = in[0];
    const uint16_t *table = in[1];
    int16_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, p->count);
    for (int32_t i = share.begin; i < share.end && p->mult == 0; i++) {
        const int32_t q12 = nnacl_saturate_s16(x[i] * (p->shift > 0 ? 2 : 1));
        y[i] = (int16_t)(p->tanh ? nnacl_tanh_q15(q12, 3) : nnacl_logistic_q15(q12));
    }
    for (int32_t i = share.begin; i < share.end && p->mult > 0; i++) {
        const int32_t place = scaled(x[i], p->mult, p->shift);
        const uint32_t size = place < 0 ? 0u - (uint32_t)place : (uint32_t)place;
        if (p->tanh) { /* 2 sigmoid(2 x) - 1 */
            const int32_t twice = (int32_t)look_up(table, size, 8, 0xffff) - (1 << 23);
            y[i] = (int16_t)((place >= 0 ? twice + (1 << 7) : (1 << 7) - 1 - twice) >> 8);
        } else {
            const uint32_t result = look_up(table, size, 9, 0xfffe); /* 0x7fff in Q0.15 */
            y[i] = (int16_t)((place >= 0 ? result + (1 << 9) : (1u << 25) - result + (1 << 9) - 1) >> 10);
        }
    }
}
