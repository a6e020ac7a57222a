/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <string.h>

#include "nnacl_kernels.h"
#include "plan/arena.h"
#include "status.h"

/* Work below this many multiply-accumulates, or bytes moved, is not worth waking a thread for one more part. */
#define MACS_PER_PART 65536
#define BYTES_PER_PART 16384
/* Parts for each thread: threads of unequal speed finish together. */
#define PARTS_PER_THREAD 4

static size_t aligned(size_t size) {
    return (size + LITH_ALIGNMENT - 1) / LITH_ALIGNMENT * LITH_ALIGNMENT;
}

int32_t lith_direct_output(const lith_model *model, const lith_ports *ports, int32_t tensor) {
    if (!model->tensors[tensor].produced || model->tensors[tensor].variable) {
        return -1;
    }
    for (int32_t i = 0; i < model->n_outputs; i++) {
        if (model->outputs[i] == tensor && ports->outputs[i] != NULL) {
            return i;
        }
    }
    return -1;
}

/* ---- the request to the planner -----------------------------------------------------------------------------------
 */

typedef struct lith_draft {
    nnacl_plan_tensor *tensors;
    nnacl_plan_node *nodes;
    int32_t *live_out; /* outputs, then inputs if they are to be kept */
    void *scratch;
    size_t scratch_size;
    size_t live_count;
} lith_draft;

static void draft_release(lith_draft *draft, const lith_model *model, const lith_allocator *allocator) {
    lith_release(allocator, draft->tensors, (size_t)model->n_tensors, sizeof *draft->tensors);
    lith_release(allocator, draft->nodes, (size_t)model->n_nodes, sizeof *draft->nodes);
    lith_release(allocator, draft->live_out, draft->live_count, sizeof *draft->live_out);
    lith_release(allocator, draft->scratch, draft->scratch_size, 1);
}

static lith_status draft_create(lith_draft *draft, const lith_model *model, bool keep_inputs,
                                const lith_allocator *allocator, lith_message *message) {
    memset(draft, 0, sizeof *draft);
    draft->live_count = (size_t)model->n_outputs + (keep_inputs ? (size_t)model->n_inputs : 0);
    draft->scratch_size = nnacl_memory_plan_scratch(model->n_tensors, model->n_nodes);
    draft->tensors = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *draft->tensors);
    draft->nodes = lith_allocate(allocator, (size_t)model->n_nodes, sizeof *draft->nodes);
    draft->live_out = lith_allocate(allocator, draft->live_count, sizeof *draft->live_out);
    draft->scratch = lith_allocate(allocator, draft->scratch_size, 1);
    if (draft->tensors == NULL || draft->nodes == NULL || draft->live_out == NULL || draft->scratch == NULL) {
        draft_release(draft, model, allocator);
        return lith_fail_memory(message, "the memory plan");
    }
    if (draft->live_count > 0) {
        for (int32_t i = 0; i < model->n_outputs; i++) {
            draft->live_out[i] = model->outputs[i];
        }
        for (int32_t i = 0; keep_inputs && i < model->n_inputs; i++) {
            draft->live_out[model->n_outputs + i] = model->inputs[i];
        }
    }
    return LITH_OK;
}

/* Bound tensors lie outside of the arena, as constants do: so the planner puts nothing into their memory, and gives no
 * other tensor their place. */
static void draft_tensors(lith_draft *draft, const lith_binding *binding, const lith_ports *ports) {
    const lith_model *model = binding->model;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        nnacl_plan_tensor *tensor = &draft->tensors[i];
        tensor->size = lith_type_bytes(&binding->types[i]);
        tensor->memory = NNACL_MEMORY_ARENA;
        if (binding->types[i].data != NULL) {
            tensor->memory = NNACL_MEMORY_CONSTANT;
        } else if (model->tensors[i].variable) {
            tensor->memory = NNACL_MEMORY_VARIABLE;
        }
    }
    for (int32_t i = 0; i < model->n_inputs; i++) {
        if (ports->inputs[i] != NULL) {
            draft->tensors[model->inputs[i]].memory = NNACL_MEMORY_CONSTANT;
        }
    }
    for (int32_t i = 0; i < model->n_outputs; i++) {
        if (ports->outputs[i] != NULL && lith_direct_output(model, ports, model->outputs[i]) == i) {
            draft->tensors[model->outputs[i]].memory = NNACL_MEMORY_CONSTANT;
        }
    }
}

