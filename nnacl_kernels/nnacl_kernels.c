/* SPDX-License-Identifier: Apache-2.0 */
#include "nnacl_kernels.h"

#include <string.h>

#include "attention/attention.h"
#include "conv/conv.h"
#include "data/data.h"
#include "dense/dense.h"
#include "elementwise/elementwise.h"
#include "image/image.h"
#include "index/index.h"
#include "nnacl_rows.h"
#include "pool/pool.h"
#include "quant/quant.h"
#include "reduce/reduce.h"
#include "rnn/rnn.h"
#include "softmax/softmax.h"
#include "volume/volume.h"

#define NNACL_KERNEL(op, dtype, isa, symbol, accepts, file) NNACL_DECLARE(symbol);
#include "kernels.def"
#undef NNACL_KERNEL

#define NNACL_KERNEL(op, dtype, isa, symbol, accepts, file)                                                            \
    {#op, #symbol, file, NNACL_DTYPE_##dtype, NNACL_ISA_##isa, NNACL_RUN_##isa(symbol), accepts},
static const nnacl_kernel kernels[] = {
#include "kernels.def"
};
#undef NNACL_KERNEL

#define NNACL_OP(op) extern const nnacl_op nnacl_##op##_op;
#include "ops.def"
#undef NNACL_OP

#define NNACL_OP(op) &nnacl_##op##_op,
static const nnacl_op *const ops[] = {
#include "ops.def"
};
#undef NNACL_OP

#define KERNEL_COUNT ((int32_t)(sizeof kernels / sizeof kernels[0]))
#define OP_COUNT ((int32_t)(sizeof ops / sizeof ops[0]))

const char nnacl_needs_data[] = "the values of an input are known at run time only";

const nnacl_op *nnacl_op_at(int32_t index) {
    return index >= 0 && index < OP_COUNT ? ops[index] : NULL;
}

const nnacl_op *nnacl_op_find(const char *name) {
    for (int32_t i = 0; name && i < OP_COUNT; i++) {
        if (strcmp(ops[i]->name, name) == 0) {
            return ops[i];
        }
    }
    return NULL;
}

const nnacl_kernel *nnacl_kernel_at(int32_t index) {
    return index >= 0 && index < KERNEL_COUNT ? &kernels[index] : NULL;
}

const nnacl_kernel *nnacl_kernel_find(const char *op, int32_t dtype, const void *params, uint32_t isa_mask,
                                      int32_t runnable) {
    return nnacl_kernel_choose(kernels, KERNEL_COUNT, op, dtype, params, isa_mask, runnable);
}

bool nnacl_kernel_is_winograd(const nnacl_kernel *kernel) {
    return strstr(kernel->symbol, "_winograd_") != NULL;
}

uint32_t nnacl_kernel_mask_without(const nnacl_kernel *kernel, uint32_t isa_mask) {
    return nnacl_kernel_is_winograd(kernel) ? isa_mask | NNACL_MASK_DIRECT : isa_mask & ~kernel->isa;
}

const nnacl_kernel *nnacl_kernel_choose(const nnacl_kernel *rows, int32_t n_rows, const char *op, int32_t dtype,
                                        const void *params, uint32_t isa_mask, int32_t runnable) {
    for (int32_t i = 0; op && i < n_rows; i++) {
        const nnacl_kernel *row = &rows[i];
        if ((row->isa & isa_mask) != 0 && (row->dtype == dtype || row->dtype == NNACL_ANY) && (row->run || !runnable) &&
            strcmp(row->op, op) == 0 && !((isa_mask & NNACL_MASK_DIRECT) && nnacl_kernel_is_winograd(row)) &&
            (!row->accepts || row->accepts(params))) {
            return row;
        }
    }
    return NULL;
}

static bool same_type(const nnacl_tensor *a, const nnacl_tensor *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->rank < 0 || a->rank > NNACL_MAX_RANK) {
        return false;
    }
    return memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

const char *nnacl_check(const nnacl_op *op, const void *params, const nnacl_tensor *in, int32_t n_in,
                        const nnacl_tensor *out, int32_t n_out) {
    union {
        int32_t align;
        unsigned char bytes[NNACL_MAX_PARAMS_SIZE];
    } derived;
    nnacl_tensor derived_out[NNACL_MAX_OUTPUTS];
    if (op->params_size > sizeof derived) {
        return "the parameter struct is too large";
    }
    if (n_in < 0 || n_in > NNACL_MAX_INPUTS || n_out < 0 || n_out > NNACL_MAX_OUTPUTS) {
        return "too many inputs or outputs";
    }
    for (int32_t i = 0; i < n_in; i++) {
        if (in[i].dtype != -1 && (nnacl_dtype_size(in[i].dtype) == 0 || nnacl_element_count(&in[i]) < 0)) {
            return "an input has an unknown type or an impossible shape";
        }
    }
    memcpy(derived.bytes, params, op->params_size);
    memset(derived_out, 0, sizeof derived_out);
    const char *message = op->resize(derived.bytes, in, n_in, derived_out, n_out);
    if (message) {
        return message;
    }
    if (memcmp(derived.bytes, params, op->params_size) != 0) {
        return "the shape fields of the parameters do not follow from the inputs";
    }
    for (int32_t i = 0; i < n_out; i++) {
        if (!same_type(&derived_out[i], &out[i])) {
            return "the type of an output does not follow from the inputs";
        }
    }
    return NULL;
}

typedef struct dtype_row {
    const char *name;
    size_t size;
} dtype_row;

static const dtype_row dtypes[] = {
    [NNACL_F32] = {"f32", 4}, [NNACL_F16] = {"f16", 2}, [NNACL_S8] = {"s8", 1},   [NNACL_U8] = {"u8", 1},
    [NNACL_S16] = {"s16", 2}, [NNACL_S32] = {"s32", 4}, [NNACL_S64] = {"s64", 8}, [NNACL_B8] = {"b8", 1},
    [NNACL_F64] = {"f64", 8}, [NNACL_U16] = {"u16", 2}, [NNACL_U32] = {"u32", 4}, [NNACL_U64] = {"u64", 8},
};

#define DTYPE_COUNT ((int32_t)(sizeof dtypes / sizeof dtypes[0]))

size_t nnacl_dtype_size(int32_t dtype) {
    return dtype >= 0 && dtype < DTYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *nnacl_dtype_name(int32_t dtype) {
    return dtype >= 0 && dtype < DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

int64_t nnacl_element_count(const nnacl_tensor *tensor) {
    if (tensor->rank < 0 || tensor->rank > NNACL_MAX_RANK) {
        return -1;
    }
    int64_t count = 1;
    bool empty = false;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) {
            return -1;
        }
        if (tensor->dims[i] == 0) {
            empty = true;
        } else if (count > INT32_MAX / tensor->dims[i]) {
            return -1;
        } else {
            count *= tensor->dims[i];
        }
    }
    return empty ? 0 : count;
}
