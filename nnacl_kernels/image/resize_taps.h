/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of x a position of y is made of, and with which weights. */
#ifndef NNACL_RESIZE_TAPS_H
#define NNACL_RESIZE_TAPS_H

#include <math.h>

#include "image/image.h"

/* The place along dimension `i` of x, in elements, that belongs to position `o` of y. */
static inline float nnacl_resize_place(const nnacl_resize_params *p, int32_t i, int32_t o) {
    const float at = (float)o, last = (float)(p->from[i] - 1);
    if (p->stepwise) {
        const bool corners = p->transform == NNACL_RESIZE_ALIGN_CORNERS && p->to[i] > 1;
        const float step = corners ? last / (float)(p->to[i] - 1) : (float)p->from[i] / (float)p->to[i];
        return p->transform == NNACL_RESIZE_HALF_PIXEL          ? (at + 0.5f) * step - 0.5f
               : p->transform == NNACL_RESIZE_HALF_PIXEL_FOR_NN ? (at + 0.5f) * step
                                                                : at * step;
    }
    const float pixel = (at + 0.5f) / p->factor[i] - 0.5f;
    switch (p->transform) {
    case NNACL_RESIZE_HALF_PIXEL_SYMMETRIC: {
        const float adjustment = (float)p->to[i] / p->length[i];
        return (float)p->from[i] / 2.0f * (1.0f - adjustment) + pixel;
    }
    case NNACL_RESIZE_PYTORCH_HALF_PIXEL:
        return p->length[i] > 1.0f ? pixel : 0.0f;
    case NNACL_RESIZE_ALIGN_CORNERS:
        return p->length[i] > 1.0f ? at * last / (p->length[i] - 1.0f) : 0.0f;
    case NNACL_RESIZE_ASYMMETRIC:
        return at / p->factor[i];
    case NNACL_RESIZE_HALF_PIXEL_FOR_NN:
        return (at + 0.5f) / p->factor[i];
    case NNACL_RESIZE_CROP:
        if (p->length[i] > 1.0f) {
            return p->begin[i] * last + at * (p->end[i] - p->begin[i]) * last / (p->length[i] - 1.0f);
        }
        return 0.5f * (p->begin[i] + p->end[i]) * last;
    default:
        return pixel;
    }
}

static inline int32_t nnacl_resize_clamp(float index, int32_t size) {
    return index > 0.0f ? index < (float)(size - 1) ? (int32_t)index : size - 1 : 0;
}

static inline int32_t nnacl_resize_nearest(float place, int32_t mode, int32_t size) {
    const float whole = mode == NNACL_RESIZE_FLOOR         ? floorf(place)
                        : mode == NNACL_RESIZE_CEIL        ? ceilf(place)
                        : mode == NNACL_RESIZE_PREFER_CEIL ? floorf(place + 0.5f)
                                                           : ceilf(place - 0.5f);
    return nnacl_resize_clamp(whole, size);
}

/* The weight of an element at some distance. */
static inline float nnacl_resize_weight(const nnacl_resize_params *p, float distance) {
    const float d = fabsf(distance), a = p->cubic_a;
    if (p->mode == NNACL_RESIZE_LINEAR) {
        return d < 1.0f ? 1.0f - d : 0.0f;
    }
    return d <= 1.0f  ? ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f
           : d < 2.0f ? ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a
                      : 0.0f;
}

/* The window of cubic interpolation, or of any with antialiasing: taps around the element to the left of the place. */
static inline void nnacl_resize_window(const nnacl_resize_params *p, int32_t i, float place, int32_t *index,
                                       float *weight) {
    const int32_t taps = p->taps[i], size = p->from[i];
    const float narrow = p->antialias && p->factor[i] < 1.0f ? p->factor[i] : 1.0f;
    const float left = ceilf(place) - 1.0f;
    float sum = 0.0f;
    for (int32_t t = 0; t < taps; t++) {
        const float element = left + (float)(t + 1 - taps / 2);
        weight[t] = nnacl_resize_weight(p, (element - place) * narrow);
        if (p->exclude_outside && (element < 0.0f || element > (float)(size - 1))) {
            weight[t] = 0.0f;
        }
        index[t] = nnacl_resize_clamp(element, size);
        sum += weight[t];
    }
    for (int32_t t = 0; t < taps && (p->antialias || p->exclude_outside); t++) {
        weight[t] = weight[t] / sum;
    }
}

/* Fills the taps of position `o` along dimension `i`. index[0] is -1 where extrapolation applies. */
static inline void nnacl_resize_taps(const nnacl_resize_params *p, int32_t i, int32_t o, int32_t *index,
                                     float *weight) {
    const int32_t size = p->from[i];
    index[0] = o;
    weight[0] = 1.0f;
    if (p->factor[i] == 0.0f) {
        return; /* a dimension that stays as it is */
    }
    float place = nnacl_resize_place(p, i, o);
    if (p->transform == NNACL_RESIZE_CROP && (place < 0.0f || place > (float)(size - 1))) {
        index[0] = -1;
        return;
    }
    if (p->mode == NNACL_RESIZE_NEAREST) {
        index[0] = nnacl_resize_nearest(place, p->nearest_mode, size);
    } else if (p->mode == NNACL_RESIZE_CUBIC || p->antialias) {
        nnacl_resize_window(p, i, place, index, weight);
    } else {
        if (!p->stepwise) {
            place = place < 0.0f ? 0.0f : place > (float)(size - 1) ? (float)(size - 1) : place;
        }
        index[0] = nnacl_resize_clamp(floorf(place), size);
        index[1] =
            p->stepwise ? nnacl_resize_clamp(ceilf(place), size) : nnacl_resize_clamp(floorf(place) + 1.0f, size);
        weight[1] = place - (float)index[0];
        weight[0] = 1.0f - weight[1];
    }
}

