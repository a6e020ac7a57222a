/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution of 3 x 3 taps with stride 1 (Lavin and Gray 2015, arXiv 1509.09308): an output of unit x unit
 * is made of a window of size x size by size^2 multiplications for each channel instead of 9 unit^2. Portable: the plan
 * half chooses the unit, says what memory it takes, and packs the weights.
 *
 * Units are 2, by the points 0 1 -1, and 4, by 0 3/4 -3/4 3/2 -3/2 (and infinity in both): with these all factors are
 * exact numbers, and the error is about a third of that with the usual 1 -1 2 -2.
 */
#ifndef NNACL_WINOGRAD_H
#define NNACL_WINOGRAD_H

#include "common/panels.h"
#include "conv/conv.h"

/* Products of a window at most. */
#define NNACL_WINOGRAD_POINTS 36
/* Panels of output channels that are computed together. */
#define NNACL_WINOGRAD_PANELS 3

typedef struct nnacl_winograd {
    int32_t unit;             /* 2 or 4; 0: a direct convolution is better */
    int32_t size, points;     /* unit + 2, its square */
    int32_t high, wide;       /* tiles of an image */
    int32_t tiles;            /* of the batch */
    int32_t block, blocks;    /* tiles that are computed together; blocks of them */
    int32_t panels;           /* of output channels */
    ptrdiff_t v_step, m_step; /* floats from one point to the next, of the windows and of the products */
} nnacl_winograd;

/* `rows`: of a tile of the matrix product; `lanes` floats in a vector. */
nnacl_winograd nnacl_winograd_of(const nnacl_conv2d_params *p, int32_t rows, int32_t lanes);

/* Bytes of the transformed windows and products of a block, and one window in between. */
size_t nnacl_winograd_workspace(const nnacl_winograd *w);

/* Weights as [points][panels][in_c][16]. */
size_t nnacl_winograd_packed_size(const nnacl_conv2d_params *p, const nnacl_winograd *w);
void nnacl_winograd_pack(const nnacl_conv2d_params *p, const nnacl_winograd *w, const float *weights, float *packed);

/* Where the work is split: by blocks, or by panels if there is one block. */
static inline int32_t nnacl_winograd_parts(const nnacl_winograd *w) {
    return w->blocks > 1 ? w->blocks : nnacl_panel_count(w->panels, NNACL_WINOGRAD_PANELS);
}

#endif
