/* SPDX-License-Identifier: Apache-2.0 */
#define NNACL_EXTENSION acme
#define NNACL_EXTENSION_OPS "acme/ops.def"
#define NNACL_EXTENSION_KERNELS "acme/kernels.def"
#include "extension_table.def"
