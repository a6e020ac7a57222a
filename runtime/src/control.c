/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <string.h>

#include "status.h"

/* ---- the ops ------------------------------------------------------------------------------------------------------
 */

typedef struct lith_loop_params {
    int32_t carried;
} lith_loop_params;

static const nnacl_op if_op = {.name = "if", .params_name = "", .header = ""};
static const nnacl_op loop_op = {
    .name = "loop", .params_name = "", .header = "", .params_size = sizeof(lith_loop_params)};

const nnacl_op *lith_control_find(const char *name, lith_control *control) {
    if (strcmp(name, if_op.name) == 0) {
        *control = LITH_CONTROL_IF;
        return &if_op;
    }
    if (strcmp(name, loop_op.name) == 0) {
        *control = LITH_CONTROL_LOOP;
        return &loop_op;
    }
    return NULL;
}

static int32_t carried_count(const lith_node *node) {
    lith_loop_params params = {0};
    memcpy(&params, node->params, node->params_size < sizeof params ? node->params_size : sizeof params);
    return params.carried;
}

/* ---- checks -------------------------------------------------------------------------------------------------------
 */

static lith_status misfit(const lith_model *model, int32_t index, const char *what, lith_message *message) {
    return lith_fail(message, LITH_ERROR_FORMAT, "the model is damaged: %s: %s", lith_node_label(model, index).text,
                     what);
}

static const nnacl_tensor *type_of(const lith_model *model, int32_t tensor) {
    return &model->tensors[tensor].type;
}

static bool same_kind(const nnacl_tensor *a, const nnacl_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank;
}

static bool is_single(const nnacl_tensor *type, int32_t dtype) {
    return type->dtype == dtype && (nnacl_element_count(type) == 1 || nnacl_element_count(type) < 0);
}

/* Whether tensors `first` and on of a node are of the kinds of those of a subgraph. */
static bool kinds_fit(const lith_model *model, const int32_t *tensors, const lith_model *sub, const int32_t *ports,
                      int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (tensors[i] < 0 || !same_kind(type_of(model, tensors[i]), type_of(sub, ports[i]))) {
            return false;
        }
    }
    return true;
}

static lith_status check_if(const lith_model *model, int32_t index, lith_message *message) {
    const lith_node *node = &model->nodes[index];
    if (node->n_subgraphs != 2 || node->n_inputs < 1 || node->inputs[0] < 0 ||
        !is_single(type_of(model, node->inputs[0]), NNACL_B8)) {
        return misfit(model, index, "it lacks a condition or a branch", message);
    }
    for (int32_t i = 0; i < 2; i++) {
        const lith_model *branch = node->subgraphs[i];
        if (branch->n_inputs != node->n_inputs - 1 || branch->n_outputs != node->n_outputs ||
            !kinds_fit(model, node->inputs + 1, branch, branch->inputs, branch->n_inputs) ||
            !kinds_fit(model, node->outputs, branch, branch->outputs, branch->n_outputs)) {
            return misfit(model, index, "a branch does not take its inputs or give its outputs", message);
        }
    }
    return LITH_OK;
}

static lith_status check_loop(const lith_model *model, int32_t index, lith_message *message) {
    const lith_node *node = &model->nodes[index];
    const lith_model *body = node->n_subgraphs == 1 ? node->subgraphs[0] : NULL;
    const int32_t carried = carried_count(node);
    if (body == NULL || node->n_inputs < 2 || carried < 0 || carried > node->n_inputs - 2 ||
        carried > node->n_outputs || body->n_inputs != node->n_inputs || body->n_outputs != node->n_outputs + 1) {
        return misfit(model, index, "the body of the loop does not have its inputs and outputs", message);
    }
    if (!is_single(type_of(body, body->inputs[0]), NNACL_S64) || !is_single(type_of(body, body->inputs[1]), NNACL_B8) ||
        !is_single(type_of(body, body->outputs[0]), NNACL_B8) || node->inputs[0] < 0 || node->inputs[1] < 0 ||
        !is_single(type_of(model, node->inputs[0]), NNACL_S64) ||
        !is_single(type_of(model, node->inputs[1]), NNACL_B8)) {
        return misfit(model, index, "a number of iterations or a condition has another type", message);
    }
    bool fit = kinds_fit(model, node->inputs + 2, body, body->inputs + 2, node->n_inputs - 2) &&
               kinds_fit(model, node->inputs + 2, body, body->outputs + 1, carried) &&
               kinds_fit(model, node->outputs, body, body->outputs + 1, carried);
    for (int32_t i = carried; i < node->n_outputs && fit; i++) {
        const nnacl_tensor *item = type_of(body, body->outputs[1 + i]);
        const nnacl_tensor *all = type_of(model, node->outputs[i]);
        fit = item->dtype == all->dtype && item->rank + 1 == all->rank;
    }
    return fit ? LITH_OK : misfit(model, index, "a value of the loop has another type in its body", message);
}

