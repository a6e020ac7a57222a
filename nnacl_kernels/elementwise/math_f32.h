/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 functions that need an elementary function, one element at a time: for their kernels and for the loops of
 * generated code. */
#ifndef NNACL_MATH_F32_H
#define NNACL_MATH_F32_H

#include "common/float_math.h"

static inline float nnacl_sigmoid_f32(float v) {
    return 1.0f / (1.0f + nnacl_expf(-v));
}

static inline float nnacl_silu_f32(float v) {
    return v * nnacl_sigmoid_f32(v);
}

static inline float nnacl_swish_f32(float v, float alpha) {
    return v / (1.0f + nnacl_expf(-alpha * v));
}

static inline float nnacl_gelu_erf_f32(float v) {
    return 0.5f * v * (1.0f + nnacl_erff(v * 0.707106781f));
}

static inline float nnacl_gelu_tanh_f32(float v) {
    return 0.5f * v * (1.0f + nnacl_tanhf(0.797884561f * (v + 0.044715f * v * v * v)));
}

static inline float nnacl_gelu_f32(float v, float alpha) {
    return alpha != 0.0f ? nnacl_gelu_tanh_f32(v) : nnacl_gelu_erf_f32(v);
}

static inline float nnacl_softplus_f32(float v) {
    return (v > 0.0f ? v : 0.0f) + nnacl_log1pf(nnacl_expf(v > 0.0f ? -v : v));
}

static inline float nnacl_mish_f32(float v) {
    return v * nnacl_tanhf(nnacl_softplus_f32(v));
}

static inline float nnacl_elu_f32(float v, float alpha) {
    return v < 0.0f ? alpha * nnacl_expm1f(v) : v;
}

#endif
