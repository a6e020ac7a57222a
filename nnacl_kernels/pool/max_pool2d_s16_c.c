#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_s16_c);

void nnacl_max_pool2d_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const int16_t *x = in[0];
    int16_t *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            int16_t *restrict pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = INT16_MIN;
            }
            for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;
                    const int16_t *restrict a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels;
                    for (int32_t c = 0; c < p->channels; c++) {
                        pixel[c] = a[c] > pixel[c] ? a[c] : pixel[c];
                    }
                }
            }
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = (int16_t)nnacl_clamp_s32(pixel[c], p->q_min, p->q_max);
            }
        }
    }
}
