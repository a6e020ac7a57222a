/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and rotary positions. f32.
 *
 * attention: y = softmax(scale q k^T, capped, plus mask) v for each batch and head. Inputs 0 q, 1 k, 2 v: with layout 0
 *   [batch, heads, length, size], with layout 1 [batch, length, heads, size]; q_layout holds for q and y, kv_layout for
 *   k and v. k and v may have fewer heads, each of which serves heads / kv_heads of q. 3 mask (optional), f32 (added)
 *   or b8 (false: hidden), whose last dimension is a number of keys (those beyond are hidden) and whose other
 *   dimensions broadcast to [batch, heads, q length]. 4 lengths s32 or s64 [batch] (optional): later keys are hidden.
 *   softcap > 0: scores become softcap tanh(score / softcap) before the mask.
 *   Query i stands at position i + offset; offset is the attribute, k length - q length when that is -1, and with
 *   lengths the length - q length. causal hides keys behind that position; left_window and right_window (-1: no limit)
 *   hide keys further away.
 *   A query that sees no key gives 0. Outputs y and, with qk_output 0 .. 3, the scores [batch, heads, q length,
 *   k length]: 0 as they are, 1 capped, 2 masked, 3 after softmax.
 * rotary_embedding: the first 2 r elements of each head are pairs that are turned by an angle: (a cos - b sin,
 *   a sin + b cos). Inputs 0 x as q above, 1 cos, 2 sin [batch, length, r], or [positions, r] with 3 the positions s32
 *   or s64 [batch, length], limited to what there is. Pairs are (i, i + r) or, interleaved, (2 i, 2 i + 1).
 * linear_attention: a state S [size, v size] for each batch and head of k takes in one step after the other. S is first
 *   multiplied by exp(decay) (input 4, optional: [batch, length, kv_heads] or [batch, length, kv_heads * size]), then
 *   k (v) is added to it or, with beta (input 5, optional: [batch, length, kv_heads or 1]), k (beta (v - k S)); each of
 *   the heads / kv_heads heads of q reads y = scale q S. Inputs 0 q [batch, length, heads * size], 1 k [batch, length,
 *   kv_heads * size], 2 v [batch, length, kv_heads * v size], 3 S before the first step [batch, kv_heads, size,
 *   v size] (optional: 0). Outputs y [batch, length, heads * v size], and S behind the last step.
 */
#ifndef NNACL_ATTENTION_H
#define NNACL_ATTENTION_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_ATTENTION_NO_MASK 0
#define NNACL_ATTENTION_ADDED_MASK 1
#define NNACL_ATTENTION_BOOLEAN_MASK 2

typedef struct nnacl_attention_params {
    /* attributes */
    int32_t q_layout, kv_layout;
    int32_t causal;
    int32_t left_window, right_window;
    int32_t offset;
    float scale, softcap;
    int32_t qk_output; /* -1: none */
    /* shapes, derived */
    int32_t batch, heads, kv_heads, q_length, k_length, size, v_size;
    int32_t mask, mask_length;
    int32_t mask_strides[3]; /* batch, heads, q length; in elements, 0: repeated */
    int32_t has_lengths, lengths_are_s64;
} nnacl_attention_params;

/* For kernels that work on blocks of queries: scores neither shown nor capped, and more than a few queries. */
bool nnacl_attention_accepts_blocks(const void *params);

/* Queries in such a block, at most. */
#define NNACL_ATTENTION_BLOCK 48
/* Panels of 16 keys that the kernel of AVX-512 multiplies at a time. */
#define NNACL_ATTENTION_PANELS_AVX512 3

typedef struct nnacl_rotary_params {
    /* attributes */
    int32_t layout;
    int32_t interleaved;
    /* shapes, derived */
    int32_t batch, heads, length, size;
    int32_t pairs;
    int32_t positions; /* rows of cos and sin; 0: one for each batch and length */
    int32_t positions_are_s64;
} nnacl_rotary_params;

typedef struct nnacl_linear_attention_params {
    /* attributes */
    int32_t heads, kv_heads;
    float scale;
    /* shapes, derived */
    int32_t batch, length, size, v_size;
    int32_t has_past, has_decay, decay_per_element, has_beta, beta_per_head;
} nnacl_linear_attention_params;

#ifdef __cplusplus
}
#endif

#endif
