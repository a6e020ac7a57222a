/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: making, resizing, binding, inputs and outputs. Running is in run.c. */
#include "session.h"

#include <string.h>

#include "pack.h"
#include "ranges.h"
#include "status.h"

/* ---- state --------------------------------------------------------------------------------------------------------
 */

static void fill(unsigned char *memory, size_t size, const lith_tensor *tensor) {
    if (tensor->initial != NULL) {
        memcpy(memory, tensor->initial, size);
        return;
    }
    int32_t zero = tensor->quant_count == 1 ? tensor->zero_points[0] : 0;
    size_t element = nnacl_dtype_size(tensor->type.dtype);
    bool integer = tensor->type.dtype != NNACL_F32 && tensor->type.dtype != NNACL_F16 && element <= sizeof zero;
    if (zero == 0 || !integer) {
        memset(memory, 0, size);
        return;
    }
    for (size_t i = 0; i + element <= size; i += element) {
        memcpy(memory + i, &zero, element); /* the low bytes, which come first */
    }
}

static unsigned char *variable_place(const lith_layout *layout, int32_t tensor) {
    if (!layout->binding->model->tensors[tensor].variable || layout->offsets[tensor] == LITH_NOWHERE) {
        return NULL;
    }
    return layout->arena + layout->offsets[tensor];
}

/* Every variable gets its start value, or that which it has in `old` (may be NULL). Their shapes are fixed. */
static void set_variables(const lith_layout *layout, const lith_layout *old) {
    const lith_model *model = layout->binding->model;
    for (int32_t i = 0; i < model->n_tensors; i++) {
        unsigned char *place = variable_place(layout, i);
        if (place != NULL) {
            size_t size = lith_type_bytes(&layout->binding->types[i]);
            const unsigned char *before = old != NULL ? variable_place(old, i) : NULL;
            if (before != NULL) {
                memcpy(place, before, size);
            } else {
                fill(place, size, &model->tensors[i]);
            }
        }
    }
}

static void reset_dynamic(const lith_dynamic *dynamic) {
    for (int32_t i = 0; i < dynamic->model->n_tensors; i++) {
        const lith_tensor *tensor = &dynamic->model->tensors[i];
        if (tensor->variable) {
            fill(lith_block_data(dynamic->slots[i].block), lith_type_bytes(&tensor->type), tensor);
        }
    }
}

void lith_session_reset(lith_session *session) {
    if (session == NULL) {
        return;
    }
    if (session->layout != NULL) {
        set_variables(session->layout, NULL);
    } else if (session->dynamic != NULL) {
        reset_dynamic(session->dynamic);
    }
}

/* ---- making -------------------------------------------------------------------------------------------------------
 */

static size_t input_count(const lith_session *session) {
    return (size_t)session->model->n_inputs;
}

static size_t output_count(const lith_session *session) {
    return (size_t)session->model->n_outputs;
}

/* Inputs of the session keep their values as long as their shapes stay: they may be set before a buffer is bound. */
static void copy_inputs(const lith_layout *layout, const lith_layout *old) {
    const lith_model *model = layout->binding->model;
    for (int32_t i = 0; i < model->n_inputs; i++) {
        const int32_t tensor = model->inputs[i];
        if (layout->offsets[tensor] != LITH_NOWHERE && old->offsets[tensor] != LITH_NOWHERE) {
            memcpy(layout->arena + layout->offsets[tensor], old->arena + old->offsets[tensor],
                   lith_type_bytes(&layout->binding->types[tensor]));
        }
    }
}

/* Exchanges the layout. On failure nothing has changed. */
static lith_status renew_layout(lith_session *session, const lith_binding *binding, const lith_ports *ports,
                                lith_message *message) {
    lith_layout *layout = NULL;
    lith_status status = lith_layout_create(binding, ports, lith_pool_threads(session->pool), session->keep_inputs,
                                            &session->allocator, &layout, message);
    if (status == LITH_OK) {
        set_variables(layout, session->layout);
        if (session->layout != NULL && session->layout->binding == binding) {
            copy_inputs(layout, session->layout);
        }
        lith_layout_destroy(session->layout, &session->allocator);
        session->layout = layout;
    }
    return status;
}

