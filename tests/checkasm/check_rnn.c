#include <math.h>

#include "checkasm.h"
#include "rnn/rnn.h"

/* Adds an f32 input of these dimensions with small values, or none. */
static void draw_weights(check_case *c, bool present, int32_t rank, const int32_t *dims) {
    if (!present) {
        check_absent(c);
        return;
    }
    float *data = check_input(c, NNACL_F32, rank, dims);
    const int64_t count = nnacl_element_count(&c->in[c->n_in - 1]);
    for (int64_t i = 0; i < count; i++) {
        data[i] *= 0.1f;
    }
    check_mark_constant(c);
}

static void draw_lengths(check_case *c, int32_t batch, int32_t steps) {
    if (check_chance(c, 60)) {
        check_absent(c);
    } else if (check_chance(c, 50)) {
        int32_t *lengths = check_vector(c, NNACL_S32, batch);
        for (int32_t i = 0; i < batch; i++) {
            lengths[i] = check_int(c, -1, steps + 1);
        }
    } else {
        int64_t *lengths = check_vector(c, NNACL_S64, batch);
        for (int32_t i = 0; i < batch; i++) {
            lengths[i] = check_int(c, 0, steps);
        }
    }
}

static void draw_attributes(check_case *c) {
    nnacl_rnn_params *p = (void *)&c->params;
    p->direction = check_int(c, 0, 2);
    p->layout = check_int(c, 0, 1);
    p->clip = check_chance(c, 70) ? INFINITY : check_float(c, 0.2f, 2.0f);
    p->cell_clip = check_chance(c, 70) ? INFINITY : check_float(c, 0.2f, 2.0f);
    p->input_forget = check_chance(c, 70) ? 0 : check_int(c, 1, 2);
    p->linear_before_reset = check_chance(c, 50);
    const int32_t chance = check_chance(c, 50) ? 100 : 60;
    for (int32_t i = 0; i < 6; i++) {
        const bool usual = check_chance(c, chance);
        p->activations[i] = usual ? (i % 3 == 0 ? NNACL_RNN_SIGMOID : NNACL_RNN_TANH) : check_int(c, 0, 10);
        p->alphas[i] = check_float(c, -0.5f, 0.5f);
        p->betas[i] = check_float(c, -0.5f, 0.5f);
    }
}

