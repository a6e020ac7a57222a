/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"

#include <string.h>

#include "status.h"

/* The range of a symbol; false when it has none. */
static bool find(const lith_model *model, const char *symbol, int32_t *low, int32_t *high) {
    fb_pointer ranges = fb_vector(model->root, FB_MODEL_RANGES);
    for (uint32_t i = 0; i < fb_length(ranges); i++) {
        fb_pointer range = fb_table_at(ranges, i);
        if (strcmp(fb_string(range, FB_RANGE_SYMBOL), symbol) == 0) {
            *low = fb_i32(range, FB_RANGE_LOW, 1);
            *high = fb_i32(range, FB_RANGE_HIGH, INT32_MAX);
            return true;
        }
    }
    return false;
}

lith_status lith_ranges_check(const lith_model *model, lith_message *message) {
    fb_pointer ranges = fb_vector(model->root, FB_MODEL_RANGES);
    for (uint32_t i = 0; i < fb_length(ranges); i++) {
        fb_pointer range = fb_table_at(ranges, i);
        int32_t low = fb_i32(range, FB_RANGE_LOW, 1);
        int32_t high = fb_i32(range, FB_RANGE_HIGH, INT32_MAX);
        if (low < 1 || low > high) {
            return lith_fail(message, LITH_ERROR_FORMAT, "the model is damaged: the size '%.60s' has the range %d..%d",
                             fb_string(range, FB_RANGE_SYMBOL), (int)low, (int)high);
        }
    }
    return LITH_OK;
}

lith_status lith_ranges_admit(const lith_model *model, const lith_shape *shapes, lith_message *message) {
    for (int32_t i = 0; i < model->n_inputs; i++) {
        const lith_tensor *tensor = &model->tensors[model->inputs[i]];
        for (int32_t axis = 0; axis < tensor->type.rank && axis < shapes[i].rank; axis++) {
            int32_t low, high;
            bool named = tensor->symbols != NULL && tensor->type.dims[axis] < 0;
            const char *symbol = named ? fb_string_at(tensor->symbols, (uint32_t)axis) : "";
            int32_t size = shapes[i].dims[axis];
            if (named && find(model, symbol, &low, &high) && (size < low || size > high)) {
                return lith_fail(message, LITH_ERROR_SHAPE,
                                 "dimension %d of input '%.60s' is %d; the model takes sizes '%.60s' from %d to %d",
                                 (int)axis, tensor->name, (int)size, symbol, (int)low, (int)high);
            }
        }
    }
    return LITH_OK;
}

lith_status lith_model_size_range(const lith_model *model, const char *symbol, int32_t *low, int32_t *high) {
    if (model == NULL || symbol == NULL || low == NULL || high == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    if (!find(model, symbol, low, high)) {
        *low = 0;
        *high = INT32_MAX;
    }
    return LITH_OK;
}
