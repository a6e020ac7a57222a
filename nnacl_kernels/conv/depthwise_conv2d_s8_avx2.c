/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_avx2.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_avx2);

static __m256i load(const int8_t *source, int32_t count, __m256i zero) {
    return _mm256_sub_epi16(_mm256_cvtepi8_epi16(nnacl_load_s8_avx2(source, count)), zero);
}

/* Sums of `count` <= 16 channels over a window of height x width. Two neighbours of a kernel row go through one
 * multiply-add; sums[0] gets channels 0-3 and 8-11, sums[1] the others. */
NNACL_ALWAYS_INLINE void sum_window(const nnacl_conv2d_params *p, const int8_t *a, const int8_t *w, int32_t height,
                                    int32_t width, int32_t count, __m256i sums[2]) {
    const ptrdiff_t a_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, a_column = (ptrdiff_t)p->dilation_w * p->in_c;
    const __m256i x_zero = _mm256_set1_epi16((int16_t)p->x_zero), w_zero = _mm256_set1_epi16((int16_t)p->w_zero);
    __m256i first = _mm256_setzero_si256(), second = _mm256_setzero_si256();
    for (int32_t ky = 0; ky < height; ky++) {
        for (int32_t kx = 0; kx < width; kx += 2) {
            const int8_t *a_tap = a + ky * a_row + kx * a_column;
            const int8_t *w_tap = w + ((ptrdiff_t)ky * p->kernel_w + kx) * p->out_c;
            const bool pair = kx + 1 < width;
            const __m256i a0 = load(a_tap, count, x_zero), w0 = load(w_tap, count, w_zero);
            const __m256i a1 = pair ? load(a_tap + a_column, count, x_zero) : _mm256_setzero_si256();
            const __m256i w1 = pair ? load(w_tap + p->out_c, count, w_zero) : _mm256_setzero_si256();
            first = _mm256_add_epi32(first,
                                     _mm256_madd_epi16(_mm256_unpacklo_epi16(a0, a1), _mm256_unpacklo_epi16(w0, w1)));
            second = _mm256_add_epi32(second,
                                      _mm256_madd_epi16(_mm256_unpackhi_epi16(a0, a1), _mm256_unpackhi_epi16(w0, w1)));
        }
    }
    sums[0] = first;
    sums[1] = second;
}

void nnacl_depthwise_conv2d_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int8_t *x = in[0], *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    int8_t *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const ptrdiff_t iy = tall.origin + tall.begin * p->dilation_h,
                            ix = wide.origin + wide.begin * p->dilation_w;
            const int8_t *a = image + (iy * p->in_w + ix) * p->in_c;
            const int8_t *w = weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c;
            const int32_t height = tall.end - tall.begin, width = wide.end - wide.begin;
            int8_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t c = 0; c < p->out_c; c += 16) {
                const int32_t count = p->out_c - c < 16 ? p->out_c - c : 16;
                __m256i sums[2];
                if (count == 16) { /* constants, so that the copies of a partial load disappear */
                    sum_window(p, a + c, w + c, height, width, 16, sums);
                } else if (count == 8) {
                    sum_window(p, a + c, w + c, height, width, 8, sums);
                } else {
                    sum_window(p, a + c, w + c, height, width, count, sums);
                }
                for (int32_t part = 0; part * 8 < count; part++) {
                    const int32_t first = c + part * 8, lanes = count - part * 8 < 8 ? count - part * 8 : 8;
                    __m256i sum = part == 0 ? _mm256_permute2x128_si256(sums[0], sums[1], 0x20)
                                            : _mm256_permute2x128_si256(sums[0], sums[1], 0x31);
                    if (bias) {
                        sum = _mm256_add_epi32(sum, nnacl_load_s32_avx2(bias + first, lanes));
                    }
                    nnacl_requant_store_avx2(sum, requant, p->out_c, first, lanes, p->rounding, p->y_zero, p->q_min,
                                             p->q_max, pixel + first);
                }
            }
        }
    }
}
