/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"
#include "common/gemm_s8_mve.h"
#include "common/requant.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s8_mve);

typedef const void *(*multiply_function)(const nnacl_gemm_mve *);

/* Units unit .. unit + 3 of a row, requantized exactly if they have no line. */
static void run_exact(const nnacl_dense_params *p, nnacl_gemm_mve *gemm, multiply_function multiply, int32_t shift,
                      int32_t unit) {
    int32_t sums[4];
    const int32_t *ends = (const int32_t *)gemm->weights + 4 + (gemm->chunks + (gemm->rest > 0)) * 16;
    gemm->sums = sums;
    gemm->shift = ends[0] < 0 ? 0 : shift;
    gemm->channels = p->units - unit < 4 ? p->units - unit : 4;
    gemm->weights = multiply(gemm);
    gemm->sums = NULL;
    for (int32_t i = 0; !gemm->shift && i < gemm->channels; i++) {
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
    const int32_t shift = -NNACL_SHIFT_OF(packed[0]);
    const bool has_zero = NNACL_NEEDS_W_ZERO && p->w_zero != 0;
    const bool has_lines = !NNACL_NEEDS_EXACT || (shift && -shift == packed[0]);
    const multiply_function multiply = has_zero ? nnacl_gemm1_zero_s8_mve : nnacl_gemm1_s8_mve;
    for (int32_t row = 0; row < p->rows && first < end; row++) {
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)row * p->depth;
        const int8_t *runs[2] = {x, x};
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * p->units + first;
        nnacl_gemm_mve gemm = {
            .runs = runs,
            .runs_end = runs + 2,
            .chunks = p->depth / 16,
            .rest = p->depth % 16,
            .weights = packed + 1 + groups.begin * group_words,
            .channels = end - first,
            .y = {y, y},
            .shift = shift,
        };
        gemm.zero[0] = has_zero ? -p->w_zero * nnacl_sum_runs_s8_mve(&gemm, 0) : 0;
        if (has_lines) {
            multiply(&gemm);
        }
        for (int32_t unit = first; NNACL_NEEDS_EXACT && unit < end && !has_lines; unit += 4) {
            run_exact(p, &gemm, multiply, shift, unit);
        }
        nnacl_clamp_bytes(y, end - first, p->q_min, p->q_max);
    }
}
