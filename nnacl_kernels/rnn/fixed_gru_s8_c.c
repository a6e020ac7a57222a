/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_c.h"
#include "rnn/fixed_rnn_steps.h"

NNACL_FIXED_GRU(s8, c, NNACL_FIXED_PARTS_C(s8))
