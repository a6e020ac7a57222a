/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_pack.h"

#include "common/gemm_pack.h"
#include "nnacl_kernels.h"
#include "quant/packed_columns.h"

size_t nnacl_packed_lines_size(const nnacl_packed_layer *p, int32_t depth, int32_t index) {
    const size_t words = (size_t)nnacl_packed_words(p->bits, depth) + NNACL_PACKED_HEAD;
    return index == 1 ? sizeof(int32_t) * (1 + (size_t)p->out_c * words) : NNACL_PACKED_ELSEWHERE;
}

/* The line of a channel, whose kernels add products with the inputs less their zero point; false when there is none.
 * With shift 0 what the exact requantization needs. */
static bool line_of(const nnacl_packed_layer *p, int32_t depth, const void *const in[], int32_t channel, int32_t shift,
                    nnacl_line *line) {
    const uint8_t *row = (const uint8_t *)in[1] + (ptrdiff_t)channel * nnacl_packed_stride(p->bits, depth);
    const int32_t *bias = p->has_bias ? in[2] : NULL, *rows = in[3];
    const int32_t offset = nnacl_packed_offset(p->offset, p->step), step = nnacl_packed_step(p->step);
    const int32_t fixed = bias ? bias[channel] : 0, each = 8 / p->bits;
    if (shift == 0) {
        line->start = fixed;
        line->multiplier = rows[channel];
        line->offset = p->rounding == NNACL_ROUND_FLOAT_EVEN ? 0 : rows[p->out_c + channel];
        return true;
    }
    nnacl_line_range range = {fixed, fixed};
    for (int32_t i = 0; i < depth; i++) {
        const int64_t w = offset + step * (row[i / each] >> i % each * p->bits & ((1 << p->bits) - 1));
        const int64_t least = w * (-128 - p->x_zero), most = w * (127 - p->x_zero);
        range.low += least < most ? least : most;
        range.high += least < most ? most : least;
    }
    const nnacl_line_channel one = {in[3], p->out_c, channel, p->rounding, p->y_zero, p->q_min, p->q_max};
    const bool found = nnacl_line_fit(&one, range, shift, line);
    line->start = (int32_t)((uint32_t)line->start + (uint32_t)fixed);
    return found;
}

/* A shift with which every channel has a line, or 0. */
static int32_t shift_of(const nnacl_packed_layer *p, int32_t depth, const void *const in[]) {
    static const int32_t shifts[] = NNACL_LINE_SHIFTS;
    for (int32_t i = 0; i < NNACL_LINE_SHIFT_COUNT; i++) {
        int32_t channel = 0;
        nnacl_line line = {0, 0, 0};
        while (channel < p->out_c && line_of(p, depth, in, channel, shifts[i], &line)) {
            channel++;
        }
        if (channel == p->out_c) {
            return shifts[i];
        }
    }
    return 0;
}

void nnacl_packed_lines_pack(const nnacl_packed_layer *p, int32_t depth, const void *const in[], void *packed) {
    const int32_t shift = shift_of(p, depth, in), stride = nnacl_packed_stride(p->bits, depth);
    const int32_t whole = 4 * nnacl_packed_words(p->bits, depth);
    char *to = nnacl_put_s32(packed, shift);
    for (int32_t channel = 0; channel < p->out_c; channel++) {
        nnacl_line line = {0, 0, 0};
        line_of(p, depth, in, channel, shift, &line);
        to = nnacl_put_s32(nnacl_put_s32(nnacl_put_s32(to, line.start), line.multiplier), line.offset);
        memcpy(to, (const char *)in[1] + (ptrdiff_t)channel * stride, (size_t)stride);
        memset(to + stride, 0, (size_t)(whole - stride));
        to += whole;
    }
}
