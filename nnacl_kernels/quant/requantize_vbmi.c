/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lookup_vbmi.h"
#include "common/share.h"
#include "quant/requantize_table.h"

NNACL_DECLARE(nnacl_requantize_vbmi);

void nnacl_requantize_vbmi(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_requantize_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    nnacl_requantize_fill(p, ctx->workspace);
    nnacl_lookup_vbmi(ctx->workspace, in[0], share.begin, share.end, 0, out[0]);
}