/* The same in 1/1024, as LiteRT computes it for integers; a dimension that stays as it is has no fraction. */
static inline void nnacl_resize_fixed_taps(const nnacl_resize_params *p, int32_t i, int32_t o, int32_t *index,
                                           int32_t *weight) {
    const int32_t size = p->from[i], count = p->to[i];
    if (p->factor[i] == 0.0f) {
        index[0] = o;
        weight[0] = 1;
        return;
    }
    const bool corners = p->transform == NNACL_RESIZE_ALIGN_CORNERS && count > 1;
    const int64_t above = corners ? size - 1 : size, below = corners ? count - 1 : count;
    const int64_t step = (1024 * above + below / 2) / below;
    const int64_t place = o * step + (p->transform == NNACL_RESIZE_HALF_PIXEL ? step / 2 - 512 : 0);
    /* Division towards zero: places before the first element have it as both neighbours. */
    const int64_t low = place / 1024 > 0 ? place / 1024 : 0, high = (place + 1023) / 1024;
    index[0] = (int32_t)(low < size - 1 ? low : size - 1);
    index[1] = (int32_t)(high < size - 1 ? high : size - 1);
    weight[1] = (int32_t)(place - 1024 * low);
    weight[0] = 1024 - weight[1];
}

/* The workspace begins with this; behind it lie, for each dimension, the indices and then the weights of the taps of
 * all positions, and behind these room for sums. It does not stand on the stack, which is small on a microcontroller.
 */
typedef struct nnacl_resize_scratch {
    int32_t table[NNACL_MAX_RANK]; /* where the indices of a dimension begin, in words */
    int32_t sums;                  /* where the sums begin, in words */
    /* The row of y that is computed: entry of tap 0 in each dimension; combinations of taps, 0: it lies outside of roi;
     * entry of the taps of one combination. */
    int32_t first[NNACL_MAX_RANK];
    int32_t combinations;
    int32_t tap[NNACL_MAX_RANK];
} nnacl_resize_scratch;

static inline int32_t nnacl_resize_table_size(const nnacl_resize_params *p) {
    int32_t entries = 0;
    for (int32_t i = 0; i < p->rank; i++) {
        entries += p->to[i] * p->taps[i];
    }
    return entries;
}

static inline int32_t *nnacl_resize_index(nnacl_resize_scratch *s, int32_t i) {
    return (int32_t *)(void *)(s + 1) + s->table[i];
}

/* float, or int32_t in fixed point */
static inline void *nnacl_resize_weights(const nnacl_resize_params *p, nnacl_resize_scratch *s, int32_t i) {
    return nnacl_resize_index(s, i) + p->to[i] * p->taps[i];
}

static inline void *nnacl_resize_sums(nnacl_resize_scratch *s) {
    return (int32_t *)(void *)(s + 1) + s->sums;
}

static inline nnacl_resize_scratch *nnacl_resize_start(const nnacl_resize_params *p, void *workspace) {
    nnacl_resize_scratch *s = workspace;
    const bool fixed = p->arithmetic == NNACL_RESIZE_FIXED && p->mode != NNACL_RESIZE_NEAREST;
    s->sums = 0;
    for (int32_t i = 0; i < p->rank; i++) {
        const int32_t taps = p->taps[i];
        s->table[i] = s->sums;
        s->sums += 2 * p->to[i] * taps;
        int32_t *index = nnacl_resize_index(s, i);
        char *weights = nnacl_resize_weights(p, s, i);
        for (int32_t o = 0; o < p->to[i]; o++, index += taps, weights += (ptrdiff_t)taps * 4) {
            if (fixed) {
                nnacl_resize_fixed_taps(p, i, o, index, (int32_t *)(void *)weights);
            } else {
                nnacl_resize_taps(p, i, o, index, (float *)(void *)weights);
            }
        }
    }
    return s;
}

/* Rows of y along its last dimension: the shares of the work. */
static inline int32_t nnacl_resize_rows(const nnacl_resize_params *p) {
    int32_t rows = 1;
    for (int32_t i = 0; i < p->rank - 1; i++) {
        rows *= p->to[i];
    }
    return rows;
}

/* Turns to a row of y. */
static inline void nnacl_resize_turn(const nnacl_resize_params *p, nnacl_resize_scratch *s, int32_t row) {
    s->combinations = 1;
    for (int32_t i = p->rank - 2; i >= 0; i--) {
        s->first[i] = row % p->to[i] * p->taps[i];
        row /= p->to[i];
        s->combinations *= nnacl_resize_index(s, i)[s->first[i]] < 0 ? 0 : p->taps[i];
    }
}

/* The row of x that a combination of taps means; s->tap receives the entry of each dimension. */
static inline ptrdiff_t nnacl_resize_source(const nnacl_resize_params *p, nnacl_resize_scratch *s,
                                            int32_t combination) {
    ptrdiff_t source = 0, stride = 1;
    for (int32_t i = p->rank - 2; i >= 0; i--) {
        s->tap[i] = s->first[i] + combination % p->taps[i];
        combination /= p->taps[i];
        source += nnacl_resize_index(s, i)[s->tap[i]] * stride;
        stride *= p->from[i];
    }
    return source;
}

#endif
