#include "common/requant.h"
#include "common/share.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_quantize_f32_c);

static int32_t quantize(const nnacl_quantize_params *p, float x, int32_t low, int32_t high) {
    const float scaled = x == x ? x / p->scale : 0.0f;
    return p->zero + (p->rounding == NNACL_ROUND_FLOAT_EVEN ? nnacl_round_even(scaled, low - p->zero, high - p->zero)
                                                            : nnacl_round_away(scaled, low - p->zero, high - p->zero));
}

void nnacl_quantize_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_quantize_params *p = params;
    const float *x = in[0];
    const nnacl_range share = nnacl_share(ctx, p->count);
    if (p->to == NNACL_S8) {
        int8_t *y = out[0];
        for (int32_t i = share.begin; i < share.end; i++) {
            y[i] = (int8_t)quantize(p, x[i], INT8_MIN, INT8_MAX);
        }
    } else if (p->to == NNACL_U8) {
        uint8_t *y = out[0];
        for (int32_t i = share.begin; i < share.end; i++) {
            y[i] = (uint8_t)quantize(p, x[i], 0, UINT8_MAX);
        }
    } else {
        int16_t *y = out[0];
        for (int32_t i = share.begin; i < share.end; i++) {
            y[i] = (int16_t)quantize(p, x[i], INT16_MIN, INT16_MAX);
        }
    }
}
