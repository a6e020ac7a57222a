/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_rnn_steps.h"

NNACL_DECLARE(nnacl_fixed_gru_s16_c);
NNACL_FIXED_RNN(nnacl_fixed_gru_s16_c, int16_t, 3, nnacl_fixed_gru_step, false, INT16_MIN, INT16_MAX)
