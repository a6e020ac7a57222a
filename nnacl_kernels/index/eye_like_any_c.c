/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "index/index.h"

NNACL_DECLARE(nnacl_eye_like_any_c);

/* Writes 1 as element `i`; the rest of y is 0. */
static void write_one(void *y, ptrdiff_t i, int32_t dtype) {
    switch (dtype) {
    case NNACL_F32:
        ((float *)y)[i] = 1.0f;
        break;
    case NNACL_F64:
        ((double *)y)[i] = 1.0;
        break;
    case NNACL_F16:
        ((uint16_t *)y)[i] = 0x3c00;
        break;
    case NNACL_S16:
    case NNACL_U16:
        ((uint16_t *)y)[i] = 1;
        break;
    case NNACL_S32:
    case NNACL_U32:
        ((uint32_t *)y)[i] = 1;
        break;
    case NNACL_S64:
    case NNACL_U64:
        ((uint64_t *)y)[i] = 1;
        break;
    default:
        ((uint8_t *)y)[i] = 1;
        break;
    }
}

void nnacl_eye_like_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_eye_like_params *p = params;
    (void)ctx;
    (void)in;
    if (p->rows == 0 || p->columns == 0) {
        return;
    }
    memset(out[0], 0, (size_t)p->rows * (size_t)p->columns * (size_t)p->element_size);
    for (int32_t row = 0; row < p->rows; row++) {
        const int64_t column = (int64_t)row + p->k;
        if (column >= 0 && column < p->columns) {
            write_one(out[0], (ptrdiff_t)row * p->columns + (ptrdiff_t)column, p->to);
        }
    }
}
