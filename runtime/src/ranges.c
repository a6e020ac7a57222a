/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"

#include <stdio.h>
#include <string.h>

#include "status.h"

/* The sizes low, low + step, ... high. */
typedef struct size_range {
    int32_t low, high, step;
} size_range;

static size_range read(fb_pointer range) {
    return (size_range){fb_i32(range, FB_RANGE_LOW, 1), fb_i32(range, FB_RANGE_HIGH, INT32_MAX),
                        fb_i32(range, FB_RANGE_STEP, 1)};
}

/* The range of a symbol; false when it has none. */
static bool find(const lith_model *model, const char *symbol, size_range *found) {
    fb_pointer ranges = fb_vector(model->root, FB_MODEL_RANGES);
    for (uint32_t i = 0; i < fb_length(ranges); i++) {
        fb_pointer range = fb_table_at(ranges, i);
        if (strcmp(fb_string(range, FB_RANGE_SYMBOL), symbol) == 0) {
            *found = read(range);
            return true;
        }
    }
    return false;
}

lith_status lith_ranges_check(const lith_model *model, lith_message *message) {
    fb_pointer ranges = fb_vector(model->root, FB_MODEL_RANGES);
    for (uint32_t i = 0; i < fb_length(ranges); i++) {
        fb_pointer range = fb_table_at(ranges, i);
        const size_range sizes = read(range);
        if (sizes.low < 1 || sizes.low > sizes.high || sizes.step < 1 || (sizes.high - sizes.low) % sizes.step != 0) {
            return lith_fail(message, LITH_ERROR_FORMAT,
                             "the model is damaged: the size '%.60s' has the range %d..%d in steps of %d",
                             fb_string(range, FB_RANGE_SYMBOL), (int)sizes.low, (int)sizes.high, (int)sizes.step);
        }
    }
    return LITH_OK;
}

lith_status lith_ranges_admit(const lith_model *model, const lith_shape *shapes, lith_message *message) {
    for (int32_t i = 0; i < model->n_inputs; i++) {
        const lith_tensor *tensor = &model->tensors[model->inputs[i]];
        for (int32_t axis = 0; axis < tensor->type.rank && axis < shapes[i].rank; axis++) {
            size_range sizes;
            bool named = tensor->symbols != NULL && tensor->type.dims[axis] < 0;
            const char *symbol = named ? fb_string_at(tensor->symbols, (uint32_t)axis) : "";
            int32_t size = shapes[i].dims[axis];
            if (!named || !find(model, symbol, &sizes)) {
                continue;
            }
            if (size < sizes.low || size > sizes.high || (size - sizes.low) % sizes.step != 0) {
                char steps[40] = "";
                if (sizes.step != 1) {
                    snprintf(steps, sizeof steps, " in steps of %d", (int)sizes.step);
                }
                return lith_fail(message, LITH_ERROR_SHAPE,
                                 "dimension %d of input '%.60s' is %d; the model takes sizes '%.60s' from %d to %d%s",
                                 (int)axis, tensor->name, (int)size, symbol, (int)sizes.low, (int)sizes.high, steps);
            }
        }
    }
    return LITH_OK;
}

lith_status lith_model_size_range(const lith_model *model, const char *symbol, int32_t *low, int32_t *high) {
    if (model == NULL || symbol == NULL || low == NULL || high == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    size_range sizes = {0, INT32_MAX, 1};
    find(model, symbol, &sizes);
    *low = sizes.low;
    *high = sizes.high;
    return LITH_OK;
}

lith_status lith_model_size_step(const lith_model *model, const char *symbol, int32_t *step) {
    if (model == NULL || symbol == NULL || step == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    size_range sizes = {0, INT32_MAX, 1};
    find(model, symbol, &sizes);
    *step = sizes.step;
    return LITH_OK;
}
