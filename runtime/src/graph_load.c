/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a file to tensors and nodes, nothing trusted. */
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "ranges.h"
#include "status.h"

/* The sentence of every refusal here starts alike. */
#define DAMAGED(message, ...) lith_fail(message, LITH_ERROR_FORMAT, "the model is damaged: " __VA_ARGS__)

size_t lith_type_bytes(const nnacl_tensor *type) {
    int64_t count = nnacl_element_count(type);
    return count > 0 ? (size_t)count * nnacl_dtype_size(type->dtype) : 0;
}

lith_label lith_node_label(const lith_model *model, int32_t index) {
    const lith_node *node = &model->nodes[index];
    lith_label label;
    snprintf(label.text, sizeof label.text, "node %d '%.60s' (%.40s)", (int)index, node->name, node->op->name);
    return label;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------
 */

static lith_status load_quant(lith_tensor *tensor, fb_pointer quant, lith_message *message) {
    if (quant == NULL) {
        return LITH_OK;
    }
    fb_pointer scales = fb_vector(quant, FB_QUANT_SCALE);
    fb_pointer zero_points = fb_vector(quant, FB_QUANT_ZERO_POINT);
    int32_t axis = fb_i32(quant, FB_QUANT_AXIS, -1);
    uint32_t count = fb_length(scales);
    uint32_t wanted = 1;
    if (axis < -1 || axis >= tensor->type.rank) {
        return DAMAGED(message, "tensor '%.60s' is quantized along axis %d", tensor->name, (int)axis);
    }
    if (axis >= 0) {
        wanted = tensor->type.dims[axis] < 0 ? count : (uint32_t)tensor->type.dims[axis];
    }
    if (count == 0 || count > INT32_MAX || count != wanted || fb_length(zero_points) != count) {
        return DAMAGED(message, "tensor '%.60s' has %lu scales and %lu zero points, not %lu", tensor->name,
                       (unsigned long)count, (unsigned long)fb_length(zero_points), (unsigned long)wanted);
    }
    tensor->scales = fb_elements(scales);
    tensor->zero_points = fb_elements(zero_points);
    tensor->quant_count = (int32_t)count;
    tensor->quant_axis = axis;
    return LITH_OK;
}

/* The bytes of a constant: buffer `index` of the file. */
static lith_status load_constant(lith_model *model, lith_tensor *tensor, int32_t index, lith_message *message) {
    fb_pointer buffers = fb_vector(model->root, FB_MODEL_BUFFERS);
    uint64_t start = fb_u64(model->root, FB_MODEL_DATA_OFFSET, 0);
    if (index < 0 || (uint32_t)index >= fb_length(buffers)) {
        return DAMAGED(message, "tensor '%.60s' refers to buffer %d of %lu", tensor->name, (int)index,
                       (unsigned long)fb_length(buffers));
    }
    if (nnacl_element_count(&tensor->type) < 0) {
        return DAMAGED(message, "constant '%.60s' has an impossible shape", tensor->name);
    }
    fb_extent extent = fb_extent_at(buffers, (uint32_t)index);
    uint64_t size = model->mapping.size;
    if (start % LITH_ALIGNMENT != 0 || extent.offset % LITH_ALIGNMENT != 0) {
        return DAMAGED(message, "constant '%.60s' is not aligned to %d bytes", tensor->name, LITH_ALIGNMENT);
    }
    if (start > size || extent.offset > size - start || extent.size > size - start - extent.offset) {
        return DAMAGED(message, "the bytes of constant '%.60s' pass the end of the file", tensor->name);
    }
    if (extent.size != lith_type_bytes(&tensor->type)) {
        return DAMAGED(message, "constant '%.60s' has %llu bytes, its shape needs %llu", tensor->name,
                       (unsigned long long)extent.size, (unsigned long long)lith_type_bytes(&tensor->type));
    }
    tensor->type.data = model->mapping.data + start + extent.offset;
    model->constant_bytes += (size_t)extent.size;
    return LITH_OK;
}

static lith_status load_tensor(lith_model *model, lith_tensor *tensor, fb_pointer table, lith_message *message) {
    tensor->name = fb_string(table, FB_TENSOR_NAME);
    tensor->type.dtype = fb_u8(table, FB_TENSOR_DTYPE, 0);
    if (nnacl_dtype_size(tensor->type.dtype) == 0) {
        return DAMAGED(message, "tensor '%.60s' has the unknown type %d", tensor->name, (int)tensor->type.dtype);
    }
    fb_pointer shape = fb_vector(table, FB_TENSOR_SHAPE);
    if (fb_length(shape) > NNACL_MAX_RANK) {
        return DAMAGED(message, "tensor '%.60s' has %lu dimensions", tensor->name, (unsigned long)fb_length(shape));
    }
    tensor->type.rank = (int32_t)fb_length(shape);
    if (tensor->type.rank > 0) {
        memcpy(tensor->type.dims, fb_elements(shape), (size_t)tensor->type.rank * sizeof tensor->type.dims[0]);
    }
    for (int32_t i = 0; i < tensor->type.rank; i++) {
        if (tensor->type.dims[i] < -1) {
            return DAMAGED(message, "tensor '%.60s' has a dimension of %d", tensor->name, (int)tensor->type.dims[i]);
        }
    }
    fb_pointer symbols = fb_vector(table, FB_TENSOR_SYMBOLS);
    if (fb_length(symbols) > 0) {
        if (fb_length(symbols) != (uint32_t)tensor->type.rank) {
            return DAMAGED(message, "tensor '%.60s' has %lu symbols for %d dimensions", tensor->name,
                           (unsigned long)fb_length(symbols), (int)tensor->type.rank);
        }
        tensor->symbols = symbols;
    }
    lith_status status = load_quant(tensor, fb_table(table, FB_TENSOR_QUANT), message);
    if (status != LITH_OK) {
        return status;
    }
    tensor->variable = fb_u8(table, FB_TENSOR_VARIABLE, 0) != 0;
    int32_t buffer = fb_i32(table, FB_TENSOR_BUFFER, -1);
    if (tensor->variable && (model->depth > 0 || nnacl_element_count(&tensor->type) < 0)) {
        return DAMAGED(message, "variable '%.60s' is in a subgraph, or has no fixed shape", tensor->name);
    }
    status = buffer == -1 ? LITH_OK : load_constant(model, tensor, buffer, message);
    if (tensor->variable) {
        tensor->initial = tensor->type.data;
        tensor->type.data = NULL;
    }
    return status;
}

static lith_status load_tensors(lith_model *model, lith_tensor *tensors, fb_pointer graph, lith_message *message) {
    fb_pointer stored = fb_vector(graph, FB_GRAPH_TENSORS);
    for (int32_t i = 0; i < model->n_tensors; i++) {
        lith_status status = load_tensor(model, &tensors[i], fb_table_at(stored, (uint32_t)i), message);
        if (status != LITH_OK) {
            return status;
        }
    }
    return LITH_OK;
}

/* ---- ports --------------------------------------------------------------------------------------------------------
 */

static lith_status load_ports(const lith_model *model, fb_pointer vector, const char *what, const int32_t **ports,
                              int32_t *count, lith_message *message) {
    uint32_t length = fb_length(vector);
    const int32_t *indices = fb_elements(vector);
    if (length > LITH_MAX_PORTS) {
        return DAMAGED(message, "the graph has %lu %ss", (unsigned long)length, what);
    }
    for (uint32_t i = 0; i < length; i++) {
        if (indices[i] < 0 || indices[i] >= model->n_tensors) {
            return DAMAGED(message, "%s %lu refers to tensor %d of %d", what, (unsigned long)i, (int)indices[i],
                           (int)model->n_tensors);
        }
    }
    *ports = indices;
    *count = (int32_t)length;
    return LITH_OK;
}

static lith_status load_inputs(lith_model *model, lith_tensor *tensors, fb_pointer graph, lith_message *message) {
    lith_status status =
        load_ports(model, fb_vector(graph, FB_GRAPH_INPUTS), "input", &model->inputs, &model->n_inputs, message);
    if (status != LITH_OK) {
        return status;
    }
    model->is_static = true;
    for (int32_t i = 0; i < model->n_inputs; i++) {
        lith_tensor *tensor = &tensors[model->inputs[i]];
        if (tensor->type.data != NULL || tensor->variable || tensor->input) {
            return DAMAGED(message, "input '%.60s' is a constant, a variable, or there twice", tensor->name);
        }
        tensor->input = true;
        bool known = true;
        for (int32_t axis = 0; axis < tensor->type.rank; axis++) {
            known = known && tensor->type.dims[axis] >= 0;
        }
        if (known && nnacl_element_count(&tensor->type) < 0) {
            return DAMAGED(message, "input '%.60s' has an impossible shape", tensor->name);
        }
        model->is_static = model->is_static && known;
    }
    return LITH_OK;
}

/* A tensor that has a value before the first node runs. */
static bool is_given(const lith_tensor *tensor) {
    return tensor->type.data != NULL || tensor->variable || tensor->input;
}

static lith_status load_outputs(lith_model *model, const lith_tensor *tensors, fb_pointer graph,
                                lith_message *message) {
    lith_status status =
        load_ports(model, fb_vector(graph, FB_GRAPH_OUTPUTS), "output", &model->outputs, &model->n_outputs, message);
    for (int32_t i = 0; status == LITH_OK && i < model->n_outputs; i++) {
        const lith_tensor *tensor = &tensors[model->outputs[i]];
        if (!is_given(tensor) && !tensor->produced) {
            return DAMAGED(message, "output '%.60s' is never computed", tensor->name);
        }
    }
    return status;
}

/* ---- nodes --------------------------------------------------------------------------------------------------------
 */

static lith_status check_node_inputs(const lith_model *model, const lith_tensor *tensors, int32_t index,
                                     const lith_node *node, lith_message *message) {
    for (int32_t i = 0; i < node->n_inputs; i++) {
        int32_t input = node->inputs[i];
        if (input < -1 || input >= model->n_tensors) {
            return DAMAGED(message, "node %d '%.60s' refers to tensor %d", (int)index, node->name, (int)input);
        }
        if (input >= 0 && !is_given(&tensors[input]) && !tensors[input].produced) {
            return DAMAGED(message, "node %d '%.60s' uses '%.60s' before it is computed", (int)index, node->name,
                           tensors[input].name);
        }
    }
    return LITH_OK;
}

static bool holds(const int32_t *indices, int32_t count, int32_t index) {
    for (int32_t i = 0; i < count; i++) {
        if (indices[i] == index) {
            return true;
        }
    }
    return false;
}

static lith_status check_node_outputs(const lith_model *model, const lith_tensor *tensors, int32_t index,
                                      const lith_node *node, lith_message *message) {
    for (int32_t i = 0; i < node->n_outputs; i++) {
        int32_t output = node->outputs[i];
        if (output < 0 || output >= model->n_tensors) {
            return DAMAGED(message, "node %d '%.60s' refers to tensor %d", (int)index, node->name, (int)output);
        }
        const lith_tensor *tensor = &tensors[output];
        bool again = holds(node->outputs, i, output) || (tensor->produced && !tensor->variable);
        if (tensor->type.data != NULL || tensor->input || again) {
            return DAMAGED(message, "node %d '%.60s' writes '%.60s', which is given or written already", (int)index,
                           node->name, tensor->name);
        }
        /* Only an op that works element by element may change state in place. */
        if (node->op->alias == NNACL_ALIAS_NONE && holds(node->inputs, node->n_inputs, output)) {
            return DAMAGED(message, "node %d '%.60s' reads and writes '%.60s' at once", (int)index, node->name,
                           tensor->name);
        }
    }
    return LITH_OK;
}

/* Looks for an op in this library, then in the extensions. */
static void find_op(const lith_model *model, lith_node *node, const char *name) {
    node->op = nnacl_op_find(name);
    if (node->op == NULL) {
        node->op = lith_control_find(name, &node->control);
    }
    for (int32_t i = 0; node->op == NULL && i < model->n_extensions; i++) {
        node->op = nnacl_extension_op(model->extensions[i], name);
        node->extension = node->op != NULL ? model->extensions[i] : NULL;
    }
}

static lith_status fail_unknown(int32_t index, const char *node, const char *op, lith_message *message) {
    const char *dot = strchr(op, '.');
    if (dot == NULL) {
        return lith_fail(message, LITH_ERROR_UNSUPPORTED,
                         "node %d '%.60s' needs the op '%.60s', which this build lacks", (int)index, node, op);
    }
    int length = dot - op < 60 ? (int)(dot - op) : 60;
    return lith_fail(message, LITH_ERROR_UNSUPPORTED,
                     "node %d '%.60s' needs the op '%.60s' of the extension '%.*s', which was not given", (int)index,
                     node, op, length, op);
}

static lith_status load_node(const lith_model *model, lith_tensor *tensors, int32_t index, lith_node *node,
                             fb_pointer table, lith_message *message) {
    fb_pointer ops = fb_vector(model->root, FB_MODEL_OPS);
    uint32_t op = fb_u32(table, FB_NODE_OP, 0);
    node->name = fb_string(table, FB_NODE_NAME);
    node->source = fb_string(table, FB_NODE_SOURCE);
    if (op >= fb_length(ops)) {
        return DAMAGED(message, "node %d '%.60s' refers to op %lu of %lu", (int)index, node->name, (unsigned long)op,
                       (unsigned long)fb_length(ops));
    }
    find_op(model, node, fb_string_at(ops, op));
    if (node->op == NULL) {
        return fail_unknown(index, node->name, fb_string_at(ops, op), message);
    }
    fb_pointer inputs = fb_vector(table, FB_NODE_INPUTS);
    fb_pointer outputs = fb_vector(table, FB_NODE_OUTPUTS);
    fb_pointer params = fb_vector(table, FB_NODE_PARAMS);
    fb_pointer subgraphs = fb_vector(table, FB_NODE_SUBGRAPHS);
    uint32_t most_inputs = node->control != LITH_CONTROL_NONE ? LITH_MAX_PORTS : NNACL_MAX_INPUTS;
    uint32_t most_outputs = node->control != LITH_CONTROL_NONE ? LITH_MAX_PORTS : NNACL_MAX_OUTPUTS;
    if (fb_length(subgraphs) > LITH_MAX_SUBGRAPHS) {
        return DAMAGED(message, "node %d '%.60s' has %lu subgraphs", (int)index, node->name,
                       (unsigned long)fb_length(subgraphs));
    }
    if (fb_length(inputs) > most_inputs || fb_length(outputs) > most_outputs || fb_length(outputs) == 0) {
        return DAMAGED(message, "node %d '%.60s' has %lu inputs and %lu outputs", (int)index, node->name,
                       (unsigned long)fb_length(inputs), (unsigned long)fb_length(outputs));
    }
    if (fb_length(params) > node->op->params_size || node->op->params_size > NNACL_MAX_PARAMS_SIZE) {
        return DAMAGED(message, "node %d '%.60s' has %lu bytes of parameters, %s has %lu", (int)index, node->name,
                       (unsigned long)fb_length(params), node->op->name, (unsigned long)node->op->params_size);
    }
    node->inputs = fb_elements(inputs);
    node->n_inputs = (int32_t)fb_length(inputs);
    node->outputs = fb_elements(outputs);
    node->n_outputs = (int32_t)fb_length(outputs);
    node->params = fb_elements(params);
    node->params_size = fb_length(params);
    lith_status status = check_node_inputs(model, tensors, index, node, message);
    if (status == LITH_OK) {
        status = check_node_outputs(model, tensors, index, node, message);
    }
    if (status != LITH_OK) {
        return status;
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        tensors[node->outputs[i]].produced = true;
    }
    return LITH_OK;
}

static lith_status load_nodes(lith_model *model, lith_tensor *tensors, lith_node *nodes, fb_pointer graph,
                              lith_message *message) {
    fb_pointer stored = fb_vector(graph, FB_GRAPH_NODES);
    for (int32_t i = 0; i < model->n_nodes; i++) {
        lith_status status = load_node(model, tensors, i, &nodes[i], fb_table_at(stored, (uint32_t)i), message);
        if (status != LITH_OK) {
            return status;
        }
    }
    return LITH_OK;
}

/* ---- the graph ----------------------------------------------------------------------------------------------------
 */

static lith_status load_header(lith_model *model, lith_message *message) {
    const unsigned char *start = model->mapping.data;
    if (model->mapping.size < 8 || memcmp(start + 4, "LITH", 4) != 0) {
        return lith_fail(message, LITH_ERROR_FORMAT,
                         "this is not a .lith file; `microlith convert` makes one of a model");
    }
    const char *error = lith_fb_verify(model->mapping.data, model->mapping.size);
    if (error != NULL) {
        return lith_fail(message, LITH_ERROR_FORMAT, "this is not a sound .lith file: %s", error);
    }
    model->root = fb_root(model->mapping.data);
    uint32_t version = fb_u32(model->root, FB_MODEL_VERSION, 0);
    if (version > LITH_FORMAT_VERSION) {
        return lith_fail(message, LITH_ERROR_VERSION, "the file has format version %lu, this runtime knows up to %d",
                         (unsigned long)version, LITH_FORMAT_VERSION);
    }
    if (version == 0) {
        return DAMAGED(message, "it has no format version");
    }
    model->contract = fb_u8(model->root, FB_MODEL_CONTRACT, 0);
    if (model->contract > NNACL_ROUND_FLOAT_EVEN) {
        return lith_fail(message, LITH_ERROR_UNSUPPORTED, "rounding contract %d is unknown", (int)model->contract);
    }
    if (fb_length(fb_vector(model->root, FB_MODEL_GRAPHS)) == 0) {
        return DAMAGED(message, "it has no graph");
    }
    return lith_ranges_check(model, message);
}

static lith_status load_graph(lith_model *model, fb_pointer graph, lith_message *message) {
    model->name = fb_string(graph, FB_GRAPH_NAME);
    uint32_t n_tensors = fb_length(fb_vector(graph, FB_GRAPH_TENSORS));
    uint32_t n_nodes = fb_length(fb_vector(graph, FB_GRAPH_NODES));
    if (n_tensors > LITH_MAX_TENSORS || n_nodes > LITH_MAX_NODES) {
        return lith_fail(message, LITH_ERROR_UNSUPPORTED,
                         "the graph has %lu tensors and %lu nodes; %d and %d are possible", (unsigned long)n_tensors,
                         (unsigned long)n_nodes, LITH_MAX_TENSORS, LITH_MAX_NODES);
    }
    model->n_tensors = (int32_t)n_tensors;
    model->n_nodes = (int32_t)n_nodes;
    lith_tensor *tensors = lith_allocate(&model->allocator, (size_t)model->n_tensors, sizeof *tensors);
    lith_node *nodes = lith_allocate(&model->allocator, (size_t)model->n_nodes, sizeof *nodes);
    model->tensors = tensors;
    model->nodes = nodes;
    if (tensors == NULL || nodes == NULL) {
        return lith_fail_memory(message, "the graph");
    }
    lith_status status;
    if ((status = load_tensors(model, tensors, graph, message)) != LITH_OK ||
        (status = load_inputs(model, tensors, graph, message)) != LITH_OK ||
        (status = load_nodes(model, tensors, nodes, graph, message)) != LITH_OK) {
        return status;
    }
    return load_outputs(model, tensors, graph, message);
}

/* Graph `index` of a file. */
static lith_model *part(lith_model *model, uint32_t index) {
    return index == 0 ? model : &model->parts[index - 1];
}

/* Ties the subgraphs of a graph's nodes to them. A subgraph comes after the graph that it belongs to, and belongs to
 * one node: so graphs nest, and no deeper than LITH_MAX_DEPTH. `depth` of a subgraph that is not tied yet is -1. */
static lith_status link_subgraphs(lith_model *model, uint32_t index, lith_message *message) {
    lith_model *graph = part(model, index);
    fb_pointer table = fb_table_at(fb_vector(model->root, FB_MODEL_GRAPHS), index);
    fb_pointer stored = fb_vector(table, FB_GRAPH_NODES);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        lith_node *node = (lith_node *)(uintptr_t)&graph->nodes[i];
        fb_pointer subgraphs = fb_vector(fb_table_at(stored, (uint32_t)i), FB_NODE_SUBGRAPHS);
        const uint32_t *indices = fb_elements(subgraphs);
        node->first_child = graph->n_children;
        for (uint32_t j = 0; j < fb_length(subgraphs); j++) {
            bool inside = indices[j] > index && indices[j] <= (uint32_t)model->n_parts;
            if (!inside || part(model, indices[j])->depth >= 0) {
                return DAMAGED(message, "node %d '%.60s' refers to graph %lu of %d, or is not the first to do so",
                               (int)i, node->name, (unsigned long)indices[j], (int)model->n_parts + 1);
            }
            if (graph->depth + 1 > LITH_MAX_DEPTH) {
                return DAMAGED(message, "subgraphs lie deeper than %d levels", LITH_MAX_DEPTH);
            }
            part(model, indices[j])->depth = graph->depth + 1;
            node->subgraphs[node->n_subgraphs++] = part(model, indices[j]);
            graph->n_children++;
        }
    }
    return LITH_OK;
}

