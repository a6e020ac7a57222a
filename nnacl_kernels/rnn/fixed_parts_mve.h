/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of fixed_rnn.h for MVE. */
#ifndef NNACL_FIXED_PARTS_MVE_H
#define NNACL_FIXED_PARTS_MVE_H

#include "common/fixed_point_mve.h"
#include "rnn/fixed_rnn.h"

void nnacl_fixed_x_s8_mve(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_x_s16_mve(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_gates_mve(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h,
                           bool alone);
void nnacl_fixed_add_x_mve(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end);
void nnacl_fixed_multiply_mve(const int16_t *a, const int16_t *b, int16_t *y, int32_t count);
void nnacl_fixed_cells_mve(const nnacl_fixed_rnn_layer *layer, int16_t *c);
void nnacl_fixed_blend_mve(const int16_t *z, const int16_t *candidates, int16_t *h, int32_t count);
void nnacl_fixed_write_s8_mve(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);
void nnacl_fixed_write_s16_mve(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);

#define NNACL_FIXED_PARTS_MVE(type)                                                                                    \
    {                                                                                                                  \
        nnacl_fixed_x_##type##_mve, nnacl_fixed_gates_mve, nnacl_fixed_add_x_mve, nnacl_logistic_q15_mve,              \
            nnacl_tanh_q15_mve, nnacl_fixed_multiply_mve, nnacl_fixed_cells_mve, nnacl_fixed_blend_mve,                \
            nnacl_fixed_write_##type##_mve                                                                             \
    }

#endif
