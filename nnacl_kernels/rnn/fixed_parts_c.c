/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_c.h"

#include "common/fixed_point.h"

static inline int32_t scale(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t row, int32_t sum) {
    const int32_t *factors = layer->factors + (ptrdiff_t)2 * which * layer->rows + row;
    const int32_t mult = factors[0] < 0 ? 0 : factors[0];
    return nnacl_requant_single(sum, mult, nnacl_clamp_s32(factors[layer->rows], -62, 30));
}

int32_t nnacl_fixed_scale(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t row, int32_t sum) {
    return scale(layer, which, row, sum);
}

static int16_t saturate(int64_t sum) {
    return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

int16_t nnacl_fixed_gate(const nnacl_fixed_rnn_layer *layer, int32_t row, int32_t h_part, bool alone) {
    const int32_t *x_bias = layer->sums + layer->rows, *h_bias = x_bias + layer->rows;
    const int64_t x_part = alone ? 0 : (int64_t)layer->x_part[row] + x_bias[row];
    return saturate(x_part + h_part + h_bias[row]);
}

void nnacl_fixed_x_s8_c(const nnacl_fixed_rnn_layer *layer, const void *x) {
    const int32_t size = layer->params->size;
    for (int32_t row = 0; row < layer->rows; row++) {
        const int8_t *w = layer->w + (ptrdiff_t)row * size, *values = x;
        uint32_t sum = (uint32_t)layer->sums[row];
        for (int32_t k = 0; k < size; k++) {
            sum += (uint32_t)(w[k] * values[k]);
        }
        layer->x_part[row] = scale(layer, 0, row, (int32_t)sum);
    }
}

static uint32_t dot_s16(uint32_t sum, const int8_t *w, const int16_t *x, int32_t count) {
    for (int32_t k = 0; k < count; k++) {
        sum += (uint32_t)(w[k] * x[k]);
    }
    return sum;
}

void nnacl_fixed_x_s16_c(const nnacl_fixed_rnn_layer *layer, const void *x) {
    const int32_t size = layer->params->size;
    for (int32_t row = 0; row < layer->rows; row++) {
        const uint32_t sum = dot_s16((uint32_t)layer->sums[row], layer->w + (ptrdiff_t)row * size, x, size);
        layer->x_part[row] = scale(layer, 0, row, (int32_t)sum);
    }
}

void nnacl_fixed_gates_c(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h, bool alone) {
    const int32_t hidden = layer->params->hidden;
    for (int32_t row = first; row < end; row++) {
        const int32_t sum = (int32_t)dot_s16(0, layer->r + (ptrdiff_t)row * hidden, h, hidden);
        layer->gates[row] = nnacl_fixed_gate(layer, row, scale(layer, 1, row, sum), alone);
    }
}

void nnacl_fixed_add_x_c(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end) {
    const int32_t *bias = layer->sums + layer->rows;
    for (int32_t row = first; row < end; row++) {
        layer->gates[row] = saturate((int64_t)layer->x_part[row] + bias[row] + layer->gates[row]);
    }
}

void nnacl_fixed_logistic_c(int16_t *values, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        values[i] = (int16_t)nnacl_logistic_q15(values[i]);
    }
}

void nnacl_fixed_tanh_c(int16_t *values, int32_t count, int32_t integer_bits) {
    for (int32_t i = 0; i < count; i++) {
        values[i] = (int16_t)nnacl_tanh_q15(values[i], integer_bits);
    }
}

/* One of the factors is at most 1 - 2^-15 in magnitude, so that nothing has to be saturated. */
void nnacl_fixed_multiply_c(const int16_t *a, const int16_t *b, int16_t *y, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        y[i] = (int16_t)nnacl_round_product(a[i] * b[i], 15);
    }
}

void nnacl_fixed_cells_c(const nnacl_fixed_rnn_layer *layer, int16_t *c) {
    const nnacl_fixed_rnn_params *p = layer->params;
    const int32_t hidden = p->hidden, limit = p->cell_clip > 0 ? p->cell_clip : -INT16_MIN;
    int16_t *gates = layer->gates;
    for (int32_t j = 0; j < hidden; j++, gates++) {
        const int32_t kept = nnacl_round_product(gates[2 * hidden] * c[j], 15);
        const int32_t added = nnacl_round_product(gates[0] * gates[3 * hidden], 30 + p->cell_exponent);
        c[j] = (int16_t)nnacl_clamp_s32(nnacl_saturate_s16(kept + added), -limit, limit);
        gates[3 * hidden] = c[j];
    }
}

void nnacl_fixed_blend_c(const int16_t *z, const int16_t *candidates, int16_t *h, int32_t count) {
    for (int32_t j = 0; j < count; j++) {
        h[j] = (int16_t)nnacl_round_product((32768 - z[j]) * candidates[j] + z[j] * h[j], 15);
    }
}

static int32_t finish(const nnacl_fixed_rnn_params *p, int32_t h, int32_t lowest, int32_t highest) {
    return nnacl_clamp_s32(nnacl_add_saturate(nnacl_requant_single(h, p->y_mult, p->y_shift), p->y_zero), lowest,
                           highest);
}

void nnacl_fixed_write_s8_c(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j++) {
        ((int8_t *)y)[j] = (int8_t)finish(params, h[j], INT8_MIN, INT8_MAX);
    }
}

void nnacl_fixed_write_s16_c(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j++) {
        ((int16_t *)y)[j] = (int16_t)finish(params, h[j], INT16_MIN, INT16_MAX);
    }
}
