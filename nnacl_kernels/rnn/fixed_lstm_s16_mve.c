/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_mve.h"
#include "rnn/fixed_rnn_steps.h"

NNACL_FIXED_LSTM(s16, mve, NNACL_FIXED_PARTS_MVE(s16))
