/* SPDX-License-Identifier: Apache-2.0 */
/* How large the pieces of a split are. */
#ifndef NNACL_SPLIT_H
#define NNACL_SPLIT_H

#include "data/data.h"

static inline int32_t nnacl_split_size(const nnacl_split_params *p, int32_t index) {
    if (p->sizes[index] >= 0) {
        return p->sizes[index];
    }
    const int64_t piece = ((int64_t)p->dim + p->n_sizes - 1) / p->n_sizes;
    const int64_t rest = p->dim - piece * index;
    return rest <= 0 ? 0 : rest < piece ? (int32_t)rest : (int32_t)piece;
}

#endif
