/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_tensor_scatter_any_c);

/* Writes the blocks of one row of the update into one row of y, from `start` on. */
static void write_row(char *y, const char *update, int64_t start, const nnacl_tensor_scatter_params *p) {
    const size_t bytes = (size_t)p->block_bytes;
    for (int32_t i = 0; i < p->update_size; i++) {
        int64_t place = start + i;
        if (p->circular) {
            place %= p->size;
            place += place < 0 ? p->size : 0;
        }
        if (place >= 0 && place < p->size) {
            memcpy(y + (size_t)place * bytes, update + (size_t)i * bytes, bytes);
        }
    }
}

void nnacl_tensor_scatter_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_tensor_scatter_params *p = params;
    const size_t row = (size_t)p->size * (size_t)p->block_bytes;
    const size_t update_row = (size_t)p->update_size * (size_t)p->block_bytes;
    const size_t rows = (size_t)p->batch * (size_t)p->outer;
    (void)ctx;
    if (rows * row == 0) {
        return;
    }
    if (out[0] != in[0]) {
        memcpy(out[0], in[0], rows * row);
    }
    for (size_t i = 0; i < rows && update_row > 0; i++) {
        int64_t start = 0;
        if (p->has_positions) {
            /* Far enough from the ends of the type that no sum overflows. */
            start = nnacl_index_at(in[2], p->index_size, (ptrdiff_t)(i / (size_t)p->outer));
            start = start > INT32_MAX ? INT32_MAX : start < INT32_MIN ? INT32_MIN : start;
        }
        write_row((char *)out[0] + i * row, (const char *)in[1] + i * update_row, start, p);
    }
}