static lith_status read_options(const lith_session_options *given, lith_session_options *options,
                                lith_message *message) {
    lith_session_options result = LITH_SESSION_OPTIONS_INIT;
    lith_status status = lith_options_read(given, &result, sizeof result, message);
    if (status == LITH_OK) {
        status = lith_allocator_check(result.allocator, message);
    }
    if (status != LITH_OK) {
        return status;
    }
    if (result.threads < 0 || result.threads > 1024) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "%d threads were asked for; 0 to 1024 are possible",
                         (int)result.threads);
    }
    if (result.core_count < 0 || (result.core_count > 0 && result.cores == NULL)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "cores is NULL, or core_count is negative");
    }
    *options = result;
    return LITH_OK;
}

static lith_status create_dynamic(lith_session *session, lith_message *message) {
    const lith_model *model = session->model;
    session->blocks.allocator = &session->allocator;
    lith_status status =
        lith_dynamic_create(model, session->pool, &session->blocks, &session->allocator, &session->dynamic, message);
    bool known = true;
    for (int32_t i = 0; i < model->n_inputs; i++) {
        known = known && nnacl_element_count(&model->tensors[model->inputs[i]].type) >= 0;
    }
    if (status == LITH_OK) {
        reset_dynamic(session->dynamic);
        status = known ? lith_dynamic_resize(session->dynamic, NULL, message) : LITH_OK;
    }
    return status;
}

lith_status lith_session_create(const lith_model *model, const lith_session_options *options, lith_session **session,
                                lith_message *message) {
    lith_session_options chosen = LITH_SESSION_OPTIONS_INIT;
    if (model == NULL || session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "model or session is NULL");
    }
    lith_status status = read_options(options, &chosen, message);
    if (status != LITH_OK) {
        return status;
    }
    lith_allocator allocator = chosen.allocator != NULL ? *chosen.allocator : model->allocator;
    lith_session *result = lith_allocate(&allocator, 1, sizeof *result);
    if (result == NULL) {
        return lith_fail_memory(message, "the session");
    }
    result->model = model;
    result->allocator = allocator;
    result->keep_inputs = chosen.keep_inputs != 0;
    atomic_init(&result->cancelled, false);
    result->ports.inputs = lith_allocate(&allocator, input_count(result), sizeof *result->ports.inputs);
    result->ports.outputs = lith_allocate(&allocator, output_count(result), sizeof *result->ports.outputs);
    result->output_sizes = lith_allocate(&allocator, output_count(result), sizeof *result->output_sizes);
    if (result->ports.inputs == NULL || result->ports.outputs == NULL || result->output_sizes == NULL) {
        status = lith_fail_memory(message, "the session");
    } else {
        const lith_cores cores = {chosen.cores, chosen.core_count};
        status = lith_pool_create(chosen.threads > 1 ? chosen.threads : 1, cores, &allocator, &result->pool, message);
    }
    if (status == LITH_OK && model->is_dynamic) {
        status = create_dynamic(result, message);
    } else if (status == LITH_OK && model->is_static) {
        status = renew_layout(result, model->binding, &result->ports, message);
        result->binding = model->binding;
    }
    if (status != LITH_OK) {
        lith_session_destroy(result);
        return status;
    }
    *session = result;
    return LITH_OK;
}

void lith_session_destroy(lith_session *session) {
    if (session == NULL) {
        return;
    }
    lith_allocator allocator = session->allocator;
    lith_pool_destroy(session->pool, &allocator);
    lith_layout_destroy(session->layout, &allocator);
    lith_binding_destroy(session->own, &allocator);
    lith_dynamic_destroy(session->dynamic);
    lith_blocks_release(&session->blocks);
    lith_release(&allocator, session->output_sizes, output_count(session), sizeof *session->output_sizes);
    lith_release(&allocator, session->ports.outputs, output_count(session), sizeof *session->ports.outputs);
    lith_release(&allocator, session->ports.inputs, input_count(session), sizeof *session->ports.inputs);
    lith_release(&allocator, session, 1, sizeof *session);
}

