#include "common/share.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_dequantize_c);

/* Modulo 2^32, which a zero point of a narrow type does not reach. */
static int32_t difference(int32_t x, int32_t zero) {
    return (int32_t)((uint32_t)x - (uint32_t)zero);
}

/* x[begin .. end - 1] with one scale and zero point. The difference of two int32 needs 33 bits. */
static void dequantize(int32_t from, const void *x, float *y, ptrdiff_t begin, ptrdiff_t end, float scale,
                       int32_t zero) {
    for (ptrdiff_t i = begin; i < end; i++) {
        switch (from) {
        case NNACL_S8:
            y[i] = scale * (float)difference(((const int8_t *)x)[i], zero);
            break;
        case NNACL_U8:
            y[i] = scale * (float)difference(((const uint8_t *)x)[i], zero);
            break;
        case NNACL_S16:
            y[i] = scale * (float)difference(((const int16_t *)x)[i], zero);
            break;
        default:
            y[i] = scale * (float)((int64_t)((const int32_t *)x)[i] - zero);
            break;
        }
    }
}

void nnacl_dequantize_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dequantize_params *p = params;
    const float *scales = p->has_scales ? in[1] : NULL;
    const int32_t *zeros = p->has_zeros ? in[2] : NULL;
    float *y = out[0];

    if (p->outer * p->channels == 1) {
        const nnacl_range share = nnacl_share(ctx, p->inner);
        dequantize(p->from, in[0], y, share.begin, share.end, scales ? scales[0] : p->scale,
                   zeros ? zeros[0] : p->zero);
        return;
    }
    const nnacl_range share = nnacl_share(ctx, p->outer * p->channels);
    for (int32_t row = share.begin; row < share.end; row++) {
        const int32_t channel = row % p->channels;
        const ptrdiff_t begin = (ptrdiff_t)row * p->inner;
        dequantize(p->from, in[0], y, begin, begin + p->inner, scales ? scales[channel] : p->scale,
                   zeros ? zeros[channel] : p->zero);
    }
}
