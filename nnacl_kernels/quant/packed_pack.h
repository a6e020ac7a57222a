/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 1, 2 or 4 bits as the kernels for the DSP extension read them: the shift of the lines (0: there are none),
 * then for each channel its line, or multiplier and shift of the exact requantization (common/requant_line.h), and its
 * codes as they are in the file, filled up to whole words. Bias and requant are in the lines. */
#ifndef NNACL_PACKED_PACK_H
#define NNACL_PACKED_PACK_H

#include "quant/packed_layer.h"

/* Bytes of the constant input `index`; `depth` codes for each channel. */
size_t nnacl_packed_lines_size(const nnacl_packed_layer *p, int32_t depth, int32_t index);
void nnacl_packed_lines_pack(const nnacl_packed_layer *p, int32_t depth, const void *const in[], void *packed);

#endif
