#include <string.h>

#include "checkasm.h"
#include "data/data.h"

static void draw_reshape(check_case *c) {
    nnacl_reshape_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = check_int(c, 0, 5);
    check_shape(c, rank, c->bench ? 100000 : 2000, dims);
    check_input(c, c->dtype, rank, dims);
    p->rank = rank == 0 ? 1 : rank;
    p->shape[0] = 1;
    memcpy(p->shape, dims, (size_t)rank * sizeof dims[0]);
    if (check_chance(c, 50)) {
        p->shape[check_int(c, 0, p->rank - 1)] = -1;
    }
}

static void draw_transpose(check_case *c) {
    nnacl_transpose_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 0, 6);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 60000 : 2000, dims);
    check_input(c, c->dtype, rank, dims);
    for (int32_t i = 0; i < rank; i++) {
        /* The next position of a growing random permutation. */
        const int32_t j = check_int(c, 0, i);
        p->perm[i] = p->perm[j];
        p->perm[j] = i;
    }
}

static void draw_slice(check_case *c) {
    nnacl_slice_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 0, 5);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 60000 : 2000, dims);
    check_input(c, c->dtype, rank, dims);
    for (int32_t i = 0; i < rank; i++) {
        const int32_t size = check_chance(c, 40) ? dims[i] : check_int(c, check_chance(c, 5) ? 0 : 1, dims[i]);
        const int32_t span = dims[i] - 1;
        int32_t step = size > 1 ? check_int(c, 1, span / (size - 1)) : check_int(c, 1, 99);
        const int32_t reach = size > 1 ? (size - 1) * step : 0;
        p->start[i] = check_int(c, 0, span - reach);
        if (check_chance(c, 30)) {
            p->start[i] += reach;
            step = -step;
        }
        p->size[i] = size;
        p->step[i] = step;
    }
}

static void draw_expand(check_case *c) {
    nnacl_expand_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t rank = c->bench ? 4 : check_int(c, 0, 6);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 60000 : 2000, dims);
    p->out_rank = rank;
    memcpy(p->shape, dims, (size_t)rank * sizeof dims[0]);
    int32_t dropped = 0;
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = check_chance(c, 40) ? 1 : dims[i];
    }
    while (dropped < rank && dims[dropped] == 1 && check_chance(c, 50)) {
        dropped++;
    }
    check_input(c, c->dtype, rank - dropped, dims + dropped);
}

static void draw_concat(check_case *c) {
    nnacl_concat_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 1, 5);
    const int32_t count = check_chance(c, 3) ? NNACL_MAX_INPUTS : check_int(c, 1, 6);
    check_shape(c, rank, c->bench || check_chance(c, 5) ? 60000 : 500, dims);
    p->axis = check_int(c, 0, rank - 1);
    for (int32_t i = 0; i < count; i++) {
        dims[p->axis] = check_int(c, 1, 5);
        check_input(c, c->dtype, rank, dims);
    }
}

static void draw_pad(check_case *c) {
    nnacl_pad_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 0, 5);
    check_shape(c, rank, c->bench || check_chance(c, 5) ? 30000 : 500, dims);
    check_input(c, c->dtype, rank, dims);
    p->mode = c->bench ? NNACL_PAD_CONSTANT : check_int(c, NNACL_PAD_CONSTANT, NNACL_PAD_WRAP);
    for (int32_t i = 0; i < rank; i++) {
        const int32_t cut = !c->bench && dims[i] > 1 && check_chance(c, 25) ? check_int(c, 1, dims[i] - 1) : 0;
        const int32_t kept = dims[i] - cut;
        const int32_t most = p->mode == NNACL_PAD_REFLECT ? kept - 1 : p->mode == NNACL_PAD_SYMMETRIC ? kept : 4;
        const bool padded = check_chance(c, 60);
        p->before[i] = padded ? check_int(c, 0, most < 4 ? most : 4) : 0;
        p->after[i] = padded ? check_int(c, 0, most < 4 ? most : 4) : 0;
        if (cut > 0) {
            *(check_chance(c, 50) ? &p->before[i] : &p->after[i]) = -cut;
        }
    }
    if (check_chance(c, 60)) {
        check_vector(c, c->dtype, 1);
    } else if (check_chance(c, 30)) {
        check_absent(c);
    }
}

