/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a model, and what can be asked of it. */
#include "model.h"

#include <string.h>

#include "pack.h"
#include "status.h"
#include "stored.h"

/* ---- open and close -----------------------------------------------------------------------------------------------
 */

static lith_status read_options(const lith_model_options *given, lith_model *model, lith_message *message) {
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    lith_status status = lith_options_read(given, &options, sizeof options, message);
    if (status == LITH_OK) {
        status = lith_allocator_check(options.allocator, message);
    }
    if (status != LITH_OK) {
        return status;
    }
    if (options.extension_count < 0 || (options.extension_count > 0 && options.extensions == NULL)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the options count extensions and have none");
    }
    for (int32_t i = 0; i < options.extension_count; i++) {
        const char *reason = nnacl_extension_check(options.extensions[i]);
        if (reason != NULL) {
            return lith_fail(message, LITH_ERROR_ARGUMENT, "extension %d cannot be used: %s", (int)i, reason);
        }
    }
    memset(model, 0, sizeof *model);
    model->extensions = options.extensions;
    model->n_extensions = options.extension_count;
    model->allocator = options.allocator != NULL ? *options.allocator : lith_allocator_default();
    model->isa_mask = nnacl_isa_detect() & (options.isa_mask != 0 ? options.isa_mask : UINT32_MAX);
    model->isa_mask |= NNACL_ISA_C | (options.no_winograd ? NNACL_MASK_DIRECT : 0);
    model->weights = options.weights_cache;
    model->packed_limit = options.packed_limit != 0 ? options.packed_limit : LITH_PACKED_LIMIT;
    return LITH_OK;
}

static void destroy(lith_model *model) {
    lith_allocator allocator = model->allocator;
    lith_binding_destroy(model->binding, &allocator);
    lith_weights_cache_release(model->weights);
    lith_stored_release(model);
    lith_graph_release(model);
    lith_mapping_close(&model->mapping, &allocator);
    lith_release(&allocator, model, 1, sizeof *model);
}

/* What is known of a dynamic model and its subgraphs before it runs. */
static lith_status check_graphs(const lith_model *model, lith_message *message) {
    lith_status status = lith_binding_check(model, message);
    for (int32_t i = 0; status == LITH_OK && i < model->n_parts; i++) {
        status = lith_binding_check(&model->parts[i], message);
    }
    return status;
}

/* Takes over the mapping that stands in `prepared`. */
static lith_status open_model(const lith_model *prepared, lith_model **model, lith_message *message) {
    lith_allocator allocator = prepared->allocator;
    lith_model *result = lith_allocate(&allocator, 1, sizeof *result);
    if (result == NULL) {
        lith_mapping mapping = prepared->mapping;
        lith_mapping_close(&mapping, &allocator);
        return lith_fail_memory(message, "the model");
    }
    *result = *prepared;
    result->keeps_weights = result->mapping.size > result->packed_limit;
    lith_status status = LITH_OK;
    if (prepared->weights != NULL) {
        result->weights = lith_weights_cache_hold(prepared->weights);
    } else {
        status = lith_weights_cache_create(&allocator, &result->weights, message);
    }
    if (status == LITH_OK) {
        status = lith_graph_load(result, message);
    }
    if (status == LITH_OK) {
        status = lith_stored_load(result, message);
    }
    if (status == LITH_OK) {
        lith_message reason;
        lith_binding *binding = NULL;
        status = result->is_dynamic ? check_graphs(result, &reason)
                                    : lith_binding_create(result, NULL, &allocator, &binding, &reason);
        if (status == LITH_ERROR_SHAPE && !result->is_static) {
            status = LITH_OK; /* sizes of 1 do not suit it: sessions wait for lith_session_resize */
        } else if (status != LITH_OK) {
            lith_fail(message, status, "%s", reason.text);
        }
        result->binding = binding;
    }
    if (status != LITH_OK) {
        destroy(result);
        return status;
    }
    *model = result;
    return LITH_OK;
}

