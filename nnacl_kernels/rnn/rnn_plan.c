/* SPDX-License-Identifier: Apache-2.0 */
#include "common/panels.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "rnn/rnn.h"
#include "rnn/rnn_pack.h"

#define LEAST_MACS_PER_PART 16384

static bool is_shape3(const nnacl_tensor *tensor, int32_t a, int32_t b, int32_t c) {
    return nnacl_plan_is(tensor, NNACL_F32, 3) && tensor->dims[0] == a && tensor->dims[1] == b && tensor->dims[2] == c;
}

static bool is_matrix(const nnacl_tensor *tensor, int32_t rows, int64_t columns) {
    return nnacl_plan_is(tensor, NNACL_F32, 2) && tensor->dims[0] == rows && tensor->dims[1] == columns;
}

static const char *check_attributes(const nnacl_rnn_params *p) {
    NNACL_REQUIRE(p->direction >= NNACL_RNN_FORWARD && p->direction <= NNACL_RNN_BIDIRECTIONAL,
                  "direction must be 0, 1 or 2");
    NNACL_REQUIRE(p->layout == 0 || p->layout == 1, "layout must be 0 or 1");
    NNACL_REQUIRE(p->clip >= 0.0f && p->cell_clip >= 0.0f, "clip and cell_clip must not be negative");
    NNACL_REQUIRE(p->input_forget >= 0 && p->input_forget <= 2, "input_forget must be 0, 1 or 2");
    NNACL_REQUIRE(p->rounded_h == 0 || p->rounded_h == 1, "rounded_h must be 0 or 1");
    NNACL_REQUIRE(p->linear_before_reset == 0 || p->linear_before_reset == 1, "linear_before_reset must be 0 or 1");
    for (int32_t i = 0; i < 6; i++) {
        NNACL_REQUIRE(p->activations[i] >= NNACL_RNN_SIGMOID && p->activations[i] <= NNACL_RNN_SOFTPLUS,
                      "an activation is not known");
    }
    return NULL;
}

/* A state [directions, batch, hidden], or absent. */
static bool is_state(const nnacl_rnn_params *p, const nnacl_tensor *tensor) {
    return !tensor || (p->layout ? is_shape3(tensor, p->batch, p->directions, p->hidden)
                                 : is_shape3(tensor, p->directions, p->batch, p->hidden));
}

static const char *check_weights(nnacl_rnn_params *p, const nnacl_tensor *in, int32_t n_in, int32_t gates) {
    const nnacl_tensor *w = nnacl_plan_input(in, n_in, 1), *r = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(nnacl_plan_is(r, NNACL_F32, 3), "r must be f32 [directions, gates * hidden, hidden]");
    p->hidden = r->dims[2];
    NNACL_REQUIRE(p->hidden >= 1 && p->hidden <= INT32_MAX / 8, "hidden is out of range");
    const int32_t rows = gates * p->hidden;
    NNACL_REQUIRE(is_shape3(r, p->directions, rows, p->hidden), "r must be f32 [directions, gates * hidden, hidden]");
    NNACL_REQUIRE(is_shape3(w, p->directions, rows, p->size), "w must be f32 [directions, gates * hidden, size]");
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 3), *peepholes = nnacl_plan_input(in, n_in, 7);
    NNACL_REQUIRE(!bias || is_matrix(bias, p->directions, 2 * rows), "b must be f32 [directions, 2 * gates * hidden]");
    NNACL_REQUIRE(!peepholes || is_matrix(peepholes, p->directions, 3 * (int64_t)p->hidden),
                  "p must be f32 [directions, 3 * hidden]");
    p->has_bias = bias != NULL;
    p->has_peepholes = peepholes != NULL;
    return NULL;
}

static const char *resize(nnacl_rnn_params *p, const nnacl_tensor *in, int32_t n_in, int32_t most, int32_t gates,
                          nnacl_tensor *out, int32_t n_out) {
    const char *message = nnacl_shape_check(in, n_in, 3, most, 1);
    NNACL_REQUIRE(!message, message);
    message = check_attributes(p);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *lengths = nnacl_plan_input(in, n_in, 4);
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_F32, 3), "x must be f32 [steps, batch, size]");
    p->steps = x->dims[p->layout];
    p->batch = x->dims[1 - p->layout];
    p->size = x->dims[2];
    p->directions = p->direction == NNACL_RNN_BIDIRECTIONAL ? 2 : 1;
    NNACL_REQUIRE(p->size >= 1, "x has no elements in a step");
    message = check_weights(p, in, n_in, gates);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(!lengths || nnacl_plan_is_vector(lengths, NNACL_S32, p->batch) ||
                      nnacl_plan_is_vector(lengths, NNACL_S64, p->batch),
                  "lengths must be s32 or s64 [batch]");
    p->has_lengths = lengths != NULL;
    p->lengths_are_s64 = lengths != NULL && lengths->dtype == NNACL_S64;
    const nnacl_tensor *h = nnacl_plan_input(in, n_in, 5), *c = nnacl_plan_input(in, n_in, 6);
    NNACL_REQUIRE(is_state(p, h) && is_state(p, c), "an initial state must be f32 [directions, batch, hidden]");
    p->has_h = h != NULL;
    p->has_c = c != NULL;
    const int32_t sequence[2][4] = {{p->steps, p->directions, p->batch, p->hidden},
                                    {p->batch, p->steps, p->directions, p->hidden}};
    const int32_t state[2][3] = {{p->directions, p->batch, p->hidden}, {p->batch, p->directions, p->hidden}};
    message = nnacl_shape_set(&out[0], NNACL_F32, 4, sequence[p->layout]);
    for (int32_t i = 1; !message && i < n_out; i++) {
        message = nnacl_shape_set(&out[i], NNACL_F32, 3, state[p->layout]);
    }
    return message;
}

