#include "checkasm.h"
#include "image/image.h"

static void draw_resize(check_case *c) {
    nnacl_resize_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t rank = c->bench ? 4 : check_int(c, 0, 4);
    check_shape(c, rank, 200, dims);
    const bool interpolates =
        c->dtype == NNACL_F32 || c->dtype == NNACL_S8 || c->dtype == NNACL_U8 || c->dtype == NNACL_S16;
    p->mode = interpolates && check_chance(c, 70) ? check_int(c, NNACL_RESIZE_LINEAR, NNACL_RESIZE_CUBIC) : 0;
    p->transform = check_int(c, NNACL_RESIZE_HALF_PIXEL, NNACL_RESIZE_CROP);
    p->nearest_mode = check_int(c, NNACL_RESIZE_PREFER_FLOOR, NNACL_RESIZE_CEIL);
    p->aspect = check_chance(c, 80) ? 0 : check_int(c, 1, 2);
    p->antialias = check_chance(c, 30);
    p->exclude_outside = check_chance(c, 30);
    p->cubic_a = -0.75f;
    p->extrapolation = c->dtype == NNACL_F16 ? 0.0f : c->dtype == NNACL_B8 ? 1.0f : (float)check_int(c, 0, 100);
    if ((c->dtype == NNACL_S8 || c->dtype == NNACL_S16) && p->mode == NNACL_RESIZE_LINEAR && check_chance(c, 50)) {
        static const int32_t transforms[] = {NNACL_RESIZE_HALF_PIXEL, NNACL_RESIZE_ALIGN_CORNERS,
                                             NNACL_RESIZE_ASYMMETRIC};
        p->arithmetic =
            c->dtype == NNACL_S8 ? check_int(c, NNACL_RESIZE_FIXED, NNACL_RESIZE_UNSIGNED) : NNACL_RESIZE_FIXED;
        p->transform = transforms[check_int(c, 0, 2)];
        p->antialias = 0;
        p->stepwise = 1;
    }
    if (c->bench) {
        const int32_t image[] = {1, 32, 32, 32};
        for (int32_t i = 0; i < 4; i++) {
            dims[i] = image[i];
        }
        p->mode = interpolates ? NNACL_RESIZE_LINEAR : NNACL_RESIZE_NEAREST;
        p->antialias = 0;
    }
    int32_t sampled = 0;
    for (int32_t i = 0; i < rank; i++) {
        const bool stays = sampled == 2 || (c->bench ? i == 0 || i == 3 : check_chance(c, 30));
        sampled += !stays;
        p->scale[i] = stays ? 1.0f : c->bench ? 2.0f : (float)check_int(c, 1, 12) / 4.0f;
        p->size[i] = stays || c->bench || check_chance(c, 50) ? -1 : check_int(c, 1, 9);
        p->roi_end[i] = 1.0f;
        if (!stays) {
            p->roi_begin[i] = check_float(c, -0.2f, 0.7f);
            p->roi_end[i] = check_float(c, 0.3f, 1.2f);
        }
    }
    check_input(c, c->dtype, rank, dims);
    c->relative = 1e-5;
}

/* x, regions with `columns` numbers, and where their last four are corners. */
static int32_t draw_regions(check_case *c, int32_t columns) {
    const int32_t dims[4] = {check_int(c, 1, 2), check_dim(c, 9, 32), check_dim(c, 9, 32), check_dim(c, 12, 32)};
    const int32_t count = check_int(c, 0, 5);
    check_input(c, NNACL_F32, 4, dims);
    float *rois = check_input(c, NNACL_F32, 2, (const int32_t[]){count, columns});
    for (int32_t i = 0; i < count * columns; i++) {
        rois[i] = i % columns < columns - 4 ? (float)check_int(c, -1, 2) : check_float(c, -3.0f, 12.0f);
    }
    if (check_chance(c, 10)) {
        check_strew(c, 1);
    }
    return count;
}

static void draw_roi_align(check_case *c) {
    nnacl_roi_align_params *p = (void *)&c->params;
    const int32_t count = draw_regions(c, 4);
    p->out_h = check_int(c, 1, 4);
    p->out_w = check_int(c, 1, 4);
    p->sampling = check_int(c, 0, 2);
    p->spatial_scale = check_chance(c, 50) ? 1.0f : 0.25f;
    p->half_pixel = check_int(c, 0, 1);
    p->maximum = check_int(c, 0, 1);
    int64_t *batch = check_vector(c, NNACL_S64, count);
    for (int32_t i = 0; i < count; i++) {
        batch[i] = check_int(c, -1, 2);
    }
}

static void draw_max_roi_pool(check_case *c) {
    nnacl_max_roi_pool_params *p = (void *)&c->params;
    draw_regions(c, 5);
    p->out_h = check_int(c, 1, 4);
    p->out_w = check_int(c, 1, 4);
    p->spatial_scale = check_chance(c, 50) ? 1.0f : 0.25f;
}

