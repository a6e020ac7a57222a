#include <string.h>

#include "checkasm.h"
#include "index/index.h"

static int32_t draw_width(check_case *c) {
    return check_chance(c, 50) ? NNACL_S32 : NNACL_S64;
}

/* Adds indices into a dimension, a few of them out of range. */
static void draw_indices(check_case *c, int32_t rank, const int32_t *dims, int32_t size) {
    const int32_t width = draw_width(c);
    void *indices = check_input(c, width, rank, dims);
    const int64_t count = nnacl_element_count(&c->in[c->n_in - 1]);
    for (int64_t i = 0; i < count; i++) {
        const int32_t index = check_int(c, -size - 1, size);
        const bool extreme = check_chance(c, 2);
        if (width == NNACL_S64) {
            ((int64_t *)indices)[i] = extreme ? INT64_MIN : index;
        } else {
            ((int32_t *)indices)[i] = extreme ? INT32_MIN : index;
        }
    }
}

/* Adds one integer that stands for an attribute. */
static void draw_integer(check_case *c, int32_t value) {
    const int32_t width = draw_width(c);
    void *data = check_vector(c, width, 1);
    if (width == NNACL_S64) {
        *(int64_t *)data = value;
    } else {
        *(int32_t *)data = value;
    }
    check_mark_constant(c);
}

static int32_t draw_x(check_case *c, int32_t least_rank, int32_t most, int32_t *dims) {
    const int32_t rank = c->bench ? 3 : check_int(c, least_rank, 4);
    check_shape(c, rank, c->bench ? 30000 : most, dims);
    check_input(c, c->dtype, rank, dims);
    return rank;
}

/* x, and indices that are no larger but along axis. */
static int32_t draw_elements(check_case *c, int32_t *axis, int32_t *dims) {
    const int32_t rank = draw_x(c, 1, 500, dims);
    *axis = check_int(c, 0, rank - 1);
    const int32_t size = dims[*axis];
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = i == *axis ? check_int(c, 1, 9) : check_int(c, 1, dims[i]);
    }
    draw_indices(c, rank, dims, size);
    return rank;
}

static void draw_gather_elements(check_case *c) {
    int32_t dims[NNACL_MAX_RANK];
    draw_elements(c, &((nnacl_gather_elements_params *)(void *)&c->params)->axis, dims);
}

static int32_t draw_reduction(check_case *c) {
    const bool number = c->dtype != NNACL_B8 && c->dtype != NNACL_F16;
    return number && check_chance(c, 60) ? check_int(c, NNACL_SCATTER_ADD, NNACL_SCATTER_MIN) : NNACL_SCATTER_REPLACE;
}

static void draw_scatter_elements(check_case *c) {
    nnacl_scatter_elements_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_elements(c, &p->axis, dims);
    check_input(c, c->dtype, rank, dims);
    p->reduction = draw_reduction(c);
}

/* x and tuples of indices into it; the shape of the slices that they mean goes to dims. Returns its rank. */
static int32_t draw_tuples(check_case *c, int32_t batch_limit, int32_t *batch, int32_t *dims) {
    int32_t x_dims[NNACL_MAX_RANK], shape[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 1, 300, x_dims);
    *batch = check_int(c, 0, batch_limit < rank ? batch_limit : rank - 1);
    const int32_t depth = check_int(c, 1, rank - *batch);
    const int32_t more = check_int(c, 0, 2);
    memcpy(shape, x_dims, (size_t)*batch * sizeof shape[0]);
    for (int32_t i = 0; i < more; i++) {
        shape[*batch + i] = check_int(c, 1, 6);
    }
    shape[*batch + more] = depth;
    draw_indices(c, *batch + more + 1, shape, x_dims[*batch]);
    memcpy(dims, shape, (size_t)(*batch + more) * sizeof dims[0]);
    const int32_t rest = rank - *batch - depth;
    memcpy(dims + *batch + more, x_dims + *batch + depth, (size_t)rest * sizeof dims[0]);
    return *batch + more + rest;
}

static void draw_gather_nd(check_case *c) {
    int32_t dims[2 * NNACL_MAX_RANK];
    draw_tuples(c, 2, &((nnacl_gather_nd_params *)(void *)&c->params)->batch_dims, dims);
}

static void draw_scatter_nd(check_case *c) {
    int32_t dims[2 * NNACL_MAX_RANK];
    int32_t batch;
    const int32_t rank = draw_tuples(c, 0, &batch, dims);
    check_input(c, c->dtype, rank, dims);
    ((nnacl_scatter_nd_params *)(void *)&c->params)->reduction = draw_reduction(c);
}

static void draw_tensor_scatter(check_case *c) {
    nnacl_tensor_scatter_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 2, 300, dims);
    p->axis = check_int(c, 1, rank - 1);
    p->circular = check_int(c, 0, 1);
    const int32_t size = dims[p->axis];
    dims[p->axis] = check_int(c, 1, size);
    check_input(c, c->dtype, rank, dims);
    if (check_chance(c, 70)) {
        draw_indices(c, 1, dims, size);
    }
}

static void draw_update_slice(check_case *c) {
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 0, 300, dims);
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = check_int(c, 1, dims[i]);
    }
    check_input(c, c->dtype, rank, dims);
    draw_indices(c, 1, &rank, 5);
}

