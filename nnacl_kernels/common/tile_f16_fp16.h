/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the f16 convolution and dense of AArch64 with half-precision arithmetic are made of: up to 4 rows by 16
 * columns.
 *
 * Eight products a step are summed in f16; after at most NNACL_TILE_DEPTH_F16 of them in a row the sums join others in
 * f32, so that the rounding of f16 does not grow with the depth: a block of 32 adds about 2.3 * 2^-11 of what its terms
 * amount to (root mean square). */
#ifndef NNACL_TILE_F16_FP16_H
#define NNACL_TILE_F16_FP16_H

#include "common/vector_f16_fp16.h"

#define NNACL_TILE_ROWS_F16 4
#define NNACL_TILE_DEPTH_F16 32

/* Element i of tap t of row r is a[r * a_step + t][i]; the panel is [taps][run][16]. `bias` has `columns` <= 16
 * entries or is NULL. Row r of y begins at y + r * y_step. */
typedef struct nnacl_tile_f16 {
    const float16_t *const *a;
    int32_t a_step;
    int32_t taps, run;
    const float16_t *panel;
    const float *bias;
    float16_t *y;
    ptrdiff_t y_step;
    int32_t columns;
    float clamp_min, clamp_max;
} nnacl_tile_f16;

/* f32 sums of 16 columns. */
typedef struct nnacl_sums_f16 {
    nnacl_wide_f16 left, right;
} nnacl_sums_f16;

NNACL_ALWAYS_INLINE nnacl_sums_f16 nnacl_tile_bias_f16(const nnacl_tile_f16 *t) {
    float values[16] = {0.0f};
    const float *bias = values;
    if (t->bias && t->columns == 16) {
        bias = t->bias;
    } else if (t->bias) {
        memcpy(values, t->bias, (size_t)t->columns * sizeof *values);
    }
    const nnacl_sums_f16 sums = {{vld1q_f32(bias), vld1q_f32(bias + 4)}, {vld1q_f32(bias + 8), vld1q_f32(bias + 12)}};
    return sums;
}

NNACL_ALWAYS_INLINE void nnacl_tile_join_f16(nnacl_sums_f16 *sums, float16x8_t left, float16x8_t right) {
    sums->left = nnacl_join_f16(sums->left, left);
    sums->right = nnacl_join_f16(sums->right, right);
}

/* Rounding is monotone: clamping what is rounded gives what rounding the clamped would. */
NNACL_ALWAYS_INLINE void nnacl_tile_store_f16(const nnacl_tile_f16 *t, const nnacl_sums_f16 *sums, int32_t row) {
    const float16x8_t low = vdupq_n_f16((float16_t)t->clamp_min), high = vdupq_n_f16((float16_t)t->clamp_max);
    const float16x8_t left = nnacl_round_f16(sums->left), right = nnacl_round_f16(sums->right);
    float16_t *y = t->y + row * t->y_step;
    nnacl_store_f16(y, vminq_f16(vmaxq_f16(left, low), high), t->columns);
    if (t->columns > 8) {
        nnacl_store_f16(y + 8, vminq_f16(vmaxq_f16(right, low), high), t->columns - 8);
    }
}

/* sum += b * x[lane]. Written down, because compilers copy a lane that is used twice to a vector of its own. */
#define NNACL_FMLA_LANE(sum, b, x, lane)                                                                               \
    __asm__("fmla %0.8h, %1.8h, %2.h[" #lane "]" : "+w"(sum) : "w"(b), "x"(x)) /* x: one of v0 to v15 */

/* One step of the depth: column vectors of the panel times lane `lane` of each row's elements. */
#define NNACL_TILE_STEP_F16(lane)                                                                                      \
    {                                                                                                                  \
        const float16x8_t b_left = vld1q_f16(b + 16 * (lane)), b_right = vld1q_f16(b + 16 * (lane) + 8);               \
        _Pragma("GCC unroll 4") for (int32_t r = 0; r < rows; r++) {                                                   \
            NNACL_FMLA_LANE(left[r], b_left, x[r], lane);                                                              \
            NNACL_FMLA_LANE(right[r], b_right, x[r], lane);                                                            \
        }                                                                                                              \
    }

NNACL_ALWAYS_INLINE void nnacl_tile_rows_f16(const nnacl_tile_f16 *t, const int32_t rows) {
    nnacl_sums_f16 sums[NNACL_TILE_ROWS_F16];
    float16x8_t left[NNACL_TILE_ROWS_F16], right[NNACL_TILE_ROWS_F16], x[NNACL_TILE_ROWS_F16];
    const nnacl_sums_f16 bias = nnacl_tile_bias_f16(t);
    const float16x8_t zero = vdupq_n_f16(0);
#pragma GCC unroll 4
    for (int32_t r = 0; r < rows; r++) {
        sums[r] = bias;
        left[r] = right[r] = zero;
    }
    const float16_t *b = t->panel;
    int32_t room = NNACL_TILE_DEPTH_F16;
    for (int32_t tap = 0; tap < t->taps; tap++) {
        const float16_t *a[NNACL_TILE_ROWS_F16];
#pragma GCC unroll 4
        for (int32_t r = 0; r < rows; r++) {
            a[r] = t->a[r * t->a_step + tap];
        }
        for (int32_t left_over = t->run; left_over > 0;) {
            const int32_t take = left_over < room ? left_over : room;
            int32_t i = 0;
            for (; i + 8 <= take; i += 8, b += 8 * 16) {
#pragma GCC unroll 4
                for (int32_t r = 0; r < rows; r++) {
                    x[r] = vld1q_f16(a[r] + i);
                }
                NNACL_TILE_STEP_F16(0)
                NNACL_TILE_STEP_F16(1)
                NNACL_TILE_STEP_F16(2)
                NNACL_TILE_STEP_F16(3)
                NNACL_TILE_STEP_F16(4)
                NNACL_TILE_STEP_F16(5)
                NNACL_TILE_STEP_F16(6)
                NNACL_TILE_STEP_F16(7)
            }
            for (; i < take; i++, b += 16) {
#pragma GCC unroll 4
                for (int32_t r = 0; r < rows; r++) {
                    x[r] = vld1q_dup_f16(a[r] + i);
                }
                NNACL_TILE_STEP_F16(0)
            }
#pragma GCC unroll 4
            for (int32_t r = 0; r < rows; r++) {
                a[r] += take;
            }
            left_over -= take;
            room -= take;
            if (room == 0) {
                room = NNACL_TILE_DEPTH_F16;
#pragma GCC unroll 4
                for (int32_t r = 0; r < rows; r++) {
                    nnacl_tile_join_f16(&sums[r], left[r], right[r]);
                    left[r] = right[r] = zero;
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < rows; r++) {
        nnacl_tile_join_f16(&sums[r], left[r], right[r]);
        nnacl_tile_store_f16(t, &sums[r], r);
    }
}

/* y = clamp(a x panel + bias) for 1 .. 4 rows. A row's sums do not depend on how many there are. */
NNACL_ALWAYS_INLINE void nnacl_tile_run_f16(const nnacl_tile_f16 *t, int32_t rows) {
    switch (rows) {
    case 1:
        nnacl_tile_rows_f16(t, 1);
        break;
    case 2:
        nnacl_tile_rows_f16(t, 2);
        break;
    case 3:
        nnacl_tile_rows_f16(t, 3);
        break;
    default:
        nnacl_tile_rows_f16(t, 4);
        break;
    }
}

#endif
