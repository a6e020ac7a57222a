/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of decision trees, and other parts of classifiers.
 *
 * tree_ensemble: y[n, t] is the sum, mean, least or largest of the weights for target t that row n of x finds in the
 *   leaves of all trees; 0 where no tree has one. Inputs, all but x constant:
 *   0 x [N, features] (f32 f64); 1 nodes s32 [n, 4]: feature, comparison, next node when it holds, next when it does
 *   not; 2 splits [n] (type of x): what the feature is compared with; 3 roots s32 [trees]; 4 leaves s32 [m + 1]: leaf i
 *   has the entries leaves[i] .. leaves[i + 1] - 1 of 5 targets s32 [k] and 6 weights [k] (type of x).
 *   A next node, or root, that is negative is the leaf ~next. Nodes come before those that they lead to.
 *   comparison: NNACL_TREE_*, plus NNACL_TREE_MISSING when it holds for NaN.
 * couple_pairs: probabilities y f32 [N, classes] from those of the first class of each pair, x f32 [N, classes *
 *   (classes - 1) / 2], the pairs in the order (0, 1), (0, 2), ..., (1, 2), ...; each inside 0 .. 1. By steps, at most
 *   100, until no element of Q p is further than 0.005 / classes from p' Q p (couple_pairs_f32_c.c).
 */
#ifndef NNACL_TREE_H
#define NNACL_TREE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_TREE_LESS_EQUAL 0
#define NNACL_TREE_LESS 1
#define NNACL_TREE_GREATER_EQUAL 2
#define NNACL_TREE_GREATER 3
#define NNACL_TREE_EQUAL 4
#define NNACL_TREE_NOT_EQUAL 5
#define NNACL_TREE_MISSING 8

#define NNACL_TREE_MEAN 0
#define NNACL_TREE_SUM 1
#define NNACL_TREE_MIN 2
#define NNACL_TREE_MAX 3

typedef struct nnacl_tree_ensemble_params {
    /* attributes */
    int32_t targets;
    int32_t aggregate; /* NNACL_TREE_MEAN ... */
    /* shapes, derived */
    int32_t rows, features, trees;
} nnacl_tree_ensemble_params;

typedef struct nnacl_couple_pairs_params {
    /* attribute */
    int32_t classes; /* at least 2 */
    /* shape, derived */
    int32_t rows;
} nnacl_couple_pairs_params;

#ifdef __cplusplus
}
#endif

#endif
