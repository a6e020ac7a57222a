/* SPDX-License-Identifier: Apache-2.0 */
/* An extension: ops and kernels from outside of this library, as tables of the same rows (docs/custom-ops.md).
 *
 * An extension called `acme` is a folder `acme` with kernels and plan halves like those of this library, its ops.def
 * and kernels.def, and one source that makes the tables (extension_table.def says how). The names of its ops begin with
 * its own: "acme.scale". So they never clash with ops of this library or of another extension, and whoever lacks one
 * can say whose it is.
 *
 * Nothing is registered: who opens a model passes the extensions that it may use (lith_model_options).
 */
#ifndef NNACL_EXTENSION_H
#define NNACL_EXTENSION_H

#include "nnacl_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structs in nnacl_base.h and nnacl_kernels.h: an extension that was compiled for others is refused. */
#define NNACL_EXTENSION_ABI 1

typedef struct nnacl_extension {
    int32_t abi;
    int32_t n_ops;
    int32_t n_kernels;
    const char *name;
    const nnacl_op *const *ops;
    const nnacl_kernel *kernels; /* best first within an op and dtype */
} nnacl_extension;

/* NULL when the tables are sound, else a sentence that says what is wrong with them. */
const char *nnacl_extension_check(const nnacl_extension *extension);

/* NULL when there is no such op. */
const nnacl_op *nnacl_extension_op(const nnacl_extension *extension, const char *name);

/* As nnacl_kernel_find(). */
const nnacl_kernel *nnacl_extension_kernel(const nnacl_extension *extension, const char *op, int32_t dtype,
                                           const void *params, uint32_t isa_mask, int32_t runnable);

#ifdef __cplusplus
}
#endif

#endif
