/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters that replace. */
#include "index/scatter.h"

static void replace(void *y, const void *update, int32_t count, int32_t element_size) {
    memcpy(y, update, (size_t)count * (size_t)element_size);
}

NNACL_DECLARE(nnacl_scatter_elements_any_c);

void nnacl_scatter_elements_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_scatter_elements_params *p = params;
    (void)ctx;
    nnacl_scatter_elements(p, in, out[0], replace, p->element_size);
}

NNACL_DECLARE(nnacl_scatter_nd_any_c);

void nnacl_scatter_nd_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_scatter_nd_params *p = params;
    (void)ctx;
    nnacl_scatter_nd(p, in, out[0], replace, p->element_size);
}