static void unbind_all(lith_session *session) {
    memset(session->ports.inputs, 0, input_count(session) * sizeof *session->ports.inputs);
    if (output_count(session) > 0) {
        memset(session->ports.outputs, 0, output_count(session) * sizeof *session->ports.outputs);
    }
}

lith_status lith_session_resize(lith_session *session, const lith_shape *shapes, int32_t count, lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    const lith_model *model = session->model;
    if (count != model->n_inputs || (shapes == NULL && count > 0)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "%d shapes were given for %d inputs", (int)count,
                         (int)model->n_inputs);
    }
    if (count == 0) {
        return LITH_OK;
    }
    lith_status admitted = lith_ranges_admit(model, shapes, message);
    if (admitted != LITH_OK) {
        return admitted;
    }
    if (session->dynamic != NULL) {
        lith_status result = lith_dynamic_resize(session->dynamic, shapes, message);
        if (result == LITH_OK) {
            unbind_all(session);
        }
        return result;
    }
    lith_ports none = {lith_allocate(&session->allocator, input_count(session), sizeof *none.inputs),
                       lith_allocate(&session->allocator, output_count(session), sizeof *none.outputs)};
    lith_binding *binding = NULL;
    lith_status status = LITH_OK;
    if (none.inputs == NULL || none.outputs == NULL) {
        status = lith_fail_memory(message, "the session");
    } else {
        status = lith_binding_create(model, shapes, &session->allocator, &binding, message);
    }
    if (status == LITH_OK) {
        status = renew_layout(session, binding, &none, message);
        if (status != LITH_OK) {
            lith_binding_destroy(binding, &session->allocator);
        }
    }
    if (status == LITH_OK) {
        lith_binding_destroy(session->own, &session->allocator);
        session->own = binding;
        session->binding = binding;
        unbind_all(session);
    }
    lith_release(&session->allocator, none.outputs, output_count(session), sizeof *none.outputs);
    lith_release(&session->allocator, none.inputs, input_count(session), sizeof *none.inputs);
    return status;
}

/* ---- inputs and outputs -------------------------------------------------------------------------------------------
 */

/* The type of an input or output as it is now. */
static const nnacl_tensor *port_type(const lith_session *session, int32_t tensor) {
    if (session->binding != NULL) {
        return &session->binding->types[tensor];
    }
    if (session->dynamic != NULL && session->dynamic->slots[tensor].place != NULL) {
        return &session->dynamic->binding->types[tensor];
    }
    return &session->model->tensors[tensor].type;
}

static lith_status port_info(const lith_session *session, const int32_t *ports, int32_t count, int32_t index,
                             lith_tensor_info *info) {
    if (info == NULL || index < 0 || index >= count) {
        return LITH_ERROR_ARGUMENT;
    }
    lith_describe_tensor(&session->model->tensors[ports[index]], port_type(session, ports[index]), info);
    return LITH_OK;
}

lith_status lith_session_input_info(const lith_session *session, int32_t index, lith_tensor_info *info) {
    return session != NULL ? port_info(session, session->model->inputs, session->model->n_inputs, index, info)
                           : LITH_ERROR_ARGUMENT;
}

lith_status lith_session_output_info(const lith_session *session, int32_t index, lith_tensor_info *info) {
    return session != NULL ? port_info(session, session->model->outputs, session->model->n_outputs, index, info)
                           : LITH_ERROR_ARGUMENT;
}

/* Whether the shapes of the inputs are known. */
static bool has_shapes(const lith_session *session) {
    return session->dynamic != NULL ? session->dynamic->shaped : session->layout != NULL;
}