lith_status lith_control_check(const lith_model *model, int32_t index, lith_message *message) {
    switch (model->nodes[index].control) {
    case LITH_CONTROL_IF:
        return check_if(model, index, message);
    case LITH_CONTROL_LOOP:
        return check_loop(model, index, message);
    case LITH_CONTROL_NONE:
        break;
    }
    return model->nodes[index].n_subgraphs == 0 ? LITH_OK : misfit(model, index, "it has a subgraph", message);
}

/* ---- values between graphs ----------------------------------------------------------------------------------------
 */

/* A value with a share in the block that holds it. */
typedef struct lith_value {
    nnacl_tensor type;
    const void *place;
    lith_block *block;
} lith_value;

/* The value of a tensor. A variable may change as long as the value is needed, so it is copied. */
static lith_status get_value(lith_dynamic *self, int32_t tensor, lith_value *value, lith_message *message) {
    const lith_slot *slot = &self->slots[tensor];
    lith_value result = {self->binding->types[tensor], slot->place, slot->block};
    result.type.data = NULL;
    if (self->model->tensors[tensor].variable) {
        const size_t size = lith_type_bytes(&result.type);
        result.block = lith_block_take(self->blocks, size);
        if (result.block == NULL) {
            return lith_fail_memory(message, "a copy of a variable");
        }
        memcpy(lith_block_data(result.block), slot->place, size);
        result.place = lith_block_data(result.block);
    } else {
        lith_block_share(result.block);
    }
    *value = result;
    return LITH_OK;
}

static void drop_value(lith_dynamic *self, lith_value *value) {
    lith_block_give(self->blocks, value->block);
    memset(value, 0, sizeof *value);
}

/* Moves a value into a tensor of the same or another graph. */
static lith_status put_value(lith_dynamic *self, int32_t tensor, lith_value *value, lith_message *message) {
    const lith_tensor *declared = &self->model->tensors[tensor];
    if (declared->variable || !same_kind(&declared->type, &value->type)) {
        return lith_fail(message, LITH_ERROR_SHAPE, "'%.60s' has another type than a subgraph gives it",
                         declared->name);
    }
    lith_dynamic_put(self, tensor, &value->type, value->place, value->block);
    memset(value, 0, sizeof *value);
    return LITH_OK;
}

/* A new value of one element. */
static lith_status make_scalar(lith_dynamic *self, int32_t dtype, int32_t rank, const void *element, lith_value *value,
                               lith_message *message) {
    lith_block *block = lith_block_take(self->blocks, nnacl_dtype_size(dtype));
    if (block == NULL) {
        return lith_fail_memory(message, "a loop");
    }
    memset(value, 0, sizeof *value);
    value->type.dtype = dtype;
    value->type.rank = rank;
    for (int32_t i = 0; i < rank; i++) {
        value->type.dims[i] = 1;
    }
    memcpy(lith_block_data(block), element, nnacl_dtype_size(dtype));
    value->block = block;
    value->place = lith_block_data(block);
    return LITH_OK;
}

/* The only element of a b8 tensor. */
static lith_status read_condition(const lith_dynamic *self, int32_t tensor, bool *condition, lith_message *message) {
    if (nnacl_element_count(&self->binding->types[tensor]) != 1) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the condition '%.60s' does not have one element",
                         self->model->tensors[tensor].name);
    }
    *condition = *(const unsigned char *)self->slots[tensor].place != 0;
    return LITH_OK;
}

/* The state of subgraph `which` of a node, made when it is first needed. */
static lith_status find_child(lith_dynamic *self, const lith_node *node, int32_t which, lith_dynamic **child,
                              lith_message *message) {
    lith_dynamic **place = &self->children[node->first_child + which];
    if (*place == NULL) {
        lith_status status =
            lith_dynamic_create(node->subgraphs[which], self->pool, self->blocks, &self->allocator, place, message);
        if (status != LITH_OK) {
            return status;
        }
    }
    *child = *place;
    return LITH_OK;
}

static lith_status run_child(lith_dynamic *child, const lith_watch *watch, lith_message *message) {
    const lith_watch quiet = {watch->cancelled, NULL, watch->user};
    return lith_dynamic_run(child, &quiet, message);
}