static void draw_gather(check_case *c) {
    nnacl_gather_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t shape[3];
    const int32_t rank = c->bench ? 3 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench || check_chance(c, 5) ? 60000 : 800, dims);
    check_input(c, c->dtype, rank, dims);
    p->axis = check_int(c, 0, rank - 1);
    const int32_t index_rank = check_int(c, 0, 3);
    check_shape(c, index_rank, 30, shape);
    const bool wide = check_chance(c, 50);
    void *indices = check_input(c, wide ? NNACL_S64 : NNACL_S32, index_rank, shape);
    const int64_t count = nnacl_element_count(&c->in[1]);
    const int32_t dim = dims[p->axis];
    for (int64_t i = 0; i < count; i++) {
        const int32_t index = check_int(c, -dim - 1, dim + 1);
        if (wide) {
            ((int64_t *)indices)[i] = check_chance(c, 2) ? INT64_MIN : index;
        } else {
            ((int32_t *)indices)[i] = check_chance(c, 2) ? INT32_MIN : index;
        }
    }
}

static void draw_cast(check_case *c) {
    nnacl_cast_params *p = (void *)&c->params;
    static const int32_t types[] = {NNACL_F32, NNACL_F16, NNACL_S8,  NNACL_U8,  NNACL_S16, NNACL_S32,
                                    NNACL_S64, NNACL_B8,  NNACL_F64, NNACL_U16, NNACL_U32, NNACL_U64};
    check_vector(c, c->dtype, check_dim(c, check_chance(c, 5) ? 50000 : 200, 20000));
    p->to = types[check_int(c, 0, (int32_t)(sizeof types / sizeof types[0]) - 1)];
    if (!c->moves && check_chance(c, 60)) { /* what the rows of one type are for */
        p->to = c->dtype == NNACL_F16 ? NNACL_F32 : NNACL_F16;
    }
    if (c->dtype == NNACL_F32) {
        check_strew(c, 0);
    }
}

static void draw_bitcast(check_case *c) {
    nnacl_bitcast_params *p = (void *)&c->params;
    static const int32_t types[] = {NNACL_S8, NNACL_U16, NNACL_S32, NNACL_U64};
    check_vector(c, c->dtype, check_dim(c, 200, 20000));
    p->to = c->dtype;
    for (size_t i = 0; i < sizeof types / sizeof types[0] && check_chance(c, 90); i++) {
        p->to = nnacl_dtype_size(types[i]) == nnacl_dtype_size(c->dtype) ? types[i] : p->to;
    }
}

/* Adds a constant input of integers, as sizes and axes arrive. */
static void list_input(check_case *c, const int32_t *items, int32_t count) {
    const bool wide = check_chance(c, 50);
    void *data = check_vector(c, wide ? NNACL_S64 : NNACL_S32, count);
    for (int32_t i = 0; i < count; i++) {
        if (wide) {
            ((int64_t *)data)[i] = items[i];
        } else {
            ((int32_t *)data)[i] = items[i];
        }
    }
    check_mark_constant(c);
}

/* A random set of some of `rank` axes as a mask; `list` gets them, some counted from the end. */
static int32_t draw_axes(check_case *c, int32_t rank, int32_t *list, int32_t *count) {
    int32_t mask = 0;
    *count = 0;
    for (int32_t i = 0; i < rank; i++) {
        if (check_chance(c, 40)) {
            mask |= 1 << i;
            list[(*count)++] = check_chance(c, 50) ? i : i - rank;
        }
    }
    return mask;
}

static void draw_squeeze(check_case *c) {
    nnacl_squeeze_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t axes[NNACL_MAX_RANK];
    int32_t count;
    const int32_t rank = check_int(c, 0, 6);
    check_shape(c, rank, c->bench ? 100000 : 2000, dims);
    const int32_t mask = draw_axes(c, rank, axes, &count);
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = mask >> i & 1 ? 1 : dims[i];
    }
    check_input(c, c->dtype, rank, dims);
    if (check_chance(c, 30)) {
        list_input(c, axes, count);
    } else {
        p->axes = mask;
    }
}

