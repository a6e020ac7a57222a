/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention.h"
#include "common/panels.h"
#include "common/plan_check.h"
#include "common/shape.h"

#define LEAST_MACS_PER_PART 32768

/* Sizes of [batch, heads, length, size] in either layout. */
typedef struct head_dims {
    int32_t batch, heads, length, size;
} head_dims;

static head_dims heads_of(const nnacl_tensor *tensor, int32_t layout) {
    const head_dims dims = {tensor->dims[0], tensor->dims[layout ? 2 : 1], tensor->dims[layout ? 1 : 2],
                            tensor->dims[3]};
    return dims;
}

static bool is_index_type(const nnacl_tensor *tensor) {
    return tensor->dtype == NNACL_S32 || tensor->dtype == NNACL_S64;
}

static const char *check_attributes(const nnacl_attention_params *p) {
    NNACL_REQUIRE((p->q_layout == 0 || p->q_layout == 1) && (p->kv_layout == 0 || p->kv_layout == 1),
                  "q_layout and kv_layout must be 0 or 1");
    NNACL_REQUIRE(p->causal == 0 || p->causal == 1, "causal must be 0 or 1");
    NNACL_REQUIRE(p->left_window >= -1 && p->right_window >= -1, "a window must be -1 or at least 0");
    NNACL_REQUIRE(p->left_window <= INT32_MAX / 4 && p->right_window <= INT32_MAX / 4, "a window is too large");
    NNACL_REQUIRE(p->offset >= -1 && p->offset <= INT32_MAX / 4, "offset is out of range");
    NNACL_REQUIRE(p->softcap >= 0.0f, "softcap must not be negative");
    NNACL_REQUIRE(p->qk_output >= -1 && p->qk_output <= 3, "qk_output must be -1 .. 3");
    return NULL;
}

/* Fills the fields of the mask. */
static const char *resize_mask(nnacl_attention_params *p, const nnacl_tensor *mask) {
    p->mask = NNACL_ATTENTION_NO_MASK;
    p->mask_length = p->k_length;
    for (int32_t i = 0; i < 3; i++) {
        p->mask_strides[i] = 0;
    }
    if (!mask) {
        return NULL;
    }
    NNACL_REQUIRE(mask->dtype == NNACL_F32 || mask->dtype == NNACL_B8, "the mask must be f32 or b8");
    NNACL_REQUIRE(mask->rank >= 1 && mask->rank <= 4, "the mask must have 1 to 4 dimensions");
    p->mask = mask->dtype == NNACL_F32 ? NNACL_ATTENTION_ADDED_MASK : NNACL_ATTENTION_BOOLEAN_MASK;
    p->mask_length = mask->dims[mask->rank - 1];
    NNACL_REQUIRE(p->mask_length <= p->k_length, "the mask has more keys than k");
    const int32_t full[3] = {p->batch, p->heads, p->q_length};
    int32_t stride = p->mask_length;
    for (int32_t i = 2; i >= 0; i--) {
        const int32_t axis = i - (4 - mask->rank);
        const int32_t dim = axis < 0 ? 1 : mask->dims[axis];
        NNACL_REQUIRE(dim == 1 || dim == full[i], "the mask does not broadcast to [batch, heads, q length]");
        p->mask_strides[i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return NULL;
}

static const char *attention_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_attention_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 5, 1);
    NNACL_REQUIRE(!message, message);
    message = check_attributes(p);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(n_out == (p->qk_output < 0 ? 1 : 2), "the outputs are y and, with qk_output, the scores");
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 4) && nnacl_plan_is(&in[1], NNACL_F32, 4) &&
                      nnacl_plan_is(&in[2], NNACL_F32, 4),
                  "q, k and v must be f32 with four dimensions");
    const head_dims q = heads_of(&in[0], p->q_layout), k = heads_of(&in[1], p->kv_layout),
                    v = heads_of(&in[2], p->kv_layout);
    NNACL_REQUIRE(q.batch == k.batch && k.batch == v.batch, "q, k and v differ in batch");
    NNACL_REQUIRE(k.heads == v.heads && k.length == v.length, "k and v differ in heads or length");
    NNACL_REQUIRE(q.size == k.size, "the heads of q and k differ in size");
    NNACL_REQUIRE(k.heads >= 1 && q.heads % k.heads == 0, "the heads of k must divide those of q");
    NNACL_REQUIRE(q.length <= INT32_MAX / 4 && k.length <= INT32_MAX / 4, "q or k is too long");
    p->batch = q.batch;
    p->heads = q.heads;
    p->kv_heads = k.heads;
    p->q_length = q.length;
    p->k_length = k.length;
    p->size = q.size;
    p->v_size = v.size;
    message = resize_mask(p, nnacl_plan_input(in, n_in, 3));
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *lengths = nnacl_plan_input(in, n_in, 4);
    NNACL_REQUIRE(!lengths || (is_index_type(lengths) && lengths->rank == 1 && lengths->dims[0] == p->batch),
                  "lengths must be s32 or s64 [batch]");
    p->has_lengths = lengths != NULL;
    p->lengths_are_s64 = lengths != NULL && lengths->dtype == NNACL_S64;
    const int32_t rows[3] = {p->batch, p->heads, p->q_length};
    message = nnacl_shape_set(&out[0], NNACL_F32, 3, rows); /* rows are counted in 32 bits */
    NNACL_REQUIRE(!message, message);
    const int32_t y[2][4] = {{p->batch, p->heads, p->q_length, p->v_size},
                             {p->batch, p->q_length, p->heads, p->v_size}};
    message = nnacl_shape_set(&out[0], NNACL_F32, 4, y[p->q_layout]);
    if (!message && n_out == 2) {
        const int32_t scores[4] = {p->batch, p->heads, p->q_length, p->k_length};
        message = nnacl_shape_set(&out[1], NNACL_F32, 4, scores);
    }
    return message;
}

