/* SPDX-License-Identifier: Apache-2.0 */
#include "dynamic.h"

#include <string.h>

#include "clock.h"
#include "control.h"
#include "layout.h"
#include "pack.h"
#include "session.h"
#include "status.h"

/* ---- places -------------------------------------------------------------------------------------------------------
 */

static void set_place(lith_dynamic *self, int32_t tensor, const void *place, lith_block *block) {
    self->slots[tensor].place = place;
    self->slots[tensor].block = block;
    self->binding->types[tensor].data = place;
}

static void forget(lith_dynamic *self, int32_t tensor) {
    lith_block_give(self->blocks, self->slots[tensor].block);
    set_place(self, tensor, NULL, NULL);
}

void lith_dynamic_clear(lith_dynamic *self) {
    for (int32_t i = 0; i < self->model->n_tensors; i++) {
        if (self->slots[i].last_use != LITH_KEPT) {
            forget(self, i);
        }
    }
}

static bool same_type(const nnacl_tensor *a, const nnacl_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

static void note_type(lith_dynamic *self, int32_t tensor, const nnacl_tensor *before) {
    if (!same_type(&self->binding->types[tensor], before)) {
        self->slots[tensor].changed = ++self->clock;
    }
}

void lith_dynamic_put(lith_dynamic *self, int32_t tensor, const nnacl_tensor *type, const void *place,
                      lith_block *block) {
    nnacl_tensor before = self->binding->types[tensor];
    forget(self, tensor);
    self->binding->types[tensor] = *type;
    note_type(self, tensor, &before);
    set_place(self, tensor, place, block);
}

void lith_dynamic_clear_inputs(lith_dynamic *self) {
    for (int32_t i = 0; i < self->model->n_inputs; i++) {
        forget(self, self->model->inputs[i]);
    }
}

/* ---- making -------------------------------------------------------------------------------------------------------
 */

static void find_last_uses(lith_dynamic *self) {
    const lith_model *model = self->model;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        const lith_node *node = &model->nodes[i];
        for (int32_t j = 0; j < node->n_outputs; j++) {
            self->slots[node->outputs[j]].last_use = i;
        }
        for (int32_t j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j] >= 0) {
                self->slots[node->inputs[j]].last_use = i;
            }
        }
    }
    for (int32_t i = 0; i < model->n_outputs; i++) {
        self->slots[model->outputs[i]].last_use = model->n_nodes;
    }
    for (int32_t i = 0; i < model->n_tensors; i++) {
        const lith_tensor *tensor = &model->tensors[i];
        if (tensor->type.data != NULL || tensor->input || tensor->variable) {
            self->slots[i].last_use = LITH_KEPT;
        }
    }
}

static lith_status place_kept(lith_dynamic *self, lith_message *message) {
    const lith_model *model = self->model;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        if (model->tensors[i].type.data != NULL) {
            self->slots[i].place = model->tensors[i].type.data;
        } else if (model->tensors[i].variable) {
            lith_block *block = lith_block_take(self->blocks, lith_type_bytes(&model->tensors[i].type));
            if (block == NULL) {
                return lith_fail_memory(message, "variables");
            }
            set_place(self, i, lith_block_data(block), block);
        }
    }
    return LITH_OK;
}

lith_status lith_dynamic_create(const lith_model *model, lith_pool *pool, lith_blocks *blocks,
                                const lith_allocator *allocator, lith_dynamic **dynamic, lith_message *message) {
    lith_dynamic *self = lith_allocate(allocator, 1, sizeof *self);
    if (self == NULL) {
        return lith_fail_memory(message, "the session");
    }
    self->model = model;
    self->allocator = *allocator;
    self->pool = pool;
    self->blocks = blocks;
    self->slots = lith_allocate(allocator, (size_t)model->n_tensors, sizeof *self->slots);
    self->bound = lith_allocate(allocator, (size_t)model->n_nodes, sizeof *self->bound);
    self->children = lith_allocate(allocator, (size_t)model->n_children, sizeof *self->children);
    lith_status status = lith_binding_prepare(model, allocator, &self->binding, message);
    if (status == LITH_OK && (self->slots == NULL || self->bound == NULL || self->children == NULL)) {
        status = lith_fail_memory(message, "the session");
    }
    if (status == LITH_OK) {
        find_last_uses(self);
        status = place_kept(self, message);
    }
    if (status != LITH_OK) {
        lith_dynamic_destroy(self);
        return status;
    }
    *dynamic = self;
    return LITH_OK;
}

