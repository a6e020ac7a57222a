/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "common/rows_s16_pack.h"
#include "common/shape.h"
#include "rnn/rnn.h"

#define LEAST_MACS_PER_PART 16384

static bool has_shape(const nnacl_tensor *tensor, int32_t dtype, int32_t rank, const int32_t *dims) {
    if (!nnacl_plan_is(tensor, dtype, rank)) {
        return false;
    }
    for (int32_t i = 0; i < rank; i++) {
        if (tensor->dims[i] != dims[i]) {
            return false;
        }
    }
    return true;
}

static const char *check_attributes(const nnacl_fixed_rnn_params *p, int32_t dtype) {
    NNACL_REQUIRE((p->layout == 0 || p->layout == 1) && (p->reverse == 0 || p->reverse == 1) &&
                      (p->linear_before_reset == 0 || p->linear_before_reset == 1),
                  "layout, reverse and linear_before_reset must be 0 or 1");
    NNACL_REQUIRE(nnacl_plan_requant_ok(p->y_mult, p->y_shift), "y_mult is negative or y_shift outside -62 .. 30");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->y_zero, dtype), "y_zero is outside the range of y");
    NNACL_REQUIRE(p->cell_exponent >= -15 && p->cell_exponent <= -9, "cell_exponent is outside -15 .. -9");
    NNACL_REQUIRE(p->cell_clip >= 0 && p->cell_clip <= INT16_MAX, "cell_clip is outside 0 .. 32767");
    return NULL;
}

static const char *resize(nnacl_fixed_rnn_params *p, const nnacl_tensor *in, int32_t n_in, int32_t gates,
                          nnacl_tensor *out, int32_t n_out) {
    const bool is_lstm = gates == 4;
    const char *message = nnacl_shape_check(in, n_in, 5, is_lstm ? 7 : 6, 1);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(n_out == (is_lstm ? 3 : 2), "the outputs are y and the states");
    const nnacl_tensor *x = &in[0], *r = &in[2];
    NNACL_REQUIRE((x->dtype == NNACL_S8 || x->dtype == NNACL_S16) && x->rank == 3,
                  "x must be s8 or s16 [steps, batch, size]");
    message = check_attributes(p, x->dtype);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is(r, NNACL_S8, 2), "r must be s8 [gates * hidden, hidden]");
    p->steps = x->dims[p->layout];
    p->batch = x->dims[1 - p->layout];
    p->size = x->dims[2];
    p->hidden = r->dims[1];
    NNACL_REQUIRE(p->size >= 1 && p->hidden >= 1 && p->hidden <= INT32_MAX / 64,
                  "a step or the state has no elements, or too many");
    const int32_t rows = gates * p->hidden, w[2] = {rows, p->size}, recurrent[2] = {rows, p->hidden};
    const int32_t sums[2] = {3, rows}, factors[2] = {4, rows};
    NNACL_REQUIRE(has_shape(&in[1], NNACL_S8, 2, w) && has_shape(r, NNACL_S8, 2, recurrent),
                  "w must be s8 [gates * hidden, size] and r s8 [gates * hidden, hidden]");
    NNACL_REQUIRE(has_shape(&in[3], NNACL_S32, 2, sums) && has_shape(&in[4], NNACL_S32, 2, factors),
                  "the sums must be s32 [3, gates * hidden] and the factors s32 [4, gates * hidden]");
    const nnacl_tensor *h = nnacl_plan_input(in, n_in, 5), *c = nnacl_plan_input(in, n_in, 6);
    const int32_t state[2][3] = {{1, p->batch, p->hidden}, {p->batch, 1, p->hidden}};
    NNACL_REQUIRE((!h || has_shape(h, NNACL_S16, 3, state[p->layout])) &&
                      (!c || has_shape(c, NNACL_S16, 3, state[p->layout])),
                  "an initial state must be s16 [1, batch, hidden]");
    p->has_h = h != NULL;
    p->has_c = c != NULL;
    const int32_t y[2][4] = {{p->steps, 1, p->batch, p->hidden}, {p->batch, p->steps, 1, p->hidden}};
    message = nnacl_shape_set(&out[0], x->dtype, 4, y[p->layout]);
    for (int32_t i = 1; !message && i < n_out; i++) {
        message = nnacl_shape_set(&out[i], NNACL_S16, 3, state[p->layout]);
    }
    return message;
}

