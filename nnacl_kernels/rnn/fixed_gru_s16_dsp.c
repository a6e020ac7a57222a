/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_dsp.h"
#include "rnn/fixed_rnn_steps.h"

NNACL_FIXED_GRU(s16, dsp, NNACL_FIXED_PARTS_DSP(s16))
