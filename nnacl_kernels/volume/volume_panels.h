/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of conv3d and conv_transpose in panels of 16 output channels. Portable: the plan half packs for any target.
 *
 * The output positions of a transposed convolution fall into classes by their residue modulo the stride, along each
 * axis; each class has kernel positions of its own. The panels of a group lie class by class, row by row of residues:
 * for each panel [kernel positions of the class][channels of the group][16]. conv3d has one class. */
#ifndef NNACL_VOLUME_PANELS_H
#define NNACL_VOLUME_PANELS_H

#include "common/panels.h"
#include "volume/volume.h"

/* Kernel positions along axis `i` of the class `residue`; with `below`, of all classes before it. */
static inline int32_t nnacl_class_taps(const nnacl_conv_nd_params *p, int32_t i, int32_t residue, bool below) {
    int32_t count = 0;
    for (int32_t k = 0; k < p->kernel[i]; k++) {
        const int32_t own = (int32_t)((int64_t)k * p->dilation[i] % p->stride[i]);
        count += below ? own < residue : own == residue;
    }
    return count;
}

/* The kernel positions of a class, and how many there are in all classes before it. */
typedef struct nnacl_volume_class {
    int32_t taps[3];
    int32_t before;
} nnacl_volume_class;

static inline nnacl_volume_class nnacl_volume_class_of(const nnacl_conv_nd_params *p, const int32_t *residue) {
    nnacl_volume_class c;
    for (int32_t i = 0; i < 3; i++) {
        c.taps[i] = nnacl_class_taps(p, i, residue[i], false);
    }
    c.before = nnacl_class_taps(p, 0, residue[0], true) * p->kernel[1] * p->kernel[2] +
               c.taps[0] * (nnacl_class_taps(p, 1, residue[1], true) * p->kernel[2] +
                            c.taps[1] * nnacl_class_taps(p, 2, residue[2], true));
    return c;
}

/* Floats of one group. */
static inline size_t nnacl_volume_group_size(const nnacl_conv_nd_params *p) {
    const size_t depth =
        (size_t)p->kernel[0] * (size_t)p->kernel[1] * (size_t)p->kernel[2] * (size_t)(p->in_c / p->groups);
    return (size_t)nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_F32) * NNACL_PANEL_F32 * depth;
}

/* Packs the rows of one kernel position: `rows` of `width` weights each, `step` apart; panels lie panel_size apart. */
static inline void nnacl_volume_pack_tap(const float *weights, int32_t rows, int32_t width, ptrdiff_t step,
                                         float *packed, ptrdiff_t panel_size) {
    for (int32_t panel = 0; panel < nnacl_panel_count(width, NNACL_PANEL_F32); panel++) {
        float *to = packed + panel * panel_size;
        for (int32_t row = 0; row < rows; row++) {
            for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
                const int32_t column = panel * NNACL_PANEL_F32 + c;
                *to++ = column < width ? weights[row * step + column] : 0.0f;
            }
        }
    }
}

#endif
