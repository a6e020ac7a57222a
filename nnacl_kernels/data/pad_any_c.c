/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/data.h"

/* A dimension of y: `kept` positions of x from `skip` on, between the borders `before` and `after`. */
typedef struct axis_pads {
    int32_t skip, kept, before, after;
} axis_pads;

static axis_pads pads_of(const nnacl_pad_params *p, int32_t axis) {
    axis_pads a;
    a.before = p->before[axis] > 0 ? p->before[axis] : 0;
    a.after = p->after[axis] > 0 ? p->after[axis] : 0;
    a.skip = a.before - p->before[axis];
    a.kept = p->in_dims[axis] - a.skip - (a.after - p->after[axis]);
    return a;
}

/* Where position `i` of the padded dimension comes from in what is kept of x; -1: from the constant. */
static int32_t source(int32_t i, int32_t before, int32_t dim, int32_t mode) {
    i -= before;
    if (i >= 0 && i < dim) {
        return i;
    }
    switch (mode) {
    case NNACL_PAD_REFLECT:
        return i < 0 ? -i : 2 * (dim - 1) - i;
    case NNACL_PAD_EDGE:
        return i < 0 ? 0 : dim - 1;
    case NNACL_PAD_SYMMETRIC:
        return i < 0 ? -i - 1 : 2 * dim - 1 - i;
    case NNACL_PAD_WRAP:
        return i < 0 ? dim - 1 - (-i - 1) % dim : i % dim;
    default:
        return -1;
    }
}

static void fill(char *y, size_t bytes, const void *value, size_t element_size) {
    if (!value) {
        memset(y, 0, bytes);
        return;
    }
    if (element_size == 1) {
        memset(y, *(const unsigned char *)value, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += element_size) {
        memcpy(y + i, value, element_size);
    }
}

/* Blocks [first, end) of a row of y, all in the padding of the last dimension; x is what is kept of its row. */
static void border(char *y, const char *x, int32_t first, int32_t end, const nnacl_pad_params *p, const void *value) {
    const size_t block = (size_t)p->block_size;
    if (p->mode == NNACL_PAD_CONSTANT) {
        fill(y + (size_t)first * block, (size_t)(end - first) * block, value, (size_t)p->element_size);
        return;
    }
    const axis_pads a = pads_of(p, p->rank - 1);
    for (int32_t i = first; i < end; i++) {
        const int32_t from = source(i, a.before, a.kept, p->mode);
        memcpy(y + (size_t)i * block, x + (size_t)from * block, block);
    }
}

NNACL_DECLARE(nnacl_pad_any_c);
void nnacl_pad_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pad_params *p = params;
    const void *value = p->has_value ? in[1] : NULL;
    const size_t block = (size_t)p->block_size;
    if (block == 0) {
        return; /* y has no elements; the plan left no dimension to look into */
    }
    const size_t element_size = (size_t)p->element_size;
    const int32_t last = p->rank - 1;
    const axis_pads inner = pads_of(p, last);
    const int32_t out_dim = inner.before + inner.kept + inner.after;
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= p->before[i] + p->in_dims[i] + p->after[i];
    }
    const nnacl_range share = nnacl_share(ctx, rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        char *y = (char *)out[0] + (size_t)row * (size_t)out_dim * block;
        size_t x_row = 0;
        size_t x_stride = 1;
        int32_t rest = row;
        bool constant = false;
        for (int32_t i = last - 1; i >= 0; i--) {
            const axis_pads a = pads_of(p, i);
            const int32_t size = a.before + a.kept + a.after;
            const int32_t from = source(rest % size, a.before, a.kept, p->mode);
            constant = constant || from < 0;
            x_row += (from < 0 ? 0 : (size_t)(a.skip + from)) * x_stride;
            x_stride *= (size_t)p->in_dims[i];
            rest /= size;
        }
        if (constant) {
            fill(y, (size_t)out_dim * block, value, element_size);
            continue;
        }
        const char *x = (const char *)in[0] + (x_row * (size_t)p->in_dims[last] + (size_t)inner.skip) * block;
        border(y, x, 0, inner.before, p, value);
        memcpy(y + (size_t)inner.before * block, x, (size_t)inner.kept * block);
        border(y, x, inner.before + inner.kept, out_dim, p, value);
    }
}