int32_t lith_choose_parts(const lith_binding *binding, int32_t index, int32_t threads) {
    const lith_node *node = &binding->model->nodes[index];
    const lith_step *step = &binding->steps[index];
    uint64_t bytes = 0;
    for (int32_t i = 0; i < node->n_outputs; i++) {
        bytes += lith_type_bytes(&binding->types[node->outputs[i]]);
    }
    uint64_t worth = bytes / BYTES_PER_PART + (uint64_t)(step->macs > 0 ? step->macs : 0) / MACS_PER_PART;
    int64_t parts = threads > 1 ? (int64_t)threads * PARTS_PER_THREAD : 1;
    parts = parts > step->parts ? step->parts : parts;
    parts = (uint64_t)parts > worth ? (int64_t)worth : parts;
    parts -= parts > threads ? parts % threads : 0; /* as many for each */
    return parts < 1 ? 1 : (int32_t)parts;
}

/* For the planner a chain is one node, the last, and what is between its nodes lies nowhere. */
static bool draft_chain(lith_draft *draft, lith_layout *layout, const lith_chain *chain, int32_t threads) {
    const lith_node *nodes = layout->binding->model->nodes;
    const int32_t last = chain->first + chain->count - 1;
    const int32_t workers = chain->parts < threads ? chain->parts : threads;
    if (chain->scratch > SIZE_MAX / 4 / (size_t)workers) {
        return false;
    }
    for (int32_t i = chain->first; i < last; i++) {
        draft->nodes[i].n_inputs = draft->nodes[i].n_outputs = 0;
        draft->nodes[i].workspace = 0;
        draft->tensors[nodes[i].outputs[0]].memory = NNACL_MEMORY_CONSTANT;
    }
    draft->nodes[last].inputs = nodes[chain->first].inputs;
    draft->nodes[last].n_inputs = nodes[chain->first].n_inputs;
    draft->nodes[last].workspace = chain->scratch * (size_t)workers;
    layout->calls[chain->first].chain = chain;
    return true;
}

static bool draft_nodes(lith_draft *draft, lith_layout *layout, int32_t threads) {
    const lith_binding *binding = layout->binding;
    const lith_model *model = binding->model;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        const lith_node *node = &model->nodes[i];
        lith_call *call = &layout->calls[i];
        call->parts = lith_choose_parts(binding, i, threads);
        int32_t workers = call->parts < threads ? call->parts : threads;
        workers = workers < 1 ? 1 : workers;
        if (binding->steps[i].workspace > SIZE_MAX / 4 / (size_t)workers) {
            return false;
        }
        call->workspace_stride = binding->steps[i].early ? 0 : aligned(binding->steps[i].workspace);
        draft->nodes[i] = (nnacl_plan_node){node->inputs,
                                            node->n_inputs,
                                            node->outputs,
                                            node->n_outputs,
                                            node->op->alias,
                                            call->workspace_stride * (size_t)workers,
                                            0,
                                            NULL,
                                            NULL,
                                            -1};
    }
    for (int32_t i = 0; i < layout->n_chains; i++) {
        if (!draft_chain(draft, layout, &layout->chains[i], threads)) {
            return false;
        }
    }
    return true;
}

/* Whether no sum that the planner makes can wrap. */
static bool sums_fit(const lith_draft *draft, const lith_model *model) {
    size_t total = 0;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        size_t size = draft->tensors[i].size;
        if (size > SIZE_MAX / 4 - LITH_ALIGNMENT || total > SIZE_MAX / 4 - aligned(size)) {
            return false;
        }
        total += aligned(size);
    }
    for (int32_t i = 0; i < model->n_nodes; i++) {
        size_t size = draft->nodes[i].workspace;
        if (total > SIZE_MAX / 2 - aligned(size)) {
            return false;
        }
        total += aligned(size);
    }
    return true;
}

static void read_plan(lith_layout *layout, const lith_draft *draft) {
    const lith_model *model = layout->binding->model;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        const nnacl_plan_tensor *tensor = &draft->tensors[i];
        bool planned = tensor->memory != NNACL_MEMORY_CONSTANT && tensor->block >= 0;
        layout->offsets[i] = planned ? tensor->offset : LITH_NOWHERE;
    }
    for (int32_t i = 0; i < model->n_nodes; i++) {
        layout->workspace_offsets[i] = draft->nodes[i].workspace_offset;
    }
    /* Inputs and outputs that no node touches are not in the plan; the caller still reads and writes them. */
    for (int32_t i = 0; i < model->n_inputs + model->n_outputs; i++) {
        int32_t port = i < model->n_inputs ? model->inputs[i] : model->outputs[i - model->n_inputs];
        if (layout->offsets[port] == LITH_NOWHERE && draft->tensors[port].memory != NNACL_MEMORY_CONSTANT) {
            layout->offsets[port] = aligned(layout->arena_size);
            layout->arena_size = layout->offsets[port] + draft->tensors[port].size;
        }
    }
}

