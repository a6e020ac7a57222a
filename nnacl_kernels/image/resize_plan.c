/* SPDX-License-Identifier: Apache-2.0 */
/* The plan half of resize. */
#include <math.h>
#include <string.h>

#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "image/resize_taps.h"

#define LEAST_BYTES_PER_PART 65536

/* Input `index` as f32: *count becomes its number of elements, 0 when it is absent. */
static const char *read_floats(const nnacl_tensor *in, int32_t n_in, int32_t index, float *values, int32_t *count) {
    const nnacl_tensor *tensor = nnacl_plan_input(in, n_in, index);
    *count = 0;
    if (!tensor || nnacl_element_count(tensor) == 0) {
        return NULL;
    }
    NNACL_REQUIRE(tensor->dtype == NNACL_F32 && tensor->rank == 1 && tensor->dims[0] <= 2 * NNACL_MAX_RANK,
                  "roi and scales must be f32 of one dimension, with an entry for each axis");
    NNACL_REQUIRE(tensor->data, NNACL_NEEDS_DATA);
    *count = tensor->dims[0];
    memcpy(values, tensor->data, (size_t)*count * sizeof *values);
    return NULL;
}

/* Takes roi, scales and sizes from the inputs, where they are present. */
static const char *read_inputs(nnacl_resize_params *p, const nnacl_tensor *in, int32_t n_in) {
    float roi[2 * NNACL_MAX_RANK], scales[2 * NNACL_MAX_RANK];
    int64_t sizes[NNACL_MAX_RANK];
    int32_t n_roi, n_scales, n_sizes;
    const char *message = read_floats(in, n_in, 1, roi, &n_roi);
    NNACL_REQUIRE(!message, message);
    message = read_floats(in, n_in, 2, scales, &n_scales);
    NNACL_REQUIRE(!message, message);
    message = nnacl_data_input(in, n_in, 3, NNACL_MAX_RANK, sizes, &n_sizes);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = in[0].rank, count = p->n_axes > 0 ? p->n_axes : rank;
    NNACL_REQUIRE(p->n_axes >= 0 && p->n_axes <= rank, "n_axes is out of range");
    NNACL_REQUIRE(n_roi == 0 || n_roi == 2 * count, "roi does not have two entries for each axis");
    NNACL_REQUIRE(n_scales == 0 || n_scales == count, "scales does not have one entry for each axis");
    NNACL_REQUIRE(n_sizes <= 0 || n_sizes == count, "sizes does not have one entry for each axis");
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        if (n_roi > 0) {
            p->roi_begin[i] = 0.0f;
            p->roi_end[i] = i < rank ? 1.0f : 0.0f;
        }
        if (n_scales > 0 || n_sizes > 0) {
            p->scale[i] = i < rank ? 1.0f : 0.0f;
            p->size[i] = i < rank ? -1 : 0;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t axis = p->n_axes > 0 ? p->axes[i] : i;
        NNACL_REQUIRE(axis >= 0 && axis < rank, "an axis is not a dimension of the input");
        if (n_roi > 0) {
            p->roi_begin[axis] = roi[i];
            p->roi_end[axis] = roi[count + i];
        }
        if (n_scales > 0) {
            p->scale[axis] = scales[i];
        }
        if (n_sizes > 0) {
            NNACL_REQUIRE(sizes[i] >= 0 && sizes[i] <= INT32_MAX, "a size is impossible");
            p->size[axis] = (int32_t)sizes[i];
        }
    }
    return NULL;
}

static bool is_flag(int32_t value) {
    return value == 0 || value == 1;
}

static const char *check_attributes(const nnacl_resize_params *p, int32_t dtype) {
    NNACL_REQUIRE(p->mode >= NNACL_RESIZE_NEAREST && p->mode <= NNACL_RESIZE_CUBIC, "mode is unknown");
    NNACL_REQUIRE(p->transform >= NNACL_RESIZE_HALF_PIXEL && p->transform <= NNACL_RESIZE_CROP, "transform is unknown");
    NNACL_REQUIRE(p->nearest_mode >= NNACL_RESIZE_PREFER_FLOOR && p->nearest_mode <= NNACL_RESIZE_CEIL,
                  "nearest_mode is unknown");
    NNACL_REQUIRE(p->aspect >= 0 && p->aspect <= 2, "aspect must be 0, 1 or 2");
    NNACL_REQUIRE(is_flag(p->antialias) && is_flag(p->exclude_outside) && is_flag(p->stepwise), "a flag is not 0 or 1");
    NNACL_REQUIRE(isfinite(p->cubic_a), "cubic_a is not finite");
    NNACL_REQUIRE(p->arithmetic >= NNACL_RESIZE_EVEN && p->arithmetic <= NNACL_RESIZE_UNSIGNED,
                  "arithmetic is unknown");
    if (p->mode == NNACL_RESIZE_NEAREST) {
        return NULL;
    }
    NNACL_REQUIRE(dtype == NNACL_F32 || dtype == NNACL_S8 || dtype == NNACL_U8 || dtype == NNACL_S16,
                  "the op is not defined for the element type of its input");
    NNACL_REQUIRE(
        p->arithmetic == NNACL_RESIZE_EVEN ||
            (p->mode == NNACL_RESIZE_LINEAR && p->stepwise && !p->antialias && p->transform != NNACL_RESIZE_CROP &&
             (p->arithmetic == NNACL_RESIZE_FIXED ? dtype == NNACL_S8 || dtype == NNACL_S16 : dtype == NNACL_S8)),
        "this arithmetic is for linear interpolation of s8 and s16 alone");
    return NULL;
}

