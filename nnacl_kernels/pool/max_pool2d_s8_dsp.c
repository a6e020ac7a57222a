/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>
#include <string.h>

#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_dsp);

static inline uint32_t load_bytes(const int8_t *x) {
    uint32_t word;
    memcpy(&word, x, sizeof word);
    return word;
}

/* The larger of each two bytes. */
static inline uint32_t max_bytes(uint32_t a, uint32_t b) {
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* One position, four channels at a time; the last four overlap those before them. `x` is the first tap of at least one,
 * and the channels are at least four. */
static void run(const nnacl_pool2d_params *p, const int8_t *x, int32_t rows, int32_t columns, int8_t *y) {
    const ptrdiff_t column_step = (ptrdiff_t)p->dilation_w * p->channels;
    const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->channels;
    const uint32_t low = (uint32_t)(uint8_t)p->q_min * 0x01010101u, high = (uint32_t)(uint8_t)p->q_max * 0x01010101u;
    for (int32_t next = 0; next < p->channels; next += 4) {
        const int32_t c = next + 4 <= p->channels ? next : p->channels - 4;
        uint32_t most = low;
        for (int32_t row = 0; row < rows; row++) {
            const int8_t *a = x + c + row * row_step;
            for (int32_t column = 0; column < columns; column++, a += column_step) {
                most = max_bytes(most, load_bytes(a));
            }
        }
        most = ~max_bytes(~most, ~high); /* ~ turns the order round */
        memcpy(y + c, &most, sizeof most);
    }
}

void nnacl_max_pool2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    int8_t *y = out[0];
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = (const int8_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            const int32_t first_x = wide.origin + wide.begin * p->dilation_w;
            run(p, image + ((ptrdiff_t)first_y * p->in_w + first_x) * p->channels, tall.end - tall.begin,
                wide.end - wide.begin, y + ((ptrdiff_t)row * p->out_w + column) * p->channels);
        }
    }
}
