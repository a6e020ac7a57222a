#include "common/requant.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_avg_pool2d_s8_c);

/* Channels that are summed at a time. */
#define CHUNK 32

/* sum / count, halves away from zero or up. */
static int32_t divide_round(int32_t sum, int32_t count, int32_t halves_up) {
    if (halves_up) {
        return (sum + 128 * count + count / 2) / count - 128;
    }
    return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

void nnacl_avg_pool2d_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const int8_t *x = in[0];
    int8_t *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            int8_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);
            const int32_t divisor = nnacl_pool_divisor(p, row % p->out_h, column);
            const int32_t padding = (divisor - inside) * p->x_zero;
            for (int32_t first = 0; first < p->channels; first += CHUNK) {
                const int32_t count = p->channels - first < CHUNK ? p->channels - first : CHUNK;
                int32_t sums[CHUNK];
                for (int32_t c = 0; c < count; c++) {
                    sums[c] = padding;
                }
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;
                        const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels + first;
                        for (int32_t c = 0; c < count; c++) {
                            sums[c] += a[c];
                        }
                    }
                }
                for (int32_t c = 0; c < count; c++) {
                    const int32_t mean = divisor > 0 ? divide_round(sums[c], divisor, p->halves_up) : p->x_zero;
                    pixel[first + c] = (int8_t)nnacl_clamp_s32(mean, p->q_min, p->q_max);
                }
            }
        }
    }
}
