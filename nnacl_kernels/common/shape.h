/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan halves have in common: checks of tensor types, broadcasting, merging of dimensions. */
#ifndef NNACL_SHAPE_H
#define NNACL_SHAPE_H

#include "nnacl_kernels.h"

/* Bytes of a tensor, or -1 when it has no valid type and shape or takes more than 2^31 - 1 bytes. */
static inline int64_t nnacl_shape_bytes(const nnacl_tensor *tensor) {
    const int64_t count = nnacl_element_count(tensor);
    const int64_t size = (int64_t)nnacl_dtype_size(tensor->dtype);
    if (count < 0 || size == 0 || count > INT32_MAX / size) {
        return -1;
    }
    return count * size;
}

/* The product of dimensions begin .. end - 1. It fits, as that of all dimensions but those of size 0 does. */
static inline int32_t nnacl_shape_product(const nnacl_tensor *tensor, int32_t begin, int32_t end) {
    int32_t count = 1;
    for (int32_t i = begin; i < end; i++) {
        count *= tensor->dims[i];
    }
    return count;
}

/* Bytes of a block of those dimensions; 0 in a tensor without elements, whose other dimensions may be any. */
static inline int32_t nnacl_shape_block_bytes(const nnacl_tensor *tensor, int32_t begin, int32_t end) {
    const bool is_empty = nnacl_element_count(tensor) == 0;
    return is_empty ? 0 : nnacl_shape_product(tensor, begin, end) * (int32_t)nnacl_dtype_size(tensor->dtype);
}

/* NULL, or why the numbers of inputs and outputs or one of the input tensors are not acceptable. */
static inline const char *nnacl_shape_check(const nnacl_tensor *in, int32_t n_in, int32_t least, int32_t most,
                                            int32_t n_out) {
    if (n_in < least) {
        return "an input is missing";
    }
    if (n_in > most) {
        return "there are too many inputs";
    }
    if (n_out != 1) {
        return "the op has exactly one output";
    }
    for (int32_t i = 0; i < n_in; i++) {
        if (in[i].dtype == -1) {
            if (i < least) {
                return "an input is missing";
            }
        } else if (nnacl_shape_bytes(&in[i]) < 0) {
            return "an input has an invalid type or shape, or takes more than 2^31 - 1 bytes";
        }
    }
    return NULL;
}

/* Sets the type of an output; NULL, or why it cannot be. */
static inline const char *nnacl_shape_set(nnacl_tensor *out, int32_t dtype, int32_t rank, const int32_t *dims) {
    if (rank > NNACL_MAX_RANK) {
        return "the output has more than 8 dimensions";
    }
    out->dtype = dtype;
    out->rank = rank;
    out->data = NULL;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        out->dims[i] = i < rank ? dims[i] : 0;
    }
    if (nnacl_shape_bytes(out) < 0) {
        return "the output takes more than 2^31 - 1 bytes";
    }
    return NULL;
}

/* Broadcasts the shapes of `count` tensors by the rules of NumPy. Returns the rank, or -1 when they do not fit. */
static inline int32_t nnacl_shape_broadcast(const nnacl_tensor *const *tensors, int32_t count, int32_t *dims) {
    int32_t rank = 0;
    for (int32_t t = 0; t < count; t++) {
        rank = tensors[t]->rank > rank ? tensors[t]->rank : rank;
    }
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = 1;
        for (int32_t t = 0; t < count; t++) {
            const int32_t axis = i - (rank - tensors[t]->rank);
            const int32_t dim = axis < 0 ? 1 : tensors[t]->dims[axis];
            if (dim != 1 && dims[i] != 1 && dims[i] != dim) {
                return -1;
            }
            dims[i] = dim == 1 ? dims[i] : dim;
        }
    }
    return rank;
}

/* Strides, in elements, with which a dense tensor is read so that it takes `rank` dimensions; 0: repeated. */
static inline void nnacl_shape_strides(const nnacl_tensor *tensor, int32_t rank, int32_t *strides) {
    int32_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        const int32_t axis = i - (rank - tensor->rank);
        const int32_t dim = axis < 0 ? 1 : tensor->dims[axis];
        strides[i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

/* Drops dimensions of size 1 and merges neighbours that every operand steps through evenly. `strides` holds one row of
 * NNACL_MAX_RANK for each of `count` operands. Unused entries become 0. Returns the new rank, at least 1; the dimension
 * of a single element has stride 1, and a tensor without elements becomes one dimension of size 0. */
static inline int32_t nnacl_shape_merge(int32_t rank, int32_t *dims, int32_t *const *strides, int32_t count) {
    int32_t merged = 0;
    bool empty = false;
    for (int32_t i = 0; i < rank; i++) {
        const int32_t dim = dims[i];
        empty = empty || dim == 0;
        if (dim == 1) {
            continue;
        }
        bool even = merged > 0;
        for (int32_t t = 0; t < count && even; t++) {
            even = strides[t][merged - 1] == (int64_t)strides[t][i] * dim;
        }
        if (even) {
            merged--;
        }
        dims[merged] = even ? dims[merged] * dim : dim;
        for (int32_t t = 0; t < count; t++) {
            strides[t][merged] = strides[t][i];
        }
        merged++;
    }
    if (empty || merged == 0) {
        dims[0] = empty ? 0 : 1;
        for (int32_t t = 0; t < count; t++) {
            strides[t][0] = 1;
        }
        merged = 1;
    }
    for (int32_t i = merged; i < NNACL_MAX_RANK; i++) {
        dims[i] = 0;
        for (int32_t t = 0; t < count; t++) {
            strides[t][i] = 0;
        }
    }
    return merged;
}

/* How many parts are worth it when each should hold at least `least` of `count` units of work. */
static inline int32_t nnacl_shape_parts(int64_t count, int64_t least) {
    const int64_t parts = count / least;
    return parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
}

#endif
