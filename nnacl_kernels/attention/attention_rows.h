/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rows of an attention lie, and which keys a query sees. */
#ifndef NNACL_ATTENTION_ROWS_H
#define NNACL_ATTENTION_ROWS_H

#include "attention/attention.h"

/* One query. */
typedef struct nnacl_query {
    int32_t begin, end; /* the keys that it may see, before the mask */
    ptrdiff_t k_step, v_step;
    const float *q, *k, *v;
    float *y;
    ptrdiff_t mask; /* where its row of the mask begins */
} nnacl_query;

static inline int32_t nnacl_attention_length(const nnacl_attention_params *p, const void *lengths, int32_t batch) {
    const int64_t length = p->lengths_are_s64 ? ((const int64_t *)lengths)[batch] : ((const int32_t *)lengths)[batch];
    return length < 0 ? 0 : length > p->k_length ? p->k_length : (int32_t)length;
}

/* In elements: where matrix (batch, head) begins, and the step from one position to the next. */
static inline ptrdiff_t nnacl_head_start(int32_t layout, int32_t batch, int32_t head, int32_t heads, int32_t length,
                                         int32_t size) {
    const ptrdiff_t all = (ptrdiff_t)batch * heads * length;
    return (all + (layout ? head : (ptrdiff_t)head * length)) * size;
}

static inline ptrdiff_t nnacl_head_step(int32_t layout, int32_t heads, int32_t size) {
    return layout ? (ptrdiff_t)heads * size : size;
}

static inline int32_t nnacl_least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Query `row` of batch * heads * q_length. */
static inline nnacl_query nnacl_query_at(const nnacl_attention_params *p, const void *const in[], void *const out[],
                                         int32_t row) {
    const int32_t i = row % p->q_length, h = row / p->q_length % p->heads, b = row / p->q_length / p->heads;
    const int32_t kv_head = h / (p->heads / p->kv_heads);
    nnacl_query query;
    const ptrdiff_t q_at = nnacl_head_start(p->q_layout, b, h, p->heads, p->q_length, p->size) +
                           i * nnacl_head_step(p->q_layout, p->heads, p->size);
    const ptrdiff_t y_at = nnacl_head_start(p->q_layout, b, h, p->heads, p->q_length, p->v_size) +
                           i * nnacl_head_step(p->q_layout, p->heads, p->v_size);
    query.q = (const float *)in[0] + q_at;
    query.y = (float *)out[0] + y_at;
    query.k = (const float *)in[1] + nnacl_head_start(p->kv_layout, b, kv_head, p->kv_heads, p->k_length, p->size);
    query.v = (const float *)in[2] + nnacl_head_start(p->kv_layout, b, kv_head, p->kv_heads, p->k_length, p->v_size);
    query.k_step = nnacl_head_step(p->kv_layout, p->kv_heads, p->size);
    query.v_step = nnacl_head_step(p->kv_layout, p->kv_heads, p->v_size);
    query.mask =
        (ptrdiff_t)b * p->mask_strides[0] + (ptrdiff_t)h * p->mask_strides[1] + (ptrdiff_t)i * p->mask_strides[2];
    const int32_t length = p->has_lengths ? nnacl_attention_length(p, in[4], b) : p->k_length;
    const int32_t offset = p->has_lengths  ? length - p->q_length
                           : p->offset < 0 ? p->k_length - p->q_length
                                           : p->offset;
    const int32_t position = i + offset;
    query.begin = p->left_window >= 0 && position > p->left_window ? position - p->left_window : 0;
    query.end = nnacl_least(length, p->mask_length);
    query.end = p->causal ? nnacl_least(query.end, position + 1) : query.end;
    query.end = p->right_window >= 0 ? nnacl_least(query.end, position + p->right_window + 1) : query.end;
    query.end = query.end < 0 ? 0 : query.end;
    query.begin = nnacl_least(query.begin, query.end);
    return query;
}

#endif
