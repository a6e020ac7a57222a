/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "index/index.h"
#include "index/order.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_top_k_any_c);

static bool comes_before(const nnacl_ranked *a, const nnacl_ranked *b) {
    return a->key != b->key ? a->key < b->key : a->position < b->position;
}

/* Lets the element at the root of a heap, in which none comes before one above it, sink to its place. */
static void sink(nnacl_ranked *heap, int32_t count, int32_t root) {
    const nnacl_ranked item = heap[root];
    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(&heap[child], &heap[child + 1])) {
            child++;
        }
        if (!comes_before(&item, &heap[child])) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = item;
}

/* The first `k` of `depth` elements, in order, in best. Its root is the last of those that are kept. */
static void select_best(nnacl_ranked *best, int32_t k, const void *x, ptrdiff_t first, int32_t depth, ptrdiff_t stride,
                        int32_t dtype, uint64_t flip) {
    for (int32_t i = 0; i < depth; i++) {
        const nnacl_ranked item = {nnacl_order_key(x, first + i * stride, dtype) ^ flip, i};
        if (i < k) {
            best[i] = item;
            for (int32_t root = i + 1 == k ? k / 2 - 1 : -1; root >= 0; root--) {
                sink(best, k, root);
            }
        } else if (comes_before(&item, &best[0])) {
            best[0] = item;
            sink(best, k, 0);
        }
    }
    for (int32_t count = k - 1; count > 0; count--) {
        const nnacl_ranked last = best[0];
        best[0] = best[count];
        best[count] = last;
        sink(best, count, 0);
    }
}

void nnacl_top_k_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_top_k_params *p = params;
    nnacl_ranked *best = ctx->workspace;
    const uint64_t flip = p->largest ? UINT64_MAX : 0;
    const nnacl_range share = nnacl_share(ctx, p->k > 0 ? p->outer * p->inner : 0);
    for (int32_t row = share.begin; row < share.end; row++) {
        const ptrdiff_t first = (ptrdiff_t)(row / p->inner) * p->depth * p->inner + row % p->inner;
        const ptrdiff_t first_out = (ptrdiff_t)(row / p->inner) * p->k * p->inner + row % p->inner;
        select_best(best, p->k, in[0], first, p->depth, p->inner, p->dtype, flip);
        for (int32_t i = 0; i < p->k; i++) {
            const ptrdiff_t from = first + (ptrdiff_t)best[i].position * p->inner,
                            to = first_out + (ptrdiff_t)i * p->inner;
            nnacl_copy_element((char *)out[0] + to * p->element_size, (const char *)in[0] + from * p->element_size,
                               p->element_size);
            if (p->to == NNACL_S32) {
                ((int32_t *)out[1])[to] = (int32_t)best[i].position;
            } else {
                ((int64_t *)out[1])[to] = best[i].position;
            }
        }
    }
}
