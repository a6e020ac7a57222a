/* SPDX-License-Identifier: Apache-2.0 */
#include "acme/acme.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "nnacl_kernels.h"

static const char *snake_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    acme_snake_params *p = params;
    NNACL_REQUIRE(n_in == 2 && n_out == 1, "snake has two inputs and one output");
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32, "x must be f32");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is no dimension of x");
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[1], NNACL_F32, x->dims[p->axis]), "alpha must be f32, one for each channel");
    NNACL_REQUIRE(nnacl_plan_output(&out[0], NNACL_F32, x->rank, x->dims), "x has too many elements");
    p->channels = x->dims[p->axis];
    p->outer = p->inner = nnacl_plan_count(x) > 0 ? 1 : 0;
    for (int32_t i = 0; i < x->rank && p->outer > 0; i++) {
        p->outer *= i < p->axis ? x->dims[i] : 1;
        p->inner *= i > p->axis ? x->dims[i] : 1;
    }
    return NULL;
}

const nnacl_op acme_snake_op = {
    .name = "acme.snake",
    .params_name = "acme_snake_params",
    .header = "acme/acme.h",
    .params_size = sizeof(acme_snake_params),
    .alias = NNACL_ALIAS_IN_PLACE,
    .resize = snake_resize,
};
