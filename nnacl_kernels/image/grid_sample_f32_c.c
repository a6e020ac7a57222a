/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/image.h"
#include "image/sample_place.h"

NNACL_DECLARE(nnacl_grid_sample_f32_c);

#define MOST_TAPS 4

/* The elements along one axis that a place is made of. */
typedef struct axis_taps {
    int32_t index[MOST_TAPS]; /* -1: zero */
    float weight[MOST_TAPS];
} axis_taps;

/* Halves to even. */
static float rounded(float value) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: has no room for a fraction, so that the sum is rounded */
    return fabsf(value) < 4194304.0f ? (value + magic) - magic : value;
}

/* A place reflected at the ends of low .. high until it is inside. */
static float reflected(float place, float low, float high) {
    const float span = high - low;
    if (span <= 0.0f) {
        return low;
    }
    const float beyond = place < low ? low - place : place > high ? place - high : -1.0f;
    if (beyond < 0.0f) {
        return place;
    }
    const float turns = floorf(beyond / span), rest = beyond - turns * span;
    const bool from_low = (place < low) == (turns - 2.0f * floorf(turns / 2.0f) == 0.0f);
    return from_low ? low + rest : high - rest;
}

/* An element by position, as the padding has it; -1: zero. */
static int32_t element_at(const nnacl_grid_sample_params *p, float position, int32_t size) {
    const float last = (float)(size - 1);
    if (p->padding == NNACL_GRID_ZEROS && !(position >= 0.0f && position <= last)) {
        return -1;
    }
    if (p->padding == NNACL_GRID_REFLECTION) {
        position = reflected(position, p->align_corners ? 0.0f : -0.5f, p->align_corners ? last : last + 0.5f);
    }
    return position > 0.0f ? position < last ? (int32_t)position : size - 1 : 0;
}

static void fill_cubic(float share, float *weight) {
    const float a = -0.75f, near = share, far = 1.0f - share;
    weight[0] = ((a * (near + 1.0f) - 5.0f * a) * (near + 1.0f) + 8.0f * a) * (near + 1.0f) - 4.0f * a;
    weight[1] = ((a + 2.0f) * near - (a + 3.0f)) * near * near + 1.0f;
    weight[2] = ((a + 2.0f) * far - (a + 3.0f)) * far * far + 1.0f;
    weight[3] = ((a * (far + 1.0f) - 5.0f * a) * (far + 1.0f) + 8.0f * a) * (far + 1.0f) - 4.0f * a;
}

static axis_taps taps_at(const nnacl_grid_sample_params *p, float normal, int32_t size, int32_t taps) {
    axis_taps result = {{0}, {1.0f}};
    const float last = (float)(size - 1);
    float place = p->align_corners ? (normal + 1.0f) / 2.0f * last : ((normal + 1.0f) * (float)size - 1.0f) / 2.0f;
    place = nnacl_bounded_place(p->mode == NNACL_GRID_NEAREST ? rounded(place) : place);
    const float low = p->align_corners ? 0.0f : -0.5f, high = p->align_corners ? last : last + 0.5f;
    if (place < low || place > high) {
        /* Cubic interpolation repeats the border element by element, however far out the place is. */
        if (p->padding == NNACL_GRID_BORDER && p->mode != NNACL_GRID_CUBIC) {
            place = place < 0.0f ? 0.0f : last;
        } else if (p->padding == NNACL_GRID_REFLECTION) {
            place = reflected(place, low, high);
        }
    }
    /* A reflection between two elements belongs to the one towards zero. */
    const float whole = p->mode == NNACL_GRID_NEAREST ? truncf(place) : floorf(place);
    const float share = place - whole;
    if (p->mode == NNACL_GRID_LINEAR) {
        result.weight[0] = 1.0f - share;
        result.weight[1] = share;
    } else if (p->mode == NNACL_GRID_CUBIC) {
        fill_cubic(share, result.weight);
    }
    for (int32_t t = 0; t < taps; t++) {
        result.index[t] = element_at(p, whole + (float)(t - (p->mode == NNACL_GRID_CUBIC)), size);
    }
    return result;
}

void nnacl_grid_sample_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_grid_sample_params *p = params;
    const int32_t taps = p->mode == NNACL_GRID_NEAREST ? 1 : p->mode == NNACL_GRID_LINEAR ? 2 : 4;
    const int32_t deep_taps = p->spatial == 3 ? taps : 1;
    const ptrdiff_t image_size = (ptrdiff_t)p->size[0] * p->size[1] * p->size[2] * p->channels;
    const nnacl_range places = nnacl_share(ctx, p->batch * p->places);
    for (int32_t i = places.begin; i < places.end; i++) {
        const float *image = (const float *)in[0] + i / p->places * image_size;
        const float *grid = (const float *)in[1] + (ptrdiff_t)i * p->spatial;
        float *restrict y = (float *)out[0] + (ptrdiff_t)i * p->channels;
        const axis_taps wide = taps_at(p, grid[0], p->size[2], taps), tall = taps_at(p, grid[1], p->size[1], taps);
        axis_taps deep = {{0}, {1.0f}};
        if (p->spatial == 3) {
            deep = taps_at(p, grid[2], p->size[0], taps);
        }
        for (int32_t c = 0; c < p->channels; c++) {
            y[c] = 0.0f;
        }
        for (int32_t t = 0; t < deep_taps * taps * taps; t++) {
            const int32_t kz = t / taps / taps, ky = t / taps % taps, kx = t % taps;
            if (deep.index[kz] < 0 || tall.index[ky] < 0 || wide.index[kx] < 0) {
                continue;
            }
            const float w = deep.weight[kz] * tall.weight[ky] * wide.weight[kx];
            const ptrdiff_t row = (ptrdiff_t)deep.index[kz] * p->size[1] + tall.index[ky];
            const float *restrict a = image + (row * p->size[2] + wide.index[kx]) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                y[c] += w * a[c];
            }
        }
    }
}
