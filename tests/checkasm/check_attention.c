#include <math.h>

#include "attention/attention.h"
#include "checkasm.h"

static void draw_heads(check_case *c, int32_t layout, int32_t batch, int32_t heads, int32_t length, int32_t size) {
    const int32_t dims[2][4] = {{batch, heads, length, size}, {batch, length, heads, size}};
    check_input(c, NNACL_F32, 4, dims[layout]);
}

/* The mask over `keys` of the keys; its leading dimensions are whole, 1 or left out. */
static void draw_mask(check_case *c, int32_t batch, int32_t heads, int32_t q_length, int32_t keys) {
    const int32_t full[4] = {batch, heads, q_length, keys};
    int32_t dims[4];
    const int32_t dropped = check_int(c, 0, 3);
    for (int32_t i = dropped; i < 4; i++) {
        dims[i - dropped] = i < 3 && check_chance(c, 40) ? 1 : full[i];
    }
    const bool boolean = check_chance(c, 50);
    float *values = check_input(c, boolean ? NNACL_B8 : NNACL_F32, 4 - dropped, dims);
    const int64_t count = nnacl_element_count(&c->in[c->n_in - 1]);
    for (int64_t i = 0; !boolean && i < count; i++) {
        values[i] = check_chance(c, 20) ? -INFINITY : values[i];
    }
}

static void draw_lengths(check_case *c, int32_t batch, int32_t k_length) {
    int64_t *lengths = check_vector(c, NNACL_S64, batch);
    for (int32_t i = 0; i < batch; i++) {
        lengths[i] = check_int(c, -1, k_length + 1);
    }
}

static void draw_attention(check_case *c) {
    nnacl_attention_params *p = (void *)&c->params;
    const int32_t batch = c->bench ? 1 : check_int(c, 1, 3), kv_heads = c->bench ? 8 : check_int(c, 1, 3);
    const int32_t heads = kv_heads * (c->bench ? 1 : check_int(c, 1, 3));
    const int32_t q_length = check_dim(c, 9, 128), k_length = check_dim(c, 19, 128);
    const int32_t size = check_dim(c, 20, 64), v_size = check_dim(c, 20, 64);
    p->q_layout = check_int(c, 0, 1);
    p->kv_layout = check_int(c, 0, 1);
    p->causal = !c->bench && check_chance(c, 30);
    p->left_window = c->bench || check_chance(c, 70) ? -1 : check_int(c, 0, 5);
    p->right_window = c->bench || check_chance(c, 70) ? -1 : check_int(c, 0, 5);
    p->offset = check_int(c, -1, 4);
    p->scale = check_float(c, 0.05f, 0.5f);
    const bool usual = c->bench || check_chance(c, 60);
    p->softcap = usual || check_chance(c, 50) ? 0.0f : check_float(c, 0.5f, 5.0f);
    p->qk_output = usual || check_chance(c, 30) ? -1 : check_int(c, 0, 3);
    draw_heads(c, p->q_layout, batch, heads, q_length, size);
    draw_heads(c, p->kv_layout, batch, kv_heads, k_length, size);
    draw_heads(c, p->kv_layout, batch, kv_heads, k_length, v_size);
    if (!c->bench && check_chance(c, 60)) {
        draw_mask(c, batch, heads, q_length, check_chance(c, 70) ? k_length : check_int(c, 1, k_length));
    } else {
        check_absent(c);
    }
    if (!c->bench && check_chance(c, 30)) {
        draw_lengths(c, batch, k_length);
    }
    c->n_out = p->qk_output < 0 ? 1 : 2;
    c->relative = 2e-5;
}

static void draw_rotary(check_case *c) {
    nnacl_rotary_params *p = (void *)&c->params;
    const int32_t batch = check_int(c, 1, 3), heads = check_int(c, 1, 4), length = check_dim(c, 9, 128);
    const int32_t pairs = check_dim(c, 12, 32), size = 2 * pairs + check_int(c, 0, 5);
    p->layout = check_int(c, 0, 1);
    p->interleaved = check_int(c, 0, 1);
    draw_heads(c, p->layout, batch, heads, length, size);
    const bool indexed = check_chance(c, 50);
    const int32_t rows = check_int(c, 1, 20);
    const int32_t table[2] = {rows, pairs}, own[3] = {batch, length, pairs};
    for (int32_t i = 0; i < 2; i++) {
        check_input(c, NNACL_F32, indexed ? 2 : 3, indexed ? table : own);
    }
    if (indexed) {
        const int32_t dims[2] = {batch, length};
        int64_t *positions = check_input(c, NNACL_S64, 2, dims);
        for (int32_t i = 0; i < batch * length; i++) {
            positions[i] = check_int(c, -1, rows);
        }
    }
}

static void draw_3d(check_case *c, int32_t batch, int32_t length, int32_t size, float factor) {
    const int32_t dims[3] = {batch, length, size};
    float *data = check_input(c, NNACL_F32, 3, dims);
    for (int32_t i = 0; i < batch * length * size; i++) {
        data[i] *= factor;
    }
}

static void draw_linear(check_case *c) {
    nnacl_linear_attention_params *p = (void *)&c->params;
    const int32_t batch = check_int(c, 1, 2), length = check_dim(c, 6, 32);
    const int32_t size = check_dim(c, 9, 32), v_size = check_dim(c, 9, 32);
    p->kv_heads = check_int(c, 1, 3);
    p->heads = p->kv_heads * check_int(c, 1, 3);
    p->scale = check_float(c, 0.1f, 1.0f);
    draw_3d(c, batch, length, p->heads * size, 0.1f);
    draw_3d(c, batch, length, p->kv_heads * size, 0.1f);
    draw_3d(c, batch, length, p->kv_heads * v_size, 0.1f);
    if (check_chance(c, 50)) {
        const int32_t dims[4] = {batch, p->kv_heads, size, v_size};
        check_input(c, NNACL_F32, 4, dims);
    } else {
        check_absent(c);
    }
    if (check_chance(c, 50)) {
        draw_3d(c, batch, length, check_chance(c, 50) ? p->kv_heads : p->kv_heads * size, 0.1f);
    } else {
        check_absent(c);
    }
    if (check_chance(c, 50)) {
        draw_3d(c, batch, length, check_chance(c, 50) ? p->kv_heads : 1, 0.1f);
    }
    c->n_out = 2;
    c->relative = 1e-4;
}

static const check_op ops[] = {
    {"attention", draw_attention}, {"rotary_embedding", draw_rotary}, {"linear_attention", draw_linear}, {NULL, NULL}};

const check_family check_attention = {"attention", ops};
