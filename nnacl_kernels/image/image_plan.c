/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the ops that sample images, but for resize. */
#include <math.h>

#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "image/image.h"

static bool is_flag(int32_t value) {
    return value == 0 || value == 1;
}

/* Checks x f32 [batch, height, width, channels] and rois f32 [n, columns], and the sizes of the cells. */
static const char *check_regions(const nnacl_tensor *in, int32_t n_in, int32_t wanted_in, int32_t n_out,
                                 int32_t columns, int32_t out_h, int32_t out_w, float spatial_scale) {
    const char *message = nnacl_shape_check(in, n_in, wanted_in, wanted_in, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 4), "x must be f32 [batch, height, width, channels]");
    NNACL_REQUIRE(in[0].dims[0] >= 1 && in[0].dims[1] >= 1 && in[0].dims[2] >= 1, "x has an empty dimension");
    NNACL_REQUIRE(nnacl_plan_is(&in[1], NNACL_F32, 2) && in[1].dims[1] == columns, "the regions have the wrong shape");
    NNACL_REQUIRE(out_h >= 1 && out_w >= 1, "a size of the output is less than 1");
    NNACL_REQUIRE(isfinite(spatial_scale), "spatial_scale is not finite");
    return NULL;
}

static const char *roi_align_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_roi_align_params *p = params;
    const char *message = check_regions(in, n_in, 3, n_out, 4, p->out_h, p->out_w, p->spatial_scale);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE((in[2].dtype == NNACL_S32 || in[2].dtype == NNACL_S64) && in[2].rank == 1 &&
                      in[2].dims[0] == in[1].dims[0],
                  "the batch indices must be s32 or s64 [regions]");
    NNACL_REQUIRE(p->sampling >= 0 && p->sampling <= 4096, "sampling is out of range");
    NNACL_REQUIRE(is_flag(p->half_pixel) && is_flag(p->maximum), "a flag is not 0 or 1");
    p->index_size = (int32_t)nnacl_dtype_size(in[2].dtype);
    p->rois = in[1].dims[0];
    p->batch = in[0].dims[0];
    p->height = in[0].dims[1];
    p->width = in[0].dims[2];
    p->channels = in[0].dims[3];
    const int32_t dims[4] = {p->rois, p->out_h, p->out_w, p->channels};
    return nnacl_shape_set(&out[0], NNACL_F32, 4, dims);
}

static int32_t roi_align_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_roi_align_params *p = params;
    (void)kernel;
    return p->rois > 0 ? p->rois : 1;
}

static const char *max_roi_pool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                       int32_t n_out) {
    nnacl_max_roi_pool_params *p = params;
    const char *message = check_regions(in, n_in, 2, n_out, 5, p->out_h, p->out_w, p->spatial_scale);
    NNACL_REQUIRE(!message, message);
    p->rois = in[1].dims[0];
    p->batch = in[0].dims[0];
    p->height = in[0].dims[1];
    p->width = in[0].dims[2];
    p->channels = in[0].dims[3];
    const int32_t dims[4] = {p->rois, p->out_h, p->out_w, p->channels};
    return nnacl_shape_set(&out[0], NNACL_F32, 4, dims);
}

static int32_t max_roi_pool_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_max_roi_pool_params *p = params;
    (void)kernel;
    return p->rois > 0 ? p->rois : 1;
}

static const char *grid_sample_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                      int32_t n_out) {
    nnacl_grid_sample_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *grid = &in[1];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && (x->rank == 4 || x->rank == 5), "x must be f32 with two or three spatial "
                                                                           "dimensions");
    NNACL_REQUIRE(nnacl_plan_is(grid, NNACL_F32, x->rank) && grid->dims[0] == x->dims[0] &&
                      grid->dims[x->rank - 1] == x->rank - 2,
                  "the grid must be f32 [batch, out.., spatial dimensions of x]");
    NNACL_REQUIRE(p->mode >= NNACL_GRID_NEAREST && p->mode <= NNACL_GRID_CUBIC, "mode is unknown");
    NNACL_REQUIRE(p->padding >= NNACL_GRID_ZEROS && p->padding <= NNACL_GRID_REFLECTION, "padding is unknown");
    NNACL_REQUIRE(is_flag(p->align_corners), "align_corners must be 0 or 1");
    NNACL_REQUIRE(p->mode != NNACL_GRID_CUBIC || x->rank == 4, "cubic interpolation is for two dimensions");
    p->batch = x->dims[0];
    p->spatial = x->rank - 2;
    p->channels = x->dims[x->rank - 1];
    p->size[0] = x->rank == 5 ? x->dims[1] : 1;
    p->size[1] = x->dims[x->rank - 3];
    p->size[2] = x->dims[x->rank - 2];
    NNACL_REQUIRE(p->size[0] >= 1 && p->size[1] >= 1 && p->size[2] >= 1, "x has an empty dimension");
    int32_t dims[5];
    p->places = 1;
    for (int32_t i = 0; i < x->rank - 1; i++) {
        dims[i] = grid->dims[i];
        p->places = i == 0 ? 1 : dims[i] == 0 ? 0 : p->places * dims[i];
    }
    dims[x->rank - 1] = p->channels;
    return nnacl_shape_set(&out[0], NNACL_F32, x->rank, dims);
}

