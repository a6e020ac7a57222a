/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of fixed_rnn.h in C. */
#ifndef NNACL_FIXED_PARTS_C_H
#define NNACL_FIXED_PARTS_C_H

#include "rnn/fixed_rnn.h"

/* A sum of row `row` in Q3.12; `which` is 0 for w x and 1 for r h. */
int32_t nnacl_fixed_scale(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t row, int32_t sum);
/* A gate of w x, unless `alone`, and of r h in Q3.12, which have no bias yet. */
int16_t nnacl_fixed_gate(const nnacl_fixed_rnn_layer *layer, int32_t row, int32_t h_part, bool alone);

void nnacl_fixed_x_s8_c(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_x_s16_c(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_gates_c(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h, bool alone);
void nnacl_fixed_add_x_c(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end);
void nnacl_fixed_logistic_c(int16_t *values, int32_t count);
void nnacl_fixed_tanh_c(int16_t *values, int32_t count, int32_t integer_bits);
void nnacl_fixed_multiply_c(const int16_t *a, const int16_t *b, int16_t *y, int32_t count);
void nnacl_fixed_cells_c(const nnacl_fixed_rnn_layer *layer, int16_t *c);
void nnacl_fixed_blend_c(const int16_t *z, const int16_t *candidates, int16_t *h, int32_t count);
void nnacl_fixed_write_s8_c(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);
void nnacl_fixed_write_s16_c(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);

#define NNACL_FIXED_PARTS_C(type)                                                                                      \
    {                                                                                                                  \
        nnacl_fixed_x_##type##_c, nnacl_fixed_gates_c, nnacl_fixed_add_x_c, nnacl_fixed_logistic_c,                    \
            nnacl_fixed_tanh_c, nnacl_fixed_multiply_c, nnacl_fixed_cells_c, nnacl_fixed_blend_c,                      \
            nnacl_fixed_write_##type##_c                                                                               \
    }

#endif