void lith_dynamic_destroy(lith_dynamic *self) {
    if (self == NULL) {
        return;
    }
    lith_allocator allocator = self->allocator;
    for (int32_t i = 0; self->children != NULL && i < self->model->n_children; i++) {
        lith_dynamic_destroy(self->children[i]);
    }
    for (int32_t i = 0; self->slots != NULL && i < self->model->n_tensors; i++) {
        lith_block_give(self->blocks, self->slots[i].block);
    }
    lith_binding_destroy(self->binding, &allocator);
    lith_release(&allocator, self->children, (size_t)self->model->n_children, sizeof *self->children);
    lith_release(&allocator, self->bound, (size_t)self->model->n_nodes, sizeof *self->bound);
    lith_release(&allocator, self->slots, (size_t)self->model->n_tensors, sizeof *self->slots);
    lith_release(&allocator, self, 1, sizeof *self);
}

size_t lith_dynamic_packed_bytes(const lith_dynamic *self) {
    size_t sum = lith_pack_bytes(self->binding, NULL);
    for (int32_t i = 0; i < self->model->n_children; i++) {
        sum += self->children[i] != NULL ? lith_dynamic_packed_bytes(self->children[i]) : 0;
    }
    return sum;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------
 */

lith_status lith_dynamic_resize(lith_dynamic *self, const lith_shape *shapes, lith_message *message) {
    const lith_model *model = self->model;
    lith_block **blocks = lith_allocate(&self->allocator, (size_t)model->n_inputs, sizeof *blocks);
    if (blocks == NULL) {
        return lith_fail_memory(message, "the inputs");
    }
    lith_status status = LITH_OK;
    for (int32_t pass = 0; pass < 2 && status == LITH_OK; pass++) {
        for (int32_t i = 0; i < model->n_inputs && status == LITH_OK; i++) {
            int32_t tensor = model->inputs[i];
            nnacl_tensor type = model->tensors[tensor].type;
            if (shapes != NULL) {
                status = lith_input_type(model, i, &shapes[i], &type, message);
            }
            if (status == LITH_OK && pass == 0) {
                blocks[i] = lith_block_take(self->blocks, lith_type_bytes(&type));
                status = blocks[i] != NULL ? LITH_OK : lith_fail_memory(message, "the inputs");
            } else if (status == LITH_OK) {
                nnacl_tensor before = self->binding->types[tensor];
                forget(self, tensor);
                self->binding->types[tensor] = type;
                note_type(self, tensor, &before);
                memset(lith_block_data(blocks[i]), 0, lith_type_bytes(&type));
                set_place(self, tensor, lith_block_data(blocks[i]), blocks[i]);
                blocks[i] = NULL;
            }
        }
    }
    for (int32_t i = 0; i < model->n_inputs; i++) {
        lith_block_give(self->blocks, blocks[i]);
    }
    lith_release(&self->allocator, blocks, (size_t)model->n_inputs, sizeof *blocks);
    if (status == LITH_OK) {
        lith_dynamic_clear(self);
        self->shaped = true;
    }
    return status;
}

lith_status lith_dynamic_bind_input(lith_dynamic *self, int32_t index, const void *data, lith_message *message) {
    int32_t tensor = self->model->inputs[index];
    if (data != NULL) {
        forget(self, tensor);
        set_place(self, tensor, data, NULL);
    } else if (self->slots[tensor].block == NULL) {
        lith_block *block = lith_block_take(self->blocks, lith_type_bytes(&self->binding->types[tensor]));
        if (block == NULL) {
            return lith_fail_memory(message, "the inputs");
        }
        set_place(self, tensor, lith_block_data(block), block);
    }
    return LITH_OK;
}

/* ---- one node -----------------------------------------------------------------------------------------------------
 */

/* Binds a node unless it was bound for inputs of the same types. */
static lith_status bind_node(lith_dynamic *self, int32_t index, lith_message *message) {
    const lith_model *model = self->model;
    const lith_node *node = &model->nodes[index];
    nnacl_tensor *types = self->binding->types;
    bool current = self->bound[index] != 0 && !lith_node_reads_data(model, node);
    for (int32_t i = 0; i < node->n_inputs && current; i++) {
        current = node->inputs[i] < 0 || self->slots[node->inputs[i]].changed <= self->bound[index];
    }
    if (current) {
        return LITH_OK;
    }
    nnacl_tensor before[NNACL_MAX_OUTPUTS];
    for (int32_t i = 0; i < node->n_outputs; i++) {
        before[i] = types[node->outputs[i]];
    }
    lith_status status = lith_binding_bind_node(self->binding, index, message);
    self->bound[index] = status == LITH_OK ? ++self->clock : 0;
    for (int32_t i = 0; i < node->n_outputs; i++) {
        note_type(self, node->outputs[i], &before[i]);
        types[node->outputs[i]].data = self->slots[node->outputs[i]].place; /* of a variable */
    }
    return status;
}

/* Whether output 0 may have the memory of input 0: as a view, or because nothing else needs the input any more. */
static bool shares_memory(const lith_dynamic *self, int32_t index) {
    const lith_model *model = self->model;
    const lith_node *node = &model->nodes[index];
    if (node->op->alias == NNACL_ALIAS_NONE || node->n_inputs < 1 || node->inputs[0] < 0 ||
        model->tensors[node->inputs[0]].variable || model->tensors[node->outputs[0]].variable) {
        return false;
    }
    const nnacl_tensor *types = self->binding->types;
    const lith_slot *slot = &self->slots[node->inputs[0]];
    if (lith_type_bytes(&types[node->inputs[0]]) != lith_type_bytes(&types[node->outputs[0]])) {
        return false;
    }
    return node->op->alias == NNACL_ALIAS_VIEW ||
           (slot->last_use == index && slot->block != NULL && lith_block_users(slot->block) == 1);
}

static lith_status place_outputs(lith_dynamic *self, int32_t index, lith_message *message) {
    const lith_node *node = &self->model->nodes[index];
    for (int32_t i = 0; i < node->n_outputs; i++) {
        int32_t tensor = node->outputs[i];
        if (self->model->tensors[tensor].variable) {
            continue;
        }
        if (i == 0 && shares_memory(self, index)) {
            const lith_slot *slot = &self->slots[node->inputs[0]];
            set_place(self, tensor, slot->place, lith_block_share(slot->block));
            continue;
        }
        size_t size = lith_type_bytes(&self->binding->types[tensor]);
        lith_block *block = lith_block_take(self->blocks, size);
        if (block == NULL) {
            return lith_fail(message, LITH_ERROR_MEMORY, "%s: out of memory for %llu bytes",
                             lith_node_label(self->model, index).text, (unsigned long long)size);
        }
        set_place(self, tensor, lith_block_data(block), block);
    }
    return LITH_OK;
}

/* After a node: what it read for the last time, and what it made for nobody, is given back. */
static void settle(lith_dynamic *self, int32_t index) {
    const lith_node *node = &self->model->nodes[index];
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] >= 0 && self->slots[node->inputs[i]].last_use == index) {
            forget(self, node->inputs[i]);
        }
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        if (self->slots[node->outputs[i]].last_use == index) {
            forget(self, node->outputs[i]);
        }
    }
}