static void draw_grid_sample(check_case *c) {
    nnacl_grid_sample_params *p = (void *)&c->params;
    const int32_t spatial = check_int(c, 2, 3);
    int32_t dims[5] = {check_int(c, 1, 2)}, grid[5] = {dims[0]};
    for (int32_t i = 1; i <= spatial; i++) {
        dims[i] = check_dim(c, 7, 16);
        grid[i] = check_dim(c, 4, 16);
    }
    dims[spatial + 1] = check_dim(c, 12, 32);
    grid[spatial + 1] = spatial;
    p->mode = check_int(c, NNACL_GRID_NEAREST, spatial == 2 ? NNACL_GRID_CUBIC : NNACL_GRID_LINEAR);
    p->padding = check_int(c, NNACL_GRID_ZEROS, NNACL_GRID_REFLECTION);
    p->align_corners = check_int(c, 0, 1);
    check_input(c, NNACL_F32, spatial + 2, dims);
    check_input(c, NNACL_F32, spatial + 2, grid);
    if (check_chance(c, 10)) {
        check_strew(c, 1);
    }
}

static void draw_affine_grid(check_case *c) {
    nnacl_affine_grid_params *p = (void *)&c->params;
    const int32_t spatial = check_int(c, 2, 3), batch = check_int(c, 1, 2);
    check_input(c, NNACL_F32, 3, (const int32_t[]){batch, spatial, spatial + 1});
    p->size[0] = batch;
    p->size[1] = check_int(c, 1, 3);
    for (int32_t i = 0; i < spatial; i++) {
        p->size[2 + i] = check_dim(c, 6, 16);
    }
    p->align_corners = check_int(c, 0, 1);
}

static void draw_deform_conv(check_case *c) {
    nnacl_deform_conv_params *p = (void *)&c->params;
    const int32_t kernel = check_int(c, 1, 3), batch = check_int(c, 1, 2);
    p->groups = check_int(c, 1, 2);
    p->offset_groups = check_int(c, 1, 2);
    p->stride_h = check_int(c, 1, 2);
    p->stride_w = check_int(c, 1, 2);
    p->dilation_h = p->dilation_w = 1;
    p->pad_top = check_int(c, 0, 1);
    p->pad_left = check_int(c, 0, 1);
    const int32_t in_c = 2 * check_dim(c, 6, 16), out_c = p->groups * check_dim(c, 12, 16);
    const int32_t height = kernel + check_int(c, 0, 4), width = kernel + check_int(c, 0, 4);
    const int32_t out_h = (height + p->pad_top - kernel) / p->stride_h + 1;
    const int32_t out_w = (width + p->pad_left - kernel) / p->stride_w + 1;
    const int32_t taps = p->offset_groups * kernel * kernel;
    check_input(c, NNACL_F32, 4, (const int32_t[]){batch, height, width, in_c});
    check_input(c, NNACL_F32, 4, (const int32_t[]){kernel, kernel, in_c / p->groups, out_c});
    check_input(c, NNACL_F32, 4, (const int32_t[]){batch, out_h, out_w, taps * 2});
    if (check_chance(c, 10)) {
        check_strew(c, 2);
    }
    if (check_chance(c, 50)) {
        check_vector(c, NNACL_F32, out_c);
    } else {
        check_absent(c);
    }
    if (check_chance(c, 50)) {
        check_input(c, NNACL_F32, 4, (const int32_t[]){batch, out_h, out_w, taps});
    }
    check_sum_tolerance(c, kernel * kernel * in_c * 4);
}

static void draw_col2im(check_case *c) {
    nnacl_col2im_params *p = (void *)&c->params;
    p->spatial = check_int(c, 1, 3);
    int32_t taps = 1, positions = 1;
    for (int32_t i = 0; i < 3; i++) {
        p->size[i] = p->kernel[i] = p->stride[i] = p->dilation[i] = 1;
        if (i < 3 - p->spatial) {
            continue;
        }
        p->kernel[i] = check_int(c, 1, 3);
        p->stride[i] = check_int(c, 1, 2);
        p->dilation[i] = check_int(c, 1, 2);
        p->pad_before[i] = check_int(c, 0, 1);
        p->pad_after[i] = check_int(c, 0, 1);
        const int32_t reach = (p->kernel[i] - 1) * p->dilation[i] + 1;
        p->size[i] = reach + check_int(c, 0, 4);
        taps *= p->kernel[i];
        positions *= (p->size[i] + p->pad_before[i] + p->pad_after[i] - reach) / p->stride[i] + 1;
    }
    const int32_t batch = check_int(c, 1, 2), channels = check_int(c, 1, 3);
    check_input(c, NNACL_F32, 3, (const int32_t[]){batch, channels * taps, positions});
}

static const check_op ops[] = {
    {"resize", draw_resize},
    {"roi_align", draw_roi_align},
    {"max_roi_pool", draw_max_roi_pool},
    {"grid_sample", draw_grid_sample},
    {"affine_grid", draw_affine_grid},
    {"deform_conv", draw_deform_conv},
    {"col2im", draw_col2im},
    {NULL, NULL},
};

const check_family check_image = {"image", ops};
