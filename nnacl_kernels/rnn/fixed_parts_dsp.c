/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_dsp.h"

#include <arm_acle.h>
#include <string.h>

#include "common/fixed_point_dsp.h"
#include "common/rows_s16_dsp.h"

/* nnacl_requant_single() where the sum leaves room for a left shift: what remains is the upper half of a product,
 * rounded or with a rounding right shift. Else false. */
static inline bool scale(int32_t sum, int32_t mult, int32_t shift, int32_t *scaled) {
    const uint32_t place = (uint32_t)(shift + 31);
    if (place < 30) { /* -31 .. -2 */
        __asm__("smmul %0, %1, %2" : "=r"(*scaled) : "r"(sum), "r"(mult));
        *scaled = ((*scaled >> (29 - place)) + 1) >> 1;
        return true;
    }
    const uint32_t left = (uint32_t)(shift + 1);
    const int32_t shifted = nnacl_shift_left(sum, left & 31);
    __asm__("smmulr %0, %1, %2" : "=r"(*scaled) : "r"(shifted), "r"(mult));
    return left < 32 && shifted >> (left & 31) == sum;
}

/* nnacl_fixed_scale() of neighbours, in place. */
static void scale_sums(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t first, int32_t count, int32_t *sums) {
    const ptrdiff_t rows = layer->rows;
    const int32_t *factors = layer->factors + 2 * which * rows + first;
    for (int32_t i = 0; i < count; i++, factors++) {
        int32_t scaled;
        if (!scale(sums[i], factors[0] & ~(factors[0] >> 31), factors[rows], &scaled)) {
            scaled = nnacl_fixed_scale(layer, which, first + i, sums[i]);
        }
        sums[i] = scaled;
    }
}

/* A vector that begins at a whole word. */
static const int16_t *in_words(const nnacl_fixed_rnn_layer *layer, const int16_t *values, int32_t count) {
    if (((uintptr_t)values & 3) == 0) {
        return values;
    }
    memcpy(layer->copy, values, (size_t)count * sizeof *values);
    return layer->copy;
}

static void weigh_x(const nnacl_fixed_rnn_layer *layer, const int16_t *x) {
    const int32_t size = layer->params->size, rows = layer->rows;
    for (int32_t row = 0; row < rows; row += 4) {
        int32_t *sums = layer->x_part + row;
        memcpy(sums, layer->sums + row, 4 * sizeof *sums); /* what follows the last row is a bias */
        nnacl_rows4_s16_dsp(x, size, layer->w + (ptrdiff_t)row * size, sums);
    }
    scale_sums(layer, 0, 0, rows, layer->x_part);
}

void nnacl_fixed_x_s8_dsp(const nnacl_fixed_rnn_layer *layer, const void *x) {
    nnacl_widen_s8_dsp(x, layer->params->size, layer->copy);
    weigh_x(layer, layer->copy);
}

void nnacl_fixed_x_s16_dsp(const nnacl_fixed_rnn_layer *layer, const void *x) {
    weigh_x(layer, in_words(layer, x, layer->params->size));
}

/* Gates from first to end of r h in `sums`, in 32 bits as long as these suffice. */
static void write_gates(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, int32_t *sums, bool alone) {
    const int32_t *x_bias = layer->sums + layer->rows, *h_bias = x_bias + layer->rows, *x_part = layer->x_part;
    int16_t *gates = layer->gates;
    scale_sums(layer, 1, first, end - first, sums);
    for (int32_t row = first; row < end; row++, sums++) {
        int32_t sum;
        if (alone || __builtin_add_overflow(*sums, h_bias[row], &sum) ||
            __builtin_add_overflow(sum, x_part[row], &sum) || __builtin_add_overflow(sum, x_bias[row], &sum)) {
            gates[row] = nnacl_fixed_gate(layer, row, *sums, alone);
        } else {
            gates[row] = (int16_t)(int32_t)__ssat(sum, 16);
        }
    }
}

/* Rows whose sums are made before any of them becomes a gate. */
#define ROWS 16

/* Groups at the ends of the rows may have some that are not asked for. */
void nnacl_fixed_gates_dsp(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h,
                           bool alone) {
    const int32_t hidden = layer->params->hidden;
    h = in_words(layer, h, hidden);
    for (int32_t start = first / 4 * 4; start < end; start += ROWS) {
        int32_t sums[ROWS];
        const int32_t last = end - start < ROWS ? end : start + ROWS, begin = start < first ? first : start;
        for (int32_t row = start; row < last; row += 4) {
            int32_t *group = sums + (row - start);
            group[0] = group[1] = group[2] = group[3] = 0;
            nnacl_rows4_s16_dsp(h, hidden, layer->r + (ptrdiff_t)row * hidden, group);
        }
        write_gates(layer, begin, last, sums + (begin - start), alone);
    }
}

void nnacl_fixed_logistic_dsp(int16_t *values, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        values[i] = (int16_t)nnacl_logistic_q15(values[i]);
    }
}

void nnacl_fixed_tanh_dsp(int16_t *values, int32_t count, int32_t integer_bits) {
    for (int32_t i = 0; i < count; i++) {
        values[i] = (int16_t)nnacl_tanh_q15(values[i], integer_bits);
    }
}

static inline int32_t finish(const nnacl_fixed_rnn_params *p, int32_t h, int32_t lowest, int32_t highest) {
    int32_t scaled;
    if (!scale(h, p->y_mult, p->y_shift, &scaled)) {
        scaled = nnacl_requant_single(h, p->y_mult, p->y_shift);
    }
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), lowest, highest);
}

void nnacl_fixed_write_s8_dsp(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j++) {
        ((int8_t *)y)[j] = (int8_t)finish(params, h[j], INT8_MIN, INT8_MAX);
    }
}

void nnacl_fixed_write_s16_dsp(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j++) {
        ((int16_t *)y)[j] = (int16_t)finish(params, h[j], INT16_MIN, INT16_MAX);
    }
}