lith_status lith_model_open(const char *path, const lith_model_options *options, lith_model **model,
                            lith_message *message) {
    if (path == NULL || model == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "path or model is NULL");
    }
    lith_model prepared;
    lith_status status = read_options(options, &prepared, message);
    if (status == LITH_OK) {
        status = lith_mapping_open(&prepared.mapping, path, &prepared.allocator, message);
    }
    return status == LITH_OK ? open_model(&prepared, model, message) : status;
}

lith_status lith_model_open_memory(const void *data, size_t size, const lith_model_options *options, lith_model **model,
                                   lith_message *message) {
    if (data == NULL || model == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "data or model is NULL");
    }
    lith_model prepared;
    lith_status status = read_options(options, &prepared, message);
    if (status == LITH_OK) {
        status = lith_mapping_wrap(&prepared.mapping, data, size, &prepared.allocator, message);
    }
    return status == LITH_OK ? open_model(&prepared, model, message) : status;
}

void lith_model_close(lith_model *model) {
    if (model != NULL) {
        destroy(model);
    }
}

/* ---- inputs and outputs -------------------------------------------------------------------------------------------
 */

void lith_describe_tensor(const lith_tensor *tensor, const nnacl_tensor *type, lith_tensor_info *info) {
    lith_tensor_info result;
    memset(&result, 0, sizeof result);
    result.name = tensor->name;
    result.dtype = type->dtype;
    result.rank = type->rank;
    result.size = lith_type_bytes(type);
    result.quant_count = tensor->quant_count;
    result.quant_axis = tensor->quant_count > 0 ? tensor->quant_axis : -1;
    result.scales = tensor->scales;
    result.zero_points = tensor->zero_points;
    for (int32_t i = 0; i < LITH_MAX_RANK; i++) {
        result.dims[i] = i < type->rank ? type->dims[i] : 0;
        bool named = i < type->rank && tensor->symbols != NULL && tensor->type.dims[i] < 0;
        result.symbols[i] = named ? fb_string_at(tensor->symbols, (uint32_t)i) : "";
    }
    *info = result;
}

static lith_status port_info(const lith_model *model, const int32_t *ports, int32_t count, int32_t index,
                             lith_tensor_info *info) {
    if (info == NULL || index < 0 || index >= count) {
        return LITH_ERROR_ARGUMENT;
    }
    const lith_tensor *tensor = &model->tensors[ports[index]];
    lith_describe_tensor(tensor, &tensor->type, info);
    return LITH_OK;
}

