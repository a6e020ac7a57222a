/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels have to be able to do. In the library everything. A generated project has a copy of this file that names
 * what its layers need, so that the compiler leaves out the rest. */
#ifndef NNACL_NEEDS_H
#define NNACL_NEEDS_H

enum {
    /* to do one part of the work of several */
    NNACL_NEEDS_PARTS = 1,
    /* to requantize sums for which there is no line (common/requant_line.h) */
    NNACL_NEEDS_EXACT = 1,
    /* to read lines in whole words, and compact ones (common/compact_lines.h) */
    NNACL_NEEDS_WIDE = 1,
    NNACL_NEEDS_COMPACT = 1,
    /* to sweep in depthwise convolutions of s8 with the DSP extension (conv/depthwise_axes.h), and not to */
    NNACL_NEEDS_SWEEP = 1,
    NNACL_NEEDS_TAPS = 1,
    /* to multiply by weights of s8 whose zero point is not 0 */
    NNACL_NEEDS_W_ZERO = 1,
    /* to read the table of a quantized softmax as products (softmax/softmax_s8.h), or powers in its place */
    NNACL_NEEDS_PACKED_EXP = 0,
    NNACL_NEEDS_EXP_POWERS = 0,
    /* bit i: to round by the rounding contract i of nnacl_base.h */
    NNACL_NEEDS_ROUNDINGS = 0x3f,
    /* bit i: to read weights of i bits */
    NNACL_NEEDS_BITS = 0x16,
};

#endif
