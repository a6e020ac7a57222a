/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_rows.h"
#include "common/float_math.h"
#include "common/lane_sums.h"
#include "common/share.h"

NNACL_DECLARE(nnacl_attention_f32_c);

/* Writes the scores of all keys, or of those that the query may see, to `scores`: capped, not masked. `raw` gets them
 * as they are, where it is given. */
static void score(const nnacl_attention_params *p, const nnacl_query *query, int32_t begin, int32_t end, float *scores,
                  float *raw) {
    for (int32_t j = begin; j < end; j++) {
        scores[j] = p->scale * nnacl_dot_f32(query->q, query->k + j * query->k_step, p->size);
    }
    for (int32_t j = begin; raw && j < end; j++) {
        raw[j] = scores[j];
    }
    for (int32_t j = begin; p->softcap > 0.0f && j < end; j++) {
        scores[j] = p->softcap * nnacl_tanhf(scores[j] / p->softcap);
    }
}

/* Adds the mask, and hides the keys that the query does not see. */
static void hide(const nnacl_attention_params *p, const nnacl_query *query, const void *mask, float *scores) {
    for (int32_t j = query->begin; j < query->end; j++) {
        if (p->mask == NNACL_ATTENTION_ADDED_MASK) {
            scores[j] += ((const float *)mask)[query->mask + j];
        } else if (p->mask == NNACL_ATTENTION_BOOLEAN_MASK && !((const uint8_t *)mask)[query->mask + j]) {
            scores[j] = -INFINITY;
        }
    }
}

/* Softmax over the keys begin .. end - 1; all 0 when every one is hidden. */
static void normalize(float *scores, int32_t begin, int32_t end) {
    float max = -INFINITY;
    for (int32_t j = begin; j < end; j++) {
        max = scores[j] > max || scores[j] != scores[j] ? scores[j] : max;
    }
    float lanes[NNACL_LANES] = {0.0f};
    for (int32_t j = begin; j < end; j++) {
        scores[j] = max == -INFINITY ? 0.0f : nnacl_expf(scores[j] - max);
        lanes[(j - begin) % NNACL_LANES] += scores[j];
    }
    const float sum = nnacl_add_lanes(lanes);
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int32_t j = begin; j < end; j++) {
        scores[j] *= factor;
    }
}

/* y = the rows of v weighted by the scores. */
static void gather(const nnacl_attention_params *p, const nnacl_query *query, const float *scores) {
    float *restrict y = query->y;
    for (int32_t d = 0; d < p->v_size; d++) {
        y[d] = 0.0f;
    }
    for (int32_t j = query->begin; j < query->end; j++) {
        const float weight = scores[j];
        const float *restrict v = query->v + j * query->v_step;
        for (int32_t d = 0; d < p->v_size; d++) {
            y[d] += weight * v[d];
        }
    }
}

/* Writes the scores for the caller; outside of what the query sees they are `elsewhere`. */
static void show(const nnacl_attention_params *p, const nnacl_query *query, const float *scores, float elsewhere,
                 float *shown) {
    for (int32_t j = 0; j < p->k_length; j++) {
        shown[j] = j >= query->begin && j < query->end ? scores[j] : elsewhere;
    }
}

void nnacl_attention_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_attention_params *p = params;
    float *scores = ctx->workspace;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->heads * p->q_length);
    for (int32_t row = share.begin; row < share.end; row++) {
        const nnacl_query query = nnacl_query_at(p, in, out, row);
        float *shown = p->qk_output >= 0 ? (float *)out[1] + (ptrdiff_t)row * p->k_length : NULL;
        const bool all = p->qk_output == 0 || p->qk_output == 1;
        score(p, &query, all ? 0 : query.begin, all ? p->k_length : query.end, scores,
              p->qk_output == 0 ? shown : NULL);
        for (int32_t j = 0; p->qk_output == 1 && j < p->k_length; j++) {
            shown[j] = scores[j];
        }
        hide(p, &query, p->mask ? in[3] : NULL, scores);
        if (p->qk_output == 2) {
            show(p, &query, scores, -INFINITY, shown);
        }
        normalize(scores, query.begin, query.end);
        if (p->qk_output == 3) {
            show(p, &query, scores, 0.0f, shown);
        }
        gather(p, &query, scores);
    }
}
