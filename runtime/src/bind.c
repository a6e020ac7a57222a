/* SPDX-License-Identifier: Apache-2.0 */
#include "bind.h"

#include <string.h>

#include "status.h"
#include "stored.h"

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

/* ---- packed constants ---------------------------------------------------------------------------------------------
 */

/* The packed input of the same node in another binding, if that serves this step too. What is packed depends on the
 * kernel, the attributes and the constants; only the first can differ between two bindings of a model. */
static lith_packed *find_packed(const lith_binding *other, int32_t index, const lith_step *step, int32_t input,
                                size_t size) {
    if (other == NULL || other->steps[index].kernel != step->kernel) {
        return NULL;
    }
    for (int32_t i = 0; i < other->steps[index].n_packed; i++) {
        lith_packed *packed = &other->steps[index].packed[i];
        if (packed->input == input && packed->size == size) {
            return packed;
        }
    }
    return NULL;
}

static size_t packed_size(const lith_binding *binding, int32_t index, int32_t input) {
    const lith_node *node = &binding->model->nodes[index];
    bool constant = node->inputs[input] >= 0 && is_constant(binding->model, node->inputs[input]);
    if (node->op->packed_size == NULL || node->op->pack == NULL || !constant) {
        return 0;
    }
    const size_t size = node->op->packed_size(binding->steps[index].params, binding->steps[index].kernel, input);
    return size == NNACL_PACKED_ELSEWHERE ? 0 : size;
}

static void release_packed(lith_packed *packed, const lith_allocator *allocator) {
    lith_slab *slab = packed->slab;
    if (slab == NULL) {
        /* What a binding packed is its own, const for those who read it. */
        lith_release(allocator, (void *)(uintptr_t)packed->data, packed->size, 1);
    } else if (--slab->users == 0) {
        lith_release(allocator, slab->data, slab->size, 1);
        lith_release(allocator, slab, 1, sizeof *slab);
    }
    packed->owned = false;
    packed->slab = NULL;
}

/* Packs into memory that is zero. */
static void pack_into(lith_binding *binding, int32_t index, lith_packed *packed, void *memory) {
    const lith_node *node = &binding->model->nodes[index];
    const lith_step *step = &binding->steps[index];
    const void *in[NNACL_MAX_INPUTS];
    packed->data = memory;
    packed->owned = true;
    binding->packed_bytes += packed->size;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        in[i] = node->inputs[i] >= 0 ? binding->model->tensors[node->inputs[i]].type.data : NULL;
    }
    node->op->pack(step->params, step->kernel, packed->input, in, memory);
    lith_mapping_release(&binding->model->mapping, in[packed->input],
                         lith_type_bytes(&binding->model->tensors[node->inputs[packed->input]].type));
}

/* Room for every constant input that a kernel wants in another layout. */
static lith_status list_packed(lith_binding *binding, const lith_allocator *allocator, lith_message *message) {
    const lith_model *model = binding->model;
    size_t count = 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        for (int32_t input = 0; input < model->nodes[i].n_inputs; input++) {
            count += packed_size(binding, i, input) > 0;
        }
    }
    binding->packed = lith_allocate(allocator, count, sizeof *binding->packed);
    if (binding->packed == NULL) {
        return lith_fail_memory(message, "packed weights");
    }
    binding->packed_count = count;
    lith_packed *next = binding->packed;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        lith_step *step = &binding->steps[i];
        step->packed = next;
        for (int32_t input = 0; input < model->nodes[i].n_inputs; input++) {
            size_t size = packed_size(binding, i, input);
            if (size > 0) {
                next->input = input;
                next->size = size;
                next++;
            }
        }
        step->n_packed = (int32_t)(next - step->packed);
    }
    return LITH_OK;
}

static size_t slab_share(size_t size) {
    return (size + LITH_ALIGNMENT - 1) / LITH_ALIGNMENT * LITH_ALIGNMENT;
}

/* Packs what has no data yet, all into one block: there are few large pages to fill instead of many small ones. */
static lith_status pack_slab(lith_binding *binding, int32_t users, size_t size, const lith_allocator *allocator,
                             lith_message *message) {
    lith_slab *slab = lith_allocate(allocator, 1, sizeof *slab);
    unsigned char *memory = slab != NULL ? lith_allocate(allocator, size, 1) : NULL;
    if (memory == NULL) {
        lith_release(allocator, slab, 1, sizeof *slab);
        return lith_fail_memory(message, "packed weights");
    }
    *slab = (lith_slab){users, memory, size};
    for (int32_t i = 0; i < binding->model->n_nodes; i++) {
        const lith_step *step = &binding->steps[i];
        for (int32_t j = 0; j < step->n_packed; j++) {
            lith_packed *packed = &step->packed[j];
            if (packed->data == NULL) {
                packed->slab = slab;
                pack_into(binding, i, packed, memory);
                memory += slab_share(packed->size);
            }
        }
    }
    return LITH_OK;
}

