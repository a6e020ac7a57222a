/* SPDX-License-Identifier: Apache-2.0 */
/* Attention by blocks of queries: their scores are a matrix product with the keys, softmax is taken of each row, and
 * the results are a product with the values. No more than the rows of one block exist at a time. Who includes this
 * includes a vector before it (common/vector_f32_avx2.h), and brings the product of a block. */
#ifndef NNACL_ATTENTION_F32_AVX2_H
#define NNACL_ATTENTION_F32_AVX2_H

#include "attention/attention_product.h"
#include "common/float_math.h"
#include "common/panels.h"
#include "common/share.h"

#ifndef LANES
#include "common/vector_f32_avx2.h"
#endif

/* Up to LANES floats. Whole vectors go without a mask: a masked store cannot be read back at once. */
static inline vector read_or(const float *from, int32_t count, float other) {
    return count >= LANES ? load_all(from) : load_or(from, lanes_of(count), spread(other));
}

static inline vector read(const float *from, int32_t count) {
    return read_or(from, count, 0.0f);
}

static inline void write(float *to, int32_t count, vector value) {
    if (count >= LANES) {
        store_all(to, value);
    } else {
        store(to, lanes_of(count), value);
    }
}

/* Queries of one head, and the scratch memory. */
typedef struct attention_block {
    const nnacl_attention_params *p;
    nnacl_query query; /* the first */
    int32_t rows;
    float *scores; /* [rows, k length] */
    float *panels;
} attention_block;

static inline int32_t attention_width(int32_t left, int32_t panels) {
    return nnacl_least(left, panels * NNACL_PANEL_F32);
}

static inline void attention_score(const attention_block *b, const attention_method *method) {
    const nnacl_attention_params *p = b->p;
    attention_product product = {.rows = b->rows,
                                 .depth = p->size,
                                 .a = b->query.q,
                                 .a_step = nnacl_head_step(p->q_layout, p->heads, p->size),
                                 .b = b->panels,
                                 .b_step = NNACL_PANEL_F32,
                                 .panel_step = (ptrdiff_t)p->size * NNACL_PANEL_F32,
                                 .y_step = p->k_length};
    for (int32_t j = 0; j < p->k_length; j += product.columns) {
        product.columns = attention_width(p->k_length - j, method->panels);
        for (int32_t done = 0; done < product.columns; done += NNACL_PANEL_F32) {
            method->pack_keys(&b->query, p->size, j + done, nnacl_least(product.columns - done, NNACL_PANEL_F32),
                              b->panels + (ptrdiff_t)done * p->size);
        }
        product.y = b->scores + j;
        method->multiply(&product);
    }
}

/* panel[j, c] = v[j, first + c] for the `count` columns from `first` on; the rest of 16 columns is 0. */
static inline void attention_pack_values(const attention_block *b, int32_t first, int32_t count) {
    for (int32_t j = 0; j < b->p->k_length; j++) {
        const float *v = b->query.v + j * b->query.v_step + first;
        float *row = b->panels + (ptrdiff_t)j * NNACL_PANEL_F32;
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            row[c] = c < count ? v[c] : 0.0f;
        }
    }
}

static inline void attention_gather(const attention_block *b, const attention_method *method) {
    const nnacl_attention_params *p = b->p;
    attention_product product = {.rows = b->rows,
                                 .depth = p->k_length,
                                 .a = b->scores,
                                 .a_step = p->k_length,
                                 .panel_step = NNACL_PANEL_F32,
                                 .y_step = nnacl_head_step(p->q_layout, p->heads, p->v_size)};
    for (int32_t first = 0; first < p->v_size; first += product.columns) {
        product.columns = attention_width(p->v_size - first, method->panels);
        if (product.columns < NNACL_PANEL_F32) {
            attention_pack_values(b, first, product.columns);
            product.b = b->panels;
            product.b_step = NNACL_PANEL_F32;
        } else { /* the rows of v serve as they lie */
            product.columns -= product.columns % NNACL_PANEL_F32;
            product.b = b->query.v + first;
            product.b_step = b->query.v_step;
        }
        product.y = b->query.y + first;
        method->multiply(&product);
    }
}

