/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a channel that was packed as packed_pack.h says, for the DSP extension. */
#ifndef NNACL_PACKED_FINISH_DSP_H
#define NNACL_PACKED_FINISH_DSP_H

#include <arm_acle.h>

#include "common/finish_s8.h"
#include "common/requant.h"
#include "quant/packed_layer.h"

/* The result from a sum of products; `line` is the head of the channel. Along a line (shift not 0) it is not clamped.
 */
static inline int8_t nnacl_packed_finish(const nnacl_packed_layer *p, const int32_t *line, int32_t shift,
                                         int32_t channel, uint32_t sum) {
    const int32_t total = (int32_t)(sum + (uint32_t)line[0]);
    if (NNACL_NEEDS_EXACT && shift == 0) {
        return nnacl_finish_exact(total, line + 1, nnacl_channel_rounding(p->rounding, p->out_c, channel), p->y_zero,
                                  p->q_min, p->q_max);
    }
    return (int8_t)__ssat(((int32_t)(((int64_t)total * line[1]) >> 32) + line[2]) >> shift, 8);
}

#endif
