/* SPDX-License-Identifier: Apache-2.0 */
/* How quantize and dequantize walk over a tensor and its scales: runs of elements whose scales and zero points lie one
 * behind the other or are the same. */
#ifndef NNACL_SCALE_WALK_H
#define NNACL_SCALE_WALK_H

#include "common/share.h"

/* Elements begin .. end - 1 of x; element begin + i has number scale + i * step of the scales and of the zero points.
 */
typedef struct nnacl_scale_run {
    ptrdiff_t begin, end, scale;
    ptrdiff_t step; /* 0 or 1 */
} nnacl_scale_run;

/* The runs that one part of the work has: run.begin .. run.end - 1 count them. Where there is but one run the elements
 * are shared out instead. */
static inline nnacl_range nnacl_scale_runs(const nnacl_ctx *ctx, int32_t outer, int32_t channels) {
    const nnacl_range all = {0, outer * channels};
    return all.end > 1 ? nnacl_share(ctx, all.end) : all;
}

static inline nnacl_scale_run nnacl_scale_run_at(const nnacl_ctx *ctx, int32_t index, int32_t outer, int32_t channels,
                                                 int32_t inner, int32_t block) {
    const ptrdiff_t begin = (ptrdiff_t)index * inner;
    nnacl_scale_run run = {begin, begin + inner, index % channels, 0};
    if (block > 0) {
        const int32_t blocks = (channels - 1) / block + 1;
        run.scale = ((ptrdiff_t)(index / channels) * blocks + index % channels / block) * inner;
        run.step = 1;
    }
    if (outer * channels == 1) {
        const nnacl_range share = nnacl_share(ctx, inner);
        run.begin = share.begin;
        run.end = share.end;
        run.scale += run.step * share.begin;
    }
    return run;
}

#endif
