/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_update_slice_any_c);

void nnacl_update_slice_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_update_slice_params *p = params;
    const int32_t last = p->rank - 1;
    size_t bytes = (size_t)p->element_size;
    int32_t start[NNACL_MAX_RANK], rows = 1;
    (void)ctx;
    for (int32_t i = 0; i < p->rank; i++) {
        const int64_t given = nnacl_index_at(in[2], p->index_size, i), most = p->dims[i] - p->update_dims[i];
        start[i] = (int32_t)(given < 0 ? 0 : given > most ? most : given);
        bytes *= (size_t)p->dims[i];
        rows *= i < last ? p->update_dims[i] : 1;
    }
    if (bytes == 0) {
        return;
    }
    if (out[0] != in[0]) {
        memcpy(out[0], in[0], bytes);
    }
    /* A scalar is one row of one element. */
    const size_t row_bytes = (size_t)p->element_size * (size_t)(p->rank > 0 ? p->update_dims[last] : 1);
    for (int32_t row = 0; row < rows && row_bytes > 0; row++) {
        ptrdiff_t place = p->rank > 0 ? start[last] : 0, stride = p->rank > 0 ? p->dims[last] : 1;
        int32_t rest = row;
        for (int32_t i = last - 1; i >= 0; i--) {
            place += (start[i] + rest % p->update_dims[i]) * stride;
            rest /= p->update_dims[i];
            stride *= p->dims[i];
        }
        memcpy((char *)out[0] + place * p->element_size, (const char *)in[1] + (size_t)row * row_bytes, row_bytes);
    }
}
