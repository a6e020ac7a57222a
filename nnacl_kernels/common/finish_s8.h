/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of the integer kernels for small machines that are not in their inner loops. */
#ifndef NNACL_FINISH_S8_H
#define NNACL_FINISH_S8_H

#include "nnacl_base.h"

/* The first word of packed weights (requant_line.h): the shift of the lines, or 0 when no channel has one; and whether
 * there are channels without among those with. */
#define NNACL_LINE_SHIFT 0xff
#define NNACL_LINES_MIXED 0x100
#define NNACL_SHIFT_OF(word) (NNACL_NEEDS_EXACT ? (word)&NNACL_LINE_SHIFT : (word))
/* The shift of compact lines (compact_lines.h), and the lowest four bits of their first word. */
#define NNACL_COMPACT_SHIFT 12
#define NNACL_IS_COMPACT(word) (((word)&15) == NNACL_COMPACT_SHIFT)
/* In the multiplier of a channel without a line, among those with. */
#define NNACL_LINE_EXACT INT32_MIN

/* The exact requantization of an accumulator. `requant`: multiplier and shift, or the scale of float-even. */
int8_t nnacl_finish_exact(int32_t sum, const int32_t *requant, int32_t rounding, int32_t zero, int32_t q_min,
                          int32_t q_max);

/* Clamps bytes in place; returns at once when the range is that of the type. */
void nnacl_clamp_bytes(int8_t *y, int32_t count, int32_t q_min, int32_t q_max);

#endif