static int32_t grid_sample_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_grid_sample_params *p = params;
    (void)kernel;
    const int64_t rows = (int64_t)p->batch * p->places;
    const int32_t parts = nnacl_shape_parts(rows * p->channels, 4096);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

static const char *affine_grid_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                      int32_t n_out) {
    nnacl_affine_grid_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *theta = &in[0];
    NNACL_REQUIRE(nnacl_plan_is(theta, NNACL_F32, 3) && (theta->dims[1] == 2 || theta->dims[1] == 3) &&
                      theta->dims[2] == theta->dims[1] + 1,
                  "theta must be f32 [batch, 2, 3] or [batch, 3, 4]");
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    NNACL_REQUIRE(!message, message);
    p->spatial = theta->dims[1];
    NNACL_REQUIRE(count < 0 || count == p->spatial + 2, "size does not have an entry for each dimension");
    for (int32_t i = 0; i < 5; i++) {
        if (count >= 0) {
            NNACL_REQUIRE(i >= count || (values[i] >= 0 && values[i] <= INT32_MAX), "a size is impossible");
            p->size[i] = i < count ? (int32_t)values[i] : 0;
        }
        NNACL_REQUIRE(i < p->spatial + 2 || p->size[i] == 0, "size has too many entries");
    }
    NNACL_REQUIRE(p->size[0] == theta->dims[0], "the batch differs from that of theta");
    NNACL_REQUIRE(is_flag(p->align_corners), "align_corners must be 0 or 1");
    int32_t dims[5] = {p->size[0]};
    for (int32_t i = 0; i < p->spatial; i++) {
        dims[1 + i] = p->size[2 + i];
    }
    dims[1 + p->spatial] = p->spatial;
    return nnacl_shape_set(&out[0], NNACL_F32, p->spatial + 2, dims);
}

static const char *deform_conv_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                      int32_t n_out) {
    nnacl_deform_conv_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 5, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *w = &in[1], *offset = &in[2];
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 3), *mask = nnacl_plan_input(in, n_in, 4);
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_F32, 4) && nnacl_plan_is(w, NNACL_F32, 4) &&
                      nnacl_plan_is(offset, NNACL_F32, 4),
                  "x, weights and offset must be f32 of four dimensions");
    p->batch = x->dims[0];
    p->in_h = x->dims[1];
    p->in_w = x->dims[2];
    p->in_c = x->dims[3];
    p->kernel_h = w->dims[0];
    p->kernel_w = w->dims[1];
    p->out_c = w->dims[3];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE(p->groups >= 1 && p->in_c % p->groups == 0 && p->out_c % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(w->dims[2] == p->in_c / p->groups, "weights must be [kernel.., input channels / groups, channels]");
    NNACL_REQUIRE(p->offset_groups >= 1 && p->in_c % p->offset_groups == 0,
                  "offset_groups does not divide the input channels");
    NNACL_REQUIRE_WINDOWS(p);
    const int64_t taps = (int64_t)p->kernel_h * p->kernel_w; /* fits, as the weights do */
    NNACL_REQUIRE(offset->dims[0] == p->batch && offset->dims[1] == p->out_h && offset->dims[2] == p->out_w &&
                      taps <= INT32_MAX / p->offset_groups && offset->dims[3] == taps * p->offset_groups * 2,
                  "offset must be [batch, out.., offset_groups * taps * 2]");
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->out_c), "bias must be f32 [output channels]");
    NNACL_REQUIRE(!mask ||
                      (nnacl_plan_is(mask, NNACL_F32, 4) && mask->dims[0] == p->batch && mask->dims[1] == p->out_h &&
                       mask->dims[2] == p->out_w && mask->dims[3] == taps * p->offset_groups),
                  "mask must be f32 [batch, out.., offset_groups * taps]");
    p->has_bias = bias != NULL;
    p->has_mask = mask != NULL;
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    return nnacl_shape_set(&out[0], NNACL_F32, 4, dims);
}

