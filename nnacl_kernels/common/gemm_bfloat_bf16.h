/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that layers on bfloat16 are made of on AArch64 with BF16: up to 6 rows by one panel of 16 columns in four
 * vectors. BFDOT multiplies pairs and adds in f32. */
#ifndef NNACL_GEMM_BFLOAT_BF16_H
#define NNACL_GEMM_BFLOAT_BF16_H

#include <arm_neon.h>

#include "common/bfloat.h"

#define NNACL_TILE_ROWS 6
#define NNACL_TILE_PANELS 1
#define NNACL_TILE_VECTORS 4
#define NNACL_TILE_WHOLE 1

typedef int32x4_t nnacl_vector;
typedef float nnacl_tile_result;
/* The clamp. */
typedef struct nnacl_requant_lanes {
    float low, high;
} nnacl_requant_lanes;

#include "common/simd_tile_quads.h"

static inline nnacl_vector nnacl_vector_zero(void) {
    return vdupq_n_s32(0);
}

static inline nnacl_vector nnacl_vector_load(const void *from) {
    return vreinterpretq_s32_u8(vld1q_u8(from));
}

static inline nnacl_vector nnacl_vector_add(nnacl_vector a, nnacl_vector b) {
    return vreinterpretq_s32_f32(vaddq_f32(vreinterpretq_f32_s32(a), vreinterpretq_f32_s32(b)));
}

static inline nnacl_vector nnacl_vector_all(int32_t lane) {
    return vdupq_n_s32(lane);
}

/* A pair of a row for all columns. */
static inline nnacl_vector nnacl_vector_left(int32_t pair) {
    return vdupq_n_s32(pair);
}

/* `count` lanes; those past them are 0. */
static inline nnacl_vector nnacl_vector_lanes(const int32_t *from, int32_t count) {
    int32_t all[4] = {0};
    if (count >= 4) {
        return vld1q_s32(from);
    }
    for (int32_t i = 0; i < count; i++) {
        all[i] = from[i];
    }
    return vld1q_s32(all);
}

NNACL_ALWAYS_INLINE void nnacl_vector_dot(nnacl_vector *sum, nnacl_vector left, nnacl_vector right) {
    *sum = vreinterpretq_s32_f32(
        vbfdotq_f32(vreinterpretq_f32_s32(*sum), vreinterpretq_bf16_s32(left), vreinterpretq_bf16_s32(right)));
}

/* nnacl_float_to_bfloat() of `count` numbers, but for subnormal ones, which BFDOT takes as zero. */
static inline void nnacl_bfloat_round(const float *from, int32_t count, uint16_t *to) {
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        vst1_u16(to + i, vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from + i))));
    }
    for (; i < count; i++) {
        to[i] = nnacl_float_to_bfloat(from[i]);
    }
}

/* y = clamp(a x b + bias) for 1 .. 6 rows. */
void nnacl_tile_run_bf16(const nnacl_tile *t, int32_t rows);

static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    nnacl_tile_run_bf16(t, rows);
}

static inline int32_t nnacl_tile_take(int32_t left) {
    (void)left;
    return 1;
}

#endif
