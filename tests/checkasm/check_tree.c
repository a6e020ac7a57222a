/* SPDX-License-Identifier: Apache-2.0 */
#include "checkasm.h"
#include "tree/tree.h"

static void draw_tree_ensemble(check_case *c) {
    nnacl_tree_ensemble_params *p = (void *)&c->params;
    const int32_t features = check_int(c, 1, 9);
    const int32_t x[2] = {check_dim(c, 40, 1000), features};
    const int32_t nodes = c->bench ? 3000 : check_int(c, 1, 60);
    const int32_t leaves = check_int(c, 1, 30);
    const int32_t trees = c->bench ? 100 : check_int(c, 1, 9);
    p->targets = check_int(c, 1, 4);
    p->aggregate = check_int(c, NNACL_TREE_MEAN, NNACL_TREE_MAX);
    check_input(c, c->dtype, 2, x);
    if (c->dtype == NNACL_F32 && check_chance(c, 30)) {
        check_strew(c, 0);
    }
    const int32_t table[2] = {nodes, 4};
    int32_t *node = check_input(c, NNACL_S32, 2, table);
    check_mark_constant(c);
    for (int32_t i = 0; i < nodes; i++, node += 4) {
        node[0] = check_int(c, 0, features - 1);
        node[1] = check_int(c, NNACL_TREE_LESS_EQUAL, NNACL_TREE_NOT_EQUAL);
        node[1] += check_chance(c, 50) ? NNACL_TREE_MISSING : 0;
        for (int32_t k = 2; k < 4; k++) {
            const bool is_leaf = i == nodes - 1 || check_chance(c, 30);
            node[k] = is_leaf ? ~check_int(c, 0, leaves - 1) : check_int(c, i + 1, nodes - 1);
        }
    }
    check_vector(c, c->dtype, nodes);
    check_mark_constant(c);
    int32_t *roots = check_vector(c, NNACL_S32, trees);
    check_mark_constant(c);
    for (int32_t i = 0; i < trees; i++) {
        roots[i] = check_chance(c, 10) ? ~check_int(c, 0, leaves - 1) : check_int(c, 0, nodes - 1);
    }
    int32_t *starts = check_vector(c, NNACL_S32, leaves + 1);
    check_mark_constant(c);
    starts[0] = 0;
    for (int32_t i = 0; i < leaves; i++) {
        starts[i + 1] = starts[i] + check_int(c, i == 0 ? 1 : 0, 2);
    }
    const int32_t entries = starts[leaves];
    int32_t *targets = check_vector(c, NNACL_S32, entries);
    check_mark_constant(c);
    for (int32_t i = 0; i < entries; i++) {
        targets[i] = check_int(c, 0, p->targets - 1);
    }
    check_vector(c, c->dtype, entries);
    check_mark_constant(c);
}

static void draw_couple_pairs(check_case *c) {
    nnacl_couple_pairs_params *p = (void *)&c->params;
    p->classes = c->bench ? 10 : check_int(c, 2, 6);
    const int32_t x[2] = {check_dim(c, 100, 1000), p->classes * (p->classes - 1) / 2};
    float *value = check_input(c, NNACL_F32, 2, x);
    for (int32_t i = 0; i < x[0] * x[1]; i++) {
        value[i] = check_float(c, 1e-7f, 1.0f - 1e-7f);
    }
}

static const check_op ops[] = {
    {"tree_ensemble", draw_tree_ensemble}, {"couple_pairs", draw_couple_pairs}, {NULL, NULL}};

const check_family check_tree = {"tree", ops};
