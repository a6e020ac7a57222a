/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "cumulative/cumulative.h"

#define LEAST_ELEMENTS_PER_PART 16384

static const char *cumulative_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_cumulative_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32 || x->dtype == NNACL_S32 || x->dtype == NNACL_S64 || x->dtype == NNACL_U32 ||
                      x->dtype == NNACL_U64,
                  "x must be f32, s32, s64, u32 or u64");
    int64_t axis;
    int32_t given;
    message = nnacl_data_input(in, n_in, 1, 1, &axis, &given);
    NNACL_REQUIRE(!message, message);
    if (given >= 0) {
        NNACL_REQUIRE(given == 1 && axis >= -x->rank && axis < x->rank, "axis is not a dimension of x");
        p->axis = (int32_t)(axis < 0 ? axis + x->rank : axis);
    }
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of x");
    NNACL_REQUIRE((p->exclusive == 0 || p->exclusive == 1) && (p->reverse == 0 || p->reverse == 1),
                  "exclusive and reverse must be 0 or 1");
    message = nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
    NNACL_REQUIRE(!message, message);
    const bool empty = nnacl_element_count(x) == 0;
    p->depth = empty ? 0 : x->dims[p->axis];
    p->outer = empty ? 1 : nnacl_shape_product(x, 0, p->axis);
    p->inner = empty ? 1 : nnacl_shape_product(x, p->axis + 1, x->rank);
    return NULL;
}

static int32_t cumulative_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_cumulative_params *p = params;
    (void)kernel;
    const int32_t rows = p->outer * p->inner;
    const int32_t parts = nnacl_shape_parts((int64_t)rows * p->depth, LEAST_ELEMENTS_PER_PART);
    return parts < rows ? parts : rows;
}

#define OP(op)                                                                                                         \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_cumulative_params",                                                                      \
        .header = "cumulative/cumulative.h",                                                                           \
        .params_size = sizeof(nnacl_cumulative_params),                                                                \
        .alias = NNACL_ALIAS_NONE,                                                                                     \
        .resize = cumulative_resize,                                                                                   \
        .parts = cumulative_parts,                                                                                     \
        .data_inputs = 1u << 1,                                                                                        \
    };

OP(cumsum)
OP(cumprod)
