/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx2.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f32_avx2);

/* Channels first .. first + count - 1 (count <= 16) of one output position. The window's first position inside the
 * input is at `a`, its weights at `w`. */
static void sum_window(const nnacl_conv2d_params *p, const float *a, const float *w, int32_t height, int32_t width,
                       __m256 *left, __m256 *right, int32_t count) {
    const ptrdiff_t a_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, a_column = (ptrdiff_t)p->dilation_w * p->in_c;
    __m256 sum_left = *left, sum_right = *right;
    for (int32_t ky = 0; ky < height; ky++) {
        for (int32_t kx = 0; kx < width; kx++) {
            const float *a_tap = a + ky * a_row + kx * a_column;
            const float *w_tap = w + ((ptrdiff_t)ky * p->kernel_w + kx) * p->out_c;
            sum_left = _mm256_fmadd_ps(nnacl_load_avx2(a_tap, count), nnacl_load_avx2(w_tap, count), sum_left);
            if (count > 8) {
                sum_right = _mm256_fmadd_ps(nnacl_load_avx2(a_tap + 8, count - 8),
                                            nnacl_load_avx2(w_tap + 8, count - 8), sum_right);
            }
        }
    }
    *left = sum_left;
    *right = sum_right;
}

void nnacl_depthwise_conv2d_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    const __m256 low = _mm256_set1_ps(p->clamp_min), high = _mm256_set1_ps(p->clamp_max);

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const ptrdiff_t iy = tall.origin + tall.begin * p->dilation_h,
                            ix = wide.origin + wide.begin * p->dilation_w;
            const float *a = image + (iy * p->in_w + ix) * p->in_c;
            const float *w = weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c;
            float *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t c = 0; c < p->out_c; c += 16) {
                const int32_t count = p->out_c - c < 16 ? p->out_c - c : 16;
                __m256 left = bias ? nnacl_load_avx2(bias + c, count) : _mm256_setzero_ps();
                __m256 right = bias && count > 8 ? nnacl_load_avx2(bias + c + 8, count - 8) : _mm256_setzero_ps();
                if (count == 16) { /* a constant, so that the masks disappear */
                    sum_window(p, a + c, w + c, tall.end - tall.begin, wide.end - wide.begin, &left, &right, 16);
                } else {
                    sum_window(p, a + c, w + c, tall.end - tall.begin, wide.end - wide.begin, &left, &right, count);
                }
                nnacl_store_avx2(pixel + c, _mm256_min_ps(high, _mm256_max_ps(low, left)), count);
                if (count > 8) {
                    nnacl_store_avx2(pixel + c + 8, _mm256_min_ps(high, _mm256_max_ps(low, right)), count - 8);
                }
            }
        }
    }
}
