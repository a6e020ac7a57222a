/* SPDX-License-Identifier: Apache-2.0 */
/* The places of conv2d_compressed for one output channel, whose weights are decoded. Whoever includes this defines
 * before the types `element` (of the input), `weight` and `total`, and PRODUCT(x, w), which may use `p`. */
#ifndef NNACL_COMPRESSED_PLACES_H
#define NNACL_COMPRESSED_PLACES_H

#include "common/window.h"
#include "quant/quant.h"

#ifndef PRODUCT
typedef float element;
typedef float weight;
typedef float total;
#define PRODUCT(x, w) ((x) * (w))
#endif

/* The sum of products at one place; `image` is a batch entry from its first channel of the group on. */
static total sum_at(const nnacl_conv2d_compressed_params *p, const element *image, const weight *decoded,
                    const nnacl_window *tall, const nnacl_window *wide) {
    const int32_t depth = p->in_c / p->groups;
    total sum = 0;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            const int32_t ix = wide->origin + kx * p->dilation_w;
            const element *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c;
            const weight *w = decoded + (ptrdiff_t)(ky * p->kernel_w + kx) * depth;
            for (int32_t i = 0; i < depth; i++) {
                sum += PRODUCT(a[i], w[i]);
            }
        }
    }
    return sum;
}

/* The same for four neighbours in a row of outputs, whose windows have all columns in the input; `left` is where the
 * first one begins. */
static void four_sums_at(const nnacl_conv2d_compressed_params *p, const element *image, const weight *decoded,
                         const nnacl_window *tall, int32_t left, total sums[4]) {
    const int32_t depth = p->in_c / p->groups, step = p->stride_w * p->in_c;
    total s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const int32_t iy = tall->origin + ky * p->dilation_h;
        const weight *w = decoded + (ptrdiff_t)ky * p->kernel_w * depth;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const element *a = image + ((ptrdiff_t)iy * p->in_w + left + kx * p->dilation_w) * p->in_c;
            const element *b = a + step, *c = b + step, *d = c + step;
            for (int32_t i = 0; i < depth; i++) {
                const weight next = *w++;
                s0 += PRODUCT(a[i], next);
                s1 += PRODUCT(b[i], next);
                s2 += PRODUCT(c[i], next);
                s3 += PRODUCT(d[i], next);
            }
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The sums at one place, or at four neighbours in a row where their windows have all columns in the input, from
 * `column` on; their number. */
static inline int32_t sums_from(const nnacl_conv2d_compressed_params *p, const element *image, const weight *decoded,
                                const nnacl_window *tall, int32_t column, total sums[4]) {
    /* What the windows of four neighbours reach over. */
    const int64_t reach = 3 * (int64_t)p->stride_w + (int64_t)(p->kernel_w - 1) * p->dilation_w + 1;
    const int32_t left = column * p->stride_w - p->pad_left;
    if (column + 4 <= p->out_w && left >= 0 && left + reach <= p->in_w) {
        four_sums_at(p, image, decoded, tall, left, sums);
        return 4;
    }
    const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
    sums[0] = sum_at(p, image, decoded, tall, &wide);
    return 1;
}

#endif