typedef struct lith_job {
    const lith_step *step;
    const void *in[NNACL_MAX_INPUTS];
    void *out[NNACL_MAX_OUTPUTS];
    unsigned char *workspace;
    size_t stride;
} lith_job;

static void run_part(void *user, int32_t worker, int32_t part, int32_t parts) {
    const lith_job *job = user;
    nnacl_ctx ctx = {job->workspace + (size_t)worker * job->stride, job->step->workspace, part, parts};
    job->step->kernel->run(&ctx, job->step->params, job->in, job->out);
}

static lith_status run_kernel(lith_dynamic *self, int32_t index, int32_t *parts, lith_message *message) {
    const lith_node *node = &self->model->nodes[index];
    lith_job job = {.step = &self->binding->steps[index]};
    for (int32_t i = 0; i < node->n_inputs; i++) {
        job.in[i] = node->inputs[i] >= 0 ? self->slots[node->inputs[i]].place : NULL;
    }
    for (int32_t i = 0; i < job.step->n_packed; i++) {
        job.in[job.step->packed[i].input] = job.step->packed[i].data;
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        /* Places are const because constants are; what a node writes is in a block. */
        job.out[i] = (void *)(uintptr_t)self->slots[node->outputs[i]].place;
    }
    if (node->op->alias == NNACL_ALIAS_VIEW && node->n_inputs > 0 && job.in[0] == job.out[0]) {
        *parts = 0;
        return LITH_OK;
    }
    int32_t threads = lith_pool_threads(self->pool);
    *parts = lith_choose_parts(self->binding, index, threads);
    size_t workers = (size_t)(*parts < threads ? *parts : threads);
    job.stride = (job.step->workspace + LITH_ALIGNMENT - 1) / LITH_ALIGNMENT * LITH_ALIGNMENT;
    lith_block *workspace = NULL;
    if (job.stride > 0) {
        bool fits = job.step->workspace <= SIZE_MAX / 4 / workers;
        workspace = fits ? lith_block_take(self->blocks, job.stride * workers) : NULL;
        if (workspace == NULL) {
            return lith_fail(message, LITH_ERROR_MEMORY, "%s: out of memory for scratch",
                             lith_node_label(self->model, index).text);
        }
        job.workspace = lith_block_data(workspace);
    }
    lith_pool_run(self->pool, run_part, &job, *parts);
    lith_block_give(self->blocks, workspace);
    return LITH_OK;
}

