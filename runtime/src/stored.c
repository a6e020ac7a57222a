/* SPDX-License-Identifier: Apache-2.0 */
#include "stored.h"

#include <string.h>

#include "status.h"

typedef struct lith_stored {
    uint32_t node, input;
    const char *kernel;
    const unsigned char *data;
    size_t size;
} lith_stored;

/* What kernels of these ops read from packed weights are numbers alone: whatever a file says there, they stay within
 * their memory. */
static bool may_be_stored(const char *op) {
    static const char *const names[] = {"conv2d", "depthwise_conv2d", "dense"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        found = found || strcmp(op, names[i]) == 0;
    }
    return found;
}

static lith_status load_entry(const lith_model *model, fb_pointer table, const lith_stored *before, lith_stored *entry,
                              lith_message *message) {
    fb_pointer buffers = fb_vector(model->root, FB_MODEL_BUFFERS);
    const uint64_t start = fb_u64(model->root, FB_MODEL_DATA_OFFSET, 0), whole = model->mapping.size;
    const int32_t buffer = fb_i32(table, FB_PACKED_BUFFER, -1);
    lith_stored result = {fb_u32(table, FB_PACKED_NODE, 0), fb_u32(table, FB_PACKED_INPUT, 0),
                          fb_string(table, FB_PACKED_KERNEL), NULL, 0};
    if (result.node >= (uint32_t)model->n_nodes || result.input >= NNACL_MAX_INPUTS || buffer < 0 ||
        (uint32_t)buffer >= fb_length(buffers)) {
        return lith_fail(message, LITH_ERROR_FORMAT, "the file is damaged: packed weights refer to what is not there");
    }
    if (before != NULL &&
        (before->node > result.node || (before->node == result.node && before->input >= result.input))) {
        return lith_fail(message, LITH_ERROR_FORMAT, "the file is damaged: packed weights are not in order");
    }
    const fb_extent extent = fb_extent_at(buffers, (uint32_t)buffer);
    if (start % LITH_ALIGNMENT != 0 || extent.offset % LITH_ALIGNMENT != 0 || start > whole ||
        extent.offset > whole - start || extent.size > whole - start - extent.offset) {
        return lith_fail(message, LITH_ERROR_FORMAT, "the file is damaged: packed weights pass its end");
    }
    result.data = model->mapping.data + start + extent.offset;
    result.size = (size_t)extent.size;
    *entry = result;
    return LITH_OK;
}

lith_status lith_stored_load(lith_model *model, lith_message *message) {
    fb_pointer tables = fb_vector(model->root, FB_MODEL_PACKED);
    const uint32_t count = fb_length(tables);
    if (count == 0) {
        return LITH_OK;
    }
    if (count > LITH_MAX_TENSORS) {
        return lith_fail(message, LITH_ERROR_FORMAT, "the file is damaged: it has %lu packed weights",
                         (unsigned long)count);
    }
    lith_stored *entries = lith_allocate(&model->allocator, count, sizeof *entries);
    if (entries == NULL) {
        return lith_fail_memory(message, "the table of packed weights");
    }
    lith_status status = LITH_OK;
    for (uint32_t i = 0; status == LITH_OK && i < count; i++) {
        status = load_entry(model, fb_table_at(tables, i), i > 0 ? &entries[i - 1] : NULL, &entries[i], message);
    }
    const bool usable = fb_u32(model->root, FB_MODEL_PACKED_LAYOUT, 0) == NNACL_PACKED_LAYOUT &&
                        (uintptr_t)model->mapping.data % LITH_ALIGNMENT == 0;
    if (status != LITH_OK || !usable) {
        lith_release(&model->allocator, entries, count, sizeof *entries);
        return status;
    }
    model->stored = entries;
    model->n_stored = (int32_t)count;
    return LITH_OK;
}

void lith_stored_release(lith_model *model) {
    lith_release(&model->allocator, (void *)(uintptr_t)model->stored, (size_t)model->n_stored, sizeof *model->stored);
    model->stored = NULL;
    model->n_stored = 0;
}

const void *lith_stored_find(const lith_model *model, int32_t node, int32_t input, const nnacl_kernel *kernel,
                             size_t size) {
    int32_t first = 0, end = model->n_stored;
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        const lith_stored *entry = &model->stored[middle];
        if (entry->node < (uint32_t)node || (entry->node == (uint32_t)node && entry->input < (uint32_t)input)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    if (first == model->n_stored) {
        return NULL;
    }
    const lith_stored *entry = &model->stored[first];
    const bool fits = entry->node == (uint32_t)node && entry->input == (uint32_t)input && entry->size == size &&
                      strcmp(entry->kernel, kernel->symbol) == 0 && may_be_stored(model->nodes[node].op->name) &&
                      model->nodes[node].extension == NULL;
    return fits ? entry->data : NULL;
}
