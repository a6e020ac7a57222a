/* SPDX-License-Identifier: Apache-2.0 */
/* The depth of conv2d in runs. */
#ifndef NNACL_CONV_RUNS_H
#define NNACL_CONV_RUNS_H

#include "common/runs.h"
#include "conv/conv.h"

/* Neighbours in a kernel row are neighbours in the input too, unless it is dilated. */
static inline nnacl_runs nnacl_conv2d_runs(const nnacl_conv2d_params *p) {
    const bool whole_rows = p->dilation_w == 1;
    const nnacl_runs runs = {whole_rows ? p->kernel_h : p->kernel_h * p->kernel_w,
                             whole_rows ? p->kernel_w * p->in_c : p->in_c};
    return runs;
}

/* The same for kernels that take 16 elements at once: runs that are no multiple of that are copied together. */
static inline nnacl_runs nnacl_conv2d_chunked_runs(const nnacl_conv2d_params *p) {
    const nnacl_runs runs = nnacl_conv2d_runs(p), joined = {1, runs.count * runs.length};
    return runs.length % 16 == 0 ? runs : joined;
}

#endif