static lith_status prepare_parts(lith_model *model, uint32_t n_graphs, lith_message *message) {
    model->parts = lith_allocate(&model->allocator, n_graphs - 1, sizeof *model->parts);
    if (model->parts == NULL) {
        return lith_fail_memory(message, "the subgraphs");
    }
    model->n_parts = (int32_t)n_graphs - 1;
    for (int32_t i = 0; i < model->n_parts; i++) {
        lith_model *graph = &model->parts[i];
        graph->allocator = model->allocator;
        graph->mapping = model->mapping;
        graph->root = model->root;
        graph->isa_mask = model->isa_mask;
        graph->weights = model->weights;
        graph->keeps_weights = model->keeps_weights;
        graph->extensions = model->extensions;
        graph->n_extensions = model->n_extensions;
        graph->contract = model->contract;
        graph->depth = -1;
    }
    return LITH_OK;
}

lith_status lith_graph_load(lith_model *model, lith_message *message) {
    lith_status status = load_header(model, message);
    if (status != LITH_OK) {
        return status;
    }
    fb_pointer graphs = fb_vector(model->root, FB_MODEL_GRAPHS);
    if (fb_length(graphs) > LITH_MAX_NODES) {
        return DAMAGED(message, "it has %lu graphs", (unsigned long)fb_length(graphs));
    }
    status = prepare_parts(model, fb_length(graphs), message);
    for (uint32_t i = 0; status == LITH_OK && i < fb_length(graphs); i++) {
        lith_model *graph = part(model, i);
        if (graph->depth < 0) {
            return DAMAGED(message, "graph %lu belongs to no node", (unsigned long)i);
        }
        status = load_graph(graph, fb_table_at(graphs, i), message);
        if (status == LITH_OK) {
            status = link_subgraphs(model, i, message);
        }
        model->constant_bytes += i > 0 ? graph->constant_bytes : 0;
    }
    for (uint32_t i = 0; status == LITH_OK && i < fb_length(graphs); i++) {
        lith_model *graph = part(model, i);
        for (int32_t j = 0; status == LITH_OK && j < graph->n_nodes; j++) {
            status = lith_control_check(graph, j, message);
        }
        if (status == LITH_OK) {
            status = lith_graph_flow(graph, (lith_tensor *)(uintptr_t)graph->tensors, message);
        }
    }
    return status;
}

static void release_graph(lith_model *model) {
    lith_release(&model->allocator, (void *)(uintptr_t)model->tensors, (size_t)model->n_tensors,
                 sizeof *model->tensors);
    lith_release(&model->allocator, (void *)(uintptr_t)model->nodes, (size_t)model->n_nodes, sizeof *model->nodes);
    model->tensors = NULL;
    model->nodes = NULL;
}

void lith_graph_release(lith_model *model) {
    for (int32_t i = 0; i < model->n_parts; i++) {
        release_graph(&model->parts[i]);
    }
    lith_release(&model->allocator, model->parts, (size_t)model->n_parts, sizeof *model->parts);
    model->parts = NULL;
    model->n_parts = 0;
    release_graph(model);
}
