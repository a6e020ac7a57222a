/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/ordered.h"

#include "common/plan_check.h"
#include "common/shape.h"
#include "nnacl_kernels.h"

/* The largest window whose columns are summed first, and the widest input for that, padding included. */
#define LARGEST_POOL 32
#define WIDEST_POOL 2045
#define PLAIN_BLOCK 128
#define PACKED_BLOCK 256

/* Products in a block of a matrix product with so many columns and products. */
static int32_t block_of(int32_t columns, int32_t depth) {
    if (columns >= depth || columns > 64) {
        return PLAIN_BLOCK;
    }
    return columns > 32 ? 256 : columns > 16 ? 512 : 1024;
}

/* The order of a matrix product that is not packed. */
static int32_t order_of(int32_t rows, int32_t columns, bool transposed) {
    if (rows == 1) {
        return transposed ? NNACL_ORDER_EIGHTS : NNACL_ORDER_FOURS;
    }
    return columns == 1 && !transposed ? NNACL_ORDER_EIGHTS : NNACL_ORDER_BLOCKS;
}

/* A convolution is a product of [channels of a group, depth] and [depth, positions]: of the input as it lies where that
 * is such a matrix, transposed where one channel is read in whole rows; else of the windows copied out. */
static void choose_conv_order(nnacl_conv2d_ordered_params *p) {
    const int32_t rows = p->out_c / p->groups, columns = p->out_h * p->out_w;
    const int32_t depth = p->in_c / p->groups;
    const bool dense = p->stride_h == 1 && p->stride_w == 1 && p->pad_top == 0 && p->pad_left == 0 &&
                       p->pad_bottom == 0 && p->pad_right == 0 && p->dilation_h == 1 && p->dilation_w == 1;
    const bool transposed = dense && depth == 1 && p->kernel_w == p->in_w && p->kernel_h * p->kernel_w > 1;
    p->order = order_of(rows, columns, transposed);
    p->by_position = rows == 1;
    p->block = block_of(columns, depth * p->kernel_h * p->kernel_w);
}

static const char *conv2d_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_conv2d_ordered_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 4) && nnacl_plan_is(&in[1], NNACL_F32, 4),
                  "x and weights must be f32 with four dimensions");
    p->batch = in[0].dims[0];
    p->in_h = in[0].dims[1];
    p->in_w = in[0].dims[2];
    p->in_c = in[0].dims[3];
    p->kernel_h = in[1].dims[1];
    p->kernel_w = in[1].dims[2];
    p->out_c = in[1].dims[3];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE(p->groups >= 1 && p->in_c % p->groups == 0 && p->out_c % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(in[1].dims[0] == p->in_c / p->groups,
                  "weights must be [input channels / groups, height, width, output channels]");
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->out_c), "bias must be f32 [output channels]");
    p->has_bias = bias != NULL;
    NNACL_REQUIRE_WINDOWS(p);
    NNACL_REQUIRE((int64_t)p->out_h * p->out_w <= INT32_MAX, "y would have too many elements");
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    choose_conv_order(p);
    return nnacl_shape_set(&out[0], NNACL_F32, 4, dims);
}

static size_t conv2d_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_ordered_params *p = params;
    (void)kernel;
    return (size_t)(p->in_c / p->groups) * (size_t)p->kernel_h * (size_t)p->kernel_w * sizeof(float);
}

static int32_t conv2d_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_ordered_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

static int64_t conv2d_macs(const void *params) {
    const nnacl_conv2d_ordered_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * (p->in_c / p->groups) * p->kernel_h * p->kernel_w;
}

const nnacl_op nnacl_conv2d_ordered_op = {
    .name = "conv2d_ordered",
    .params_name = "nnacl_conv2d_ordered_params",
    .header = "ordered/ordered.h",
    .params_size = sizeof(nnacl_conv2d_ordered_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv2d_resize,
    .workspace = conv2d_workspace,
    .parts = conv2d_parts,
    .macs = conv2d_macs,
};

static const char *matmul_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_matmul_ordered_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2);
    const nnacl_tensor *a = &in[0], *b = &in[1];
    const int32_t last = a->rank - 1;
    NNACL_REQUIRE(a->dtype == NNACL_F32 && b->dtype == NNACL_F32 && last >= 1 && (b->rank == 2 || b->rank == a->rank),
                  "a and b must be f32 matrices; b two-dimensional, or with the dimensions of a");
    p->depth = a->dims[last];
    p->columns = b->dims[b->rank - 1];
    NNACL_REQUIRE(p->depth >= 1 && b->dims[b->rank - 2] == p->depth, "columns of a and rows of b differ, or are empty");
    p->batch = p->rows = 1;
    for (int32_t i = 0; i < last && nnacl_plan_count(a) > 0; i++) {
        const bool is_row = b->rank == 2 || i == last - 1;
        NNACL_REQUIRE(is_row || a->dims[i] == b->dims[i], "a and b differ in the dimensions before the matrices");
        p->batch *= is_row ? 1 : a->dims[i];
        p->rows *= is_row ? a->dims[i] : 1;
    }
    if (nnacl_plan_count(a) == 0) {
        p->rows = 0;
    }
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->columns), "bias must be f32 [columns]");
    const int32_t forms = p->transposed | p->packed | p->vector | p->a_transposed;
    NNACL_REQUIRE(forms >> 1 == 0 && p->transposed + p->packed + p->vector + p->a_transposed == forms,
                  "one of transposed, packed, vector and a_transposed may be 1, the others must be 0");
    p->has_bias = bias != NULL;
    p->order = order_of(p->rows, p->columns, p->transposed != 0);
    p->block = block_of(p->columns, p->depth);
    if (p->vector || (p->a_transposed && p->columns == 1 && p->rows > 1)) {
        p->order = NNACL_ORDER_FOURS;
    } else if (p->packed || p->a_transposed) {
        p->order = NNACL_ORDER_BLOCKS;
        p->block = p->packed ? PACKED_BLOCK : PLAIN_BLOCK;
    }
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i <= last; i++) {
        dims[i] = i < last ? a->dims[i] : p->columns;
    }
    return nnacl_shape_set(&out[0], NNACL_F32, a->rank, dims);
}

