/* SPDX-License-Identifier: Apache-2.0 */
/* Small things that every plan half says. All sizes were limited to 2^31 - 1 elements by nnacl_check() or are limited
 * here, so that products of two dimensions fit in 64 bits. */
#ifndef NNACL_PLAN_CHECK_H
#define NNACL_PLAN_CHECK_H

#include "nnacl_base.h"

/* Leaves resize() with a sentence unless the condition holds. */
#define NNACL_REQUIRE(condition, sentence)                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return sentence;                                                                                           \
        }                                                                                                              \
    } while (0)

/* Input `index`, or NULL when it is absent. */
static inline const nnacl_tensor *nnacl_plan_input(const nnacl_tensor *in, int32_t n_in, int32_t index) {
    return index < n_in && in[index].dtype != -1 ? &in[index] : NULL;
}

/* A present tensor of this type and rank. */
static inline bool nnacl_plan_is(const nnacl_tensor *tensor, int32_t dtype, int32_t rank) {
    return tensor && tensor->dtype == dtype && tensor->rank == rank;
}

/* A present tensor of this type and shape [size]. */
static inline bool nnacl_plan_is_vector(const nnacl_tensor *tensor, int32_t dtype, int32_t size) {
    return nnacl_plan_is(tensor, dtype, 1) && tensor->dims[0] == size;
}

/* Elements of a tensor, or -1 when there are more than 2^31 - 1 or a dimension is negative. */
static inline int64_t nnacl_plan_count(const nnacl_tensor *tensor) {
    int64_t count = 1;
    bool empty = false;
    if (tensor->rank < 0 || tensor->rank > NNACL_MAX_RANK) {
        return -1;
    }
    for (int32_t i = 0; i < tensor->rank; i++) {
        const int32_t dim = tensor->dims[i];
        if (dim < 0 || (dim > 0 && count > INT32_MAX / dim)) {
            return -1;
        }
        count *= dim > 0 ? dim : 1;
        empty = empty || dim == 0;
    }
    return empty ? 0 : count;
}

/* Sets type and shape of an output. Returns false when it has too many elements. */
static inline bool nnacl_plan_output(nnacl_tensor *out, int32_t dtype, int32_t rank, const int32_t *dims) {
    out->dtype = dtype;
    out->rank = rank;
    out->data = NULL;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        out->dims[i] = i < rank ? dims[i] : 0;
    }
    return nnacl_plan_count(out) >= 0;
}

/* The same for a layer that makes `units` numbers of each row of x. */
static inline bool nnacl_plan_output_units(nnacl_tensor *out, const nnacl_tensor *x, int32_t units) {
    *out = *x;
    out->dims[x->rank - 1] = units;
    return nnacl_plan_output(out, x->dtype, x->rank, out->dims);
}

/* Neither is NaN and low <= high. */
static inline bool nnacl_plan_clamp_ok(float low, float high) {
    return low <= high;
}

/* low <= high, both in the range of the type (s8, u8, s16, u16, s32). */
static inline bool nnacl_plan_range_ok(int32_t low, int32_t high, int32_t dtype) {
    if (dtype == NNACL_S32) {
        return low <= high;
    }
    const bool is_unsigned = dtype == NNACL_U8 || dtype == NNACL_U16;
    const int32_t steps = dtype == NNACL_S8 || dtype == NNACL_U8 ? 256 : 65536;
    const int32_t least = is_unsigned ? 0 : -steps / 2;
    return least <= low && low <= high && high <= least + steps - 1;
}

/* A zero point that the type can hold. */
static inline bool nnacl_plan_zero_ok(int32_t zero, int32_t dtype) {
    return nnacl_plan_range_ok(zero, zero, dtype);
}

static inline bool nnacl_plan_rounding_ok(int32_t rounding) {
    return rounding >= NNACL_ROUND_TFLITE_DOUBLE && rounding <= NNACL_ROUND_TFLITE_DOWN;
}

/* A Q31 multiplier and shift as converters make them; the kernels compute something defined for any. */
static inline bool nnacl_plan_requant_ok(int32_t multiplier, int32_t shift) {
    return multiplier >= 0 && shift >= -62 && shift <= 30;
}