static const char *lstm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    NNACL_REQUIRE(n_out == 3, "the outputs are y, h and c");
    return resize(params, in, n_in, 8, 4, out, n_out);
}

static const char *gru_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    NNACL_REQUIRE(n_out == 2, "the outputs are y and h");
    NNACL_REQUIRE(!((const nnacl_rnn_params *)params)->rounded_h, "rounded_h is for lstm only");
    return resize(params, in, n_in, 6, 3, out, n_out);
}

static const char *rnn_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    NNACL_REQUIRE(n_out == 2, "the outputs are y and h");
    NNACL_REQUIRE(!((const nnacl_rnn_params *)params)->rounded_h, "rounded_h is for lstm only");
    return resize(params, in, n_in, 6, 1, out, n_out);
}

/* One number for each gate and unit, and for each unit of h that is rounded. */
static size_t workspace(const void *params, int32_t vectors) {
    return (size_t)vectors * sizeof(float) * (size_t)((const nnacl_rnn_params *)params)->hidden;
}

/* The kernels for vectors have their weights in panels. */
static bool lstm_has_panels(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_AVX512 | NNACL_ISA_AVX2 | NNACL_ISA_NEON)) != 0;
}

bool nnacl_lstm_accepts_usual(const void *params) {
    const nnacl_rnn_params *p = params;
    for (int32_t i = 0; i < 3 * p->directions; i++) {
        if (p->activations[i] != (i % 3 == 0 ? NNACL_RNN_SIGMOID : NNACL_RNN_TANH)) {
            return false;
        }
    }
    return p->input_forget == 0 && !p->has_peepholes && !p->rounded_h;
}

static size_t lstm_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_rnn_params *p = params;
    if (!lstm_has_panels(kernel) || (index != 1 && index != 2)) {
        return 0;
    }
    return (size_t)p->directions * nnacl_panels_f32_size(4 * p->hidden, index == 1 ? p->size : p->hidden);
}

static void lstm_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                      void *packed) {
    const nnacl_rnn_params *p = params;
    (void)kernel;
    const int32_t depth = index == 1 ? p->size : p->hidden, rows = 4 * p->hidden;
    for (int32_t direction = 0; direction < p->directions; direction++) {
        nnacl_pack_panels_f32((const float *)in[index] + (ptrdiff_t)direction * rows * depth, rows, depth,
                              (float *)packed + direction * (nnacl_panels_f32_size(rows, depth) / sizeof(float)));
    }
}

static size_t lstm_workspace(const void *params, const nnacl_kernel *kernel) {
    if (lstm_has_panels(kernel)) {
        return NNACL_LSTM_STEPS * nnacl_panels_f32_size(4 * ((const nnacl_rnn_params *)params)->hidden, 1);
    }
    return workspace(params, ((const nnacl_rnn_params *)params)->rounded_h ? 5 : 4);
}

static size_t gru_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return workspace(params, 3);
}

static size_t rnn_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return workspace(params, 1);
}

static int64_t macs(const void *params, int32_t gates) {
    const nnacl_rnn_params *p = params;
    return (int64_t)p->directions * p->batch * p->steps * gates * p->hidden * ((int64_t)p->size + p->hidden);
}

static int64_t lstm_macs(const void *params) {
    return macs(params, 4);
}

static int64_t gru_macs(const void *params) {
    return macs(params, 3);
}

static int64_t rnn_macs(const void *params) {
    return macs(params, 1);
}

static int32_t rnn_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_rnn_params *p = params;
    (void)kernel;
    const int64_t items = (int64_t)p->directions * p->batch;
    const int32_t parts = nnacl_shape_parts(macs(params, 1), LEAST_MACS_PER_PART);
    return items < 1 ? 1 : parts < items ? parts : (int32_t)items;
}

#define OP(op, ...)                                                                                                    \
    const nnacl_op nnacl_##op##_op = {.name = #op,                                                                     \
                                      .params_name = "nnacl_rnn_params",                                               \
                                      .header = "rnn/rnn.h",                                                           \
                                      .params_size = sizeof(nnacl_rnn_params),                                         \
                                      .alias = NNACL_ALIAS_NONE,                                                       \
                                      .resize = op##_resize,                                                           \
                                      .workspace = op##_workspace,                                                     \
                                      .parts = rnn_parts,                                                              \
                                      .macs = op##_macs,                                                               \
                                      __VA_ARGS__};