static int32_t matmul_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_matmul_ordered_params *p = params;
    (void)kernel;
    return p->batch * p->rows > 0 ? p->batch * p->rows : 1;
}

static int64_t matmul_macs(const void *params) {
    const nnacl_matmul_ordered_params *p = params;
    return (int64_t)p->batch * p->rows * p->columns * p->depth;
}

const nnacl_op nnacl_matmul_ordered_op = {
    .name = "matmul_ordered",
    .params_name = "nnacl_matmul_ordered_params",
    .header = "ordered/ordered.h",
    .params_size = sizeof(nnacl_matmul_ordered_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = matmul_resize,
    .parts = matmul_parts,
    .macs = matmul_macs,
};

static const char *mean_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_mean_ordered_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && p->trailing >= 1 && p->trailing <= x->rank,
                  "x must be f32, and trailing some of its dimensions");
    NNACL_REQUIRE((p->style | p->sum | p->keep_dims) >> 1 == 0, "style, sum and keep_dims must be 0 or 1");
    const int32_t kept = x->rank - p->trailing;
    int32_t dims[NNACL_MAX_RANK];
    p->rows = p->count = 1;
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(i < kept || x->dims[i] >= 1, "there is nothing to sum");
        dims[i] = i < kept ? x->dims[i] : 1;
        p->count *= i < kept ? 1 : x->dims[i];
        p->rows *= nnacl_element_count(x) == 0 ? 0 : dims[i];
    }
    return nnacl_shape_set(&out[0], NNACL_F32, p->keep_dims ? x->rank : kept, dims);
}

static int32_t mean_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_mean_ordered_params *p = params;
    (void)kernel;
    return p->rows > 0 ? p->rows : 1;
}

const nnacl_op nnacl_mean_ordered_op = {
    .name = "mean_ordered",
    .params_name = "nnacl_mean_ordered_params",
    .header = "ordered/ordered.h",
    .params_size = sizeof(nnacl_mean_ordered_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = mean_resize,
    .parts = mean_parts,
};

static const char *pool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_avg_pool2d_ordered_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 4), "x must be f32 [batch, height, width, channels]");
    p->batch = in[0].dims[0];
    p->in_h = in[0].dims[1];
    p->in_w = in[0].dims[2];
    p->channels = in[0].dims[3];
    message = nnacl_plan_window(p->in_h, p->pad_top, p->pad_bottom, p->kernel_h, p->stride_h, 1, &p->out_h);
    NNACL_REQUIRE(!message, message);
    message = nnacl_plan_window(p->in_w, p->pad_left, p->pad_right, p->kernel_w, p->stride_w, 1, &p->out_w);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->pad_top < p->kernel_h && p->pad_bottom < p->kernel_h && p->pad_left < p->kernel_w &&
                      p->pad_right < p->kernel_w,
                  "a window lies in the padding as a whole");
    NNACL_REQUIRE((int64_t)p->kernel_h * p->kernel_w <= INT32_MAX, "the kernel is too large");
    NNACL_REQUIRE(p->count_include_pad >> 1 == 0, "count_include_pad must be 0 or 1");
    NNACL_REQUIRE(p->style >> 1 == 0, "style must be 0 or 1");
    p->by_columns = !p->style && p->stride_w <= 2 && p->kernel_h <= LARGEST_POOL && p->kernel_w <= LARGEST_POOL &&
                    (int64_t)p->in_w + p->pad_left + p->pad_right <= WIDEST_POOL;
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->channels};
    return nnacl_shape_set(&out[0], NNACL_F32, 4, dims);
}

static int32_t pool_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_avg_pool2d_ordered_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

const nnacl_op nnacl_avg_pool2d_ordered_op = {
    .name = "avg_pool2d_ordered",
    .params_name = "nnacl_avg_pool2d_ordered_params",
    .header = "ordered/ordered.h",
    .params_size = sizeof(nnacl_avg_pool2d_ordered_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = pool_resize,
    .parts = pool_parts,
};

static const char *function_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_function_ordered_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "x must be f32");
    p->count = (int32_t)nnacl_element_count(&in[0]);
    return nnacl_shape_set(&out[0], NNACL_F32, in[0].rank, in[0].dims);
}

static int32_t function_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_function_ordered_params *p = params;
    (void)kernel;
    return nnacl_shape_parts(p->count, 4096);
}

#define FUNCTION(op)                                                                                                   \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_function_ordered_params",                                                                \
        .header = "ordered/ordered.h",                                                                                 \
        .params_size = sizeof(nnacl_function_ordered_params),                                                          \
        .alias = NNACL_ALIAS_IN_PLACE,                                                                                 \
        .resize = function_resize,                                                                                     \
        .parts = function_parts,                                                                                       \
    };

FUNCTION(sigmoid_ordered)
FUNCTION(tanh_ordered)
