/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_rows.h"
#include "common/share.h"

NNACL_DECLARE(nnacl_rotary_embedding_f32_c);

/* Which row of cos and sin belongs to position `i` of batch * length. */
static ptrdiff_t angle_row(const nnacl_rotary_params *p, const void *positions, int32_t i) {
    if (p->positions == 0) {
        return i;
    }
    const int64_t position = p->positions_are_s64 ? ((const int64_t *)positions)[i] : ((const int32_t *)positions)[i];
    return position < 0 ? 0 : position >= p->positions ? p->positions - 1 : (ptrdiff_t)position;
}

void nnacl_rotary_embedding_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_rotary_params *p = params;
    const int32_t step = p->interleaved ? 2 : 1, partner = p->interleaved ? 1 : p->pairs;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->length);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t angle = angle_row(p, p->positions ? in[3] : NULL, i) * p->pairs;
        const float *cosines = (const float *)in[1] + angle, *sines = (const float *)in[2] + angle;
        for (int32_t h = 0; h < p->heads; h++) {
            const ptrdiff_t at = nnacl_head_start(p->layout, i / p->length, h, p->heads, p->length, p->size) +
                                 i % p->length * nnacl_head_step(p->layout, p->heads, p->size);
            const float *x = (const float *)in[0] + at;
            float *y = (float *)out[0] + at;
            for (int32_t j = 0; j < p->pairs; j++) {
                const float a = x[j * step], b = x[j * step + partner];
                y[j * step] = cosines[j] * a - sines[j] * b;
                y[j * step + partner] = sines[j] * a + cosines[j] * b;
            }
            for (int32_t j = 2 * p->pairs; j < p->size; j++) {
                y[j] = x[j];
            }
        }
    }
}
