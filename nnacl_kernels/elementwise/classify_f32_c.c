/* Questions about the kind of a number: b8 out. */
#include "common/share.h"
#include "elementwise/elementwise.h"

#define CLASSIFY(op, expression)                                                                                       \
    NNACL_DECLARE(nnacl_##op##_f32_c);                                                                                 \
    void nnacl_##op##_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {     \
        const nnacl_unary_params *p = params;                                                                          \
        const float *x = in[0];                                                                                        \
        uint8_t *y = out[0];                                                                                           \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        for (int32_t i = share.begin; i < share.end; i++) {                                                            \
            const float v = x[i];                                                                                      \
            y[i] = expression;                                                                                         \
        }                                                                                                              \
    }

CLASSIFY(is_nan, v != v)
CLASSIFY(is_inf, (v < -3.40282347e+38f && p->alpha != 0.0f) || (v > 3.40282347e+38f && p->beta != 0.0f))
