/* SPDX-License-Identifier: Apache-2.0 */
/* When requantize looks bytes up instead of computing each: what the plan half and the kernel have to agree on. */
#ifndef NNACL_REQUANTIZE_TABLE_H
#define NNACL_REQUANTIZE_TABLE_H

#include <stdbool.h>

#include "quant/quant.h"

/* Elements of a part of the work from which the table's 256 entries pay. */
#define NNACL_REQUANTIZE_MANY 1024

/* Whether there may be parts that use a table of 256 bytes in the workspace. */
static inline bool nnacl_requantize_by_table(const nnacl_requantize_params *p) {
    const int32_t count = p->count; /* a generated struct may have a field that is too narrow to compare */
    return count >= NNACL_REQUANTIZE_MANY && (p->from == NNACL_S8 || p->from == NNACL_U8) &&
           (p->to == NNACL_S8 || p->to == NNACL_U8);
}

#endif
