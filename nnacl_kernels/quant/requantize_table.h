/* SPDX-License-Identifier: Apache-2.0 */
/* When requantize looks bytes up instead of computing each: what the plan half and the kernel have to agree on. */
#ifndef NNACL_REQUANTIZE_TABLE_H
#define NNACL_REQUANTIZE_TABLE_H

#include <stdbool.h>

#include "common/requant.h"
#include "quant/quant.h"

/* Elements of a part of the work from which the table's 256 entries pay. */
#define NNACL_REQUANTIZE_MANY 1024

/* Whether there may be parts that use a table of 256 bytes in the workspace. */
static inline bool nnacl_requantize_by_table(const nnacl_requantize_params *p) {
    const int32_t count = p->count; /* a generated struct may have a field that is too narrow to compare */
    return count >= NNACL_REQUANTIZE_MANY && (p->from == NNACL_S8 || p->from == NNACL_U8) &&
           (p->to == NNACL_S8 || p->to == NNACL_U8);
}

static inline int32_t nnacl_requantized(const nnacl_requantize_params *p, int32_t x) {
    int32_t y;
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        y = nnacl_requant_float(x - p->x_zero, p->scale, p->y_zero, p->q_min, p->q_max);
    } else {
        y = nnacl_add_saturate(nnacl_requant(x - p->x_zero, p->mult, p->shift, p->rounding), p->y_zero);
    }
    return nnacl_clamp_s32(y, p->q_min, p->q_max);
}

/* The result of each byte. */
static inline void nnacl_requantize_fill(const nnacl_requantize_params *p, uint8_t table[256]) {
    for (int32_t byte = 0; byte < 256; byte++) {
        table[byte] = (uint8_t)nnacl_requantized(p, p->from == NNACL_S8 ? (int8_t)byte : byte);
    }
}

#endif
