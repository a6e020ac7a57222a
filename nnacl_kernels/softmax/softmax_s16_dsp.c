/* SPDX-License-Identifier: Apache-2.0 */
/* Along the last axis. */
#include <string.h>

#include "common/lanes_dsp.h"
#include "common/share.h"
#include "softmax/softmax_rows_s16.h"

NNACL_DECLARE(nnacl_softmax_s16_dsp);

/* The largest of count (at least 1) elements; the last two overlap those before them. */
static inline int32_t largest(const int16_t *x, int32_t count) {
    if (count == 1) {
        return x[0];
    }
    uint32_t most, word;
    memcpy(&most, x + count - 2, sizeof most);
    for (const int16_t *end = x + count - 2; x < end; x += 2) {
        memcpy(&word, x, sizeof word);
        most = nnacl_max_halves_dsp(most, word);
    }
    most = nnacl_max_halves_dsp(most, most >> 16 | most << 16);
    return (int16_t)(most & 0xffffu);
}

/* nnacl_curve_at_s16() of a curve whose middle is given; two of its points are read at once. */
static inline int32_t curve_at(const int16_t *middle, int32_t place) {
    uint32_t points;
    memcpy(&points, middle + (place >> 7), sizeof points);
    const int16_t low = (int16_t)(points & 0xffffu), slope = (int16_t)(((points >> 16) - points) & 0xffffu);
    return low + ((slope * (int16_t)(place & 0x7f) + 64) >> 7);
}

void nnacl_softmax_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int16_t *exponential = in[1], *middle = exponential + 256;
    const int32_t depth = p->depth, mult = p->mult;
    /* The upper half of twice the product; what is shifted is never positive, so that halves go down. */
    const int32_t left = p->shift > 0 ? p->shift + 1 : 1, right = p->shift < 0 ? -p->shift : 0;
    const int32_t half = right > 0 ? (1 << (right - 1)) - 1 : 0;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t row = share.begin; row < share.end && depth > 0; row++) {
        const int16_t *x = (const int16_t *)in[0] + (ptrdiff_t)row * depth;
        int16_t *y = (int16_t *)out[0] + (ptrdiff_t)row * depth;
        const int32_t max = largest(x, depth);
        uint32_t sum = 0;
        for (int32_t j = 0; j < depth; j++) {
            const int32_t scaled = nnacl_upper_dsp((int32_t)((uint32_t)(x[j] - max) << left), mult);
            const int32_t value = curve_at(middle, __ssat(((scaled + half) >> right) + 32767, 16));
            y[j] = (int16_t)value;
            sum += (uint32_t)value;
        }
        const nnacl_softmax_inverse inverse = nnacl_softmax_invert_s16(sum, exponential + 513);
        const int16_t factor = (int16_t)inverse.factor;
        const int32_t below = 1 << (inverse.right - 1);
        for (int32_t j = 0; j < depth; j++) {
            y[j] = (int16_t)__usat((y[j] * factor + below) >> inverse.right, 15);
        }
    }
}
