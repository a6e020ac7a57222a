/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/image.h"
#include "image/sample_place.h"

NNACL_DECLARE(nnacl_roi_align_f32_c);

#define MOST_SAMPLES 4096

/* A region along one axis: where it starts, how large its cells are and how many samples each takes. */
typedef struct extent {
    float start, cell;
    int32_t samples;
} extent;

static extent extent_of(const nnacl_roi_align_params *p, float first, float last, int32_t cells) {
    const float shift = p->half_pixel ? 0.5f : 0.0f;
    const float start = first * p->spatial_scale - shift;
    float size = last * p->spatial_scale - shift - start;
    if (!p->half_pixel) {
        size = size > 1.0f ? size : 1.0f;
    }
    extent e = {start, size / (float)cells, p->sampling};
    if (p->sampling == 0) {
        const float wanted = ceilf(e.cell);
        e.samples = wanted > 0.0f ? wanted < MOST_SAMPLES ? (int32_t)wanted : MOST_SAMPLES : 0;
    }
    return e;
}

/* The elements around a place along one axis: a lower one and the share of the one above. False: outside of x. */
static bool neighbours(float place, int32_t size, int32_t *low, int32_t *high, float *share) {
    if (!(place >= -1.0f && place <= (float)size)) {
        return false;
    }
    place = place > 0.0f ? place : 0.0f;
    *low = (int32_t)place;
    if (*low >= size - 1) {
        *low = *high = size - 1;
        *share = 0.0f;
    } else {
        *high = *low + 1;
        *share = place - (float)*low;
    }
    return true;
}

static nnacl_corners corners_at(const nnacl_roi_align_params *p, float y, float x) {
    nnacl_corners corners = {{-1, -1, -1, -1}, {0.0f, 0.0f, 0.0f, 0.0f}};
    int32_t top, bottom, left, right;
    float down, across;
    if (neighbours(y, p->height, &top, &bottom, &down) && neighbours(x, p->width, &left, &right, &across)) {
        const int32_t index[4] = {top * p->width + left, top * p->width + right, bottom * p->width + left,
                                  bottom * p->width + right};
        const float weight[4] = {(1.0f - down) * (1.0f - across), (1.0f - down) * across, down * (1.0f - across),
                                 down * across};
        for (int32_t i = 0; i < 4; i++) {
            corners.index[i] = index[i];
            corners.weight[i] = weight[i];
        }
    }
    return corners;
}

static float larger(float a, float b) {
    return a > b ? a : b;
}

/* Takes one sample into the cell: adds it, or keeps the largest of its weighted corners. */
static void take_sample(const nnacl_roi_align_params *p, const nnacl_corners *corners, const float *image,
                        float *restrict cell, bool is_first) {
    const int32_t *index = corners->index;
    const float *w = corners->weight;
    for (int32_t c = 0; c < p->channels; c++) {
        float value[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int32_t i = 0; i < 4 && index[0] >= 0; i++) {
            value[i] = w[i] * image[(ptrdiff_t)index[i] * p->channels + c];
        }
        if (!p->maximum) {
            cell[c] += value[0] + value[1] + value[2] + value[3];
            continue;
        }
        const float largest = larger(larger(value[0], value[1]), larger(value[2], value[3]));
        cell[c] = is_first ? largest : larger(cell[c], largest);
    }
}

static void compute_cell(const nnacl_roi_align_params *p, const float *image, extent tall, extent wide, int32_t row,
                         int32_t column, float *restrict cell) {
    for (int32_t c = 0; c < p->channels; c++) {
        cell[c] = 0.0f;
    }
    for (int32_t i = 0; i < tall.samples; i++) {
        const float y = tall.start + (float)row * tall.cell + ((float)i + 0.5f) * tall.cell / (float)tall.samples;
        for (int32_t j = 0; j < wide.samples; j++) {
            const float x =
                wide.start + (float)column * wide.cell + ((float)j + 0.5f) * wide.cell / (float)wide.samples;
            const nnacl_corners corners = corners_at(p, y, x);
            take_sample(p, &corners, image, cell, i + j == 0);
        }
    }
    const int32_t samples = tall.samples * wide.samples;
    for (int32_t c = 0; c < p->channels && !p->maximum && samples > 1; c++) {
        cell[c] /= (float)samples;
    }
}

void nnacl_roi_align_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_roi_align_params *p = params;
    const nnacl_range rois = nnacl_share(ctx, p->rois);
    for (int32_t n = rois.begin; n < rois.end; n++) {
        const float *roi = (const float *)in[1] + (ptrdiff_t)n * 4;
        int64_t batch = p->index_size == 8 ? ((const int64_t *)in[2])[n] : ((const int32_t *)in[2])[n];
        batch = batch < 0 ? 0 : batch >= p->batch ? p->batch - 1 : batch;
        const float *image = (const float *)in[0] + (ptrdiff_t)batch * p->height * p->width * p->channels;
        const extent wide = extent_of(p, roi[0], roi[2], p->out_w), tall = extent_of(p, roi[1], roi[3], p->out_h);
        for (int32_t i = 0; i < p->out_h * p->out_w; i++) {
            float *cell = (float *)out[0] + ((ptrdiff_t)n * p->out_h * p->out_w + i) * p->channels;
            compute_cell(p, image, tall, wide, i / p->out_w, i % p->out_w, cell);
        }
    }
}
