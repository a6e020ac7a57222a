/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention.h"
#include "common/float_math.h"
#include "common/lane_sums.h"
#include "common/share.h"

NNACL_DECLARE(nnacl_linear_attention_f32_c);

/* One step of one head of k: how far the vectors of a step lie apart, and what belongs to it. */
typedef struct linear_step {
    const float *k, *v;
    const float *decay; /* NULL: none */
    float beta;
} linear_step;

/* state = decayed state + k (v or what v adds to it); `change` is scratch. */
static void update(const nnacl_linear_attention_params *p, const linear_step *step, float *restrict state,
                   float *restrict change) {
    for (int32_t d = 0; step->decay && d < p->size; d++) {
        const float factor = nnacl_expf(step->decay[p->decay_per_element ? d : 0]);
        for (int32_t m = 0; m < p->v_size; m++) {
            state[(ptrdiff_t)d * p->v_size + m] *= factor;
        }
    }
    for (int32_t m = 0; m < p->v_size; m++) {
        change[m] = 0.0f;
    }
    for (int32_t d = 0; p->has_beta && d < p->size; d++) {
        for (int32_t m = 0; m < p->v_size; m++) {
            change[m] += step->k[d] * state[(ptrdiff_t)d * p->v_size + m];
        }
    }
    for (int32_t m = 0; m < p->v_size; m++) {
        change[m] = p->has_beta ? step->beta * (step->v[m] - change[m]) : step->v[m];
    }
    for (int32_t d = 0; d < p->size; d++) {
        for (int32_t m = 0; m < p->v_size; m++) {
            state[(ptrdiff_t)d * p->v_size + m] += step->k[d] * change[m];
        }
    }
}

/* y = scale q state */
static void read(const nnacl_linear_attention_params *p, const float *q, const float *restrict state,
                 float *restrict y) {
    for (int32_t m = 0; m < p->v_size; m++) {
        y[m] = 0.0f;
    }
    for (int32_t d = 0; d < p->size; d++) {
        const float factor = p->scale * q[d];
        for (int32_t m = 0; m < p->v_size; m++) {
            y[m] += factor * state[(ptrdiff_t)d * p->v_size + m];
        }
    }
}

void nnacl_linear_attention_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_linear_attention_params *p = params;
    const ptrdiff_t matrix = (ptrdiff_t)p->size * p->v_size;
    const int32_t shared = p->heads / p->kv_heads;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->kv_heads);
    for (int32_t item = share.begin; item < share.end; item++) {
        const int32_t b = item / p->kv_heads, h = item % p->kv_heads;
        float *state = (float *)out[1] + item * matrix;
        for (ptrdiff_t i = 0; i < matrix; i++) {
            state[i] = p->has_past ? ((const float *)in[3])[item * matrix + i] : 0.0f;
        }
        for (int32_t t = 0; t < p->length; t++) {
            const ptrdiff_t row = (ptrdiff_t)b * p->length + t, head = row * p->kv_heads + h;
            const linear_step step = {(const float *)in[1] + head * p->size, (const float *)in[2] + head * p->v_size,
                                      p->has_decay ? (const float *)in[4] + head * (p->decay_per_element ? p->size : 1)
                                                   : NULL,
                                      p->has_beta ? ((const float *)in[5])[p->beta_per_head ? head : row] : 0.0f};
            update(p, &step, state, ctx->workspace);
            for (int32_t i = h * shared; i < (h + 1) * shared; i++) {
                const ptrdiff_t q_head = row * p->heads + i;
                read(p, (const float *)in[0] + q_head * p->size, state, (float *)out[0] + q_head * p->v_size);
            }
        }
    }
}
