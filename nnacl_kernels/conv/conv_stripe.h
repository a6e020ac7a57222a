/* SPDX-License-Identifier: Apache-2.0 */
/* Some rows of a convolution alone: nnacl_op.stripe of conv2d and depthwise_conv2d. */
#ifndef NNACL_CONV_STRIPE_H
#define NNACL_CONV_STRIPE_H

#include "nnacl_kernels.h"

bool nnacl_conv_stripe(const void *params, const nnacl_kernel *kernel, int32_t begin, int32_t end, void *part,
                       int32_t rows[2]);

#endif
