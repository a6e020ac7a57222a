/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the plan half of dense that belong to kernels of one instruction set. */
#ifndef NNACL_DENSE_PACK_H
#define NNACL_DENSE_PACK_H

#include "dense/dense.h"

size_t nnacl_dense_dsp_packed_size(const nnacl_dense_params *p, int32_t index);
void nnacl_dense_dsp_pack(const nnacl_dense_params *p, const void *const in[], void *packed);

#endif