static int32_t deform_conv_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_deform_conv_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

static int64_t deform_conv_macs(const void *params) {
    const nnacl_deform_conv_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}

/* Takes sizes, with 1 for dimensions that are not there, from input `index`. */
static const char *read_sizes(const nnacl_tensor *in, int32_t n_in, int32_t index, int32_t *spatial, int32_t *sizes) {
    int64_t values[3];
    int32_t count;
    const char *message = nnacl_data_input(in, n_in, index, 3, values, &count);
    NNACL_REQUIRE(!message, message);
    if (count < 0) {
        return NULL;
    }
    NNACL_REQUIRE(count >= 1 && (*spatial == 0 || *spatial == count), "sizes and window differ in their dimensions");
    *spatial = count;
    for (int32_t i = 0; i < 3; i++) {
        const int64_t value = i < 3 - count ? 1 : values[i - (3 - count)];
        NNACL_REQUIRE(value >= 1 && value <= INT32_MAX, "a size is impossible");
        sizes[i] = (int32_t)value;
    }
    return NULL;
}

static const char *col2im_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_col2im_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 3, n_out);
    NNACL_REQUIRE(!message, message);
    int32_t spatial = 0;
    message = read_sizes(in, n_in, 1, &spatial, p->size);
    NNACL_REQUIRE(!message, message);
    message = read_sizes(in, n_in, 2, &spatial, p->kernel);
    NNACL_REQUIRE(!message, message);
    p->spatial = spatial == 0 ? p->spatial : spatial;
    NNACL_REQUIRE(p->spatial >= 1 && p->spatial <= 3, "there must be one to three spatial dimensions");
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 3), "x must be f32 [batch, channels * taps, positions]");
    int64_t taps = 1, positions = 1;
    int32_t dims[5] = {in[0].dims[0]};
    for (int32_t i = 0; i < 3; i++) {
        const bool present = i >= 3 - p->spatial;
        NNACL_REQUIRE(present || (p->size[i] == 1 && p->kernel[i] == 1 && p->stride[i] == 1 && p->dilation[i] == 1 &&
                                  !p->pad_before[i] && !p->pad_after[i]),
                      "an attribute of a dimension that y does not have is set");
        message = nnacl_plan_window(p->size[i], p->pad_before[i], p->pad_after[i], p->kernel[i], p->stride[i],
                                    p->dilation[i], &p->positions[i]);
        NNACL_REQUIRE(!message, message);
        NNACL_REQUIRE(p->kernel[i] <= INT32_MAX / taps && p->positions[i] <= INT32_MAX / positions,
                      "the window or the image is too large");
        taps *= p->kernel[i];
        positions *= p->positions[i];
        if (present) {
            dims[2 + i - (3 - p->spatial)] = p->size[i];
        }
    }
    NNACL_REQUIRE(in[0].dims[1] % taps == 0, "the taps do not divide dimension 1 of the input");
    NNACL_REQUIRE(in[0].dims[2] == positions, "the positions of the window are not those of the input");
    dims[1] = (int32_t)(in[0].dims[1] / taps);
    message = nnacl_shape_set(&out[0], NNACL_F32, p->spatial + 2, dims);
    NNACL_REQUIRE(!message, message);
    p->planes = nnacl_element_count(&out[0]) > 0 ? dims[0] * dims[1] : 0;
    return NULL;
}

static int32_t col2im_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_col2im_params *p = params;
    (void)kernel;
    return p->planes > 0 ? p->planes : 1;
}

#define IMAGE_OP(op, split, count_macs, values)                                                                        \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #op "_params",                                                                         \
        .header = "image/image.h",                                                                                     \
        .params_size = sizeof(nnacl_##op##_params),                                                                    \
        .alias = NNACL_ALIAS_NONE,                                                                                     \
        .resize = op##_resize,                                                                                         \
        .parts = split,                                                                                                \
        .macs = count_macs,                                                                                            \
        .data_inputs = values,                                                                                         \
    };

IMAGE_OP(roi_align, roi_align_parts, NULL, 0)
IMAGE_OP(max_roi_pool, max_roi_pool_parts, NULL, 0)
IMAGE_OP(grid_sample, grid_sample_parts, NULL, 0)
IMAGE_OP(affine_grid, NULL, NULL, 1 << 1)
IMAGE_OP(deform_conv, deform_conv_parts, deform_conv_macs, 0)
IMAGE_OP(col2im, col2im_parts, NULL, 1 << 1 | 1 << 2)
