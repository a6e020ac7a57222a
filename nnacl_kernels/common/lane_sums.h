/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and dot products of float vectors in eight lanes, which compilers turn into vector code without changing the
 * order of the additions; so the bits are the same everywhere, and long sums keep their accuracy. */
#ifndef NNACL_LANE_SUMS_H
#define NNACL_LANE_SUMS_H

#include "nnacl_base.h"

#define NNACL_LANES 8

/* The lanes together, by halves. */
static inline float nnacl_add_lanes(float *lanes) {
    for (int32_t half = NNACL_LANES / 2; half > 0; half /= 2) {
        for (int32_t i = 0; i < half; i++) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

static inline float nnacl_sum_f32(const float *x, int32_t count) {
    float lanes[NNACL_LANES] = {0.0f};
    int32_t i = 0;
    for (; i + NNACL_LANES <= count; i += NNACL_LANES) {
        for (int32_t j = 0; j < NNACL_LANES; j++) {
            lanes[j] += x[i + j];
        }
    }
    for (int32_t j = 0; i + j < count; j++) {
        lanes[j] += x[i + j];
    }
    return nnacl_add_lanes(lanes);
}

/* The sum of (x - centre)^2. */
static inline float nnacl_sum_squares_f32(const float *x, int32_t count, float centre) {
    float lanes[NNACL_LANES] = {0.0f};
    int32_t i = 0;
    for (; i + NNACL_LANES <= count; i += NNACL_LANES) {
        for (int32_t j = 0; j < NNACL_LANES; j++) {
            const float d = x[i + j] - centre;
            lanes[j] += d * d;
        }
    }
    for (int32_t j = 0; i + j < count; j++) {
        const float d = x[i + j] - centre;
        lanes[j] += d * d;
    }
    return nnacl_add_lanes(lanes);
}

static inline float nnacl_dot_f32(const float *a, const float *b, int32_t count) {
    float lanes[NNACL_LANES] = {0.0f};
    int32_t i = 0;
    for (; i + NNACL_LANES <= count; i += NNACL_LANES) {
        for (int32_t j = 0; j < NNACL_LANES; j++) {
            lanes[j] += a[i + j] * b[i + j];
        }
    }
    for (int32_t j = 0; i + j < count; j++) {
        lanes[j] += a[i + j] * b[i + j];
    }
    return nnacl_add_lanes(lanes);
}

#endif
