/* SPDX-License-Identifier: Apache-2.0 */
#include "bind.h"

#include <string.h>

#include "pack.h"
#include "status.h"

/* Parameter structs start at multiples of this in the block that holds them all. */
#define PARAMS_ALIGNMENT 8

static size_t params_stride(const nnacl_op *op) {
    return (op->params_size + PARAMS_ALIGNMENT - 1) / PARAMS_ALIGNMENT * PARAMS_ALIGNMENT;
}

/* ---- types --------------------------------------------------------------------------------------------------------
 */

lith_status lith_input_type(const lith_model *model, int32_t index, const lith_shape *shape, nnacl_tensor *type,
                            lith_message *message) {
    const lith_tensor *tensor = &model->tensors[model->inputs[index]];
    nnacl_tensor result = tensor->type;
    if (shape->rank != result.rank) {
        return lith_fail(message, LITH_ERROR_SHAPE, "input '%.60s' has %d dimensions, not %d", tensor->name,
                         (int)result.rank, (int)shape->rank);
    }
    memcpy(result.dims, shape->dims, sizeof result.dims);
    if (nnacl_element_count(&result) < 0) {
        return lith_fail(message, LITH_ERROR_SHAPE, "input '%.60s' cannot have that shape", tensor->name);
    }
    *type = result;
    return LITH_OK;
}

static lith_status set_input_types(lith_binding *binding, const lith_shape *shapes, lith_message *message) {
    const lith_model *model = binding->model;
    for (int32_t i = 0; i < model->n_inputs; i++) {
        nnacl_tensor *type = &binding->types[model->inputs[i]];
        lith_shape shape;
        shape.rank = type->rank;
        for (int32_t axis = 0; axis < LITH_MAX_RANK; axis++) {
            shape.dims[axis] = type->dims[axis] < 0 ? 1 : type->dims[axis];
        }
        lith_status status = lith_input_type(model, i, shapes != NULL ? &shapes[i] : &shape, type, message);
        if (status != LITH_OK) {
            return status;
        }
    }
    return LITH_OK;
}

/* A derived type has to be the declared one; dimensions may differ once the caller chose other shapes. */
static bool type_fits(const lith_tensor *declared, const nnacl_tensor *derived, bool resized) {
    if (derived->dtype != declared->type.dtype || derived->rank != declared->type.rank) {
        return false;
    }
    for (int32_t i = 0; i < derived->rank; i++) {
        bool free = declared->type.dims[i] < 0 || (resized && !declared->variable);
        if (!free && derived->dims[i] != declared->type.dims[i]) {
            return false;
        }
    }
    return nnacl_element_count(derived) >= 0;
}

static bool is_declared(const lith_model *model, const int32_t *indices, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        for (int32_t axis = 0; indices[i] >= 0 && axis < model->tensors[indices[i]].type.rank; axis++) {
            if (model->tensors[indices[i]].type.dims[axis] < 0) {
                return false;
            }
        }
    }
    return true;
}

static bool is_constant(const lith_model *model, int32_t tensor) {
    return model->tensors[tensor].type.data != NULL;
}