/* Whether `data` of `size` bytes can serve port `index`. */
static lith_status check_port(const lith_session *session, const int32_t *ports, int32_t count, const char *what,
                              int32_t index, const void *data, size_t size, lith_message *message) {
    if (index < 0 || index >= count) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "there is no %s %d; the model has %d", what, (int)index,
                         (int)count);
    }
    const char *name = session->model->tensors[ports[index]].name;
    if (!has_shapes(session)) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the shape of %s '%.60s' is not known: call lith_session_resize",
                         what, name);
    }
    if (nnacl_element_count(port_type(session, ports[index])) < 0) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the shape of %s '%.60s' is known only after a run", what, name);
    }
    size_t wanted = lith_type_bytes(port_type(session, ports[index]));
    if (size != wanted) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "%s '%.60s' has %llu bytes, not %llu", what, name,
                         (unsigned long long)wanted, (unsigned long long)size);
    }
    if (data == NULL && size > 0) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the data of %s '%.60s' is NULL", what, name);
    }
    return LITH_OK;
}

/* The memory of the session for an input; NULL when a buffer is bound. */
static void *input_place(const lith_session *session, int32_t index) {
    if (session->dynamic != NULL) {
        lith_block *block = session->dynamic->slots[session->model->inputs[index]].block;
        return block != NULL ? lith_block_data(block) : NULL;
    }
    size_t offset = session->layout->offsets[session->model->inputs[index]];
    return session->ports.inputs[index] == NULL && offset != LITH_NOWHERE ? session->layout->arena + offset : NULL;
}

lith_status lith_session_set_input(lith_session *session, int32_t index, const void *data, size_t size,
                                   lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    const lith_model *model = session->model;
    lith_status status = check_port(session, model->inputs, model->n_inputs, "input", index, data, size, message);
    if (status != LITH_OK) {
        return status;
    }
    void *place = input_place(session, index);
    if (place == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "input '%.60s' reads a buffer that was bound to it",
                         model->tensors[model->inputs[index]].name);
    }
    if (size > 0) {
        memcpy(place, data, size);
    }
    return LITH_OK;
}

/* NULL: a dynamic model has no output before it has run. */
static const void *output_place(const lith_session *session, int32_t index) {
    if (session->dynamic != NULL) {
        return session->dynamic->slots[session->model->outputs[index]].place;
    }
    return session->layout->places[session->model->outputs[index]];
}

lith_status lith_session_get_output(const lith_session *session, int32_t index, void *data, size_t size,
                                    lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    const lith_model *model = session->model;
    lith_status status = check_port(session, model->outputs, model->n_outputs, "output", index, data, size, message);
    if (status != LITH_OK) {
        return status;
    }
    const void *place = output_place(session, index);
    if (place == NULL && size > 0) {
        return lith_fail(message, LITH_ERROR_SHAPE, "output '%.60s' has no value: the model has not run",
                         model->tensors[model->outputs[index]].name);
    }
    if (size > 0) {
        memmove(data, place, size);
    }
    return LITH_OK;
}

void *lith_session_input_data(lith_session *session, int32_t index) {
    if (session == NULL || !has_shapes(session) || index < 0 || index >= session->model->n_inputs) {
        return NULL;
    }
    return input_place(session, index);
}

const void *lith_session_output_data(const lith_session *session, int32_t index) {
    if (session == NULL || !has_shapes(session) || index < 0 || index >= session->model->n_outputs) {
        return NULL;
    }
    return output_place(session, index);
}

/* ---- buffers of the caller ----------------------------------------------------------------------------------------
 */

/* NULL, which ends a binding, always fits. */
static lith_status check_buffer(const lith_session *session, const int32_t *ports, int32_t count, const char *what,
                                int32_t index, const void *data, size_t size, lith_message *message) {
    if (data == NULL && has_shapes(session) && index >= 0 && index < count) {
        return LITH_OK;
    }
    bool open = session->dynamic != NULL && index >= 0 && index < count && has_shapes(session) &&
                nnacl_element_count(&session->model->tensors[ports[index]].type) < 0;
    lith_status status = LITH_OK;
    if (!open || ports != session->model->outputs) {
        status = check_port(session, ports, count, what, index, data, size, message);
    }
    if (status != LITH_OK) {
        return status;
    }
    const lith_tensor *tensor = &session->model->tensors[ports[index]];
    size_t element = nnacl_dtype_size(tensor->type.dtype);
    if ((uintptr_t)data % element != 0) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the buffer for %s '%.60s' is not aligned to %d bytes", what,
                         tensor->name, (int)element);
    }
    return LITH_OK;
}