/* ---- if -----------------------------------------------------------------------------------------------------------
 */

static lith_status run_if(lith_dynamic *self, int32_t index, const lith_watch *watch, lith_message *message) {
    const lith_node *node = &self->model->nodes[index];
    lith_dynamic *child = NULL;
    bool condition = false;
    lith_status status = read_condition(self, node->inputs[0], &condition, message);
    if (status == LITH_OK) {
        status = find_child(self, node, condition ? 0 : 1, &child, message);
    }
    for (int32_t i = 0; status == LITH_OK && i < child->model->n_inputs; i++) {
        lith_value value;
        status = get_value(self, node->inputs[1 + i], &value, message);
        if (status == LITH_OK && (status = put_value(child, child->model->inputs[i], &value, message)) != LITH_OK) {
            drop_value(self, &value);
        }
    }
    if (status == LITH_OK) {
        status = run_child(child, watch, message);
    }
    for (int32_t i = 0; status == LITH_OK && i < node->n_outputs; i++) {
        lith_value value;
        status = get_value(child, child->model->outputs[i], &value, message);
        if (status == LITH_OK && (status = put_value(self, node->outputs[i], &value, message)) != LITH_OK) {
            drop_value(self, &value);
        }
    }
    if (child != NULL) {
        lith_dynamic_clear(child);
        lith_dynamic_clear_inputs(child);
    }
    return status;
}

/* ---- loop ---------------------------------------------------------------------------------------------------------
 */

typedef struct lith_loop {
    lith_dynamic *self, *body;
    const lith_node *node;
    int32_t carried, collected;
    lith_value *values; /* the carried ones, then the collected ones as far as they have come */
    int64_t count;      /* iterations so far */
} lith_loop;

/* Appends what the body gave as output `which` to the collected value `value`. */
static lith_status collect(lith_loop *loop, lith_value *value, int32_t which, lith_message *message) {
    lith_dynamic *body = loop->body;
    const int32_t tensor = body->model->outputs[which];
    const nnacl_tensor *item = &body->binding->types[tensor];
    const size_t size = lith_type_bytes(item);
    nnacl_tensor type = *item;
    type.data = NULL;
    type.rank = item->rank + 1;
    type.dims[0] = loop->count < INT32_MAX ? (int32_t)loop->count + 1 : INT32_MAX;
    memcpy(type.dims + 1, item->dims, (size_t)item->rank * sizeof item->dims[0]);
    const bool changed =
        loop->count > 0 && memcmp(type.dims + 1, value->type.dims + 1, (size_t)item->rank * sizeof item->dims[0]) != 0;
    if (changed || loop->count >= INT32_MAX || nnacl_element_count(&type) < 0) {
        return lith_fail(message, LITH_ERROR_SHAPE, "'%.60s' %s", body->model->tensors[tensor].name,
                         changed ? "changes its shape from one iteration to the next" : "is collected too often");
    }
    const size_t end = size * (size_t)type.dims[0];
    if (value->block == NULL || lith_block_size(value->block) < end) {
        lith_block *block = lith_block_take(loop->self->blocks, end > SIZE_MAX / 4 ? end : end * 2);
        if (block == NULL) {
            return lith_fail_memory(message, "what a loop collects");
        }
        if (value->block != NULL && end > size) {
            memcpy(lith_block_data(block), value->place, end - size);
        }
        lith_block_give(loop->self->blocks, value->block);
        value->block = block;
        value->place = lith_block_data(block);
    }
    if (size > 0) {
        memcpy((unsigned char *)lith_block_data(value->block) + (end - size), body->slots[tensor].place, size);
    }
    value->type = type;
    return LITH_OK;
}

/* What a loop without iterations has collected. */
static lith_status collect_nothing(lith_loop *loop, lith_value *value, int32_t which, lith_message *message) {
    nnacl_tensor type = *type_of(loop->body->model, loop->body->model->outputs[which]);
    for (int32_t i = type.rank; i > 0; i--) {
        type.dims[i] = type.dims[i - 1] < 0 ? 0 : type.dims[i - 1];
    }
    type.dims[0] = 0;
    type.rank++;
    type.data = NULL;
    value->type = type;
    value->block = lith_block_take(loop->self->blocks, 0);
    value->place = value->block != NULL ? lith_block_data(value->block) : NULL;
    return value->block != NULL ? LITH_OK : lith_fail_memory(message, "what a loop collects");
}

