/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_reverse_sequence_any_c);

void nnacl_reverse_sequence_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_reverse_sequence_params *p = params;
    const size_t bytes = (size_t)p->block_bytes;
    const bool batch_first = p->batch_axis < p->time_axis;
    const int32_t times = batch_first ? p->second : p->first;
    const char *x = in[0];
    char *y = out[0];
    (void)ctx;
    for (int32_t outer = 0; outer < p->outer && bytes > 0; outer++) {
        for (int32_t first = 0; first < p->first; first++) {
            for (int32_t middle = 0; middle < p->middle; middle++) {
                for (int32_t second = 0; second < p->second; second++) {
                    const int32_t batch = batch_first ? first : second, time = batch_first ? second : first;
                    const int64_t given = nnacl_index_at(in[1], p->index_size, batch);
                    const int32_t length = given < 0 ? 0 : given > times ? times : (int32_t)given;
                    const int32_t from = time < length ? length - 1 - time : time;
                    const ptrdiff_t row = (ptrdiff_t)outer * p->first + (batch_first ? first : from);
                    const ptrdiff_t block = (row * p->middle + middle) * p->second + (batch_first ? from : second);
                    memcpy(y, x + (size_t)block * bytes, bytes);
                    y += bytes;
                }
            }
        }
    }
}
