/* SPDX-License-Identifier: Apache-2.0 */
/* The window of one output position of a pool. */
#ifndef NNACL_POOL_WINDOW_H
#define NNACL_POOL_WINDOW_H

#include "common/window.h"
#include "pool/pool.h"

/* kernel_h or kernel_w, 0 standing for the whole axis. */
static inline int32_t nnacl_pool_kernel(int32_t kernel, int32_t size) {
    return kernel > 0 ? kernel : size;
}

static inline nnacl_window nnacl_pool_rows(const nnacl_pool2d_params *p, int32_t out_y) {
    return nnacl_window_at(out_y, p->stride_h, p->pad_top, p->dilation_h, nnacl_pool_kernel(p->kernel_h, p->in_h),
                           p->in_h);
}

static inline nnacl_window nnacl_pool_columns(const nnacl_pool2d_params *p, int32_t out_x) {
    return nnacl_window_at(out_x, p->stride_w, p->pad_left, p->dilation_w, nnacl_pool_kernel(p->kernel_w, p->in_w),
                           p->in_w);
}

/* Positions of the window that are in the input, `inside`, or also those in the explicit padding when these count. */
static inline int32_t nnacl_pool_divisor(const nnacl_pool2d_params *p, int32_t out_y, int32_t out_x, int32_t inside) {
    if (!p->count_include_pad) {
        return inside;
    }
    const nnacl_window rows =
        nnacl_window_at(out_y, p->stride_h, 0, p->dilation_h, nnacl_pool_kernel(p->kernel_h, p->in_h),
                        p->pad_top + p->in_h + p->pad_bottom);
    const nnacl_window columns =
        nnacl_window_at(out_x, p->stride_w, 0, p->dilation_w, nnacl_pool_kernel(p->kernel_w, p->in_w),
                        p->pad_left + p->in_w + p->pad_right);
    return (rows.end - rows.begin) * (columns.end - columns.begin);
}

#endif
