/* SPDX-License-Identifier: Apache-2.0 */
/* The clamp at the end of float kernels. */
#ifndef NNACL_CLAMP_H
#define NNACL_CLAMP_H

/* value limited to low .. high; NaN stays NaN. */
static inline float nnacl_clamp_f32(float value, float low, float high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

#endif