static void draw_one_hot(check_case *c) {
    nnacl_one_hot_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = check_int(c, 0, 3);
    check_shape(c, rank, c->bench ? 1000 : 60, dims);
    p->axis = check_int(c, 0, rank);
    p->depth = check_int(c, 0, 12);
    draw_indices(c, rank, dims, p->depth);
    check_vector(c, c->dtype, 2);
    if (check_chance(c, 30)) {
        draw_integer(c, p->depth);
    }
}

static void draw_trilu(check_case *c) {
    nnacl_trilu_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    draw_x(c, 2, 300, dims);
    p->upper = check_int(c, 0, 1);
    p->k = check_chance(c, 3) ? INT32_MAX : check_int(c, -9, 9);
    if (check_chance(c, 30)) {
        draw_integer(c, p->k);
    }
}

static void draw_eye_like(check_case *c) {
    nnacl_eye_like_params *p = (void *)&c->params;
    int32_t dims[2];
    check_shape(c, 2, 300, dims);
    check_input(c, c->dtype, 2, dims);
    p->to = check_int(c, NNACL_F32, NNACL_U64);
    p->k = check_chance(c, 3) ? INT32_MIN : check_int(c, -9, 9);
}

static void draw_reverse_sequence(check_case *c) {
    nnacl_reverse_sequence_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 2, 300, dims);
    p->batch_axis = check_int(c, 0, rank - 1);
    p->time_axis = (p->batch_axis + check_int(c, 1, rank - 1)) % rank;
    draw_indices(c, 1, &dims[p->batch_axis], dims[p->time_axis]);
}

static void draw_center_crop_pad(check_case *c) {
    nnacl_center_crop_pad_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 0, 300, dims);
    for (int32_t i = 0; i < rank; i++) {
        p->size[i] = check_chance(c, 30) ? -1 : check_int(c, check_chance(c, 5) ? 0 : 1, 9);
    }
}

static void draw_top_k(check_case *c) {
    nnacl_top_k_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 1, 500, dims);
    if (c->dtype == NNACL_F32 && check_chance(c, 30)) {
        check_strew(c, 0);
    }
    p->axis = check_int(c, 0, rank - 1);
    p->k = check_int(c, 0, dims[p->axis]);
    p->largest = check_int(c, 0, 1);
    p->to = draw_width(c);
    c->n_out = 2;
    if (check_chance(c, 30)) {
        draw_integer(c, p->k);
    }
}

static void draw_non_zero(check_case *c) {
    int32_t dims[NNACL_MAX_RANK];
    draw_x(c, 0, 300, dims);
    const int64_t bytes = nnacl_element_count(&c->in[0]) * (int64_t)nnacl_dtype_size(c->dtype);
    if (bytes > 0) {
        memset((char *)c->data[0] + bytes / 2, 0, (size_t)(bytes / 3));
    }
    check_mark_constant(c);
}

static void draw_compress(check_case *c) {
    nnacl_compress_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 1, 300, dims);
    p->axis = check_int(c, 0, rank - 1);
    check_vector(c, NNACL_B8, check_int(c, 1, dims[p->axis] + 2));
    check_mark_constant(c);
}

static void draw_unique(check_case *c) {
    nnacl_unique_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_x(c, 1, 60, dims);
    const int64_t bytes = nnacl_element_count(&c->in[0]) * (int64_t)nnacl_dtype_size(c->dtype);
    memset((char *)c->data[0] + bytes / 3, 0, (size_t)(bytes / 2));
    p->axis = check_int(c, 0, rank - 1);
    p->sorted = check_int(c, 0, 1);
    c->n_out = 5;
}

static void draw_non_max_suppression(check_case *c) {
    nnacl_non_max_suppression_params *p = (void *)&c->params;
    const int32_t batch = check_int(c, 1, 2), classes = check_int(c, 1, 3), count = check_dim(c, 30, 500);
    check_input(c, NNACL_F32, 3, (const int32_t[]){batch, count, 4});
    check_input(c, NNACL_F32, 3, (const int32_t[]){batch, classes, count});
    if (check_chance(c, 10)) {
        check_strew(c, check_int(c, 0, 1));
    }
    p->max_output = check_int(c, 0, 12);
    p->iou_threshold = check_float(c, 0.0f, 1.0f);
    p->score_threshold = check_float(c, -4.0f, 2.0f);
    p->center_point_box = check_int(c, 0, 1);
    c->n_out = 2;
    if (check_chance(c, 30)) {
        draw_integer(c, p->max_output);
        check_vector(c, NNACL_F32, 1);
        check_vector(c, NNACL_F32, 1);
    }
}

static const check_op ops[] = {
    {"gather_elements", draw_gather_elements},
    {"gather_nd", draw_gather_nd},
    {"scatter_elements", draw_scatter_elements},
    {"scatter_nd", draw_scatter_nd},
    {"tensor_scatter", draw_tensor_scatter},
    {"update_slice", draw_update_slice},
    {"one_hot", draw_one_hot},
    {"trilu", draw_trilu},
    {"eye_like", draw_eye_like},
    {"reverse_sequence", draw_reverse_sequence},
    {"center_crop_pad", draw_center_crop_pad},
    {"top_k", draw_top_k},
    {"non_zero", draw_non_zero},
    {"compress", draw_compress},
    {"unique", draw_unique},
    {"non_max_suppression", draw_non_max_suppression},
    {NULL, NULL},
};

const check_family check_index = {"index", ops};