/* Derives the parameters and output types of a node. */
static lith_status derive(lith_binding *binding, int32_t index, bool resized, lith_message *message) {
    const lith_model *model = binding->model;
    const lith_node *node = &model->nodes[index];
    void *params = binding->steps[index].params;
    nnacl_tensor in[NNACL_MAX_INPUTS];
    nnacl_tensor out[NNACL_MAX_OUTPUTS];
    for (int32_t i = 0; i < node->n_inputs; i++) {
        memset(&in[i], 0, sizeof in[i]);
        in[i].dtype = -1;
        if (node->inputs[i] >= 0) {
            in[i] = binding->types[node->inputs[i]];
            if ((node->op->data_inputs >> i & 1) == 0 && !is_constant(model, node->inputs[i])) {
                in[i].data = NULL;
            }
        }
    }
    lith_status damage = resized ? LITH_ERROR_SHAPE : LITH_ERROR_FORMAT;
    if (node->params_size > 0) {
        memcpy(params, node->params, node->params_size);
    }
    /* A shorter struct comes from an older writer: what it lacks counts as zero, or is derived. */
    if (!resized && !lith_node_reads_data(model, node) && node->params_size == node->op->params_size &&
        is_declared(model, node->inputs, node->n_inputs) && is_declared(model, node->outputs, node->n_outputs)) {
        for (int32_t i = 0; i < node->n_outputs; i++) {
            out[i] = model->tensors[node->outputs[i]].type;
        }
        const char *error = nnacl_check(node->op, params, in, node->n_inputs, out, node->n_outputs);
        if (error != NULL) {
            return lith_fail(message, damage, "%s: %s", lith_node_label(model, index).text, error);
        }
    }
    memset(out, 0, (size_t)node->n_outputs * sizeof out[0]);
    const char *error = node->op->resize(params, in, node->n_inputs, out, node->n_outputs);
    if (error != NULL) {
        return lith_fail(message, damage, "%s: %s", lith_node_label(model, index).text, error);
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        const lith_tensor *tensor = &model->tensors[node->outputs[i]];
        if (!type_fits(tensor, &out[i], resized)) {
            return lith_fail(message, damage, "%s: the type of output '%.60s' does not follow from the inputs",
                             lith_node_label(model, index).text, tensor->name);
        }
        out[i].data = NULL;
        binding->types[node->outputs[i]] = out[i];
    }
    return LITH_OK;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------
 */

/* Bytes: weights of this size and more stay where they are in a model that is to keep its weights. */
#define LARGE_WEIGHTS ((size_t)1 << 20)

/* Whether every input that the kernel wants in its own layout is a constant, which can be brought into it. */
static bool serves(const lith_binding *binding, int32_t index, const nnacl_kernel *kernel) {
    const lith_node *node = &binding->model->nodes[index];
    for (int32_t i = 0; node->op->packed_size != NULL && i < node->n_inputs; i++) {
        const bool given = node->inputs[i] >= 0;
        const bool varies = given && !is_constant(binding->model, node->inputs[i]);
        if (!varies && !(given && binding->model->keeps_weights)) {
            continue;
        }
        const size_t size = node->op->packed_size(binding->steps[index].params, kernel, i);
        if (varies ? size > 0 : size >= LARGE_WEIGHTS && size != NNACL_PACKED_ELSEWHERE) {
            return false;
        }
    }
    return true;
}

static const nnacl_kernel *find_kernel(const lith_node *node, int32_t dtype, const void *params, uint32_t isa_mask) {
    return node->extension != NULL ? nnacl_extension_kernel(node->extension, node->op->name, dtype, params, isa_mask, 1)
                                   : nnacl_kernel_find(node->op->name, dtype, params, isa_mask, 1);
}

static lith_status choose_kernel(lith_binding *binding, int32_t index, lith_message *message) {
    const lith_model *model = binding->model;
    const lith_node *node = &model->nodes[index];
    lith_step *step = &binding->steps[index];
    /* An op without data inputs goes by the type that it makes. */
    int32_t first = node->n_inputs > 0 && node->inputs[0] >= 0 ? node->inputs[0] : node->outputs[0];
    int32_t dtype = binding->types[first].dtype;
    uint32_t mask = model->isa_mask;
    step->kernel = find_kernel(node, dtype, step->params, mask);
    while (step->kernel != NULL && !serves(binding, index, step->kernel)) {
        mask = nnacl_kernel_mask_without(step->kernel, mask);
        step->kernel = find_kernel(node, dtype, step->params, mask);
    }
    if (step->kernel == NULL) {
        return lith_fail(message, LITH_ERROR_UNSUPPORTED, "%s: this build has no kernel for %s",
                         lith_node_label(model, index).text, nnacl_dtype_name(dtype));
    }
    const nnacl_op *op = node->op;
    step->workspace = op->workspace != NULL ? op->workspace(step->params, step->kernel) : 0;
    step->parts = op->parts != NULL ? op->parts(step->params, step->kernel) : 1;
    step->macs = op->macs != NULL ? op->macs(step->params) : 0;
    if (step->parts < 1) {
        step->parts = 1;
    }
    return LITH_OK;
}

/* ---- early results ------------------------------------------------------------------------------------------------
 */

static void release_early(nnacl_tensor *type, const lith_allocator *allocator) {
    /* What a binding computed is its own, const for those who read it. */
    lith_release(allocator, (void *)(uintptr_t)type->data, lith_type_bytes(type), 1);
    type->data = NULL;
}

/* The constant inputs of a node as its kernel wants them: `in` gets what stands in for them. */
static bool pack_for_once(const lith_binding *binding, int32_t index, const void **in, void **owned,
                          const lith_allocator *allocator) {
    const lith_node *node = &binding->model->nodes[index];
    const lith_step *step = &binding->steps[index];
    const void *plain[NNACL_MAX_INPUTS];
    for (int32_t i = 0; i < node->n_inputs; i++) {
        plain[i] = node->inputs[i] >= 0 ? binding->model->tensors[node->inputs[i]].type.data : NULL;
    }
    for (int32_t i = 0; i < node->n_inputs; i++) {
        size_t size = lith_packed_size(binding, index, i);
        if (size > 0) {
            owned[i] = lith_allocate(allocator, size, 1);
            if (owned[i] == NULL) {
                return false;
            }
            node->op->pack(step->params, step->kernel, i, plain, owned[i]);
            in[i] = owned[i];
        }
    }
    return true;
}

/* Runs a node whose inputs are known. */
static lith_status compute_early(lith_binding *binding, int32_t index, const lith_allocator *allocator,
                                 lith_message *message) {
    const lith_node *node = &binding->model->nodes[index];
    lith_step *step = &binding->steps[index];
    const void *in[NNACL_MAX_INPUTS] = {NULL};
    void *owned[NNACL_MAX_INPUTS] = {NULL};
    void *out[NNACL_MAX_OUTPUTS] = {NULL};
    for (int32_t i = 0; i < node->n_inputs; i++) {
        in[i] = node->inputs[i] >= 0 ? binding->types[node->inputs[i]].data : NULL;
    }
    void *workspace = lith_allocate(allocator, step->workspace, 1);
    bool complete = workspace != NULL && pack_for_once(binding, index, in, owned, allocator);
    for (int32_t i = 0; i < node->n_outputs && complete; i++) {
        nnacl_tensor *type = &binding->types[node->outputs[i]];
        out[i] = lith_allocate(allocator, lith_type_bytes(type), 1);
        type->data = out[i];
        complete = out[i] != NULL;
    }
    if (complete) {
        nnacl_ctx ctx = {workspace, step->workspace, 0, 1};
        step->kernel->run(&ctx, step->params, in, out);
        step->early = true;
    }
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (owned[i] != NULL) {
            lith_release(allocator, owned[i], lith_packed_size(binding, index, i), 1);
        }
    }
    lith_release(allocator, workspace, step->workspace, 1);
    return complete ? LITH_OK : lith_fail_memory(message, "values that follow from shapes");
}