/* The scale and the sizes of dimension `i` of the tensors. */
static const char *derive_size(const nnacl_resize_params *p, const nnacl_tensor *x, int32_t i, float common,
                               float *factor, float *length, int32_t *size) {
    const float from = (float)x->dims[i];
    if (p->size[i] < 0) {
        NNACL_REQUIRE(p->scale[i] > 0.0f && from * p->scale[i] < 2147483648.0f, "a scale is impossible");
        *factor = p->scale[i];
        *length = from * p->scale[i];
        *size = (int32_t)floorf(*length);
        return NULL;
    }
    NNACL_REQUIRE(x->dims[i] > 0 || p->size[i] == 0, "an empty dimension cannot grow");
    *factor = p->aspect ? common : x->dims[i] > 0 ? (float)p->size[i] / from : 1.0f;
    *length = p->aspect ? common * from : (float)p->size[i];
    NNACL_REQUIRE(*length < 2147483520.0f, "a dimension would be too large");
    *size = p->aspect ? (int32_t)floorf(*length + 0.5f) : p->size[i];
    return NULL;
}

/* The scale that holds for all dimensions that have a size, under aspect 1 or 2. */
static float common_scale(const nnacl_resize_params *p, const nnacl_tensor *x) {
    float common = -1.0f;
    for (int32_t i = 0; i < x->rank; i++) {
        if (p->size[i] >= 0 && x->dims[i] > 0) {
            const float ratio = (float)p->size[i] / (float)x->dims[i];
            const bool better = p->aspect == 1 ? ratio < common : ratio > common;
            common = common < 0.0f || better ? ratio : common;
        }
    }
    return common < 0.0f ? 1.0f : common;
}

/* Elements of x that each position of y is made of. */
static int32_t count_taps(const nnacl_resize_params *p, float factor) {
    const float reach = p->mode == NNACL_RESIZE_CUBIC ? 2.0f : 1.0f;
    if (p->mode == NNACL_RESIZE_NEAREST) {
        return 1;
    }
    if (!p->antialias) {
        return p->mode == NNACL_RESIZE_CUBIC ? 4 : 2;
    }
    const float start = floorf(-reach / (factor < 1.0f ? factor : 1.0f)) + 1.0f;
    return start < -32768.0f ? -1 : 2 - 2 * (int32_t)start;
}

/* The bytes of the value outside of roi. */
static const char *set_fill(nnacl_resize_params *p, int32_t dtype) {
    const float value = p->extrapolation;
    const double limit = dtype == NNACL_U64 || dtype == NNACL_S64 ? 4611686018427387904.0 : 2147483648.0;
    p->fill[0] = p->fill[1] = 0;
    if (p->transform != NNACL_RESIZE_CROP) {
        return NULL;
    }
    NNACL_REQUIRE(dtype != NNACL_F16 || value == 0.0f, "extrapolation of f16 must be 0");
    if (dtype == NNACL_F32) {
        memcpy(p->fill, &value, sizeof value);
    } else if (dtype == NNACL_F64) {
        const double wide = (double)value;
        memcpy(p->fill, &wide, sizeof wide);
    } else if (dtype == NNACL_B8) {
        p->fill[0] = value != 0.0f;
    } else {
        const bool is_unsigned = dtype == NNACL_U8 || dtype == NNACL_U16 || dtype == NNACL_U32 || dtype == NNACL_U64;
        const int32_t bits = 8 * p->element_size;
        const double span = bits < 32 ? (double)(1 << bits) : 2.0 * limit;
        const double low = is_unsigned ? 0.0 : -span / 2.0, high = is_unsigned ? span - 1.0 : span / 2.0 - 1.0;
        NNACL_REQUIRE((double)value >= low && (double)value <= high, "extrapolation is outside of the element type");
        const int64_t whole = (int64_t)value;
        memcpy(p->fill, &whole, sizeof whole); /* little-endian: the low bytes come first */
    }
    return NULL;
}

