/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/order.h"

NNACL_DECLARE(nnacl_unique_any_c);

/* The order of two slices of x, element by element: negative, 0 or positive. */
static int compare_slices(const nnacl_unique_params *p, const void *x, int32_t a, int32_t b) {
    for (int32_t outer = 0; outer < p->outer; outer++) {
        const ptrdiff_t row = (ptrdiff_t)outer * p->count;
        for (int32_t inner = 0; inner < p->inner; inner++) {
            const uint64_t left = nnacl_order_key(x, (row + a) * p->inner + inner, p->dtype);
            const uint64_t right = nnacl_order_key(x, (row + b) * p->inner + inner, p->dtype);
            if (left != right) {
                return left < right ? -1 : 1;
            }
        }
    }
    return 0;
}

static bool comes_before(const nnacl_unique_params *p, const void *x, int32_t a, int32_t b) {
    const int order = compare_slices(p, x, a, b);
    return order != 0 ? order < 0 : a < b;
}

static void sink(const nnacl_unique_params *p, const void *x, int32_t *heap, int32_t count, int32_t root) {
    const int32_t item = heap[root];
    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(p, x, heap[child], heap[child + 1])) {
            child++;
        }
        if (!comes_before(p, x, item, heap[child])) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = item;
}

/* Sorts positions of slices by their slices, equal ones by position. */
static void sort_slices(const nnacl_unique_params *p, const void *x, int32_t *order) {
    for (int32_t i = 0; i < p->count; i++) {
        order[i] = i;
    }
    for (int32_t root = p->count / 2 - 1; root >= 0; root--) {
        sink(p, x, order, p->count, root);
    }
    for (int32_t count = p->count - 1; count > 0; count--) {
        const int32_t last = order[0];
        order[0] = order[count];
        order[count] = last;
        sink(p, x, order, count, 0);
    }
}

/* Puts the slices of x at `first` side by side into y, and zeros behind them. */
static void copy_slices(const nnacl_unique_params *p, const char *x, char *y, const int64_t *first, int32_t found) {
    const size_t bytes = (size_t)p->inner * (size_t)p->element_size;
    for (int32_t outer = 0; outer < p->outer && bytes > 0; outer++) {
        const size_t row = (size_t)outer * (size_t)p->count;
        for (int32_t i = 0; i < found; i++) {
            memcpy(y + (row + (size_t)i) * bytes, x + (row + (size_t)first[i]) * bytes, bytes);
        }
        memset(y + (row + (size_t)found) * bytes, 0, (size_t)(p->count - found) * bytes);
    }
}

void nnacl_unique_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_unique_params *p = params;
    int32_t *order = ctx->workspace, *group = order + p->count;
    int64_t *first = out[1], *inverse = out[2], *counts = out[3];
    int32_t found = 0;
    sort_slices(p, in[0], order);
    /* Slices get the number of their group: of the first of them in sorted order. */
    for (int32_t i = 0; i < p->count; i++) {
        const bool starts = i == 0 || compare_slices(p, in[0], order[i - 1], order[i]) != 0;
        found += starts;
        inverse[order[i]] = found - 1;
        if (starts) {
            first[found - 1] = order[i];
            counts[found - 1] = 0;
        }
        counts[found - 1]++;
    }
    if (!p->sorted) {
        /* Groups are numbered anew, as their first slices come along. */
        int32_t next = 0;
        for (int32_t i = 0; i < p->count; i++) {
            if (first[inverse[i]] == i) {
                group[inverse[i]] = next++;
            }
        }
        for (int32_t i = 0; i < p->count; i++) {
            inverse[i] = group[inverse[i]];
        }
        for (int32_t i = 0; i < found; i++) {
            counts[i] = 0;
        }
        for (int32_t i = p->count - 1; i >= 0; i--) {
            counts[inverse[i]]++;
            first[inverse[i]] = i;
        }
    }
    for (int32_t i = found; i < p->count; i++) {
        first[i] = counts[i] = 0;
    }
    copy_slices(p, in[0], out[0], first, found);
    *(int64_t *)out[4] = found;
}
