/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "image/resize_taps.h"

NNACL_DECLARE(nnacl_resize_any_c);

/* Picks blocks of a size that the compiler knows. */
#define PICK(bytes)                                                                                                    \
    for (int32_t o = 0; o < count; o++) {                                                                              \
        memcpy(y + (ptrdiff_t)o * (bytes), x + (ptrdiff_t)index[o] * (bytes), bytes);                                  \
    }                                                                                                                  \
    break

/* A row of y, all of whose blocks lie inside of x. */
static void pick_row(char *y, const char *x, const int32_t *index, int32_t count, size_t block) {
    switch (block) {
    case 1:
        PICK(1);
    case 2:
        PICK(2);
    case 4:
        PICK(4);
    case 8:
        PICK(8);
    default:
        PICK(block);
    }
}

static void fill(const nnacl_resize_params *p, char *y, int32_t blocks) {
    const size_t element = (size_t)p->element_size;
    for (size_t i = 0; i < (size_t)blocks * (size_t)p->block * element; i += element) {
        memcpy(y + i, p->fill, element);
    }
}

void nnacl_resize_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_resize_params *p = params;
    nnacl_resize_scratch *s = nnacl_resize_start(p, ctx->workspace);
    const int32_t last = p->rank - 1, count = p->to[last], *index = nnacl_resize_index(s, last);
    const size_t block = (size_t)p->block * (size_t)p->element_size;
    const size_t x_row = (size_t)p->from[last] * block, y_row = (size_t)count * block;
    /* What lies outside of roi is at both ends. */
    int32_t begin = 0, end = count;
    while (begin < end && index[begin] < 0) {
        begin++;
    }
    while (begin < end && index[end - 1] < 0) {
        end--;
    }
    ptrdiff_t before = -1; /* the row of x that the last row of y was made of */
    const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));
    for (int32_t row = rows.begin; row < rows.end; row++) {
        nnacl_resize_turn(p, s, row);
        char *y = (char *)out[0] + (size_t)row * y_row;
        if (s->combinations == 0) {
            fill(p, y, count);
            before = -1;
            continue;
        }
        const ptrdiff_t source = nnacl_resize_source(p, s, 0);
        if (source == before) {
            memcpy(y, y - y_row, y_row);
            continue;
        }
        before = source;
        fill(p, y, begin);
        pick_row(y + (size_t)begin * block, (const char *)in[0] + (size_t)source * x_row, index + begin, end - begin,
                 block);
        fill(p, y + (size_t)end * block, count - end);
    }
}
