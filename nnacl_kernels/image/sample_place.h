/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear samples of images with their channels last. */
#ifndef NNACL_SAMPLE_PLACE_H
#define NNACL_SAMPLE_PLACE_H

#include <math.h>

#include "nnacl_base.h"

/* The nearest number that an int32 surely holds; NaN becomes the least one. */
static inline float nnacl_bounded_place(float place) {
    return place > -1e9f ? place < 1e9f ? place : 1e9f : -1e9f;
}

/* The four elements around a place, counted row by row, and their weights. */
typedef struct nnacl_corners {
    int32_t index[4]; /* -1: outside */
    float weight[4];
} nnacl_corners;

#endif
