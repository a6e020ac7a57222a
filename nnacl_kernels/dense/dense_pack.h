/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the plan half of dense that belong to kernels of one instruction set. */
#ifndef NNACL_DENSE_PACK_H
#define NNACL_DENSE_PACK_H

#include "dense/dense.h"

/* For the DSP extension and for MVE. */
size_t nnacl_dense_small_packed_size(const nnacl_dense_params *p, uint32_t isa, int32_t index);
void nnacl_dense_small_pack(const nnacl_dense_params *p, uint32_t isa, const void *const in[], void *packed);

/* For the kernels of s8 for AArch64: all that requantizes stands beside the weights. */
size_t nnacl_dense_arm_packed_size(const nnacl_dense_params *p, uint32_t isa);
void nnacl_dense_arm_pack(const nnacl_dense_params *p, uint32_t isa, const void *const in[], void *packed);

#endif
