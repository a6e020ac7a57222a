/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of the kernel window lies inside the input, for one output position along one axis. */
#ifndef NNACL_WINDOW_H
#define NNACL_WINDOW_H

#include "nnacl_base.h"

typedef struct nnacl_window {
    int32_t origin;     /* input position of kernel position 0; may lie in the padding */
    int32_t begin, end; /* kernel positions begin .. end - 1 are inside */
} nnacl_window;

static inline nnacl_window nnacl_window_at(int32_t position, int32_t stride, int32_t pad, int32_t dilation,
                                           int32_t kernel, int32_t size) {
    nnacl_window window;
    window.origin = position * stride - pad;
    window.begin = window.origin < 0 ? (-window.origin + dilation - 1) / dilation : 0;
    const int32_t room = size - window.origin; /* the kernel spans (end - 1) * dilation + 1 of it */
    window.end = room <= 0 ? 0 : (room - 1) / dilation + 1;
    window.end = window.end < kernel ? window.end : kernel;
    window.begin = window.begin < window.end ? window.begin : window.end;
    return window;
}

#endif
