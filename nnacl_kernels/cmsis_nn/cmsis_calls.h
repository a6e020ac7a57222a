/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of Arm's CMSIS-NN (7.0.0 or later, https://github.com/ARM-software/CMSIS-NN) in place of our kernels.
 *
 * Only generated projects have them, which compile them against the library that the user has. Which layers they serve
 * and what buffers CMSIS-NN wants on which core is decided at generation. */
#ifndef NNACL_CMSIS_CALLS_H
#define NNACL_CMSIS_CALLS_H

#include "nnacl_base.h"

typedef struct nnacl_cmsis_quant {
    int32_t *multipliers, *shifts;
} nnacl_cmsis_quant;

/* Constants as CMSIS-NN takes them: it reads them only, but its structs do not say so. */
static inline void *nnacl_cmsis_unlocked(const void *data) {
    union {
        const void *constant;
        void *plain;
    } pointer;

    pointer.constant = data;
    return pointer.plain;
}

/* `requant` of conv.h for `channels` channels. */
static inline nnacl_cmsis_quant nnacl_cmsis_quant_of(const void *requant, int32_t channels) {
    int32_t *multipliers = nnacl_cmsis_unlocked(requant);
    const nnacl_cmsis_quant quant = {multipliers, multipliers + channels};
    return quant;
}

#endif
