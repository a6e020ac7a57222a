/* SPDX-License-Identifier: Apache-2.0 */
/* The copy behind transpose, slice and expand: writes a dense y from an x that is read with strides. */
#ifndef NNACL_STRIDED_COPY_H
#define NNACL_STRIDED_COPY_H

#include <string.h>

#include "common/share.h"

/* One row of y, `count` elements whose neighbours lie `stride` elements apart in x. */
static inline void nnacl_copy_row(char *y, const char *x, int32_t count, ptrdiff_t stride, size_t element_size) {
    if (stride == 1) {
        memcpy(y, x, (size_t)count * element_size);
        return;
    }
    switch (element_size) {
    case 1:
        for (int32_t i = 0; i < count; i++) {
            y[i] = x[i * stride];
        }
        break;
    case 2:
        for (int32_t i = 0; i < count; i++) {
            memcpy(y + (ptrdiff_t)i * 2, x + i * stride * 2, 2);
        }
        break;
    case 4:
        for (int32_t i = 0; i < count; i++) {
            memcpy(y + (ptrdiff_t)i * 4, x + i * stride * 4, 4);
        }
        break;
    default:
        for (int32_t i = 0; i < count; i++) {
            memcpy(y + (ptrdiff_t)i * 8, x + i * stride * 8, 8);
        }
        break;
    }
}

/* This part's rows of y. `rank` is at least 1. */
static inline void nnacl_copy_strided(const nnacl_ctx *ctx, char *y, const char *x, int32_t element_size, int32_t rank,
                                      const int32_t *dims, const int32_t *x_strides) {
    const size_t size = (size_t)element_size;
    const int32_t inner = dims[rank - 1];
    int32_t rows = 1;
    for (int32_t i = 0; i < rank - 1; i++) {
        rows *= dims[i];
    }
    const nnacl_range share = nnacl_share(ctx, rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        ptrdiff_t offset = 0;
        int32_t rest = row;
        for (int32_t i = rank - 2; i >= 0; i--) {
            offset += (ptrdiff_t)(rest % dims[i]) * x_strides[i];
            rest /= dims[i];
        }
        nnacl_copy_row(y + (size_t)row * (size_t)inner * size, x + offset * (ptrdiff_t)size, inner, x_strides[rank - 1],
                       size);
    }
}

#endif
