/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"
#include "common/gemm_s8_mve.h"
#include "common/requant.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s8_mve);

/* Units unit .. unit + 3 of a row, requantized exactly. */
static void run_exact(const nnacl_dense_params *p, nnacl_gemm_mve *gemm, int32_t unit) {
    int32_t sums[4];
    gemm->sums = sums;
    gemm->weights = nnacl_gemm1_s8_mve(gemm);
    gemm->sums = NULL;
    const int32_t *ends = (const int32_t *)gemm->weights - 8;
    for (int32_t i = 0; i < 4 && unit + i < p->units; i++) {
        const int32_t requant[2] = {ends[i], ends[4 + i]};
        gemm->y[0][i] = nnacl_finish_exact(sums[i], requant, nnacl_channel_rounding(p->rounding, p->units, unit + i),
                                           p->y_zero, p->q_min, p->q_max);
    }
    gemm->y[0] += 4;
}

void nnacl_dense_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int32_t *packed = in[1];
    const nnacl_range groups = nnacl_share(ctx, (p->units + 3) / 4);
    const int32_t first = groups.begin * 4, end = groups.end * 4 < p->units ? groups.end * 4 : p->units;
    const ptrdiff_t group_words = 12 + (ptrdiff_t)(p->depth + 15) / 16 * 16;
    for (int32_t row = 0; row < p->rows && first < end; row++) {
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)row * p->depth;
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * p->units + first;
        nnacl_gemm_mve gemm = {
            .runs = &x,
            .chunks = p->depth / 16,
            .rest = p->depth % 16,
            .weights = packed + 1 + groups.begin * group_words,
            .channels = end - first,
            .y = {y, y},
            .shift = -packed[0],
        };
        if (!NNACL_NEEDS_EXACT || gemm.shift) {
            nnacl_gemm1_s8_mve(&gemm);
        }
        for (int32_t unit = first; NNACL_NEEDS_EXACT && unit < end && !gemm.shift; unit += 4) {
            run_exact(p, &gemm, unit);
        }
        nnacl_clamp_bytes(y, end - first, p->q_min, p->q_max);
    }
}
