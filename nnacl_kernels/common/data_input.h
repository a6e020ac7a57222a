/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose values decide about shapes: axes, sizes, positions. */
#ifndef NNACL_DATA_INPUT_H
#define NNACL_DATA_INPUT_H

#include <string.h>

#include "nnacl_kernels.h"

/* Element `i` of a tensor of type s32 or s64 with data. */
static inline int64_t nnacl_data_element(const nnacl_tensor *tensor, int32_t i) {
    if (tensor->dtype == NNACL_S32) {
        int32_t narrow;
        memcpy(&narrow, (const char *)tensor->data + (size_t)i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    int64_t wide;
    memcpy(&wide, (const char *)tensor->data + (size_t)i * sizeof wide, sizeof wide);
    return wide;
}

/* Reads input `index`, which is optional: at most `most` integers of type s32 or s64 in any shape of rank 0 or 1.
 * *count becomes their number, or -1 when the input is absent. Returns NULL, NNACL_NEEDS_DATA, or a sentence. */
static inline const char *nnacl_data_input(const nnacl_tensor *in, int32_t n_in, int32_t index, int32_t most,
                                           int64_t *values, int32_t *count) {
    *count = -1;
    if (index >= n_in || in[index].dtype == -1) {
        return NULL;
    }
    const nnacl_tensor *tensor = &in[index];
    if (tensor->dtype != NNACL_S32 && tensor->dtype != NNACL_S64) {
        return "an input that holds sizes, axes or positions is neither s32 nor s64";
    }
    const int64_t elements = nnacl_element_count(tensor);
    if (tensor->rank > 1 || elements < 0 || elements > most) {
        return "an input that holds sizes, axes or positions has too many elements or dimensions";
    }
    if (elements > 0 && !tensor->data) {
        return NNACL_NEEDS_DATA;
    }
    *count = (int32_t)elements;
    for (int32_t i = 0; i < *count; i++) {
        values[i] = nnacl_data_element(tensor, i);
    }
    return NULL;
}

/* The bit of axis `axis`, which may count from the end of `rank` dimensions; 0: there is no such axis. */
static inline int32_t nnacl_data_axis_bit(int64_t axis, int32_t rank) {
    return axis < -rank || axis >= rank ? 0 : 1 << (axis < 0 ? axis + rank : axis);
}

#endif
