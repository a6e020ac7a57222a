/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <string.h>

#include "status.h"
#include "stored.h"

size_t lith_packed_size(const lith_binding *binding, int32_t index, int32_t input) {
    const lith_model *model = binding->model;
    const lith_node *node = &model->nodes[index];
    const bool constant = node->inputs[input] >= 0 && model->tensors[node->inputs[input]].type.data != NULL;
    if (node->op->packed_size == NULL || node->op->pack == NULL || !constant) {
        return 0;
    }
    const size_t size = node->op->packed_size(binding->steps[index].params, binding->steps[index].kernel, input);
    return size == NNACL_PACKED_ELSEWHERE ? 0 : size;
}

/* Lists what the kernel of a node wants packed in `room`. */
static int32_t list_node(const lith_binding *binding, int32_t index, lith_packed *room) {
    int32_t count = 0;
    for (int32_t input = 0; input < binding->model->nodes[index].n_inputs; input++) {
        const size_t size = lith_packed_size(binding, index, input);
        if (size > 0) {
            const lith_step *step = &binding->steps[index];
            room[count++] = (lith_packed){.input = input,
                                          .size = size,
                                          .model = binding->model,
                                          .node = index,
                                          .kernel = step->kernel,
                                          .params = step->params};
        }
    }
    return count;
}

/* Notes in `items` what of a node is to be packed; the rest stands in the file. */
static size_t list_items(lith_binding *binding, int32_t index, lith_packed **items) {
    const lith_step *step = &binding->steps[index];
    size_t count = 0;
    for (int32_t i = 0; i < step->n_packed; i++) {
        lith_packed *packed = &step->packed[i];
        packed->data = lith_stored_find(binding->model, index, packed->input, step->kernel, packed->size);
        if (packed->data != NULL) {
            binding->stored_count++;
        } else {
            items[count++] = packed;
        }
    }
    return count;
}

lith_status lith_pack_all(lith_binding *binding, const lith_allocator *allocator, lith_message *message) {
    const int32_t n_nodes = binding->model->n_nodes;
    size_t room = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        for (int32_t input = 0; input < binding->model->nodes[i].n_inputs; input++) {
            room += lith_packed_size(binding, i, input) > 0;
        }
    }
    binding->packed = lith_allocate(allocator, room, sizeof *binding->packed);
    if (binding->packed == NULL) {
        return lith_fail_memory(message, "packed weights");
    }
    binding->packed_count = room;
    lith_packed **items = lith_allocate(allocator, room, sizeof(lith_packed *));
    lith_status status = items != NULL ? LITH_OK : lith_fail_memory(message, "the table of packed weights");
    if (status == LITH_OK) {
        size_t count = 0;
        lith_packed *next = binding->packed;
        for (int32_t i = 0; i < n_nodes; i++) {
            lith_step *step = &binding->steps[i];
            step->packed = next;
            step->n_packed = list_node(binding, i, next);
            next += step->n_packed;
            count += list_items(binding, i, items + count);
        }
        status = lith_weights_take(binding->model->weights, items, count, message);
    }
    lith_release(allocator, (void *)items, room, sizeof(lith_packed *));
    return status;
}

lith_status lith_pack_node(lith_binding *binding, int32_t index, const nnacl_kernel *before, lith_message *message) {
    lith_step *step = &binding->steps[index];
    lith_packed wanted[NNACL_MAX_INPUTS];
    const int32_t count = list_node(binding, index, wanted);
    bool fits = before == step->kernel && count == step->n_packed;
    for (int32_t i = 0; fits && i < count; i++) {
        fits = step->packed[i].input == wanted[i].input && step->packed[i].size == wanted[i].size;
    }
    if (fits) {
        return LITH_OK;
    }
    for (int32_t i = 0; i < step->n_packed; i++) {
        binding->stored_count -= step->packed[i].weights == NULL;
        lith_weights_give(binding->model->weights, &step->packed[i]);
    }
    memcpy(step->packed, wanted, (size_t)count * sizeof *wanted);
    step->n_packed = count;
    lith_packed *items[NNACL_MAX_INPUTS];
    const size_t missing = list_items(binding, index, items);
    const lith_status status = lith_weights_take(binding->model->weights, items, missing, message);
    if (status != LITH_OK) {
        step->n_packed = 0;
    }
    return status;
}

void lith_pack_give(lith_binding *binding) {
    for (size_t i = 0; i < binding->packed_count; i++) {
        lith_weights_give(binding->model->weights, &binding->packed[i]);
    }
}

size_t lith_pack_bytes(const lith_binding *binding, const lith_binding *besides) {
    return lith_weights_bytes(binding->model->weights, binding->packed, binding->packed_count,
                              besides != NULL ? besides->packed : NULL, besides != NULL ? besides->packed_count : 0);
}
