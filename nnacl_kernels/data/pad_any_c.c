/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/data.h"

/* Where position `i` of the padded dimension comes from in x; -1: from the constant. */
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

/* Blocks [first, end) of a row of y, all in the padding of the last dimension. */
static void border(char *y, const char *x, int32_t first, int32_t end, const nnacl_pad_params *p, const void *value) {
    const size_t block = (size_t)p->block_size;
    const int32_t last = p->rank - 1;
    if (p->mode == NNACL_PAD_CONSTANT) {
        fill(y + (size_t)first * block, (size_t)(end - first) * block, value, (size_t)p->element_size);
        return;
    }
    for (int32_t i = first; i < end; i++) {
        const int32_t from = source(i, p->before[last], p->in_dims[last], p->mode);
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
    const int32_t dim = p->in_dims[last];
    const int32_t before = p->before[last];
    const int32_t out_dim = before + dim + p->after[last];
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
            const int32_t size = p->before[i] + p->in_dims[i] + p->after[i];
            const int32_t from = source(rest % size, p->before[i], p->in_dims[i], p->mode);
            constant = constant || from < 0;
            x_row += (from < 0 ? 0 : (size_t)from) * x_stride;
            x_stride *= (size_t)p->in_dims[i];
            rest /= size;
        }
        if (constant) {
            fill(y, (size_t)out_dim * block, value, element_size);
            continue;
        }
        const char *x = (const char *)in[0] + x_row * (size_t)dim * block;
        border(y, x, 0, before, p, value);
        memcpy(y + (size_t)before * block, x, (size_t)dim * block);
        border(y, x, before + dim, out_dim, p, value);
    }
}