static lith_status pack_constants(lith_binding *binding, const lith_binding *previous, const lith_allocator *allocator,
                                  lith_message *message) {
    const lith_model *model = binding->model;
    lith_status status = list_packed(binding, allocator, message);
    if (status != LITH_OK) {
        return status;
    }
    size_t size = 0;
    int32_t users = 0;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        const lith_step *step = &binding->steps[i];
        for (int32_t j = 0; j < step->n_packed; j++) {
            lith_packed *packed = &step->packed[j];
            const lith_packed *shared = find_packed(model->binding, i, step, packed->input, packed->size);
            if (shared == NULL) {
                shared = find_packed(previous, i, step, packed->input, packed->size);
            }
            const void *stored = lith_stored_find(model, i, packed->input, step->kernel, packed->size);
            if (stored != NULL) {
                packed->data = stored;
                binding->stored_count++;
            } else if (shared != NULL) {
                packed->data = shared->data;
            } else if (size <= SIZE_MAX / 2 - packed->size) {
                size += slab_share(packed->size);
                users++;
            } else {
                return lith_fail_memory(message, "packed weights");
            }
        }
    }
    return users > 0 ? pack_slab(binding, users, size, allocator, message) : LITH_OK;
}

void lith_binding_inherit(lith_binding *binding, lith_binding *previous) {
    for (int32_t i = 0; previous != NULL && i < binding->model->n_nodes; i++) {
        const lith_step *step = &binding->steps[i];
        for (int32_t j = 0; j < step->n_packed; j++) {
            lith_packed *packed = &step->packed[j];
            lith_packed *old = find_packed(previous, i, step, packed->input, packed->size);
            if (old != NULL && old->owned && old->data == packed->data) {
                packed->owned = true;
                packed->slab = old->slab;
                old->owned = false;
                binding->packed_bytes += packed->size;
            }
        }
    }
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
        size_t size = packed_size(binding, index, i);
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
            lith_release(allocator, owned[i], packed_size(binding, index, i), 1);
        }
    }
    lith_release(allocator, workspace, step->workspace, 1);
    return complete ? LITH_OK : lith_fail_memory(message, "values that follow from shapes");
}

/* ---- node by node -------------------------------------------------------------------------------------------------
 */

/* Packs the constants of one node, into the room that it has in `binding->packed`. */
static lith_status pack_node(lith_binding *binding, int32_t index, const nnacl_kernel *before,
                             const lith_allocator *allocator, lith_message *message) {
    lith_step *step = &binding->steps[index];
    int32_t count = 0;
    for (int32_t input = 0; input < binding->model->nodes[index].n_inputs; input++) {
        size_t size = packed_size(binding, index, input);
        if (size == 0) {
            continue;
        }
        lith_packed *packed = &step->packed[count++];
        if (packed->owned && before == step->kernel && packed->input == input && packed->size == size) {
            continue;
        }
        if (packed->owned) {
            binding->packed_bytes -= packed->size;
            release_packed(packed, allocator);
        }
        packed->input = input;
        packed->size = size;
        void *memory = lith_allocate(allocator, size, 1);
        if (memory == NULL) {
            step->n_packed = 0;
            return lith_fail_memory(message, "packed weights");
        }
        pack_into(binding, index, packed, memory);
    }
    step->n_packed = count;
    return LITH_OK;
}

lith_status lith_binding_bind_node(lith_binding *binding, int32_t index, const lith_allocator *allocator,
                                   lith_message *message) {
    const nnacl_kernel *before = binding->steps[index].kernel;
    lith_status status = derive(binding, index, true, message);
    if (status == LITH_OK) {
        status = choose_kernel(binding, index, message);
    }
    return status == LITH_OK ? pack_node(binding, index, before, allocator, message) : status;
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

lith_status lith_binding_create(const lith_model *model, const lith_shape *shapes, const lith_binding *previous,
                                const lith_allocator *allocator, lith_binding **binding, lith_message *message) {
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
        status = pack_constants(result, previous, allocator, message);
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
    for (size_t i = 0; i < binding->packed_count; i++) {
        if (binding->packed[i].owned) {
            release_packed(&binding->packed[i], allocator);
        }
    }
    lith_release(allocator, binding->packed, binding->packed_count, sizeof *binding->packed);
    lith_release(allocator, binding->params, binding->params_size, 1);
    lith_release(allocator, binding->steps, (size_t)binding->model->n_nodes, sizeof *binding->steps);
    lith_release(allocator, binding->types, (size_t)binding->model->n_tensors, sizeof *binding->types);
    lith_release(allocator, binding, 1, sizeof *binding);
}
