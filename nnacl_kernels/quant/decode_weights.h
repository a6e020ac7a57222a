/* SPDX-License-Identifier: Apache-2.0 */
/* One row of compressed weights as real numbers; see conv2d_compressed in quant.h. */
#ifndef NNACL_DECODE_WEIGHTS_H
#define NNACL_DECODE_WEIGHTS_H

#include "common/half.h"
#include "nnacl_base.h"

typedef struct nnacl_compressed {
    const void *weights;
    const float *scales; /* NULL: half precision */
    int32_t bits, depth, group;
} nnacl_compressed;

/* Writes `depth` numbers: row `row` of the weights. */
static inline void nnacl_decode_weights(const nnacl_compressed *c, int32_t row, float *decoded) {
    if (c->bits == 16) {
        const uint16_t *halves = (const uint16_t *)c->weights + (ptrdiff_t)row * c->depth;
        for (int32_t i = 0; i < c->depth; i++) {
            decoded[i] = nnacl_half_to_float(halves[i]);
        }
        return;
    }
    const int32_t group = c->group > 0 ? c->group : c->depth;
    const int32_t groups = (c->depth - 1) / group + 1;
    const float *scales = c->scales + (ptrdiff_t)row * groups;
    const int32_t stride = c->bits == 8 ? c->depth : (c->depth + 1) / 2;
    const int8_t *bytes = (const int8_t *)c->weights + (ptrdiff_t)row * stride;
    for (int32_t g = 0; g < groups; g++) {
        const int32_t begin = g * group;
        const int32_t end = c->depth - begin < group ? c->depth : begin + group;
        const float scale = scales[g];
        if (c->bits == 8) {
            for (int32_t i = begin; i < end; i++) {
                decoded[i] = scale * (float)bytes[i];
            }
            continue;
        }
        for (int32_t i = begin; i < end; i++) {
            const int32_t pair = (uint8_t)bytes[i / 2];
            const int32_t nibble = i & 1 ? pair >> 4 : pair & 15;
            decoded[i] = scale * (float)(nibble - 8);
        }
    }
}

#endif
