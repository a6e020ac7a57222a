/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_rnn_steps.h"

NNACL_DECLARE(nnacl_fixed_gru_s8_c);
NNACL_FIXED_RNN(nnacl_fixed_gru_s8_c, int8_t, 3, nnacl_fixed_gru_step, false, INT8_MIN, INT8_MAX)