static const char *fixed_gru_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    return resize(params, in, n_in, 3, out, n_out);
}

static const char *fixed_lstm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    return resize(params, in, n_in, 4, out, n_out);
}

/* For each row of a step w x in 32 bits, and the gate in 16 (fixed_rnn.h). Behind them the DSP extension copies x or h
 * where they are of bytes or may begin within a word. */
static size_t workspace(const nnacl_fixed_rnn_params *p, const nnacl_kernel *kernel, size_t gates) {
    const size_t size = (size_t)p->size, hidden = (size_t)p->hidden, rows = gates * hidden;
    size_t copy = 0;
    if (kernel->isa == NNACL_ISA_DSP) {
        const size_t x = kernel->dtype == NNACL_S8 || size % 2 ? size : 0, h = hidden % 2 ? hidden : 0;
        copy = x > h ? x : h;
    }
    return (rows + 3) / 4 * 4 * sizeof(int32_t) + ((rows + 1) / 2 * 2 + copy) * sizeof(int16_t);
}

static size_t fixed_gru_workspace(const void *params, const nnacl_kernel *kernel) {
    return workspace(params, kernel, 3);
}

static size_t fixed_lstm_workspace(const void *params, const nnacl_kernel *kernel) {
    return workspace(params, kernel, 4);
}

static size_t packed_size(const nnacl_fixed_rnn_params *p, const nnacl_kernel *kernel, int32_t index, int32_t gates) {
    if (kernel->isa != NNACL_ISA_DSP || (index != 1 && index != 2)) {
        return 0;
    }
    return nnacl_rows_s16_size(gates * p->hidden, index == 1 ? p->size : p->hidden);
}

static void pack(const nnacl_fixed_rnn_params *p, int32_t index, const void *const in[], void *packed, int32_t gates) {
    nnacl_pack_rows_s16(in[index], gates * p->hidden, index == 1 ? p->size : p->hidden, packed);
}

static size_t fixed_gru_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    return packed_size(params, kernel, index, 3);
}

static size_t fixed_lstm_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    return packed_size(params, kernel, index, 4);
}

static void fixed_gru_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                           void *packed) {
    (void)kernel;
    pack(params, index, in, packed, 3);
}

static void fixed_lstm_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                            void *packed) {
    (void)kernel;
    pack(params, index, in, packed, 4);
}

static int64_t macs(const void *params, int32_t gates) {
    const nnacl_fixed_rnn_params *p = params;
    return (int64_t)p->batch * p->steps * gates * p->hidden * ((int64_t)p->size + p->hidden);
}

static int64_t fixed_gru_macs(const void *params) {
    return macs(params, 3);
}

static int64_t fixed_lstm_macs(const void *params) {
    return macs(params, 4);
}

static int32_t parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_fixed_rnn_params *p = params;
    (void)kernel;
    const int32_t most = nnacl_shape_parts(macs(params, 1), LEAST_MACS_PER_PART);
    return p->batch < 1 ? 1 : most < p->batch ? most : p->batch;
}

#define OP(op)                                                                                                         \
    const nnacl_op nnacl_##op##_op = {.name = #op,                                                                     \
                                      .params_name = "nnacl_fixed_rnn_params",                                         \
                                      .header = "rnn/rnn.h",                                                           \
                                      .params_size = sizeof(nnacl_fixed_rnn_params),                                   \
                                      .alias = NNACL_ALIAS_NONE,                                                       \
                                      .resize = op##_resize,                                                           \
                                      .workspace = op##_workspace,                                                     \
                                      .packed_size = op##_packed_size,                                                 \
                                      .pack = op##_pack,                                                               \
                                      .parts = parts,                                                                  \
                                      .macs = op##_macs};

OP(fixed_gru)
OP(fixed_lstm)