bool nnacl_attention_accepts_blocks(const void *params) {
    const nnacl_attention_params *p = params;
    return p->qk_output < 0 && p->softcap == 0.0f && p->q_length >= 4;
}

/* The scores of one query; or those of a block, and some columns of k or v. */
static size_t attention_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_attention_params *p = params;
    const size_t keys = (size_t)p->k_length;
    if (kernel->isa == NNACL_ISA_C) {
        return sizeof(float) * keys;
    }
    const size_t panels = kernel->isa == NNACL_ISA_AVX512 ? NNACL_ATTENTION_PANELS_AVX512 : 1;
    const size_t of_keys = panels * (size_t)p->size, longest = keys > of_keys ? keys : of_keys;
    return sizeof(float) * (NNACL_ATTENTION_BLOCK * keys + NNACL_PANEL_F32 * longest);
}

static int64_t attention_macs(const void *params) {
    const nnacl_attention_params *p = params;
    return (int64_t)p->batch * p->heads * p->q_length * p->k_length * ((int64_t)p->size + p->v_size);
}

static int32_t attention_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_attention_params *p = params;
    (void)kernel;
    const int32_t rows = p->batch * p->heads * p->q_length;
    const int32_t parts = nnacl_shape_parts(attention_macs(params), LEAST_MACS_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : rows;
}

static const char *rotary_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_rotary_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 4, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE((p->layout == 0 || p->layout == 1) && (p->interleaved == 0 || p->interleaved == 1),
                  "layout and interleaved must be 0 or 1");
    const nnacl_tensor *x = &in[0], *positions = nnacl_plan_input(in, n_in, 3);
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_F32, 4), "x must be f32 with four dimensions");
    const head_dims dims = heads_of(x, p->layout);
    p->batch = dims.batch;
    p->heads = dims.heads;
    p->length = dims.length;
    p->size = dims.size;
    const int32_t rank = positions ? 2 : 3;
    for (int32_t i = 1; i <= 2; i++) {
        NNACL_REQUIRE(nnacl_plan_is(&in[i], NNACL_F32, rank), "cos and sin must be f32 with one row for each position");
        NNACL_REQUIRE(in[i].dims[0] == in[1].dims[0] && in[i].dims[1] == in[1].dims[1] &&
                          in[i].dims[rank - 1] == in[1].dims[rank - 1],
                      "cos and sin differ in shape");
    }
    p->pairs = in[1].dims[rank - 1];
    NNACL_REQUIRE(p->pairs <= p->size / 2, "cos and sin are longer than half a head");
    p->positions = 0;
    p->positions_are_s64 = 0;
    if (positions) {
        NNACL_REQUIRE(is_index_type(positions) && positions->rank == 2 && positions->dims[0] == p->batch &&
                          positions->dims[1] == p->length,
                      "the positions must be s32 or s64 [batch, length]");
        p->positions = in[1].dims[0];
        NNACL_REQUIRE(p->positions >= 1, "cos and sin have no rows");
        p->positions_are_s64 = positions->dtype == NNACL_S64;
    } else {
        NNACL_REQUIRE(in[1].dims[0] == p->batch && in[1].dims[1] == p->length,
                      "cos and sin must be [batch, length, pairs]");
    }
    const int32_t rows[3] = {p->batch, p->length, p->heads};
    message = nnacl_shape_set(&out[0], NNACL_F32, 3, rows); /* rows are counted in 32 bits */
    NNACL_REQUIRE(!message, message);
    return nnacl_shape_set(&out[0], NNACL_F32, 4, x->dims);
}

static bool is_f32_3d(const nnacl_tensor *tensor, int32_t batch, int32_t length) {
    return nnacl_plan_is(tensor, NNACL_F32, 3) && tensor->dims[0] == batch && tensor->dims[1] == length;
}

