/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_rnn_steps.h"

NNACL_DECLARE(nnacl_fixed_lstm_s16_c);
NNACL_FIXED_RNN(nnacl_fixed_lstm_s16_c, int16_t, 4, nnacl_fixed_lstm_step, true, INT16_MIN, INT16_MAX)
