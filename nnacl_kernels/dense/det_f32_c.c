/* SPDX-License-Identifier: Apache-2.0 */
/* Determinants by elimination with partial pivoting, in a copy of the matrix. */
#include <math.h>

#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_det_f32_c);

static void swap_rows(float *restrict a, float *restrict b, int32_t n) {
    for (int32_t j = 0; j < n; j++) {
        const float kept = a[j];
        a[j] = b[j];
        b[j] = kept;
    }
}

static float determinant(float *m, int32_t n) {
    float product = 1.0f;
    for (int32_t i = 0; i < n; i++) {
        int32_t pivot = i;
        for (int32_t row = i + 1; row < n; row++) {
            pivot = fabsf(m[(ptrdiff_t)row * n + i]) > fabsf(m[(ptrdiff_t)pivot * n + i]) ? row : pivot;
        }
        float *top = m + (ptrdiff_t)i * n;
        if (pivot != i) {
            swap_rows(top, m + (ptrdiff_t)pivot * n, n);
            product = -product;
        }
        if (top[i] == 0.0f) {
            return 0.0f;
        }
        product *= top[i];
        for (int32_t row = i + 1; row < n; row++) {
            float *below = m + (ptrdiff_t)row * n;
            const float factor = below[i] / top[i];
            for (int32_t j = i + 1; j < n; j++) {
                below[j] -= factor * top[j];
            }
        }
    }
    return product;
}

void nnacl_det_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_det_params *p = params;
    const ptrdiff_t size = (ptrdiff_t)p->n * p->n;
    float *copy = ctx->workspace, *y = out[0];
    const nnacl_range share = nnacl_share(ctx, p->matrices);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + i * size;
        for (ptrdiff_t j = 0; j < size; j++) {
            copy[j] = x[j];
        }
        y[i] = determinant(copy, p->n);
    }
}