OP(lstm, .packed_size = lstm_packed_size, .pack = lstm_pack)
OP(gru, )
OP(rnn, )

static bool is_type2(const nnacl_tensor *tensor, int32_t dtype, int32_t rows, int32_t columns) {
    return nnacl_plan_is(tensor, dtype, 2) && tensor->dims[0] == rows && tensor->dims[1] == columns;
}

static const char *check_quantized(const nnacl_quantized_lstm_params *p) {
    NNACL_REQUIRE(p->layout == 0 || p->layout == 1, "layout must be 0 or 1");
    for (int32_t i = 0; i < 4; i++) {
        NNACL_REQUIRE(nnacl_plan_requant_ok(p->x_mults[i], p->x_shifts[i]) &&
                          nnacl_plan_requant_ok(p->h_mults[i], p->h_shifts[i]),
                      "a multiplier is negative or its shift outside -62 .. 30");
    }
    NNACL_REQUIRE(nnacl_plan_requant_ok(p->y_mult, p->y_shift),
                  "a multiplier is negative or its shift outside -62 .. 30");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->y_zero, NNACL_S8), "y_zero is outside -128 .. 127");
    NNACL_REQUIRE(p->cell_exponent >= -15 && p->cell_exponent <= -9, "cell_exponent is outside -15 .. -9");
    NNACL_REQUIRE(p->cell_clip >= 0 && p->cell_clip <= INT16_MAX, "cell_clip is outside 0 .. 32767");
    return NULL;
}

static const char *quantized_lstm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                         int32_t n_out) {
    nnacl_quantized_lstm_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 4, 6, 1);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(n_out == 3, "the outputs are y, h and c");
    message = check_quantized(p);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *r = &in[2];
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_S8, 3) && nnacl_plan_is(r, NNACL_S8, 2), "x and r must be s8");
    p->steps = x->dims[p->layout];
    p->batch = x->dims[1 - p->layout];
    p->size = x->dims[2];
    p->hidden = r->dims[1];
    NNACL_REQUIRE(p->size >= 1 && p->hidden >= 1 && p->hidden <= INT32_MAX / 8, "a step or the state has no elements");
    NNACL_REQUIRE(is_type2(r, NNACL_S8, 4 * p->hidden, p->hidden), "r must be s8 [4 * hidden, hidden]");
    NNACL_REQUIRE(is_type2(&in[1], NNACL_S8, 4 * p->hidden, p->size), "w must be s8 [4 * hidden, size]");
    NNACL_REQUIRE(is_type2(&in[3], NNACL_S32, 2, 4 * p->hidden), "the biases must be s32 [2, 4 * hidden]");
    const nnacl_tensor *h = nnacl_plan_input(in, n_in, 4), *c = nnacl_plan_input(in, n_in, 5);
    NNACL_REQUIRE(!h || is_type2(h, NNACL_S8, p->batch, p->hidden), "the initial h must be s8 [batch, hidden]");
    NNACL_REQUIRE(!c || is_type2(c, NNACL_S16, p->batch, p->hidden), "the initial c must be s16 [batch, hidden]");
    p->has_h = h != NULL;
    p->has_c = c != NULL;
    const int32_t y[3] = {x->dims[0], x->dims[1], p->hidden}, state[2] = {p->batch, p->hidden};
    message = nnacl_shape_set(&out[0], NNACL_S8, 3, y);
    message = message ? message : nnacl_shape_set(&out[1], NNACL_S8, 2, state);
    return message ? message : nnacl_shape_set(&out[2], NNACL_S16, 2, state);
}

/* The gates of one step; for the DSP extension also x and h in 16 bits. */
static size_t quantized_lstm_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_quantized_lstm_params *p = params;
    const size_t wide = kernel->isa == NNACL_ISA_DSP ? 2 * ((size_t)p->size + (size_t)p->hidden) : 0;
    return 4 * sizeof(int16_t) * (size_t)p->hidden + wide;
}

static int64_t quantized_lstm_macs(const void *params) {
    const nnacl_quantized_lstm_params *p = params;
    return (int64_t)p->batch * p->steps * 4 * p->hidden * ((int64_t)p->size + p->hidden);
}

static int32_t quantized_lstm_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_quantized_lstm_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts(quantized_lstm_macs(params), LEAST_MACS_PER_PART);
    return p->batch < 1 ? 1 : parts < p->batch ? parts : p->batch;
}

const nnacl_op nnacl_quantized_lstm_op = {
    .name = "quantized_lstm",
    .params_name = "nnacl_quantized_lstm_params",
    .header = "rnn/rnn.h",
    .params_size = sizeof(nnacl_quantized_lstm_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = quantized_lstm_resize,
    .workspace = quantized_lstm_workspace,
    .parts = quantized_lstm_parts,
    .macs = quantized_lstm_macs,
};
