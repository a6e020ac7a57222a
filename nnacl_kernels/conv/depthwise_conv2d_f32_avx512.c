/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f32_avx512);

/* Neighbours in a row of the output that are computed together. */
#define COLUMNS 8

typedef struct dw_line {
    const nnacl_conv2d_params *p;
    const float *a; /* input at the first kernel row that is inside, column 0 */
    const float *w; /* weights at that kernel row */
    int32_t height; /* kernel rows that are inside */
    float *y;       /* output at column 0 */
    const float *bias;
} dw_line;

static inline void store(const dw_line *l, int32_t column, int32_t channel, __mmask16 lanes, __m512 sum) {
    sum = _mm512_min_ps(_mm512_set1_ps(l->p->clamp_max), _mm512_max_ps(_mm512_set1_ps(l->p->clamp_min), sum));
    _mm512_mask_storeu_ps(l->y + (ptrdiff_t)column * l->p->out_c + channel, lanes, sum);
}

/* 16 channels of one output column, any window. */
static void one_column(const dw_line *l, int32_t column, int32_t channel, __mmask16 lanes) {
    const nnacl_conv2d_params *p = l->p;
    const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
    const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c;
    __m512 sum = l->bias ? _mm512_maskz_loadu_ps(lanes, l->bias + channel) : _mm512_setzero_ps();
    for (int32_t ky = 0; ky < l->height; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            const ptrdiff_t ix = wide.origin + kx * p->dilation_w;
            const float *a = l->a + ky * row_step + ix * p->in_c + channel;
            const float *w = l->w + ((ptrdiff_t)ky * p->kernel_w + kx) * p->out_c + channel;
            sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, a), _mm512_maskz_loadu_ps(lanes, w), sum);
        }
    }
    store(l, column, channel, lanes, sum);
}

/* 16 channels of COLUMNS output columns whose windows are inside: each input is loaded once. */
NNACL_ALWAYS_INLINE void many_columns(const dw_line *l, int32_t column, int32_t channel, __mmask16 lanes,
                                      const int32_t kernel, const int32_t stride, const int32_t columns) {
    const nnacl_conv2d_params *p = l->p;
    const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, step = p->in_c, w_step = p->out_c;
    const float *a = l->a + ((ptrdiff_t)column * stride - p->pad_left) * step + channel;
    const float *w = l->w + channel;
    const __m512 start = l->bias ? _mm512_maskz_loadu_ps(lanes, l->bias + channel) : _mm512_setzero_ps();
    __m512 sums[COLUMNS];
#pragma GCC unroll 8
    for (int32_t c = 0; c < columns; c++) {
        sums[c] = start;
    }
    for (int32_t ky = 0; ky < l->height; ky++, a += row_step, w += kernel * w_step) {
        __m512 weights[5];
#pragma GCC unroll 5
        for (int32_t kx = 0; kx < kernel; kx++) {
            weights[kx] = _mm512_maskz_loadu_ps(lanes, w + kx * w_step);
        }
        const float *at = a;
#pragma GCC unroll 19
        for (int32_t i = 0; i < (columns - 1) * stride + kernel; i++, at += step) {
            const __m512 input = _mm512_maskz_loadu_ps(lanes, at);
#pragma GCC unroll 5
            for (int32_t kx = 0; kx < kernel; kx++) {
                if (i >= kx && (i - kx) % stride == 0 && (i - kx) / stride < columns) {
                    sums[(i - kx) / stride] = _mm512_fmadd_ps(input, weights[kx], sums[(i - kx) / stride]);
                }
            }
        }
    }
#pragma GCC unroll 8
    for (int32_t c = 0; c < columns; c++) {
        store(l, column + c, channel, lanes, sums[c]);
    }
}

/* COLUMNS of them, or the half. */
NNACL_ALWAYS_INLINE int32_t some_columns(const dw_line *l, int32_t column, int32_t end, int32_t channel,
                                         __mmask16 lanes, const int32_t kernel, const int32_t stride) {
    if (column + COLUMNS <= end) {
        many_columns(l, column, channel, lanes, kernel, stride, COLUMNS);
        return COLUMNS;
    }
    many_columns(l, column, channel, lanes, kernel, stride, COLUMNS / 2);
    return COLUMNS / 2;
}

/* At least COLUMNS / 2 windows from `column` to `end` are inside; returns how many were computed. */
typedef int32_t (*columns_fn)(const dw_line *l, int32_t column, int32_t end, int32_t channel, __mmask16 lanes);

static int32_t many_3_1(const dw_line *l, int32_t column, int32_t end, int32_t channel, __mmask16 lanes) {
    return some_columns(l, column, end, channel, lanes, 3, 1);
}

static int32_t many_3_2(const dw_line *l, int32_t column, int32_t end, int32_t channel, __mmask16 lanes) {
    return some_columns(l, column, end, channel, lanes, 3, 2);
}

static int32_t many_5_1(const dw_line *l, int32_t column, int32_t end, int32_t channel, __mmask16 lanes) {
    return some_columns(l, column, end, channel, lanes, 5, 1);
}

static int32_t many_5_2(const dw_line *l, int32_t column, int32_t end, int32_t channel, __mmask16 lanes) {
    return some_columns(l, column, end, channel, lanes, 5, 2);
}

/* NULL where only one_column() will do. */
static columns_fn pick(const nnacl_conv2d_params *p) {
    if (p->dilation_w != 1 || p->stride_w > 2) {
        return NULL;
    }
    if (p->kernel_w == 3) {
        return p->stride_w == 1 ? many_3_1 : many_3_2;
    }
    if (p->kernel_w == 5) {
        return p->stride_w == 1 ? many_5_1 : many_5_2;
    }
    return NULL;
}

void nnacl_depthwise_conv2d_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                       void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const columns_fn many = pick(p);
    /* Columns begin .. end - 1 have their windows inside. */
    const int32_t begin = (p->pad_left + p->stride_w - 1) / p->stride_w;
    const int32_t room = p->in_w + p->pad_left - p->kernel_w;
    const int32_t whole = room < 0 ? 0 : room / p->stride_w + 1, end = whole < p->out_w ? whole : p->out_w;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const ptrdiff_t line = (ptrdiff_t)(row / p->out_h) * p->in_h + tall.origin + tall.begin * p->dilation_h;
        const dw_line l = {p,
                           (const float *)in[0] + line * p->in_w * p->in_c,
                           (const float *)in[1] + (ptrdiff_t)tall.begin * p->kernel_w * p->out_c,
                           tall.end - tall.begin,
                           (float *)out[0] + (ptrdiff_t)row * p->out_w * p->out_c,
                           p->has_bias ? in[2] : NULL};
        for (int32_t channel = 0; channel < p->out_c; channel += 16) {
            const __mmask16 lanes = nnacl_lanes_avx512(p->out_c - channel);
            for (int32_t column = 0; column < p->out_w;) {
                if (many && column >= begin && column + COLUMNS / 2 <= end) {
                    column += many(&l, column, end, channel, lanes);
                } else {
                    one_column(&l, column, channel, lanes);
                    column++;
                }
            }
        }
    }
}
