/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_lut_s8_dsp);

/* Four bytes at a time, loaded and stored as a word. */
void nnacl_lut_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lut_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    const int8_t *x = (const int8_t *)in[0] + share.begin;
    const uint8_t *table = in[1];
    int8_t *y = (int8_t *)out[0] + share.begin;
    int32_t left = share.end - share.begin;
    for (; left >= 4; left -= 4, x += 4, y += 4) {
        uint32_t word;
        memcpy(&word, x, sizeof word);
        word ^= 0x80808080u;
        const uint32_t low = table[word & 0xff] | (uint32_t)table[word >> 8 & 0xff] << 8;
        word = low | (uint32_t)table[word >> 16 & 0xff] << 16 | (uint32_t)table[word >> 24] << 24;
        memcpy(y, &word, sizeof word);
    }
    for (; left > 0; left--) {
        *y++ = (int8_t)table[128 + *x++];
    }
}