/* x, w, r, b, lengths and the initial states. */
static void draw_layer(check_case *c, int32_t gates, int32_t states) {
    nnacl_rnn_params *p = (void *)&c->params;
    draw_attributes(c);
    const int32_t steps = c->bench ? 32 : check_int(c, 1, 6), batch = c->bench ? 1 : check_int(c, 1, 4);
    const int32_t size = check_dim(c, 20, 64), hidden = check_dim(c, 20, 64);
    const int32_t directions = p->direction == NNACL_RNN_BIDIRECTIONAL ? 2 : 1;
    const int32_t x[2][3] = {{steps, batch, size}, {batch, steps, size}};
    check_input(c, NNACL_F32, 3, x[p->layout]);
    const int32_t w[3] = {directions, gates * hidden, size}, r[3] = {directions, gates * hidden, hidden};
    const int32_t b[2] = {directions, 2 * gates * hidden}, peepholes[2] = {directions, 3 * hidden};
    draw_weights(c, true, 3, w);
    draw_weights(c, true, 3, r);
    draw_weights(c, check_chance(c, 70), 2, b);
    draw_lengths(c, batch, steps);
    const int32_t state[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    for (int32_t i = 0; i < states; i++) {
        if (check_chance(c, 50)) {
            check_input(c, NNACL_F32, 3, state[p->layout]);
        } else {
            check_absent(c);
        }
    }
    if (states == 2) {
        p->rounded_h = check_chance(c, 20);
        draw_weights(c, check_chance(c, 30), 2, peepholes);
    }
    c->n_out = 1 + states;
    c->relative = 1e-4;
    c->absolute = 1e-5;
}

static void draw_lstm(check_case *c) {
    draw_layer(c, 4, 2);
}

static void draw_gru(check_case *c) {
    draw_layer(c, 3, 1);
}

static void draw_rnn(check_case *c) {
    draw_layer(c, 1, 1);
}

static void draw_quantized_lstm(check_case *c) {
    nnacl_quantized_lstm_params *p = (void *)&c->params;
    p->layout = check_int(c, 0, 1);
    const int32_t steps = c->bench ? 32 : check_int(c, 1, 6), batch = c->bench ? 1 : check_int(c, 1, 4);
    const int32_t size = check_dim(c, 20, 64), hidden = check_dim(c, 20, 64);
    for (int32_t i = 0; i < 4; i++) {
        check_multiplier(c, -4, &p->x_mults[i], &p->x_shifts[i]);
        check_multiplier(c, -4, &p->h_mults[i], &p->h_shifts[i]);
    }
    check_multiplier(c, -22, &p->y_mult, &p->y_shift);
    p->y_zero = check_zero(c);
    p->cell_exponent = check_int(c, -15, -9);
    p->cell_clip = check_chance(c, 50) ? 0 : check_int(c, 1, INT16_MAX);
    const int32_t x[2][3] = {{steps, batch, size}, {batch, steps, size}}, state[2] = {batch, hidden};
    const int32_t w[2] = {4 * hidden, size}, r[2] = {4 * hidden, hidden}, bias[2] = {2, 4 * hidden};
    check_input(c, NNACL_S8, 3, x[p->layout]);
    check_input(c, NNACL_S8, 2, w);
    check_mark_constant(c);
    check_input(c, NNACL_S8, 2, r);
    check_mark_constant(c);
    check_input(c, NNACL_S32, 2, bias);
    check_mark_constant(c);
    if (check_chance(c, 50)) {
        check_input(c, NNACL_S8, 2, state);
    } else {
        check_absent(c);
    }
    if (check_chance(c, 50)) {
        check_input(c, NNACL_S16, 2, state);
    }
    c->n_out = 3;
}

static void draw_fixed(check_case *c, int32_t gates) {
    nnacl_fixed_rnn_params *p = (void *)&c->params;
    p->layout = check_int(c, 0, 1);
    p->reverse = check_int(c, 0, 1);
    p->linear_before_reset = gates == 3 ? check_int(c, 0, 1) : 0;
    const int32_t steps = c->bench ? 32 : check_int(c, 1, 6), batch = c->bench ? 1 : check_int(c, 1, 4);
    const int32_t size = check_dim(c, 20, 64), hidden = check_dim(c, 20, 64), rows = gates * hidden;
    check_multiplier(c, c->dtype == NNACL_S8 ? -8 : 0, &p->y_mult, &p->y_shift);
    p->y_zero = check_zero(c);
    p->cell_exponent = check_int(c, -15, -9);
    p->cell_clip = check_chance(c, 50) ? 0 : check_int(c, 1, INT16_MAX);
    const int32_t x[2][3] = {{steps, batch, size}, {batch, steps, size}};
    const int32_t state[2][3] = {{1, batch, hidden}, {batch, 1, hidden}};
    const int32_t w[2] = {rows, size}, r[2] = {rows, hidden}, sums[2] = {3, rows}, factors[2] = {4, rows};
    check_input(c, c->dtype, 3, x[p->layout]);
    check_input(c, NNACL_S8, 2, w);
    check_mark_constant(c);
    check_input(c, NNACL_S8, 2, r);
    check_mark_constant(c);
    check_input(c, NNACL_S32, 2, sums);
    check_mark_constant(c);
    int32_t *scales = check_input(c, NNACL_S32, 2, factors);
    check_mark_constant(c);
    for (int32_t i = 0; i < rows; i++) {
        check_multiplier(c, c->dtype == NNACL_S8 ? -4 : -12, &scales[i], &scales[rows + i]);
        check_multiplier(c, -12, &scales[2 * rows + i], &scales[3 * rows + i]);
    }
    for (int32_t states = gates - 2; states > 0; states--) {
        if (check_chance(c, 50)) {
            check_input(c, NNACL_S16, 3, state[p->layout]);
        } else {
            check_absent(c);
        }
    }
    c->n_out = gates == 3 ? 2 : 3;
}

static void draw_fixed_gru(check_case *c) {
    draw_fixed(c, 3);
}

static void draw_fixed_lstm(check_case *c) {
    draw_fixed(c, 4);
}

static void draw_svdf(check_case *c) {
    nnacl_svdf_params *p = (void *)&c->params;
    p->rank = check_int(c, 1, 3);
    const int32_t batch = c->bench ? 1 : check_int(c, 1, 4), units = check_dim(c, 12, 64), size = check_dim(c, 40, 64);
    const int32_t filters = p->rank * units, memory = check_int(c, 1, 20);
    check_multiplier(c, check_int(c, -2, 3), &p->state_mult, &p->state_shift);
    check_multiplier(c, check_int(c, -24, -16), &p->y_mult, &p->y_shift);
    p->x_zero = check_zero(c);
    p->y_zero = check_zero(c);
    p->q_min = check_chance(c, 60) ? INT8_MIN : check_int(c, INT8_MIN, 10);
    p->q_max = check_chance(c, 60) ? INT8_MAX : check_int(c, 11, INT8_MAX);
    const int32_t x[2] = {batch, size}, features[2] = {filters, size}, times[2] = {filters, memory};
    const int32_t state[2] = {batch, filters * memory};
    check_input(c, NNACL_S8, 2, x);
    check_input(c, NNACL_S8, 2, features);
    check_mark_constant(c);
    check_input(c, NNACL_S16, 2, times);
    check_mark_constant(c);
    if (check_chance(c, 60)) {
        check_vector(c, NNACL_S32, units);
        check_mark_constant(c);
    } else {
        check_absent(c);
    }
    check_input(c, NNACL_S16, 2, state);
    c->n_out = 2;
}

static const check_op ops[] = {{"lstm", draw_lstm},
                               {"gru", draw_gru},
                               {"rnn", draw_rnn},
                               {"quantized_lstm", draw_quantized_lstm},
                               {"svdf", draw_svdf},
                               {"fixed_gru", draw_fixed_gru},
                               {"fixed_lstm", draw_fixed_lstm},
                               {NULL, NULL}};

const check_family check_rnn = {"rnn", ops};
