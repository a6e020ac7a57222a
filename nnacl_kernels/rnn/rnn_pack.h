/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan half knows of the kernels that want their weights in panels. */
#ifndef NNACL_RNN_PACK_H
#define NNACL_RNN_PACK_H

#include "rnn/rnn.h"

/* Steps whose products with x are computed at once, at most. */
#define NNACL_LSTM_STEPS 8

#endif
