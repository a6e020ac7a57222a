/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/lanes_dsp.h"
#include "pool/pool_walk_s8.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_dsp);

/* One position, four channels at a time; the last four overlap those before them. There are at least four. */
static inline void run(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y, int32_t out_x, int8_t *y) {
    const uint32_t low = (uint32_t)(uint8_t)p->q_min * 0x01010101u, high = (uint32_t)(uint8_t)p->q_max * 0x01010101u;
    (void)out_y;
    (void)out_x;
    for (int32_t next = 0; next < p->channels; next += 4) {
        const int32_t c = next + 4 <= p->channels ? next : p->channels - 4;
        uint32_t most = low;
        for (int32_t row = 0; row < t->rows; row++) {
            const int8_t *a = t->x + c + row * t->row_step;
            for (int32_t column = 0; column < t->columns; column++, a += t->column_step) {
                uint32_t word;
                memcpy(&word, a, sizeof word);
                most = nnacl_max_bytes_dsp(most, word);
            }
        }
        most = ~nnacl_max_bytes_dsp(~most, ~high); /* ~ turns the order round */
        memcpy(y + c, &most, sizeof most);
    }
}

void nnacl_max_pool2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_pool_walk_s8(ctx, params, in[0], out[0], run);
}
