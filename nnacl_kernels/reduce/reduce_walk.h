/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of a reduction. Outputs that are neighbours in x as well are computed together, in blocks; for each block x
 * is visited in runs along the innermost reduced dimension. */
#ifndef NNACL_REDUCE_WALK_H
#define NNACL_REDUCE_WALK_H

#include "common/share.h"
#include "reduce/reduce.h"

/* Outputs that are computed together at most: up to 32 bytes of accumulators, to save stack. */
#define NNACL_REDUCE_BLOCK(accumulator) (sizeof(accumulator) > 4 ? 4 : 8)

/* Elements of a run that are accumulated apart, where they are not neighbours. */
#define NNACL_REDUCE_PIECE 64

typedef struct nnacl_reduce_walk {
    int32_t outputs;   /* elements of y */
    int32_t row;       /* neighbours in y that are neighbours in x */
    int32_t runs;      /* per output */
    int32_t length;    /* of a run */
    ptrdiff_t step;    /* in x from one element of a run to the next */
    int32_t innermost; /* the reduced dimension that a run follows; -1: there is none */
} nnacl_reduce_walk;

static inline nnacl_reduce_walk nnacl_reduce_plan_walk(const nnacl_reduce_params *p) {
    nnacl_reduce_walk walk = {1, 1, 1, 1, 0, -1};
    int32_t stride = 1;
    for (int32_t i = p->rank - 1; i >= 0; i--) {
        if (!(p->reduced >> i & 1)) {
            walk.outputs *= p->dims[i];
        } else if (walk.innermost < 0) {
            walk.innermost = i;
            walk.length = p->dims[i];
            walk.step = stride;
        } else {
            walk.runs *= p->dims[i];
        }
        stride *= p->dims[i];
    }
    if (!(p->reduced >> (p->rank - 1) & 1)) {
        walk.row = p->dims[p->rank - 1];
    }
    return walk;
}

/* Where output `index` begins in x (`reduced` 0), or how far run `index` lies from the first one (1). */
static inline ptrdiff_t nnacl_reduce_offset(const nnacl_reduce_params *p, const nnacl_reduce_walk *walk, int32_t index,
                                            int32_t reduced) {
    ptrdiff_t offset = 0;
    ptrdiff_t stride = 1;
    for (int32_t i = p->rank - 1; i >= 0; i--) {
        if ((p->reduced >> i & 1) == reduced && i != walk->innermost) {
            offset += (index % p->dims[i]) * stride;
            index /= p->dims[i];
        }
        stride *= p->dims[i];
    }
    return offset;
}

/* How many outputs from `output` on form the next block. */
static inline int32_t nnacl_reduce_block(const nnacl_reduce_walk *walk, int32_t output, int32_t end, int32_t block) {
    const int32_t rest = walk->row - output % walk->row;
    const int32_t most = rest < block ? rest : block;
    return most < end - output ? most : end - output;
}

/* Defines a kernel over nnacl_reduce_params. `accumulator` is its type, `start` the neutral value; `combine` joins the
 * accumulators a and b, `finish` makes one y from the accumulator a, p and the number of elements, count.
 * Each run, or piece of one, is accumulated apart before it joins the rest, which keeps long float sums accurate; a
 * contiguous run takes eight accumulators in turn. */
#define NNACL_REDUCE_KERNEL(symbol, type, accumulator, start, combine, finish)                                         \
    static inline accumulator symbol##_join(accumulator a, accumulator b) {                                            \
        return combine;                                                                                                \
    }                                                                                                                  \
    static inline accumulator symbol##_line(const type *x, int32_t length) {                                           \
        accumulator lanes[8] = {start, start, start, start, start, start, start, start};                               \
        int32_t j = 0;                                                                                                 \
        for (; j + 8 <= length; j += 8) {                                                                              \
            for (int32_t i = 0; i < 8; i++) {                                                                          \
                lanes[i] = symbol##_join(lanes[i], x[j + i]);                                                          \
            }                                                                                                          \
        }                                                                                                              \
        for (int32_t i = 0; j + i < length; i++) {                                                                     \
            lanes[i] = symbol##_join(lanes[i], x[j + i]);                                                              \
        }                                                                                                              \
        for (int32_t half = 4; half > 0; half /= 2) {                                                                  \
            for (int32_t i = 0; i < half; i++) {                                                                       \
                lanes[i] = symbol##_join(lanes[i], lanes[i + half]);                                                   \
            }                                                                                                          \
        }                                                                                                              \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_reduce_params *p = params;                                                                         \
        type *y = out[0];                                                                                              \
        const nnacl_reduce_walk walk = nnacl_reduce_plan_walk(p);                                                      \
        const int32_t count = walk.runs * walk.length;                                                                 \
        (void)count;                                                                                                   \
        const nnacl_range share = nnacl_share(ctx, walk.outputs);                                                      \
        int32_t n;                                                                                                     \
        for (int32_t output = share.begin; output < share.end; output += n) {                                          \
            const type *x = (const type *)in[0] + nnacl_reduce_offset(p, &walk, output, 0);                            \
            accumulator total[NNACL_REDUCE_BLOCK(accumulator)];                                                        \
            n = nnacl_reduce_block(&walk, output, share.end, NNACL_REDUCE_BLOCK(accumulator));                         \
            for (int32_t i = 0; i < n; i++) {                                                                          \
                total[i] = start;                                                                                      \
            }                                                                                                          \
            for (int32_t r = 0; r < walk.runs; r++) {                                                                  \
                const type *run = x + nnacl_reduce_offset(p, &walk, r, 1);                                             \
                if (walk.step == 1) {                                                                                  \
                    total[0] = symbol##_join(total[0], symbol##_line(run, walk.length));                               \
                    continue;                                                                                          \
                }                                                                                                      \
                for (int32_t j = 0; j < walk.length;) {                                                                \
                    const int32_t piece = walk.length - j < NNACL_REDUCE_PIECE ? walk.length : j + NNACL_REDUCE_PIECE; \
                    accumulator part[NNACL_REDUCE_BLOCK(accumulator)];                                                 \
                    for (int32_t i = 0; i < n; i++) {                                                                  \
                        part[i] = start;                                                                               \
                    }                                                                                                  \
                    for (; j < piece; j++) {                                                                           \
                        for (int32_t i = 0; i < n; i++) {                                                              \
                            part[i] = symbol##_join(part[i], run[j * walk.step + i]);                                  \
                        }                                                                                              \
                    }                                                                                                  \
                    for (int32_t i = 0; i < n; i++) {                                                                  \
                        total[i] = symbol##_join(total[i], part[i]);                                                   \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            for (int32_t i = 0; i < n; i++) {                                                                          \
                const accumulator a = total[i];                                                                        \
                y[output + i] = finish;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
