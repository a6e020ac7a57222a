/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_rnn_steps.h"

NNACL_DECLARE(nnacl_fixed_lstm_s8_c);
NNACL_FIXED_RNN(nnacl_fixed_lstm_s8_c, int8_t, 4, nnacl_fixed_lstm_step, true, INT8_MIN, INT8_MAX)