static lith_status run_node(lith_dynamic *self, int32_t index, int32_t *parts, lith_message *message) {
    lith_status status = bind_node(self, index, message);
    if (status == LITH_OK) {
        status = place_outputs(self, index, message);
    }
    return status == LITH_OK ? run_kernel(self, index, parts, message) : status;
}

/* ---- the run ------------------------------------------------------------------------------------------------------
 */

lith_status lith_dynamic_run(lith_dynamic *self, const lith_watch *watch, lith_message *message) {
    lith_status status = LITH_OK;
    lith_dynamic_clear(self);
    for (int32_t i = 0; i < self->model->n_nodes && status == LITH_OK; i++) {
        int64_t start = watch->ran != NULL ? lith_now() : 0;
        int32_t parts = 0;
        if (watch->cancelled(watch->user)) {
            status = lith_fail(message, LITH_CANCELLED, "the run was cancelled");
            break;
        }
        if (self->model->nodes[i].control != LITH_CONTROL_NONE) {
            status = lith_control_run(self, i, watch, message);
            parts = 1;
        } else {
            status = run_node(self, i, &parts, message);
        }
        if (status == LITH_OK && watch->ran != NULL) {
            watch->ran(watch->user, i, &self->binding->steps[i], parts, start);
        }
        settle(self, i);
    }
    if (status != LITH_OK) {
        lith_dynamic_clear(self);
    }
    return status;
}
