/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of fixed_rnn.h that the DSP extension has its own of. The weights are packed by common/rows_s16_pack.h. */
#ifndef NNACL_FIXED_PARTS_DSP_H
#define NNACL_FIXED_PARTS_DSP_H

#include "rnn/fixed_parts_c.h"

void nnacl_fixed_x_s8_dsp(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_x_s16_dsp(const nnacl_fixed_rnn_layer *layer, const void *x);
void nnacl_fixed_gates_dsp(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h,
                           bool alone);
void nnacl_fixed_logistic_dsp(int16_t *values, int32_t count);
void nnacl_fixed_tanh_dsp(int16_t *values, int32_t count, int32_t integer_bits);
void nnacl_fixed_write_s8_dsp(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);
void nnacl_fixed_write_s16_dsp(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y);

#define NNACL_FIXED_PARTS_DSP(type)                                                                                    \
    {                                                                                                                  \
        nnacl_fixed_x_##type##_dsp, nnacl_fixed_gates_dsp, nnacl_fixed_add_x_c, nnacl_fixed_logistic_dsp,              \
            nnacl_fixed_tanh_dsp, nnacl_fixed_multiply_c, nnacl_fixed_cells_c, nnacl_fixed_blend_c,                    \
            nnacl_fixed_write_##type##_dsp                                                                             \
    }

#endif