/* ---- the layout ---------------------------------------------------------------------------------------------------
 */

static lith_status allocate_calls(lith_layout *layout, const lith_allocator *allocator, lith_message *message) {
    const lith_model *model = layout->binding->model;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        layout->n_in += (size_t)model->nodes[i].n_inputs;
        layout->n_out += (size_t)model->nodes[i].n_outputs;
    }
    layout->places = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *layout->places);
    layout->offsets = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *layout->offsets);
    layout->calls = lith_allocate(allocator, (size_t)model->n_nodes, sizeof *layout->calls);
    layout->workspace_offsets = lith_allocate(allocator, (size_t)model->n_nodes, sizeof *layout->workspace_offsets);
    layout->in = lith_allocate(allocator, layout->n_in, sizeof *layout->in);
    layout->out = lith_allocate(allocator, layout->n_out, sizeof *layout->out);
    if (layout->places == NULL || layout->offsets == NULL || layout->calls == NULL ||
        layout->workspace_offsets == NULL || layout->in == NULL || layout->out == NULL) {
        return lith_fail_memory(message, "the kernel calls");
    }
    const void **in = layout->in;
    void **out = layout->out;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        layout->calls[i].in = in;
        layout->calls[i].out = out;
        in += model->nodes[i].n_inputs;
        out += model->nodes[i].n_outputs;
    }
    return LITH_OK;
}

/* How often each tensor is read, by nodes and by the caller. */
static void count_readers(const lith_model *model, int32_t *readers) {
    for (int32_t i = 0; i < model->n_nodes; i++) {
        for (int32_t j = 0; j < model->nodes[i].n_inputs; j++) {
            if (model->nodes[i].inputs[j] >= 0) {
                readers[model->nodes[i].inputs[j]]++;
            }
        }
    }
    for (int32_t i = 0; i < model->n_outputs; i++) {
        readers[model->outputs[i]]++;
    }
}

static lith_status find_chains(lith_layout *layout, int32_t threads, const lith_allocator *allocator,
                               lith_message *message) {
    const lith_model *model = layout->binding->model;
    int32_t *readers = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *readers);
    if (readers == NULL) {
        return lith_fail_memory(message, "the chains of nodes");
    }
    count_readers(model, readers);
    for (int32_t pass = 0; pass < 2; pass++) {
        lith_chain chain;
        int32_t count = 0;
        for (int32_t i = 0; i < model->n_nodes; i++) {
            if (lith_chain_find(layout->binding, readers, threads, i, &chain)) {
                if (pass > 0) {
                    layout->chains[count] = chain;
                }
                count++;
                i += chain.count - 1;
            }
        }
        if (pass > 0 || count == 0) {
            break;
        }
        layout->n_chains = count;
        layout->n_states = threads;
        layout->chains = lith_allocate(allocator, (size_t)count, sizeof *layout->chains);
        layout->states = lith_allocate(allocator, (size_t)threads, sizeof *layout->states);
        if (layout->chains == NULL || layout->states == NULL) {
            lith_release(allocator, readers, (size_t)model->n_tensors, sizeof *readers);
            return lith_fail_memory(message, "the chains of nodes");
        }
    }
    lith_release(allocator, readers, (size_t)model->n_tensors, sizeof *readers);
    return LITH_OK;
}

static lith_status plan(lith_layout *layout, const lith_ports *ports, int32_t threads, bool keep_inputs,
                        const lith_allocator *allocator, lith_message *message) {
    const lith_model *model = layout->binding->model;
    lith_draft draft;
    lith_status status = draft_create(&draft, model, keep_inputs, allocator, message);
    if (status != LITH_OK) {
        return status;
    }
    draft_tensors(&draft, layout->binding, ports);
    if (!draft_nodes(&draft, layout, threads) || !sums_fit(&draft, model)) {
        draft_release(&draft, model, allocator);
        return lith_fail_memory(message, "activations: they are larger than the address space");
    }
    nnacl_memory_request request = {draft.tensors,
                                    model->n_tensors,
                                    draft.nodes,
                                    model->n_nodes,
                                    model->inputs,
                                    model->n_inputs,
                                    draft.live_out,
                                    (int32_t)draft.live_count,
                                    LITH_ALIGNMENT,
                                    0,
                                    0};
    nnacl_memory_plan(&request, draft.scratch);
    layout->arena_size = request.arena_size;
    layout->lower_bound = request.lower_bound;
    read_plan(layout, &draft);
    draft_release(&draft, model, allocator);
    layout->arena = lith_allocate(allocator, layout->arena_size, 1);
    if (layout->arena == NULL) {
        return lith_fail(message, LITH_ERROR_MEMORY, "out of memory for %llu bytes of activations",
                         (unsigned long long)layout->arena_size);
    }
    return LITH_OK;
}