/* scores *= scale, + mask. */
static inline void attention_scale(float *scores, int32_t count, float scale, const float *mask) {
    const vector factor = spread(scale);
    for (int32_t j = 0; j < count; j += LANES) {
        const int32_t left = count - j;
        const vector value = mul(read(scores + j, left), factor);
        write(scores + j, left, mask ? add(value, read(mask + j, left)) : value);
    }
}

/* The largest of some scores; NaN if there is one. */
static inline float attention_largest(const float *scores, int32_t count) {
    vector max = spread(-INFINITY), bad = spread(0.0f);
    for (int32_t j = 0; j < count; j += LANES) {
        const vector value = read_or(scores + j, count - j, -INFINITY);
        max = larger(value, max);
        bad = add(bad, clamp(value, spread(0.0f), spread(0.0f)));
    }
    return largest_lane(max) + sum_of_lanes(bad);
}

/* Softmax of the scores of one query but for the factor, which is returned. Keys that it does not see get exactly 0. */
static inline float attention_soften(const nnacl_attention_params *p, const nnacl_query *query, const void *mask,
                                     float *scores) {
    const int32_t begin = query->begin, end = query->end;
    const ptrdiff_t at = query->mask + begin;
    const bool added = p->mask == NNACL_ATTENTION_ADDED_MASK, marked = p->mask == NNACL_ATTENTION_BOOLEAN_MASK;
    attention_scale(scores + begin, end - begin, p->scale, added ? (const float *)mask + at : NULL);
    for (int32_t j = begin; marked && j < end; j++) {
        scores[j] = ((const uint8_t *)mask)[at + j - begin] ? scores[j] : -INFINITY;
    }
    const float max = attention_largest(scores + begin, end - begin);
    const vector top = spread(max == -INFINITY ? 0.0f : max);
    vector sums = spread(0.0f);
    memset(scores, 0, (size_t)begin * sizeof(float));
    for (int32_t j = begin; j < end; j += LANES) {
        const vector e = exponential(sub(read_or(scores + j, end - j, -INFINITY), top));
        write(scores + j, end - j, e);
        sums = add(sums, e);
    }
    memset(scores + end, 0, (size_t)(p->k_length - end) * sizeof(float));
    const float sum = sum_of_lanes(sums);
    return sum == 0.0f ? 0.0f : 1.0f / sum;
}

static inline void attention(const nnacl_ctx *ctx, const nnacl_attention_params *p, const void *const in[],
                             void *const out[], attention_method method) {
    const ptrdiff_t y_step = nnacl_head_step(p->q_layout, p->heads, p->v_size);
    attention_block b = {.p = p, .scores = ctx->workspace};
    float factors[NNACL_ATTENTION_BLOCK];
    b.panels = b.scores + (ptrdiff_t)NNACL_ATTENTION_BLOCK * p->k_length;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->heads * p->q_length);
    for (int32_t row = share.begin; row < share.end; row += b.rows) {
        b.rows = nnacl_least(nnacl_least(share.end - row, p->q_length - row % p->q_length), NNACL_ATTENTION_BLOCK);
        b.query = nnacl_query_at(p, in, out, row);
        attention_score(&b, &method);
        for (int32_t r = 0; r < b.rows; r++) {
            const nnacl_query query = nnacl_query_at(p, in, out, row + r);
            factors[r] = attention_soften(p, &query, p->mask ? in[3] : NULL, b.scores + (ptrdiff_t)r * p->k_length);
        }
        attention_gather(&b, &method);
        for (int32_t r = 0; r < b.rows; r++) {
            attention_scale(b.query.y + r * y_step, p->v_size, factors[r], NULL);
        }
    }
}

#endif