static int32_t port_index(const lith_model *model, const int32_t *ports, int32_t count, const char *name) {
    for (int32_t i = 0; name != NULL && i < count; i++) {
        if (strcmp(model->tensors[ports[i]].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int32_t lith_model_input_count(const lith_model *model) {
    return model != NULL ? model->n_inputs : 0;
}

int32_t lith_model_output_count(const lith_model *model) {
    return model != NULL ? model->n_outputs : 0;
}

lith_status lith_model_input_info(const lith_model *model, int32_t index, lith_tensor_info *info) {
    return model != NULL ? port_info(model, model->inputs, model->n_inputs, index, info) : LITH_ERROR_ARGUMENT;
}

lith_status lith_model_output_info(const lith_model *model, int32_t index, lith_tensor_info *info) {
    return model != NULL ? port_info(model, model->outputs, model->n_outputs, index, info) : LITH_ERROR_ARGUMENT;
}

int32_t lith_model_input_index(const lith_model *model, const char *name) {
    return model != NULL ? port_index(model, model->inputs, model->n_inputs, name) : -1;
}

int32_t lith_model_output_index(const lith_model *model, const char *name) {
    return model != NULL ? port_index(model, model->outputs, model->n_outputs, name) : -1;
}

/* ---- facts --------------------------------------------------------------------------------------------------------
 */

lith_status lith_model_get_info(const lith_model *model, lith_model_info *info) {
    if (model == NULL || info == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    lith_model_info result;
    memset(&result, 0, sizeof result);
    result.name = model->name;
    result.producer = fb_string(model->root, FB_MODEL_PRODUCER);
    result.format_version = fb_i32(model->root, FB_MODEL_VERSION, 0);
    result.contract = model->contract;
    result.node_count = model->n_nodes;
    result.metadata_count = (int32_t)fb_length(fb_vector(model->root, FB_MODEL_METADATA));
    result.is_static = model->is_static;
    result.is_dynamic = model->is_dynamic;
    result.isa_mask = model->isa_mask;
    result.macs = model->is_static ? model->binding->macs : 0;
    result.file_bytes = model->mapping.size;
    result.constant_bytes = model->constant_bytes;
    result.packed_bytes = model->binding != NULL ? lith_pack_bytes(model->binding, NULL) : 0;
    *info = result;
    return LITH_OK;
}

lith_status lith_model_prepacked(const lith_model *model, lith_prepacked_info *info) {
    if (model == NULL || info == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    info->target = fb_string(model->root, FB_MODEL_PACKED_TARGET);
    info->count = (int32_t)fb_length(fb_vector(model->root, FB_MODEL_PACKED));
    info->used = model->binding != NULL ? model->binding->stored_count : 0;
    return LITH_OK;
}

lith_status lith_model_metadata(const lith_model *model, int32_t index, const char **key, const char **value) {
    if (model == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    fb_pointer pairs = fb_vector(model->root, FB_MODEL_METADATA);
    if (key == NULL || value == NULL || index < 0 || (uint32_t)index >= fb_length(pairs)) {
        return LITH_ERROR_ARGUMENT;
    }
    fb_pointer pair = fb_table_at(pairs, (uint32_t)index);
    *key = fb_string(pair, FB_PAIR_KEY);
    *value = fb_string(pair, FB_PAIR_VALUE);
    return LITH_OK;
}

const char *lith_model_metadata_find(const lith_model *model, const char *key) {
    if (model == NULL || key == NULL) {
        return NULL;
    }
    fb_pointer pairs = fb_vector(model->root, FB_MODEL_METADATA);
    for (uint32_t i = 0; i < fb_length(pairs); i++) {
        fb_pointer pair = fb_table_at(pairs, i);
        if (strcmp(fb_string(pair, FB_PAIR_KEY), key) == 0) {
            return fb_string(pair, FB_PAIR_VALUE);
        }
    }
    return NULL;
}

const char *lith_model_label(const lith_model *model, const char *tensor, int64_t index, size_t *length) {
    static const char prefix[] = "labels/";
    if (model == NULL || tensor == NULL || length == NULL || index < 0) {
        return NULL;
    }
    fb_pointer pairs = fb_vector(model->root, FB_MODEL_METADATA);
    for (uint32_t i = 0; i < fb_length(pairs); i++) {
        fb_pointer pair = fb_table_at(pairs, i);
        const char *key = fb_string(pair, FB_PAIR_KEY);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || strcmp(key + sizeof prefix - 1, tensor) != 0) {
            continue;
        }
        const char *line = fb_string(pair, FB_PAIR_VALUE);
        for (int64_t k = 0; line != NULL && k < index; k++) {
            line = strchr(line, '\n');
            line = line != NULL ? line + 1 : NULL;
        }
        *length = line != NULL ? strcspn(line, "\n") : 0;
        return line;
    }
    return NULL;
}

lith_status lith_model_node_info(const lith_model *model, int32_t index, lith_node_info *info) {
    if (model == NULL || info == NULL || index < 0 || index >= model->n_nodes) {
        return LITH_ERROR_ARGUMENT;
    }
    const lith_node *node = &model->nodes[index];
    lith_node_info result = {node->name, node->op->name, node->source, NULL, 0};
    if (model->binding != NULL) {
        result.kernel = model->binding->steps[index].kernel->symbol;
        result.macs = model->is_static ? model->binding->steps[index].macs : 0;
    }
    *info = result;
    return LITH_OK;
}