/* Hands the inputs of one iteration to the body. */
static lith_status enter(lith_loop *loop, bool condition, lith_message *message) {
    const lith_model *body = loop->body->model;
    const unsigned char flag = condition;
    lith_value value;
    lith_status status =
        make_scalar(loop->self, NNACL_S64, type_of(body, body->inputs[0])->rank, &loop->count, &value, message);
    for (int32_t i = 0; status == LITH_OK && i < body->n_inputs; i++) {
        if (i == 1) {
            status = make_scalar(loop->self, NNACL_B8, type_of(body, body->inputs[1])->rank, &flag, &value, message);
        } else if (i >= 2 && i < 2 + loop->carried) {
            value = loop->values[i - 2];
            memset(&loop->values[i - 2], 0, sizeof value);
        } else if (i >= 2 && loop->count > 0) {
            continue; /* what the body reads beside is there already */
        } else if (i >= 2) {
            status = get_value(loop->self, loop->node->inputs[i], &value, message);
        }
        if (status == LITH_OK && (status = put_value(loop->body, body->inputs[i], &value, message)) != LITH_OK) {
            drop_value(loop->self, &value);
        }
    }
    return status;
}

static lith_status iterate(lith_loop *loop, const lith_watch *watch, bool *condition, lith_message *message) {
    const lith_model *body = loop->body->model;
    if (watch->cancelled(watch->user)) {
        return lith_fail(message, LITH_CANCELLED, "the run was cancelled");
    }
    lith_status status = enter(loop, *condition, message);
    if (status == LITH_OK) {
        status = run_child(loop->body, watch, message);
    }
    if (status == LITH_OK) {
        status = read_condition(loop->body, body->outputs[0], condition, message);
    }
    for (int32_t i = 0; status == LITH_OK && i < loop->carried; i++) {
        status = get_value(loop->body, body->outputs[1 + i], &loop->values[i], message);
    }
    for (int32_t i = 0; status == LITH_OK && i < loop->collected; i++) {
        status = collect(loop, &loop->values[loop->carried + i], 1 + loop->carried + i, message);
    }
    loop->count++;
    return status;
}

static lith_status run_iterations(lith_loop *loop, const lith_watch *watch, lith_message *message) {
    lith_dynamic *self = loop->self;
    const int32_t limit_tensor = loop->node->inputs[0];
    bool condition = false;
    int64_t limit = 0;
    if (nnacl_element_count(&self->binding->types[limit_tensor]) != 1) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the number of iterations '%.60s' does not have one element",
                         self->model->tensors[limit_tensor].name);
    }
    memcpy(&limit, self->slots[limit_tensor].place, sizeof limit);
    lith_status status = read_condition(self, loop->node->inputs[1], &condition, message);
    for (int32_t i = 0; status == LITH_OK && i < loop->carried; i++) {
        status = get_value(self, loop->node->inputs[2 + i], &loop->values[i], message);
    }
    while (status == LITH_OK && condition && loop->count < limit) {
        status = iterate(loop, watch, &condition, message);
    }
    for (int32_t i = 0; status == LITH_OK && loop->count == 0 && i < loop->collected; i++) {
        status = collect_nothing(loop, &loop->values[loop->carried + i], 1 + loop->carried + i, message);
    }
    for (int32_t i = 0; status == LITH_OK && i < loop->node->n_outputs; i++) {
        status = put_value(self, loop->node->outputs[i], &loop->values[i], message);
    }
    return status;
}

static lith_status run_loop(lith_dynamic *self, int32_t index, const lith_watch *watch, lith_message *message) {
    const lith_node *node = &self->model->nodes[index];
    lith_loop loop = {self, NULL, node, carried_count(node), 0, NULL, 0};
    loop.collected = node->n_outputs - loop.carried;
    lith_status status = find_child(self, node, 0, &loop.body, message);
    if (status != LITH_OK) {
        return status;
    }
    loop.values = lith_allocate(&self->allocator, (size_t)node->n_outputs, sizeof *loop.values);
    if (loop.values == NULL) {
        return lith_fail_memory(message, "a loop");
    }
    status = run_iterations(&loop, watch, message);
    for (int32_t i = 0; i < node->n_outputs; i++) {
        drop_value(self, &loop.values[i]);
    }
    lith_release(&self->allocator, loop.values, (size_t)node->n_outputs, sizeof *loop.values);
    lith_dynamic_clear(loop.body);
    lith_dynamic_clear_inputs(loop.body);
    return status;
}

lith_status lith_control_run(lith_dynamic *self, int32_t index, const lith_watch *watch, lith_message *message) {
    return self->model->nodes[index].control == LITH_CONTROL_IF ? run_if(self, index, watch, message)
                                                                : run_loop(self, index, watch, message);
}
