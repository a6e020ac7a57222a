/* SPDX-License-Identifier: Apache-2.0 */
#include "nnacl_extension.h"

#include <string.h>

/* Whether an op has the name of the extension, a dot, and a name of its own. */
static bool is_named_after(const char *op, const char *extension) {
    const size_t length = strlen(extension);
    return strncmp(op, extension, length) == 0 && op[length] == '.' && op[length + 1] != '\0';
}

static const char *check_op(const nnacl_extension *extension, int32_t index) {
    const nnacl_op *op = extension->ops[index];
    if (!op || !op->name || !op->params_name || !op->header || !op->resize) {
        return "an op lacks its name, params_name, header or resize";
    }
    if (!is_named_after(op->name, extension->name)) {
        return "the name of an op does not begin with the name of the extension and a dot";
    }
    if (op->params_size == 0 || op->params_size > NNACL_MAX_PARAMS_SIZE || op->params_size % 4 != 0) {
        return "the parameter struct of an op has no size of 4 to 512 bytes, in steps of 4";
    }
    for (int32_t i = 0; i < index; i++) {
        if (strcmp(extension->ops[i]->name, op->name) == 0) {
            return "two ops have the same name";
        }
    }
    for (int32_t i = 0; i < extension->n_kernels; i++) {
        if (extension->kernels[i].op && strcmp(extension->kernels[i].op, op->name) == 0) {
            return NULL;
        }
    }
    return "an op of ops.def has no row in kernels.def";
}

const char *nnacl_extension_check(const nnacl_extension *extension) {
    if (!extension || extension->abi != NNACL_EXTENSION_ABI) {
        return "it was compiled for another version of the kernel library";
    }
    if (!extension->name || !extension->name[0] || !extension->ops || !extension->kernels || extension->n_ops < 1 ||
        extension->n_kernels < 1) {
        return "it has no name, no ops or no kernels";
    }
    for (int32_t i = 0; i < extension->n_ops; i++) {
        const char *message = check_op(extension, i);
        if (message) {
            return message;
        }
    }
    for (int32_t i = 0; i < extension->n_kernels; i++) {
        const nnacl_kernel *row = &extension->kernels[i];
        if (!row->op || !row->symbol || !row->file || !nnacl_extension_op(extension, row->op)) {
            return "a row of kernels.def is for an op that ops.def lacks";
        }
    }
    return NULL;
}

const nnacl_op *nnacl_extension_op(const nnacl_extension *extension, const char *name) {
    for (int32_t i = 0; name && i < extension->n_ops; i++) {
        if (strcmp(extension->ops[i]->name, name) == 0) {
            return extension->ops[i];
        }
    }
    return NULL;
}

const nnacl_kernel *nnacl_extension_kernel(const nnacl_extension *extension, const char *op, int32_t dtype,
                                           const void *params, uint32_t isa_mask, int32_t runnable) {
    return nnacl_kernel_choose(extension->kernels, extension->n_kernels, op, dtype, params, isa_mask, runnable);
}