static const char *resize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_resize_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 4, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    message = read_inputs(p, in, n_in);
    NNACL_REQUIRE(!message, message);
    message = check_attributes(p, x->dtype);
    NNACL_REQUIRE(!message, message);
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->rank = 0;
    p->block = 1;
    int32_t dims[NNACL_MAX_RANK], active = 0;
    int64_t entries = 0;
    bool empty = false;
    const float common = common_scale(p, x);
    for (int32_t i = 0; i < x->rank; i++) {
        float factor, length;
        message = derive_size(p, x, i, common, &factor, &length, &dims[i]);
        NNACL_REQUIRE(!message, message);
        empty = empty || dims[i] == 0;
        NNACL_REQUIRE(x->dims[i] > 0 || dims[i] == 0, "an empty dimension cannot grow");
        const bool crops = p->transform == NNACL_RESIZE_CROP && !(p->roi_begin[i] == 0.0f && p->roi_end[i] == 1.0f);
        NNACL_REQUIRE(!crops || (isfinite(p->roi_begin[i]) && isfinite(p->roi_end[i])), "roi is not finite");
        const bool stays = dims[i] == x->dims[i] && factor == 1.0f && !crops;
        const int32_t at = p->rank;
        if (stays && at > 0 && p->factor[at - 1] == 0.0f) {
            p->from[at - 1] *= dims[i];
            p->to[at - 1] *= dims[i];
            continue;
        }
        p->from[at] = x->dims[i];
        p->to[at] = dims[i];
        p->taps[at] = stays ? 1 : count_taps(p, factor);
        NNACL_REQUIRE(p->taps[at] > 0, "a scale is too small for antialias");
        p->factor[at] = stays ? 0.0f : factor;
        p->length[at] = stays ? 0.0f : length;
        p->begin[at] = stays ? 0.0f : p->roi_begin[i];
        p->end[at] = stays ? 0.0f : p->roi_end[i];
        active += !stays;
        p->rank++;
    }
    message = nnacl_shape_set(&out[0], x->dtype, x->rank, dims);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->arithmetic != NNACL_RESIZE_FIXED || active <= 2,
                  "fixed point interpolates two dimensions at most");
    if (p->rank > 0 && p->factor[p->rank - 1] == 0.0f) {
        p->block = p->to[--p->rank];
    }
    if (empty || p->rank == 0) {
        p->block = empty ? 1 : p->block;
        p->from[0] = p->to[0] = !empty;
        p->taps[0] = 1;
        p->factor[0] = p->length[0] = p->begin[0] = p->end[0] = 0.0f;
        p->rank = 1;
    }
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        if (i >= p->rank) {
            p->from[i] = p->to[i] = p->taps[i] = 0;
            p->factor[i] = p->length[i] = p->begin[i] = p->end[i] = 0.0f;
        }
        entries += (int64_t)p->to[i] * p->taps[i];
    }
    NNACL_REQUIRE(entries < 1 << 28, "the tables of the interpolation would be too large");
    int64_t combinations = 1;
    for (int32_t i = 0; i < p->rank; i++) {
        combinations *= p->taps[i];
        NNACL_REQUIRE(combinations < 1 << 24, "each element would be made of too many others");
    }
    return set_fill(p, x->dtype);
}

static size_t resize_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_resize_params *p = params;
    const size_t tables = sizeof(nnacl_resize_scratch) + 2 * sizeof(int32_t) * (size_t)nnacl_resize_table_size(p);
    if (kernel->dtype == NNACL_ANY || kernel->accepts == nnacl_resize_blends) {
        return tables;
    }
    if (kernel->dtype == NNACL_F32) {
        return tables + (p->block == 1 ? (size_t)p->from[p->rank - 1] * sizeof(float) : 0);
    }
    const bool wide = kernel->dtype == NNACL_S16 && p->arithmetic == NNACL_RESIZE_FIXED;
    return tables + (size_t)p->to[p->rank - 1] * (size_t)p->block * (wide ? sizeof(int64_t) : sizeof(int32_t));
}

static int32_t resize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_resize_params *p = params;
    (void)kernel;
    const int64_t rows = nnacl_resize_rows(p);
    const int32_t parts =
        nnacl_shape_parts(rows * p->to[p->rank - 1] * p->block * p->element_size, LEAST_BYTES_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

/* One for each element and tap. */
static int64_t resize_macs(const void *params) {
    const nnacl_resize_params *p = params;
    int64_t macs = p->mode == NNACL_RESIZE_NEAREST ? 0 : p->block;
    for (int32_t i = 0; i < p->rank; i++) {
        macs *= (int64_t)p->to[i] * p->taps[i];
    }
    return macs;
}

bool nnacl_resize_picks(const void *params) {
    return ((const nnacl_resize_params *)params)->mode == NNACL_RESIZE_NEAREST;
}

bool nnacl_resize_interpolates(const void *params) {
    return !nnacl_resize_picks(params);
}

/* With fixed point at most two dimensions are sampled; where one is, the last one is. */
bool nnacl_resize_blends(const void *params) {
    const nnacl_resize_params *p = params;
    return p->mode == NNACL_RESIZE_LINEAR && p->arithmetic == NNACL_RESIZE_FIXED && p->factor[p->rank - 1] != 0.0f;
}

const nnacl_op nnacl_resize_op = {
    .name = "resize",
    .params_name = "nnacl_resize_params",
    .header = "image/image.h",
    .params_size = sizeof(nnacl_resize_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = resize_resize,
    .workspace = resize_workspace,
    .parts = resize_parts,
    .macs = resize_macs,
    .data_inputs = 1 << 1 | 1 << 2 | 1 << 3,
};
