/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "quant/quant.h"
#include "quant/requantize_table.h"

NNACL_DECLARE(nnacl_requantize_c);

static int32_t load(int32_t dtype, const void *x, int32_t i) {
    return dtype == NNACL_S8    ? ((const int8_t *)x)[i]
           : dtype == NNACL_U8  ? ((const uint8_t *)x)[i]
           : dtype == NNACL_S16 ? ((const int16_t *)x)[i]
                                : ((const int32_t *)x)[i];
}

static void store(int32_t dtype, void *y, int32_t i, int32_t value) {
    if (dtype == NNACL_S8) {
        ((int8_t *)y)[i] = (int8_t)value;
    } else if (dtype == NNACL_U8) {
        ((uint8_t *)y)[i] = (uint8_t)value;
    } else if (dtype == NNACL_S16) {
        ((int16_t *)y)[i] = (int16_t)value;
    } else {
        ((int32_t *)y)[i] = value;
    }
}

void nnacl_requantize_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_requantize_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    if (share.end - share.begin >= NNACL_REQUANTIZE_MANY && nnacl_requantize_by_table(p)) {
        uint8_t *table = ctx->workspace;
        nnacl_requantize_fill(p, table);
        for (int32_t i = share.begin; i < share.end; i++) {
            ((uint8_t *)out[0])[i] = table[((const uint8_t *)in[0])[i]];
        }
        return;
    }
    for (int32_t i = share.begin; i < share.end; i++) {
        store(p->to, out[0], i, nnacl_requantized(p, load(p->from, in[0], i)));
    }
}
