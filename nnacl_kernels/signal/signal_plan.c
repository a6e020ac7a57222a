/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "signal/signal.h"

#define LEAST_PRODUCTS_PER_PART 65536
/* So that a table of angles stays below 2^31 bytes. */
#define MOST_POINTS (1 << 26)

/* Lets an input of one number replace an attribute. */
static const char *read_number(const nnacl_tensor *in, int32_t n_in, int32_t index, int32_t *attribute) {
    int64_t value;
    int32_t given;
    const char *message = nnacl_data_input(in, n_in, index, 1, &value, &given);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(given != 0, "the length or axis is not one number");
    if (given > 0) {
        NNACL_REQUIRE(value >= -NNACL_MAX_RANK && value <= MOST_POINTS, "the length or axis is out of range");
        *attribute = (int32_t)value;
    }
    return NULL;
}

static const char *dft_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_dft_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32, "x must be f32");
    NNACL_REQUIRE(x->rank >= 2 && (x->dims[x->rank - 1] == 1 || x->dims[x->rank - 1] == 2),
                  "x must be [..., n, ..., 1 or 2]");
    message = read_number(in, n_in, 1, &p->length);
    NNACL_REQUIRE(!message, message);
    message = read_number(in, n_in, 2, &p->axis);
    NNACL_REQUIRE(!message, message);
    p->axis = p->axis < 0 ? p->axis + x->rank : p->axis;
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank - 1, "axis is not a dimension of x before the last");
    NNACL_REQUIRE((p->inverse == 0 || p->inverse == 1) && (p->onesided == 0 || p->onesided == 1),
                  "inverse and onesided must be 0 or 1");
    NNACL_REQUIRE(p->length >= 0, "the length is negative");
    const bool to_real = p->inverse && p->onesided;
    p->in_length = x->dims[p->axis];
    NNACL_REQUIRE(p->in_length >= 1 && p->in_length <= MOST_POINTS,
                  "the dimension that is transformed is 0 or too large");
    p->components = x->dims[x->rank - 1];
    p->points = p->length > 0 ? p->length : to_real ? 2 * (p->in_length - 1) : p->in_length;
    NNACL_REQUIRE(p->points >= 1 && p->points <= MOST_POINTS, "the length is 0 or too large");
    const int32_t half = p->points / 2 + 1;
    const int32_t most = to_real ? half : p->points;
    p->used = p->in_length < most ? p->in_length : most;
    p->bins = p->onesided && !to_real ? half : p->points;
    int32_t dims[NNACL_MAX_RANK];
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->inner = nnacl_shape_product(x, p->axis + 1, x->rank - 1);
    for (int32_t i = 0; i < x->rank; i++) {
        dims[i] = i == p->axis ? p->bins : i == x->rank - 1 ? (to_real ? 1 : 2) : x->dims[i];
    }
    return nnacl_shape_set(&out[0], NNACL_F32, x->rank, dims);
}

static size_t dft_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return (size_t)((const nnacl_dft_params *)params)->points * 2 * sizeof(double);
}

static int32_t dft_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dft_params *p = params;
    (void)kernel;
    const int64_t outputs = (int64_t)p->outer * p->bins * p->inner;
    const int32_t parts = nnacl_shape_parts(outputs * p->used, LEAST_PRODUCTS_PER_PART);
    return outputs < 1 ? 1 : parts < outputs ? parts : (int32_t)outputs;
}

static int64_t dft_macs(const void *params) {
    const nnacl_dft_params *p = params;
    return (int64_t)p->outer * p->bins * p->inner * p->used * p->components * 2;
}

const nnacl_op nnacl_dft_op = {
    .name = "dft",
    .params_name = "nnacl_dft_params",
    .header = "signal/signal.h",
    .params_size = sizeof(nnacl_dft_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = dft_resize,
    .workspace = dft_workspace,
    .parts = dft_parts,
    .macs = dft_macs,
    .data_inputs = 1u << 1 | 1u << 2,
};
