/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "index/index.h"

NNACL_DECLARE(nnacl_trilu_any_c);

static int32_t clamp_column(int64_t column, int32_t columns) {
    return column < 0 ? 0 : column > columns ? columns : (int32_t)column;
}

void nnacl_trilu_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_trilu_params *p = params;
    const size_t size = (size_t)p->element_size, row_bytes = (size_t)p->columns * size;
    (void)ctx;
    for (int32_t matrix = 0; matrix < p->matrices && row_bytes > 0; matrix++) {
        for (int32_t row = 0; row < p->rows; row++) {
            const size_t offset = ((size_t)matrix * (size_t)p->rows + (size_t)row) * row_bytes;
            char *y = (char *)out[0] + offset;
            const char *x = (const char *)in[0] + offset;
            /* Columns begin .. end - 1 stay. */
            const int32_t begin = p->upper ? clamp_column((int64_t)row + p->k, p->columns) : 0;
            const int32_t end = p->upper ? p->columns : clamp_column((int64_t)row + p->k + 1, p->columns);
            memset(y, 0, (size_t)begin * size);
            if (x != y) {
                memcpy(y + (size_t)begin * size, x + (size_t)begin * size, (size_t)(end - begin) * size);
            }
            memset(y + (size_t)end * size, 0, (size_t)(p->columns - end) * size);
        }
    }
}
