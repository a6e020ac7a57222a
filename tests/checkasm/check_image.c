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

static const check_op ops[] = {{"resize", draw_resize}, {NULL, NULL}};

const check_family check_image = {"image", ops};