/* Output size of a sliding window along one axis in *out, or a sentence. */
static inline const char *nnacl_plan_window(int32_t size, int32_t before, int64_t after, int32_t kernel, int32_t stride,
                                            int32_t dilation, int32_t *out) {
    NNACL_REQUIRE(stride >= 1, "a stride is less than 1");
    NNACL_REQUIRE(dilation >= 1, "a dilation is less than 1");
    NNACL_REQUIRE(before >= 0 && after >= 0, "a padding is negative");
    NNACL_REQUIRE(size >= 1 && kernel >= 1, "a dimension of the input or of the kernel is 0");
    const int64_t padded = (int64_t)size + before + after;
    const int64_t reach = (int64_t)(kernel - 1) * dilation + 1;
    NNACL_REQUIRE(padded <= INT32_MAX - (int64_t)stride - dilation, "the padded input is too large");
    NNACL_REQUIRE(reach <= padded, "the kernel is larger than the padded input");
    *out = (int32_t)((padded - reach) / stride + 1);
    return NULL;
}

/* Leaves resize() with a sentence unless there are windows along both axes of an image; sets out_h and out_w. */
#define NNACL_REQUIRE_WINDOWS(p)                                                                                       \
    do {                                                                                                               \
        const char *const along_h = nnacl_plan_window((p)->in_h, (p)->pad_top, (p)->pad_bottom, (p)->kernel_h,         \
                                                      (p)->stride_h, (p)->dilation_h, &(p)->out_h);                    \
        NNACL_REQUIRE(!along_h, along_h);                                                                              \
        const char *const along_w = nnacl_plan_window((p)->in_w, (p)->pad_left, (p)->pad_right, (p)->kernel_w,         \
                                                      (p)->stride_w, (p)->dilation_w, &(p)->out_w);                    \
        NNACL_REQUIRE(!along_w, along_w);                                                                              \
    } while (0)

/* The requant input of convolutions and dense: s32 [2, channels], or f32 [channels] under float-even. */
static inline const char *nnacl_plan_requant(const nnacl_tensor *requant, int32_t channels, int32_t rounding) {
    if (rounding == NNACL_ROUND_FLOAT_EVEN) {
        NNACL_REQUIRE(nnacl_plan_is_vector(requant, NNACL_F32, channels),
                      "requant must be f32 [output channels] under the contract float-even");
        const float *scales = (const float *)requant->data;
        for (int32_t i = 0; scales && i < channels; i++) {
            NNACL_REQUIRE(scales[i] >= 0.0f && scales[i] <= 3.4e38f, "a requant scale is negative or not finite");
        }
        return NULL;
    }
    NNACL_REQUIRE(nnacl_plan_is(requant, NNACL_S32, 2) && requant->dims[0] == 2 && requant->dims[1] == channels,
                  "requant must be s32 [2, output channels]");
    const int32_t *rows = (const int32_t *)requant->data;
    for (int32_t i = 0; rows && i < channels; i++) {
        NNACL_REQUIRE(nnacl_plan_requant_ok(rows[i], rows[channels + i]),
                      "a requant multiplier is negative or its shift outside -62 .. 30");
    }
    return NULL;
}

/* Bias, requant and w_zeros (inputs 2, 3 and 4) of a convolution or dense of s8 or s16. *has_bias becomes 2 for a bias
 * of s64, which s16 may have. */
static inline const char *nnacl_plan_weighted(const nnacl_tensor *in, int32_t n_in, int32_t channels, int32_t rounding,
                                              int32_t *has_bias, int32_t *has_w_zeros) {
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2), *w_zeros = nnacl_plan_input(in, n_in, 4);
    const bool is_wide = bias && bias->dtype == NNACL_S64 && in[0].dtype == NNACL_S16;
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, is_wide ? NNACL_S64 : NNACL_S32, channels),
                  "bias must be s32 [output channels], or s64 where x is s16");
    NNACL_REQUIRE(!w_zeros || nnacl_plan_is_vector(w_zeros, NNACL_S32, channels),
                  "w_zeros must be s32 [output channels]");
    const int32_t *zeros = w_zeros ? (const int32_t *)w_zeros->data : NULL;
    for (int32_t i = 0; zeros && i < channels; i++) {
        NNACL_REQUIRE(nnacl_plan_zero_ok(zeros[i], NNACL_S8), "a zero point is outside -128 .. 127");
    }
    *has_bias = bias == NULL ? 0 : is_wide ? 2 : 1;
    *has_w_zeros = w_zeros != NULL;
    return nnacl_plan_requant(nnacl_plan_input(in, n_in, 3), channels, rounding);
}

#endif
