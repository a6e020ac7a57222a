/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/rows_s8_dsp.h"
#include "rnn/svdf_run.h"

NNACL_DECLARE(nnacl_svdf_s8_dsp);

static void begin(const nnacl_svdf_params *p, const int8_t *x, void *workspace) {
    nnacl_widen_row_s8_dsp(workspace, x, p->size, p->x_zero);
}

static void compute(const nnacl_svdf_params *p, const int8_t *x, const int8_t *weights, int32_t filter, int32_t count,
                    const void *workspace, int32_t *features) {
    const int8_t *w = weights + (ptrdiff_t)filter * p->size;
    if (count == NNACL_SVDF_FILTERS) {
        memset(features, 0, NNACL_SVDF_FILTERS * sizeof *features);
        nnacl_rows4_s8_dsp(workspace, x, p->x_zero, p->size, w, p->size, features);
        return;
    }
    for (int32_t i = 0; i < count; i++, w += p->size) {
        features[i] = nnacl_row_s8_dsp(workspace, x, p->x_zero, p->size, w);
    }
}

void nnacl_svdf_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_svdf(ctx, params, in, out, begin, compute, nnacl_move_s16_dsp);
}
