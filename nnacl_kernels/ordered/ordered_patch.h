/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NNACL_ORDERED_PATCH_H
#define NNACL_ORDERED_PATCH_H

#include "ordered/ordered.h"

/* What the windows of one group read, in the order of the weights. */
void nnacl_ordered_patch(const nnacl_conv2d_ordered_params *p, const float *image, int32_t row, int32_t column,
                         int32_t channel, float *patch);

#endif