static void draw_unsqueeze(check_case *c) {
    nnacl_unsqueeze_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t axes[NNACL_MAX_RANK];
    int32_t count;
    const int32_t rank = check_int(c, 0, NNACL_MAX_RANK);
    const int32_t mask = draw_axes(c, rank, axes, &count);
    check_shape(c, rank - count, c->bench ? 100000 : 2000, dims);
    check_input(c, c->dtype, rank - count, dims);
    if (check_chance(c, 30)) {
        list_input(c, axes, count);
    } else {
        p->axes = mask;
    }
}

static void draw_tile(check_case *c) {
    nnacl_tile_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t repeats[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 0, 5);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 30000 : 500, dims);
    check_input(c, c->dtype, rank, dims);
    for (int32_t i = 0; i < rank; i++) {
        repeats[i] = check_chance(c, 50) ? 1 : check_int(c, check_chance(c, 5) ? 0 : 1, 3);
    }
    if (check_chance(c, 30)) {
        list_input(c, repeats, rank);
    } else {
        memcpy(p->repeats, repeats, (size_t)rank * sizeof repeats[0]);
    }
}

static void draw_split(check_case *c) {
    nnacl_split_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    int32_t sizes[CHECK_MAX_OUTPUTS];
    const int32_t rank = c->bench ? 4 : check_int(c, 1, 5);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 60000 : 800, dims);
    p->axis = check_int(c, 0, rank - 1);
    c->n_out = check_int(c, 1, CHECK_MAX_OUTPUTS);
    const bool equal = check_chance(c, 40);
    int32_t sum = 0;
    for (int32_t i = 0; i < c->n_out; i++) {
        sizes[i] = check_int(c, 0, 4);
        sum += sizes[i];
    }
    dims[p->axis] = equal ? dims[p->axis] : sum;
    check_input(c, c->dtype, rank, dims);
    p->n_sizes = c->n_out;
    if (!equal && check_chance(c, 30)) {
        list_input(c, sizes, c->n_out);
    }
    for (int32_t i = 0; i < c->n_out; i++) {
        p->sizes[i] = equal ? -1 : sizes[i];
    }
}

static int32_t draw_width(check_case *c) {
    return check_chance(c, 50) ? NNACL_S64 : NNACL_S32;
}

static void draw_shape(check_case *c) {
    nnacl_shape_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = check_int(c, 0, 6);
    check_shape(c, rank, 500, dims);
    check_input(c, c->dtype, rank, dims);
    p->start = check_int(c, -8, 8);
    p->end = check_int(c, -8, 8);
    p->to = draw_width(c);
}

static void draw_size(check_case *c) {
    nnacl_size_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = check_int(c, 0, 6);
    check_shape(c, rank, 500, dims);
    check_input(c, c->dtype, rank, dims);
    p->to = draw_width(c);
}

static void draw_range(check_case *c) {
    const int32_t start = check_int(c, -100, 100);
    const int32_t limit = check_int(c, -100, c->bench ? 30000 : 300);
    int32_t delta = check_int(c, -5, 5);
    delta = delta == 0 ? 1 : delta;
    const int32_t items[] = {start, limit, delta};
    for (int32_t i = 0; i < 3; i++) {
        void *data = check_input(c, c->dtype, 0, NULL);
        if (c->dtype == NNACL_F32) {
            *(float *)data = (float)items[i] * 0.25f;
        } else if (c->dtype == NNACL_S32) {
            *(int32_t *)data = items[i];
        } else {
            *(int64_t *)data = items[i];
        }
        check_mark_constant(c);
    }
}

static const check_op ops[] = {
    {"reshape", draw_reshape},
    {"transpose", draw_transpose},
    {"slice", draw_slice},
    {"expand", draw_expand},
    {"concat", draw_concat},
    {"pad", draw_pad},
    {"gather", draw_gather},
    {"cast", draw_cast},
    {"squeeze", draw_squeeze},
    {"unsqueeze", draw_unsqueeze},
    {"tile", draw_tile},
    {"split", draw_split},
    {"shape", draw_shape},
    {"size", draw_size},
    {"range", draw_range},
    {"bitcast", draw_bitcast},
    {NULL, NULL},
};

const check_family check_data = {"data", ops};