/* The optional inputs of linear_attention. */
static const char *resize_linear_options(nnacl_linear_attention_params *p, const nnacl_tensor *in, int32_t n_in) {
    const nnacl_tensor *past = nnacl_plan_input(in, n_in, 3), *decay = nnacl_plan_input(in, n_in, 4),
                       *beta = nnacl_plan_input(in, n_in, 5);
    NNACL_REQUIRE(!past || (nnacl_plan_is(past, NNACL_F32, 4) && past->dims[0] == p->batch &&
                            past->dims[1] == p->kv_heads && past->dims[2] == p->size && past->dims[3] == p->v_size),
                  "the state must be f32 [batch, kv_heads, size, v size]");
    NNACL_REQUIRE(!decay || (is_f32_3d(decay, p->batch, p->length) &&
                             (decay->dims[2] == p->kv_heads || decay->dims[2] == p->kv_heads * p->size)),
                  "decay must be f32 [batch, length, kv_heads or kv_heads * size]");
    NNACL_REQUIRE(!beta ||
                      (is_f32_3d(beta, p->batch, p->length) && (beta->dims[2] == p->kv_heads || beta->dims[2] == 1)),
                  "beta must be f32 [batch, length, kv_heads or 1]");
    p->has_past = past != NULL;
    p->has_decay = decay != NULL;
    p->decay_per_element = decay != NULL && decay->dims[2] != p->kv_heads;
    p->has_beta = beta != NULL;
    p->beta_per_head = beta != NULL && beta->dims[2] == p->kv_heads;
    return NULL;
}

static const char *linear_attention_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                           int32_t n_out) {
    nnacl_linear_attention_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 6, 1);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(n_out == 2, "the outputs are y and the state");
    NNACL_REQUIRE(p->kv_heads >= 1 && p->heads >= 1 && p->heads % p->kv_heads == 0, "kv_heads must divide heads");
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 3), "q must be f32 [batch, length, heads * size]");
    p->batch = in[0].dims[0];
    p->length = in[0].dims[1];
    NNACL_REQUIRE(is_f32_3d(&in[1], p->batch, p->length) && is_f32_3d(&in[2], p->batch, p->length),
                  "k and v must be f32 with the batch and length of q");
    NNACL_REQUIRE(in[0].dims[2] % p->heads == 0 && in[1].dims[2] % p->kv_heads == 0 && in[2].dims[2] % p->kv_heads == 0,
                  "q, k or v are not whole heads");
    p->size = in[0].dims[2] / p->heads;
    p->v_size = in[2].dims[2] / p->kv_heads;
    NNACL_REQUIRE(p->size >= 1 && p->v_size >= 1 && in[1].dims[2] == p->kv_heads * p->size,
                  "the heads of q and k differ in size");
    message = resize_linear_options(p, in, n_in);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->v_size <= INT32_MAX / p->heads, "y would have too many elements");
    const int32_t y[3] = {p->batch, p->length, p->heads * p->v_size};
    const int32_t state[4] = {p->batch, p->kv_heads, p->size, p->v_size};
    message = nnacl_shape_set(&out[0], NNACL_F32, 3, y);
    return message ? message : nnacl_shape_set(&out[1], NNACL_F32, 4, state);
}

/* One vector like v. */
static size_t linear_attention_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return sizeof(float) * (size_t)((const nnacl_linear_attention_params *)params)->v_size;
}

static int64_t linear_attention_macs(const void *params) {
    const nnacl_linear_attention_params *p = params;
    const int64_t products = p->heads + (p->has_beta ? 2 : 1) * (int64_t)p->kv_heads;
    return (int64_t)p->batch * p->length * products * p->size * p->v_size;
}

static int32_t linear_attention_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_linear_attention_params *p = params;
    (void)kernel;
    const int32_t items = p->batch * p->kv_heads;
    const int32_t parts = nnacl_shape_parts(linear_attention_macs(params), LEAST_MACS_PER_PART);
    return items < 1 ? 1 : parts < items ? parts : items;
}

const nnacl_op nnacl_attention_op = {
    .name = "attention",
    .params_name = "nnacl_attention_params",
    .header = "attention/attention.h",
    .params_size = sizeof(nnacl_attention_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = attention_resize,
    .workspace = attention_workspace,
    .parts = attention_parts,
    .macs = attention_macs,
};

const nnacl_op nnacl_rotary_embedding_op = {
    .name = "rotary_embedding",
    .params_name = "nnacl_rotary_params",
    .header = "attention/attention.h",
    .params_size = sizeof(nnacl_rotary_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = rotary_resize,
};

const nnacl_op nnacl_linear_attention_op = {
    .name = "linear_attention",
    .params_name = "nnacl_linear_attention_params",
    .header = "attention/attention.h",
    .params_size = sizeof(nnacl_linear_attention_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = linear_attention_resize,
    .workspace = linear_attention_workspace,
    .parts = linear_attention_parts,
    .macs = linear_attention_macs,
};
