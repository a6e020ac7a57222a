/* SPDX-License-Identifier: Apache-2.0 */
/* What is known when: which shapes follow from those of the inputs, and which only from data. */
#include "model.h"
#include "status.h"

static bool is_constant(const lith_model *model, int32_t tensor) {
    return model->tensors[tensor].type.data != NULL;
}

/* The first input behind `after` that resize() reads and that is no constant, or -1. */
static int32_t next_data_input(const lith_model *model, const lith_node *node, int32_t after) {
    for (int32_t i = after + 1; i < node->n_inputs; i++) {
        bool reads = (node->op->data_inputs >> i & 1) != 0;
        if (reads && node->inputs[i] >= 0 && !is_constant(model, node->inputs[i])) {
            return i;
        }
    }
    return -1;
}

bool lith_node_reads_data(const lith_model *model, const lith_node *node) {
    return next_data_input(model, node, -1) >= 0;
}

/* Whether all that a node computes is known before a run. */
static bool can_be_early(const lith_model *model, const lith_node *node) {
    if (node->control != LITH_CONTROL_NONE) {
        return false;
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        if (model->tensors[node->outputs[i]].variable) {
            return false;
        }
    }
    for (int32_t i = 0; i < node->n_inputs && !node->op->types_only; i++) {
        int32_t input = node->inputs[i];
        if (input >= 0 && !is_constant(model, input) && !model->tensors[input].early) {
            return false;
        }
    }
    return true;
}

static void set_outputs(const lith_node *node, lith_tensor *tensors, bool early) {
    for (int32_t i = 0; i < node->n_outputs; i++) {
        tensors[node->outputs[i]].early = early;
    }
}

/* Of the tensors that can be early, keeps those that a shape depends on. */
static void keep_wanted(const lith_model *model, lith_tensor *tensors, bool *wanted) {
    for (int32_t i = model->n_nodes - 1; i >= 0; i--) {
        const lith_node *node = &model->nodes[i];
        bool needed = false;
        for (int32_t j = 0; j < node->n_outputs; j++) {
            needed = needed || wanted[node->outputs[j]];
        }
        for (int32_t j = next_data_input(model, node, -1); j >= 0; j = next_data_input(model, node, j)) {
            wanted[node->inputs[j]] = true;
        }
        for (int32_t j = 0; j < node->n_inputs && needed && !node->op->types_only; j++) {
            if (node->inputs[j] >= 0) {
                wanted[node->inputs[j]] = true;
            }
        }
        set_outputs(node, tensors, needed);
    }
}

lith_status lith_graph_flow(lith_model *model, lith_tensor *tensors, lith_message *message) {
    model->is_dynamic = model->depth > 0 || model->n_children > 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        set_outputs(&model->nodes[i], tensors, can_be_early(model, &model->nodes[i]));
    }
    for (int32_t i = 0; i < model->n_nodes; i++) {
        const lith_node *node = &model->nodes[i];
        for (int32_t j = next_data_input(model, node, -1); j >= 0; j = next_data_input(model, node, j)) {
            model->is_dynamic = model->is_dynamic || !tensors[node->inputs[j]].early;
        }
    }
    if (model->is_dynamic) {
        model->is_static = false;
        for (int32_t i = 0; i < model->n_nodes; i++) {
            set_outputs(&model->nodes[i], tensors, false);
        }
        return LITH_OK;
    }
    bool *wanted = lith_allocate(&model->allocator, (size_t)model->n_tensors, sizeof *wanted);
    if (wanted == NULL) {
        return lith_fail_memory(message, "the graph");
    }
    keep_wanted(model, tensors, wanted);
    lith_release(&model->allocator, wanted, (size_t)model->n_tensors, sizeof *wanted);
    return LITH_OK;
}
