/* SPDX-License-Identifier: Apache-2.0 */
#include "data/data.h"
#include "data/strided_copy.h"

NNACL_DECLARE(nnacl_expand_any_c);
void nnacl_expand_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_expand_params *p = params;
    nnacl_copy_strided(ctx, out[0], in[0], p->element_size, p->rank, p->dims, p->x_strides);
}
