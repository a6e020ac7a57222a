/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "nnacl_kernels.h"
#include "rnn/rnn.h"

static const char *svdf_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_svdf_params *p = params;
    NNACL_REQUIRE(n_in == 5 && n_out == 2, "expected x, two weights, bias and state, and two outputs");
    const nnacl_tensor *x = &in[0], *features = &in[1], *times = &in[2], *bias = nnacl_plan_input(in, n_in, 3);
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_S8, 2) && nnacl_plan_count(x) >= 0, "x must be s8 [batch, size]");
    p->batch = x->dims[0];
    p->size = x->dims[1];
    NNACL_REQUIRE(nnacl_plan_is(features, NNACL_S8, 2) && features->dims[1] == p->size,
                  "the weights of features must be s8 [filters, size]");
    p->filters = features->dims[0];
    NNACL_REQUIRE(nnacl_plan_is(times, NNACL_S16, 2) && times->dims[0] == p->filters && times->dims[1] >= 1,
                  "the weights of time must be s16 [filters, memory]");
    p->memory = times->dims[1];
    NNACL_REQUIRE(p->rank >= 1 && p->filters >= 1 && p->filters % p->rank == 0, "rank must divide the filters");
    p->units = p->filters / p->rank;
    NNACL_REQUIRE(nnacl_plan_count(features) >= 0 && nnacl_plan_count(times) >= 0,
                  "the weights have too many elements");
    const int32_t state[2] = {p->batch, (int32_t)nnacl_plan_count(times)}, y[2] = {p->batch, p->units};
    NNACL_REQUIRE(nnacl_plan_is(&in[4], NNACL_S16, 2) && in[4].dims[0] == state[0] && in[4].dims[1] == state[1],
                  "the state must be s16 [batch, filters * memory]");
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_S32, p->units), "bias must be s32 [units]");
    p->has_bias = bias != NULL;
    NNACL_REQUIRE(nnacl_plan_output(&out[0], NNACL_S8, 2, y) && nnacl_plan_output(&out[1], NNACL_S16, 2, state),
                  "y or the state would have too many elements");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, NNACL_S8) && nnacl_plan_zero_ok(p->y_zero, NNACL_S8),
                  "a zero point is outside -128 .. 127");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, NNACL_S8),
                  "q_min .. q_max is not a range within -128 .. 127");
    NNACL_REQUIRE(nnacl_plan_requant_ok(p->state_mult, p->state_shift) && nnacl_plan_requant_ok(p->y_mult, p->y_shift),
                  "a multiplier is negative or its shift outside -62 .. 30");
    return NULL;
}

/* For the DSP extension x in 16 bits. */
static size_t svdf_workspace(const void *params, const nnacl_kernel *kernel) {
    return kernel->isa == NNACL_ISA_DSP ? 2 * (size_t)((const nnacl_svdf_params *)params)->size : 0;
}

static int32_t svdf_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_svdf_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->units : 1;
}

static int64_t svdf_macs(const void *params) {
    const nnacl_svdf_params *p = params;
    return (int64_t)p->batch * p->filters * ((int64_t)p->size + p->memory);
}

const nnacl_op nnacl_svdf_op = {
    .name = "svdf",
    .params_name = "nnacl_svdf_params",
    .header = "rnn/rnn.h",
    .params_size = sizeof(nnacl_svdf_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = svdf_resize,
    .workspace = svdf_workspace,
    .parts = svdf_parts,
    .macs = svdf_macs,
};