/* Where a tensor lies when its data is not the caller's. */
static const void *own_place(const lith_layout *layout, int32_t tensor) {
    if (layout->binding->types[tensor].data != NULL) {
        return layout->binding->types[tensor].data;
    }
    return layout->offsets[tensor] != LITH_NOWHERE ? layout->arena + layout->offsets[tensor] : NULL;
}

static void point_call(lith_layout *layout, int32_t index) {
    const lith_node *node = &layout->binding->model->nodes[index];
    const lith_step *step = &layout->binding->steps[index];
    lith_call *call = &layout->calls[index];
    call->step = step;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        call->in[i] = node->inputs[i] >= 0 ? layout->places[node->inputs[i]] : NULL;
    }
    for (int32_t i = 0; i < step->n_packed; i++) {
        call->in[step->packed[i].input] = step->packed[i].data;
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        /* Places are const because constants and inputs of the caller are; what a node writes is neither. */
        call->out[i] = (void *)(uintptr_t)layout->places[node->outputs[i]];
    }
    const int32_t last = call->chain != NULL ? index + call->chain->count - 1 : index;
    call->workspace = layout->arena + layout->workspace_offsets[last];
    bool is_view = node->op->alias == NNACL_ALIAS_VIEW && node->n_inputs > 0 && call->in[0] == call->out[0];
    call->skipped = step->early || is_view;
}

void lith_layout_point(lith_layout *layout, const lith_ports *ports) {
    const lith_model *model = layout->binding->model;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        layout->places[i] = own_place(layout, i);
    }
    for (int32_t i = 0; i < model->n_inputs; i++) {
        if (ports->inputs[i] != NULL) {
            layout->places[model->inputs[i]] = ports->inputs[i];
        }
    }
    for (int32_t i = 0; i < model->n_outputs; i++) {
        if (ports->outputs[i] != NULL && lith_direct_output(model, ports, model->outputs[i]) == i) {
            layout->places[model->outputs[i]] = ports->outputs[i];
        }
    }
    for (int32_t i = 0; i < model->n_nodes; i++) {
        point_call(layout, i);
    }
}

lith_status lith_layout_create(const lith_binding *binding, const lith_ports *ports, int32_t threads, bool keep_inputs,
                               const lith_allocator *allocator, lith_layout **layout, lith_message *message) {
    lith_layout *result = lith_allocate(allocator, 1, sizeof *result);
    if (result == NULL) {
        return lith_fail_memory(message, "the memory plan");
    }
    result->binding = binding;
    lith_status status = allocate_calls(result, allocator, message);
    if (status == LITH_OK) {
        status = find_chains(result, threads, allocator, message);
    }
    if (status == LITH_OK) {
        status = plan(result, ports, threads, keep_inputs, allocator, message);
    }
    if (status != LITH_OK) {
        lith_layout_destroy(result, allocator);
        return status;
    }
    lith_layout_point(result, ports);
    *layout = result;
    return LITH_OK;
}

void lith_layout_destroy(lith_layout *layout, const lith_allocator *allocator) {
    if (layout == NULL) {
        return;
    }
    size_t n_tensors = (size_t)layout->binding->model->n_tensors;
    size_t n_nodes = (size_t)layout->binding->model->n_nodes;
    lith_release(allocator, layout->arena, layout->arena_size, 1);
    lith_release(allocator, layout->out, layout->n_out, sizeof *layout->out);
    lith_release(allocator, layout->in, layout->n_in, sizeof *layout->in);
    lith_release(allocator, layout->workspace_offsets, n_nodes, sizeof *layout->workspace_offsets);
    lith_release(allocator, layout->states, (size_t)layout->n_states, sizeof *layout->states);
    lith_release(allocator, layout->chains, (size_t)layout->n_chains, sizeof *layout->chains);
    lith_release(allocator, layout->calls, n_nodes, sizeof *layout->calls);
    lith_release(allocator, layout->offsets, n_tensors, sizeof *layout->offsets);
    lith_release(allocator, layout->places, n_tensors, sizeof *layout->places);
    lith_release(allocator, layout, 1, sizeof *layout);
}
