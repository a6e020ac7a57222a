/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/image.h"
#include "image/sample_place.h"

NNACL_DECLARE(nnacl_max_roi_pool_f32_c);

/* A region along one axis in whole elements. */
typedef struct extent {
    int32_t start, size;
} extent;

/* Halves away from zero. */
static int32_t rounded(float value) {
    const float bounded = nnacl_bounded_place(value);
    return (int32_t)(bounded < 0.0f ? -floorf(0.5f - bounded) : floorf(bounded + 0.5f));
}

static extent extent_of(float first, float last, float scale) {
    const int32_t start = rounded(first * scale), size = rounded(last * scale) - start + 1;
    const extent e = {start, size > 1 ? size : 1};
    return e;
}

static int32_t clamp(float position, int32_t start, int32_t size) {
    const int64_t place = (int64_t)nnacl_bounded_place(position) + start;
    return place < 0 ? 0 : place > size ? size : (int32_t)place;
}

/* The elements begin .. end - 1 of cell `i` of `cells`. */
static nnacl_range cell_of(extent e, int32_t i, int32_t cells, int32_t size) {
    const float cell = (float)e.size / (float)cells;
    const nnacl_range range = {clamp(floorf((float)i * cell), e.start, size),
                               clamp(ceilf((float)(i + 1) * cell), e.start, size)};
    return range;
}

void nnacl_max_roi_pool_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_max_roi_pool_params *p = params;
    const nnacl_range rois = nnacl_share(ctx, p->rois);
    for (int32_t n = rois.begin; n < rois.end; n++) {
        const float *roi = (const float *)in[1] + (ptrdiff_t)n * 5;
        const int32_t given = (int32_t)nnacl_bounded_place(roi[0]);
        const int32_t batch = given < 0 ? 0 : given >= p->batch ? p->batch - 1 : given;
        const float *image = (const float *)in[0] + (ptrdiff_t)batch * p->height * p->width * p->channels;
        const extent wide = extent_of(roi[1], roi[3], p->spatial_scale);
        const extent tall = extent_of(roi[2], roi[4], p->spatial_scale);
        for (int32_t i = 0; i < p->out_h * p->out_w; i++) {
            float *restrict cell = (float *)out[0] + ((ptrdiff_t)n * p->out_h * p->out_w + i) * p->channels;
            const nnacl_range rows = cell_of(tall, i / p->out_w, p->out_h, p->height);
            const nnacl_range columns = cell_of(wide, i % p->out_w, p->out_w, p->width);
            const bool empty = rows.begin >= rows.end || columns.begin >= columns.end;
            for (int32_t c = 0; c < p->channels; c++) {
                cell[c] = empty ? 0.0f : -INFINITY;
            }
            for (int32_t y = rows.begin; y < rows.end; y++) {
                for (int32_t x = columns.begin; x < columns.end; x++) {
                    const float *restrict a = image + ((ptrdiff_t)y * p->width + x) * p->channels;
                    for (int32_t c = 0; c < p->channels; c++) {
                        cell[c] = a[c] > cell[c] ? a[c] : cell[c];
                    }
                }
            }
        }
    }
}