/* ---- node by node -------------------------------------------------------------------------------------------------
 */

lith_status lith_binding_bind_node(lith_binding *binding, int32_t index, lith_message *message) {
    const nnacl_kernel *before = binding->steps[index].kernel;
    lith_status status = derive(binding, index, true, message);
    if (status == LITH_OK) {
        status = choose_kernel(binding, index, message);
    }
    return status == LITH_OK ? lith_pack_node(binding, index, before, message) : status;
}

/* ---- the binding --------------------------------------------------------------------------------------------------
 */

static lith_status allocate_tables(lith_binding *binding, const lith_allocator *allocator, lith_message *message) {
    const lith_model *model = binding->model;
    size_t size = 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        size += params_stride(model->nodes[i].op);
    }
    binding->params_size = size;
    binding->types = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *binding->types);
    binding->steps = lith_allocate(allocator, (size_t)model->n_nodes, sizeof *binding->steps);
    binding->params = lith_allocate(allocator, size, 1);
    if (binding->types == NULL || binding->steps == NULL || binding->params == NULL) {
        return lith_fail_memory(message, "the nodes");
    }
    size_t offset = 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        binding->steps[i].params = binding->params + offset;
        offset += params_stride(model->nodes[i].op);
    }
    for (int32_t i = 0; i < model->n_tensors; i++) {
        binding->types[i] = model->tensors[i].type;
    }
    return LITH_OK;
}

