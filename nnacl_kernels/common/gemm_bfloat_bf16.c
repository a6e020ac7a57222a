/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_bfloat_bf16.h"

#define NNACL_TILE_ACROSS NNACL_TILE_VECTORS

NNACL_ALWAYS_INLINE void tile_store(const nnacl_tile *t, nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                    const int32_t rows, const int32_t vectors) {
    const float32x4_t low = vdupq_n_f32(t->requant->low), high = vdupq_n_f32(t->requant->high);
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        float *y = t->y + r * t->y_step;
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            const int32_t left = t->columns - 4 * j;
            const float32x4_t value = vminq_f32(high, vmaxq_f32(low, vreinterpretq_f32_s32(sums[r][j])));
            if (left >= 4) {
                vst1q_f32(y + 4 * j, value);
            } else if (left > 0) {
                float all[4];
                vst1q_f32(all, value);
                memcpy(y + 4 * j, all, (size_t)left * sizeof *y);
            }
        }
    }
}

#include "common/simd_tile_sums.h"

void nnacl_tile_run_bf16(const nnacl_tile *t, int32_t rows) {
    switch (rows) {
    case 1:
        tile_sums(t, 1, 4);
        break;
    case 2:
        tile_sums(t, 2, 4);
        break;
    case 3:
        tile_sums(t, 3, 4);
        break;
    case 4:
        tile_sums(t, 4, 4);
        break;
    case 5:
        tile_sums(t, 5, 4);
        break;
    default:
        tile_sums(t, 6, 4);
        break;
    }
}