/* After an entry of the ports changed. Memory is planned anew when it was not bound before, or is not any more. */
static lith_status follow_ports(lith_session *session, bool was_bound, bool is_bound, lith_message *message) {
    if (session->dynamic != NULL) {
        return LITH_OK;
    }
    if (was_bound == is_bound) {
        lith_layout_point(session->layout, &session->ports);
        return LITH_OK;
    }
    return renew_layout(session, session->binding, &session->ports, message);
}

lith_status lith_session_bind_input(lith_session *session, int32_t index, const void *data, size_t size,
                                    lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    const lith_model *model = session->model;
    lith_status status = check_buffer(session, model->inputs, model->n_inputs, "input", index, data, size, message);
    if (status == LITH_OK) {
        const void *before = session->ports.inputs[index];
        if (session->dynamic != NULL) {
            status = lith_dynamic_bind_input(session->dynamic, index, data, message);
        }
        if (status != LITH_OK) {
            return status;
        }
        session->ports.inputs[index] = data;
        status = follow_ports(session, before != NULL, data != NULL, message);
        if (status != LITH_OK) {
            session->ports.inputs[index] = before;
        }
    }
    return status;
}

lith_status lith_session_bind_output(lith_session *session, int32_t index, void *data, size_t size,
                                     lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    const lith_model *model = session->model;
    lith_status status = check_buffer(session, model->outputs, model->n_outputs, "output", index, data, size, message);
    if (status == LITH_OK) {
        void *before = session->ports.outputs[index];
        session->ports.outputs[index] = data;
        session->output_sizes[index] = size;
        status = follow_ports(session, before != NULL, data != NULL, message);
        if (status != LITH_OK) {
            session->ports.outputs[index] = before;
        }
    }
    return status;
}

/* ---- facts --------------------------------------------------------------------------------------------------------
 */

lith_status lith_session_memory(const lith_session *session, lith_memory_info *info) {
    if (session == NULL || info == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    lith_memory_info result = {0, 0, 0, sizeof *session, lith_pool_threads(session->pool)};
    if (session->dynamic != NULL) {
        const lith_model *model = session->model;
        result.arena_bytes = session->blocks.held;
        result.lower_bound_bytes = session->blocks.peak;
        result.packed_bytes = lith_dynamic_packed_bytes(session->dynamic);
        result.overhead_bytes += sizeof *session->dynamic + session->dynamic->binding->params_size +
                                 (size_t)model->n_tensors * (sizeof(nnacl_tensor) + sizeof(lith_slot)) +
                                 (size_t)model->n_nodes * (sizeof(lith_step) + sizeof(uint64_t));
    }
    if (session->layout != NULL) {
        const lith_model *model = session->model;
        result.arena_bytes = session->layout->arena_size;
        result.lower_bound_bytes = session->layout->lower_bound;
        result.overhead_bytes += sizeof *session->layout +
                                 (size_t)model->n_tensors * (sizeof(void *) + sizeof(size_t)) +
                                 (size_t)model->n_nodes * (sizeof(lith_call) + sizeof(size_t)) +
                                 (session->layout->n_in + session->layout->n_out) * sizeof(void *);
    }
    if (session->own != NULL) {
        result.packed_bytes = lith_pack_bytes(session->own, session->model->binding);
        result.overhead_bytes += session->own->params_size +
                                 (size_t)session->model->n_tensors * sizeof *session->own->types +
                                 (size_t)session->model->n_nodes * sizeof *session->own->steps;
    }
    *info = result;
    return LITH_OK;
}
