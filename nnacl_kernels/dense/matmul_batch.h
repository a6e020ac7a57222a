/* SPDX-License-Identifier: Apache-2.0 */
/* The broadcast leading dimensions of matmul. */
#ifndef NNACL_MATMUL_BATCH_H
#define NNACL_MATMUL_BATCH_H

#include "dense/dense.h"

/* Number of matrices in y. */
static inline int32_t nnacl_matmul_batches(const nnacl_matmul_params *p) {
    int32_t batches = 1;
    for (int32_t i = 0; i < p->batch_rank; i++) {
        batches *= p->batch_dims[i];
    }
    return batches;
}

/* Which matrix of an operand belongs to matrix `batch` of y. */
static inline ptrdiff_t nnacl_matmul_index(const nnacl_matmul_params *p, const int32_t *strides, int32_t batch) {
    ptrdiff_t index = 0;
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        index += (ptrdiff_t)(batch % p->batch_dims[i]) * strides[i];
        batch /= p->batch_dims[i];
    }
    return index;
}

#endif
