/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"

int16_t nnacl_finish_exact_s16(const nnacl_ends_s16 *ends, int64_t sum, int32_t channel) {
    return nnacl_finish_s16(sum, ends->has_bias, ends->requant, ends->channels, channel, ends->rounding, ends->zero,
                            ends->q_min, ends->q_max);
}
