/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "common/shape.h"
#include "tree/tree.h"

#define LEAST_VISITS_PER_PART 2048
#define MOST_TARGETS 65536
#define LEAST_ROWS_PER_PART 64
#define MOST_CLASSES 1024

static bool is_place(int32_t next, int32_t after, int32_t nodes, int32_t leaves) {
    return next < 0 ? ~next < leaves : next > after && next < nodes;
}

/* Everything that a walk through the trees relies on. */
static const char *check_trees(const nnacl_tensor *in, int32_t features, int32_t targets) {
    const int32_t *nodes = in[1].data;
    const int32_t *roots = in[3].data;
    const int32_t *starts = in[4].data;
    const int32_t *target = in[5].data;
    const int32_t n_nodes = in[1].dims[0];
    const int32_t n_leaves = in[4].dims[0] - 1;
    NNACL_REQUIRE((nodes || n_nodes == 0) && (roots || in[3].dims[0] == 0) && starts && (target || in[5].dims[0] == 0),
                  "the trees are not constant");
    for (int32_t i = 0; i < n_nodes; i++) {
        const int32_t *node = nodes + (ptrdiff_t)i * 4;
        NNACL_REQUIRE(node[0] >= 0 && node[0] < features, "a node asks for a feature that x does not have");
        NNACL_REQUIRE((node[1] & ~NNACL_TREE_MISSING) >= NNACL_TREE_LESS_EQUAL &&
                          (node[1] & ~NNACL_TREE_MISSING) <= NNACL_TREE_NOT_EQUAL,
                      "a comparison of a node is unknown");
        NNACL_REQUIRE(is_place(node[2], i, n_nodes, n_leaves) && is_place(node[3], i, n_nodes, n_leaves),
                      "a node leads to no later node and no leaf");
    }
    for (int32_t i = 0; i < in[3].dims[0]; i++) {
        NNACL_REQUIRE(is_place(roots[i], -1, n_nodes, n_leaves), "a root is no node and no leaf");
    }
    NNACL_REQUIRE(starts[0] == 0, "the entries of the leaves do not begin with the first");
    for (int32_t i = 0; i < n_leaves; i++) {
        NNACL_REQUIRE(starts[i] <= starts[i + 1] && starts[i + 1] <= in[5].dims[0],
                      "the entries of a leaf are no range");
    }
    for (int32_t i = 0; i < in[5].dims[0]; i++) {
        NNACL_REQUIRE(target[i] >= 0 && target[i] < targets, "a weight is for a target that does not exist");
    }
    return NULL;
}

static const char *tree_ensemble_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                        int32_t n_out) {
    nnacl_tree_ensemble_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 7, 7, n_out);
    NNACL_REQUIRE(!message, message);
    const int32_t dtype = in[0].dtype;
    NNACL_REQUIRE(dtype == NNACL_F32 || dtype == NNACL_F64, "x must be f32 or f64");
    NNACL_REQUIRE(in[0].rank == 2, "x must be [rows, features]");
    NNACL_REQUIRE(nnacl_plan_is(&in[1], NNACL_S32, 2) && in[1].dims[1] == 4, "nodes must be s32 [n, 4]");
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[2], dtype, in[1].dims[0]), "splits must hold one number for each node");
    NNACL_REQUIRE(nnacl_plan_is(&in[3], NNACL_S32, 1), "roots must be s32 [trees]");
    NNACL_REQUIRE(nnacl_plan_is(&in[4], NNACL_S32, 1) && in[4].dims[0] >= 1, "leaves must be s32 [leaves + 1]");
    NNACL_REQUIRE(nnacl_plan_is(&in[5], NNACL_S32, 1), "targets must be s32 [k]");
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[6], dtype, in[5].dims[0]), "weights must hold one number for each target");
    NNACL_REQUIRE(p->targets >= 1 && p->targets <= MOST_TARGETS, "targets is outside 1 .. 65536");
    NNACL_REQUIRE(p->aggregate >= NNACL_TREE_MEAN && p->aggregate <= NNACL_TREE_MAX, "aggregate is outside 0 .. 3");
    p->rows = in[0].dims[0];
    p->features = in[0].dims[1];
    p->trees = in[3].dims[0];
    message = check_trees(in, p->features, p->targets);
    NNACL_REQUIRE(!message, message);
    const int32_t dims[2] = {p->rows, p->targets};
    return nnacl_shape_set(&out[0], dtype, 2, dims);
}

/* A sum, and whether there was anything to sum, for each target. */
static size_t tree_ensemble_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return (size_t)((const nnacl_tree_ensemble_params *)params)->targets * 2 * sizeof(double);
}

static int32_t tree_ensemble_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_tree_ensemble_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts((int64_t)p->rows * p->trees, LEAST_VISITS_PER_PART);
    return p->rows < 1 ? 1 : parts < p->rows ? parts : p->rows;
}

const nnacl_op nnacl_tree_ensemble_op = {
    .name = "tree_ensemble",
    .params_name = "nnacl_tree_ensemble_params",
    .header = "tree/tree.h",
    .params_size = sizeof(nnacl_tree_ensemble_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = tree_ensemble_resize,
    .workspace = tree_ensemble_workspace,
    .parts = tree_ensemble_parts,
};

static const char *couple_pairs_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                       int32_t n_out) {
    nnacl_couple_pairs_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is(&in[0], NNACL_F32, 2), "x must be f32 [rows, pairs]");
    NNACL_REQUIRE(p->classes >= 2 && p->classes <= MOST_CLASSES, "classes is outside 2 .. 1024");
    NNACL_REQUIRE(in[0].dims[1] == p->classes * (p->classes - 1) / 2, "x has not one number for each pair of classes");
    p->rows = in[0].dims[0];
    const int32_t dims[2] = {p->rows, p->classes};
    return nnacl_shape_set(&out[0], NNACL_F32, 2, dims);
}

/* The diagonal of Q, and Q p. */
static size_t couple_pairs_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return (size_t)((const nnacl_couple_pairs_params *)params)->classes * 2 * sizeof(float);
}

static int32_t couple_pairs_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_couple_pairs_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts(p->rows, LEAST_ROWS_PER_PART);
    return p->rows < 1 ? 1 : parts < p->rows ? parts : p->rows;
}

const nnacl_op nnacl_couple_pairs_op = {
    .name = "couple_pairs",
    .params_name = "nnacl_couple_pairs_params",
    .header = "tree/tree.h",
    .params_size = sizeof(nnacl_couple_pairs_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = couple_pairs_resize,
    .workspace = couple_pairs_workspace,
    .parts = couple_pairs_parts,
};