lith_status lith_binding_prepare(const lith_model *model, const lith_allocator *allocator, lith_binding **binding,
                                 lith_message *message) {
    lith_binding *result = lith_allocate(allocator, 1, sizeof *result);
    if (result == NULL) {
        return lith_fail_memory(message, "the nodes");
    }
    result->model = model;
    lith_status status = allocate_tables(result, allocator, message);
    size_t count = 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        for (int32_t input = 0; input < model->nodes[i].n_inputs; input++) {
            int32_t tensor = model->nodes[i].inputs[input];
            count += tensor >= 0 && is_constant(model, tensor);
        }
    }
    if (status == LITH_OK) {
        result->packed = lith_allocate(allocator, count, sizeof *result->packed);
        result->packed_count = result->packed != NULL ? count : 0;
        status = result->packed != NULL ? LITH_OK : lith_fail_memory(message, "packed weights");
    }
    if (status != LITH_OK) {
        lith_binding_destroy(result, allocator);
        return status;
    }
    lith_packed *next = result->packed;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        result->steps[i].packed = next;
        for (int32_t input = 0; input < model->nodes[i].n_inputs; input++) {
            int32_t tensor = model->nodes[i].inputs[input];
            next += tensor >= 0 && is_constant(model, tensor);
        }
    }
    *binding = result;
    return LITH_OK;
}

lith_status lith_binding_check(const lith_model *model, lith_message *message) {
    lith_binding *binding = NULL;
    lith_status status = lith_binding_prepare(model, &model->allocator, &binding, message);
    for (int32_t i = 0; status == LITH_OK && i < model->n_nodes; i++) {
        const lith_node *node = &model->nodes[i];
        if (node->control == LITH_CONTROL_NONE && !lith_node_reads_data(model, node) &&
            is_declared(model, node->inputs, node->n_inputs) && is_declared(model, node->outputs, node->n_outputs)) {
            status = derive(binding, i, false, message);
            if (status == LITH_OK) {
                status = choose_kernel(binding, i, message);
            }
        }
    }
    lith_binding_destroy(binding, &model->allocator);
    return status;
}

lith_status lith_binding_create(const lith_model *model, const lith_shape *shapes, const lith_allocator *allocator,
                                lith_binding **binding, lith_message *message) {
    lith_binding *result = lith_allocate(allocator, 1, sizeof *result);
    if (result == NULL) {
        return lith_fail_memory(message, "the nodes");
    }
    result->model = model;
    /* Sizes known at run time only are taken as 1: these are not the shapes of the file either. */
    bool resized = shapes != NULL || !model->is_static;
    lith_status status = allocate_tables(result, allocator, message);
    if (status == LITH_OK) {
        status = set_input_types(result, shapes, message);
    }
    for (int32_t i = 0; status == LITH_OK && i < model->n_nodes; i++) {
        status = derive(result, i, resized, message);
        if (status == LITH_OK) {
            status = choose_kernel(result, i, message);
        }
        if (status == LITH_OK && model->tensors[model->nodes[i].outputs[0]].early) {
            status = compute_early(result, i, allocator, message);
        }
        if (status == LITH_OK && result->steps[i].macs > 0 && result->macs <= INT64_MAX - result->steps[i].macs) {
            result->macs += result->steps[i].macs;
        }
    }
    if (status == LITH_OK) {
        status = lith_pack_all(result, allocator, message);
    }
    if (status != LITH_OK) {
        lith_binding_destroy(result, allocator);
        return status;
    }
    *binding = result;
    return LITH_OK;
}

void lith_binding_destroy(lith_binding *binding, const lith_allocator *allocator) {
    if (binding == NULL) {
        return;
    }
    for (int32_t i = 0; binding->types != NULL && i < binding->model->n_tensors; i++) {
        if (binding->model->tensors[i].early) {
            release_early(&binding->types[i], allocator);
        }
    }
    lith_pack_give(binding);
    lith_release(allocator, binding->packed, binding->packed_count, sizeof *binding->packed);
    lith_release(allocator, binding->params, binding->params_size, 1);
    lith_release(allocator, binding->steps, (size_t)binding->model->n_nodes, sizeof *binding->steps);
    lith_release(allocator, binding->types, (size_t)binding->model->n_tensors, sizeof *binding->types);
    lith_release(allocator, binding, 1, sizeof *binding);
}
