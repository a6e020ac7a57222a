/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/dot_s8.h"
#include "common/fixed_point.h"
#include "common/share.h"
#include "rnn/rnn.h"

NNACL_DECLARE(nnacl_svdf_s8_c);

void nnacl_svdf_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_svdf_params *p = params;
    const int8_t *features = in[1];
    const int16_t *times = in[2];
    const int32_t *bias = p->has_bias ? in[3] : NULL;
    int8_t *y = out[0];

    const nnacl_range share = nnacl_share(ctx, p->batch * p->units);
    for (int32_t i = share.begin; i < share.end; i++) {
        const int32_t unit = i % p->units;
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)(i / p->units) * p->size;
        const ptrdiff_t first = (ptrdiff_t)i * p->rank * p->memory;
        const int16_t *old = (const int16_t *)in[4] + first;
        int16_t *memory = (int16_t *)out[1] + first;
        uint32_t sum = bias ? (uint32_t)bias[unit] : 0;
        for (int32_t filter = unit * p->rank; filter < (unit + 1) * p->rank; filter++) {
            const int16_t *weights = times + (ptrdiff_t)filter * p->memory;
            const int32_t feature =
                (int32_t)nnacl_dot_s8(0, x, features + (ptrdiff_t)filter * p->size, p->size, p->x_zero, 0);
            memmove(memory, old + 1, (size_t)(p->memory - 1) * sizeof *memory);
            memory[p->memory - 1] =
                (int16_t)nnacl_saturate_s16(nnacl_requant_double(feature, p->state_mult, p->state_shift));
            for (int32_t j = 0; j < p->memory; j++) {
                sum += (uint32_t)(memory[j] * weights[j]);
            }
            old += p->memory;
            memory += p->memory;
        }
        const int32_t scaled = nnacl_requant_double((int32_t)sum, p->y_mult, p->y_shift);
        y[i] = (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
    }
}
