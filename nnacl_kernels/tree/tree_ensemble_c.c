/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "tree/tree.h"

/* Adds what one leaf says of a target to what the others said. */
static void join(double *total, double *found, double weight, int32_t aggregate) {
    if (aggregate == NNACL_TREE_MIN || aggregate == NNACL_TREE_MAX) {
        const bool better = aggregate == NNACL_TREE_MIN ? weight < *total : weight > *total;
        *total = *found == 0.0 || better ? weight : *total;
    } else {
        *total += weight;
    }
    *found = 1.0;
}

#define TREE_ENSEMBLE(dtype, type)                                                                                     \
    static bool holds_##dtype(type v, type split, int32_t comparison) {                                                \
        if (v != v) {                                                                                                  \
            return (comparison & NNACL_TREE_MISSING) != 0;                                                             \
        }                                                                                                              \
        switch (comparison & ~NNACL_TREE_MISSING) {                                                                    \
        case NNACL_TREE_LESS_EQUAL:                                                                                    \
            return v <= split;                                                                                         \
        case NNACL_TREE_LESS:                                                                                          \
            return v < split;                                                                                          \
        case NNACL_TREE_GREATER_EQUAL:                                                                                 \
            return v >= split;                                                                                         \
        case NNACL_TREE_GREATER:                                                                                       \
            return v > split;                                                                                          \
        case NNACL_TREE_EQUAL:                                                                                         \
            return v == split;                                                                                         \
        default:                                                                                                       \
            return v != split;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_tree_ensemble_##dtype##_c);                                                                    \
    void nnacl_tree_ensemble_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],             \
                                         void *const out[]) {                                                          \
        const nnacl_tree_ensemble_params *p = params;                                                                  \
        const int32_t *nodes = in[1];                                                                                  \
        const type *splits = in[2];                                                                                    \
        const int32_t *roots = in[3];                                                                                  \
        const int32_t *leaves = in[4];                                                                                 \
        const int32_t *targets = in[5];                                                                                \
        const type *weights = in[6];                                                                                   \
        double *total = ctx->workspace;                                                                                \
        double *found = total + p->targets;                                                                            \
        const nnacl_range share = nnacl_share(ctx, p->rows);                                                           \
        for (int32_t row = share.begin; row < share.end; row++) {                                                      \
            const type *x = (const type *)in[0] + (ptrdiff_t)row * p->features;                                        \
            type *y = (type *)out[0] + (ptrdiff_t)row * p->targets;                                                    \
            for (int32_t t = 0; t < p->targets; t++) {                                                                 \
                total[t] = 0.0;                                                                                        \
                found[t] = 0.0;                                                                                        \
            }                                                                                                          \
            for (int32_t tree = 0; tree < p->trees; tree++) {                                                          \
                int32_t place = roots[tree];                                                                           \
                while (place >= 0) {                                                                                   \
                    const int32_t *node = nodes + (ptrdiff_t)place * 4;                                                \
                    place = holds_##dtype(x[node[0]], splits[place], node[1]) ? node[2] : node[3];                     \
                }                                                                                                      \
                for (int32_t i = leaves[~place]; i < leaves[~place + 1]; i++) {                                        \
                    join(&total[targets[i]], &found[targets[i]], (double)weights[i], p->aggregate);                    \
                }                                                                                                      \
            }                                                                                                          \
            const double divisor = p->aggregate == NNACL_TREE_MEAN && p->trees > 0 ? (double)p->trees : 1.0;           \
            for (int32_t t = 0; t < p->targets; t++) {                                                                 \
                y[t] = (type)(total[t] / divisor);                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

TREE_ENSEMBLE(f32, float)
TREE_ENSEMBLE(f64, double)
