/* SPDX-License-Identifier: Apache-2.0 */
/* One row of compressed weights as numbers; see conv2d_compressed in quant.h. */
#ifndef NNACL_DECODE_WEIGHTS_H
#define NNACL_DECODE_WEIGHTS_H

#include "common/bfloat.h"
#include "common/half.h"
#include "nnacl_base.h"

typedef struct nnacl_compressed {
    const void *weights;
    const float *scales; /* NULL: half precision */
    int32_t bits, depth, group;
    int32_t offset, step; /* of bits 1, 2 and 4 */
    bool is_bfloat;       /* of bits 16 */
} nnacl_compressed;

/* Bytes of a row of codes. */
static inline int32_t nnacl_packed_stride(int32_t bits, int32_t depth) {
    return (int32_t)(((int64_t)depth * bits + 7) / 8);
}

/* The weight of code 0 and what one more of the code is, where step 0 stands for code - 8. */
static inline int32_t nnacl_packed_offset(int32_t offset, int32_t step) {
    return step == 0 ? -8 : offset;
}

static inline int32_t nnacl_packed_step(int32_t step) {
    return step == 0 ? 1 : step;
}

/* Writes `depth` numbers: row `row` of the weights. */
static inline void nnacl_decode_weights(const nnacl_compressed *c, int32_t row, float *decoded) {
    if (c->bits == 16) {
        const uint16_t *halves = (const uint16_t *)c->weights + (ptrdiff_t)row * c->depth;
        for (int32_t i = 0; i < c->depth; i++) {
            decoded[i] = c->is_bfloat ? nnacl_bfloat_to_float(halves[i]) : nnacl_half_to_float(halves[i]);
        }
        return;
    }
    const int32_t group = c->group > 0 ? c->group : c->depth;
    const int32_t groups = (c->depth - 1) / group + 1;
    const float *scales = c->scales + (ptrdiff_t)row * groups;
    const uint8_t *bytes = (const uint8_t *)c->weights + (ptrdiff_t)row * nnacl_packed_stride(c->bits, c->depth);
    const int32_t offset = nnacl_packed_offset(c->offset, c->step), step = nnacl_packed_step(c->step);
    const int32_t last = 8 / c->bits - 1, mask = (1 << c->bits) - 1;
    int32_t codes = 0;
    for (int32_t g = 0; g < groups; g++) {
        const int32_t begin = g * group;
        const int32_t end = c->depth - begin < group ? c->depth : begin + group;
        const float scale = scales[g];
        if (c->bits == 8) {
            for (int32_t i = begin; i < end; i++) {
                decoded[i] = scale * (float)(int8_t)bytes[i];
            }
            continue;
        }
        for (int32_t i = begin; i < end; i++) {
            codes = i & last ? codes >> c->bits : *bytes++;
            decoded[i] = scale * (float)(offset + step * (codes & mask));
        }
    }
}

/* Writes `count` numbers of x as bfloat16 has them. */
static inline void nnacl_round_bfloats(const float *x, int32_t count, float *rounded) {
    for (int32_t i = 0; i < count; i++) {
        rounded[i] = nnacl_bfloat_to_float(nnacl_float_to_bfloat(x[i]));
    }
}

/* Writes `depth` integers: row `row` of weights of 1, 2 or 4 bits. */
static inline void nnacl_decode_integers(const nnacl_compressed *c, int32_t row, int16_t *decoded) {
    const uint8_t *bytes = (const uint8_t *)c->weights + (ptrdiff_t)row * nnacl_packed_stride(c->bits, c->depth);
    const int32_t offset = nnacl_packed_offset(c->offset, c->step), step = nnacl_packed_step(c->step);
    const int32_t last = 8 / c->bits - 1, mask = (1 << c->bits) - 1;
    int32_t codes = 0;
    for (int32_t i = 0; i < c->depth; i++) {
        codes = i & last ? codes >> c->bits : *bytes++;
        decoded[i] = (int16_t)(offset + step * (codes & mask));
    }
}

#endif
