/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/conv_pack.h"

#include "common/gemm_pack.h"
#include "common/gemm_s8_dsp.h"
#include "common/multiply_f16_mve.h"
#include "common/pairs_s16.h"
#include "common/panels.h"
#include "conv/conv_few.h"
#include "conv/conv_lines.h"
#include "conv/conv_runs.h"
#include "conv/depthwise_3x3_dsp.h"
#include "conv/depthwise_axes.h"
#include "conv/depthwise_quads.h"
#include "nnacl_kernels.h"

bool nnacl_conv2d_accepts_few(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->in_c <= 4 && p->groups == 1 && p->dilation_h == 1 && p->dilation_w == 1 && p->out_w >= 4 &&
           p->kernel_h * p->kernel_w > 1 && nnacl_conv_few_line(p) * (size_t)p->kernel_h <= 1 << 16;
}

bool nnacl_conv2d_accepts_lines(const void *params) {
    const nnacl_conv2d_params *p = params;
    if (p->w_zero != 0 || p->has_w_zeros != 0 || p->groups != 1 || p->dilation_h != 1 || p->dilation_w != 1 ||
        p->kernel_h * p->kernel_w == 1 || p->out_w > 1 << 16 || p->out_w < nnacl_lines_columns(p)) {
        return false;
    }
    const size_t lines = nnacl_lines_workspace(p);
    return p->in_c <= 4 ? lines <= 1 << 16 : lines <= 1 << 17 && 7 * nnacl_lines_width(p) <= 8 * p->out_w;
}

void nnacl_conv_lines_pack(const nnacl_conv2d_params *p, const int8_t *weights, int8_t *packed) {
    const int32_t run = p->kernel_w * p->in_c, quads = nnacl_lines_quads(p), depth = p->kernel_h * run;
    memset(packed, 0, (size_t)nnacl_panel_count(p->out_c, 16) * (size_t)nnacl_lines_panel(p));
    for (int32_t column = 0; column < p->out_c; column++) {
        int8_t *panel = packed + (ptrdiff_t)(column / 16) * nnacl_lines_panel(p);
        int32_t sum = 0;
        for (int32_t i = 0; i < depth; i++) {
            const int32_t ky = i / run, at = i - ky * run;
            const int8_t weight = weights[(ptrdiff_t)column * depth + i];
            panel[64 + (ky * quads + at / 4) * 64 + column % 16 * 4 + at % 4] = weight;
            sum += weight;
        }
        const int32_t start = -(128 + p->x_zero) * sum;
        memcpy(panel + column % 16 * 4, &start, sizeof start);
    }
}

/* Whether there may be compact lines (compact_lines.h). */
static bool accepts_compact(const nnacl_conv2d_params *p) {
    return p->w_zero == 0 && p->has_w_zeros == 0 && p->rounding != NNACL_ROUND_FLOAT_EVEN;
}

bool nnacl_conv2d_accepts_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->groups == 1 && p->has_w_zeros == 0 && p->out_c >= 2;
}

bool nnacl_conv2d_accepts_compact_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return accepts_compact(p) && nnacl_conv2d_runs(p).length <= NNACL_MOST_HIGH_DSP && nnacl_conv2d_accepts_dsp(params);
}

bool nnacl_conv2d_accepts_s16_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->x_zero == 0 && p->w_zero == 0 && nnacl_conv2d_accepts_dsp(params);
}

bool nnacl_conv2d_accepts_s16_mve(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->groups == 1 && p->x_zero == 0 && p->w_zero == 0 && p->has_w_zeros == 0;
}

/* Sums of so many products fit 32 bits. */
#define MOST_TAPS_S16 511

static bool accepts_s16(const nnacl_conv2d_params *p, int32_t channels) {
    return p->out_c == p->in_c && p->out_c >= channels && p->x_zero == 0 && p->w_zero == 0 && p->has_w_zeros == 0 &&
           p->kernel_h <= MOST_TAPS_S16 && p->kernel_w <= MOST_TAPS_S16 && p->kernel_h * p->kernel_w <= MOST_TAPS_S16;
}

bool nnacl_depthwise_accepts_s16_dsp(const void *params) {
    return accepts_s16(params, 4);
}

bool nnacl_depthwise_accepts_s16_mve(const void *params) {
    return accepts_s16(params, 8);
}

/* Kernel rows are runs whatever their dilation. */
static nnacl_runs kernel_rows(const nnacl_conv2d_params *p) {
    return (nnacl_runs){p->kernel_h, p->kernel_w * p->in_c};
}

/* Copies of two windows. */
size_t nnacl_conv2d_s16_dsp_workspace(const nnacl_conv2d_params *p) {
    return 8 * (size_t)p->kernel_h * (size_t)nnacl_pair_units(p->kernel_w * p->in_c);
}

size_t nnacl_conv2d_s16_dsp_packed_size(const nnacl_conv2d_params *p, int32_t index) {
    return index == 1 ? nnacl_pairs_s16_size(p->out_c, kernel_rows(p)) : 0;
}

void nnacl_conv2d_s16_dsp_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed) {
    nnacl_pack_pairs_s16(in[1], p->out_c, kernel_rows(p), packed);
}

/* A panel of four positions, a run of zero points, and for each position a run that is partly in the padding. Before
 * them the lines of all channels, if they were compact. */
size_t nnacl_conv2d_dsp_workspace(const nnacl_conv2d_params *p, bool compact) {
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    return (size_t)(nnacl_runs_units(runs) + nnacl_zero_units(p->w_zero, runs)) * 16 +
           ((size_t)runs.length + 3) / 4 * 20 + (compact ? (size_t)p->out_c * 12 : 0);
}

size_t nnacl_conv2d_dsp_packed_size(const nnacl_conv2d_params *p, int32_t index) {
    return index == 1 ? nnacl_gemm_packed_size(p->out_c, p->w_zero, nnacl_conv2d_runs(p)) : NNACL_PACKED_ELSEWHERE;
}

static nnacl_line_layer conv2d_layer(const nnacl_conv2d_params *p, const void *const in[]) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    const nnacl_line_layer layer = {.weights = in[1],
                                    .channel_step = depth,
                                    .element_step = 1,
                                    .depth = depth,
                                    .channels = p->out_c,
                                    .w_zero = p->w_zero,
                                    NNACL_LINES_SAME(p, in)};
    return layer;
}

void nnacl_conv2d_dsp_pack(const nnacl_conv2d_params *p, bool compact, const void *const in[], void *packed) {
    const nnacl_line_layer layer = conv2d_layer(p, in);
    if (compact) {
        nnacl_gemm_pack_compact(&layer, nnacl_conv2d_runs(p), packed, nnacl_conv2d_dsp_packed_size(p, 1));
    } else {
        nnacl_gemm_pack(&layer, nnacl_conv2d_runs(p), packed);
    }
}

bool nnacl_conv2d_accepts_vfp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->groups == 1 && (p->dilation_w == 1 || p->kernel_h == 1);
}

bool nnacl_depthwise_accepts_f32_mve(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->out_c == p->in_c;
}

bool nnacl_depthwise_accepts_f16_mve(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->out_c == p->in_c && p->kernel_h <= NNACL_HALVES_MVE && p->kernel_w <= NNACL_HALVES_MVE &&
           p->kernel_h * p->kernel_w <= NNACL_HALVES_MVE;
}

bool nnacl_depthwise_accepts_vfp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->out_c == p->in_c && p->in_c >= 8;
}

bool nnacl_conv2d_accepts_mve(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->groups == 1 && p->has_w_zeros == 0;
}

/* Where the runs of two positions are, a run of zero points, and room for the runs of both. */
size_t nnacl_conv2d_mve_workspace(const nnacl_conv2d_params *p) {
    const nnacl_runs runs = nnacl_conv2d_runs(p), chunked = nnacl_conv2d_chunked_runs(p);
    return (size_t)chunked.count * 8 + (size_t)runs.length * (1 + 2 * (size_t)runs.count);
}

size_t nnacl_conv2d_mve_packed_size(const nnacl_conv2d_params *p, int32_t index) {
    return index == 1 ? nnacl_gemm_groups_size(p->out_c, nnacl_conv2d_chunked_runs(p)) : NNACL_PACKED_ELSEWHERE;
}

void nnacl_conv2d_mve_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed) {
    const nnacl_line_layer layer = conv2d_layer(p, in);
    nnacl_gemm_groups_pack(&layer, nnacl_conv2d_chunked_runs(p), packed);
}

bool nnacl_depthwise_sweeps(const nnacl_conv2d_params *p, uint32_t isa) {
    return nnacl_depthwise_axes_of(p).possible && (isa != NNACL_ISA_MVE || p->w_zero == 0);
}

/* So many weights of a channel add up to 16 bits. */
#define MOST_SUMMED 255

bool nnacl_depthwise_accepts_compact_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return accepts_compact(p) && p->kernel_h <= MOST_SUMMED && p->kernel_w <= MOST_SUMMED &&
           p->kernel_h * p->kernel_w <= MOST_SUMMED && nnacl_depthwise_accepts_dsp(p);
}

bool nnacl_depthwise_accepts_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    const bool plain = p->out_c == p->in_c && p->in_c >= 4;
    return p->has_w_zeros == 0 && (plain || nnacl_depthwise_sweeps(p, NNACL_ISA_DSP));
}

/* Of eight channels at a time, whose places in the ring are numbers of 16 bits. */
bool nnacl_depthwise_accepts_mve(const void *params) {
    const nnacl_conv2d_params *p = params;
    const bool plain = p->out_c == p->in_c && p->in_c >= 8;
    return p->has_w_zeros == 0 &&
           (nnacl_depthwise_sweeps(p, NNACL_ISA_MVE) ? nnacl_depthwise_axes_of(p).sweep.out < 1000 : plain);
}

/* With 3 x 3 taps weights, lines that were compact, and rings of some channels; else a table of taps, a pixel of zero
 * points, and the lines of all groups that were compact. */
size_t nnacl_depthwise_small_workspace(const nnacl_conv2d_params *p, uint32_t isa, bool compact) {
    const nnacl_depthwise_axes axes = nnacl_depthwise_axes_of(p);
    const size_t multiplier = (size_t)(p->out_c / p->in_c);
    if (!nnacl_depthwise_sweeps(p, isa)) {
        const size_t table = (size_t)(p->kernel_h * p->kernel_w) * sizeof(uint32_t) + (size_t)p->in_c;
        const size_t lines = (size_t)nnacl_channel_groups(p->in_c, 4) * NNACL_TAPS_LINES_DSP * sizeof(int32_t);
        return compact ? (table + 3) / 4 * 4 + lines : table;
    }
    if (isa == NNACL_ISA_MVE) {
        return NNACL_SWEEP_CHANNELS_MVE *
               (multiplier * NNACL_SWEEP_WEIGHTS_MVE + (size_t)nnacl_sweep_plane_mve(&axes.sweep));
    }
    const size_t plane = NNACL_RING_ROWS * (size_t)nnacl_sweep_pairs(&axes.sweep, axes.sweep.out);
    const size_t channel = NNACL_SWEEP_WEIGHTS_DSP + (compact ? 3 : 0);
    return NNACL_SWEEP_CHANNELS_DSP * (multiplier * channel + plane) * sizeof(uint32_t);
}

/* Channels in a group where the kernel does not sweep. */
static int32_t group_width(uint32_t isa) {
    return isa == NNACL_ISA_MVE ? 8 : 4;
}

/* Bytes of a weight there. */
static int32_t tap_size(const nnacl_conv2d_params *p) {
    return p->w_zero ? 2 : 1;
}

/* The shift of the lines, and then: with 3 x 3 taps for each output channel start, multiplier and offset, and for each
 * the taps, along the ring and then along the sweep; else groups as depthwise_3x3_dsp.h and depthwise_3x3_mve.h want
 * them. */
size_t nnacl_depthwise_small_packed_size(const nnacl_conv2d_params *p, uint32_t isa, int32_t index) {
    const size_t taps = (size_t)p->kernel_h * (size_t)p->kernel_w, width = (size_t)group_width(isa);
    if (index != 1) {
        return NNACL_PACKED_ELSEWHERE;
    }
    return nnacl_depthwise_sweeps(p, isa)
               ? (4 + (size_t)p->out_c * (12 + taps) + 3) / 4 * 4
               : 4 + (size_t)nnacl_channel_groups(p->out_c, (int32_t)width) * width * (12 + taps * (size_t)tap_size(p));
}

static void put_3x3(const nnacl_line_layer *layer, bool swapped, char *to) {
    for (int32_t channel = 0; channel < layer->channels; channel++) {
        for (int32_t i = 0; i < 9; i++) {
            const int32_t tap = swapped ? i % 3 * 3 + i / 3 : i;
            *to++ = (char)layer->weights[(ptrdiff_t)tap * layer->channels + channel];
        }
    }
}

static void pack_3x3(const nnacl_line_layer *layer, int32_t shift, bool swapped, char *to) {
    for (int32_t channel = 0; channel < layer->channels; channel++) {
        nnacl_line line;
        nnacl_lines_of_channels(layer, &channel, 1, shift, &line);
        to = nnacl_put_s32(nnacl_put_s32(nnacl_put_s32(to, line.start), line.multiplier), line.offset);
    }
    put_3x3(layer, swapped, to);
}

/* The weights of a tap: bytes, or with a zero point what is left of them without it, in 16 bits, of four channels the
 * even ones before the odd ones. */
static char *put_tap(const nnacl_line_layer *layer, const int8_t *weights, int32_t width, char *to) {
    for (int32_t i = 0; i < width; i++) {
        if (!layer->w_zero) {
            *to++ = (char)weights[i];
            continue;
        }
        const int16_t rest = (int16_t)(weights[width == 4 ? i % 2 * 2 + i / 2 : i] - layer->w_zero);
        memcpy(to, &rest, sizeof rest);
        to += sizeof rest;
    }
    return to;
}

/* Eight channels that are finished together: the even ones before the odd ones. */
static void find_channels(int32_t first, int32_t width, int32_t channels[8]) {
    for (int32_t i = 0; i < width; i++) {
        channels[i] = first + (width == 8 ? i % 4 * 2 + i / 4 : i);
    }
}

/* The weights of a group. */
static char *put_taps(const nnacl_line_layer *layer, int32_t first, int32_t width, char *to) {
    for (int32_t tap = 0; tap < layer->depth; tap++) {
        to = put_tap(layer, layer->weights + (ptrdiff_t)tap * layer->channels + first, width, to);
    }
    return to;
}

/* Groups of eight channels, for MVE: starts, weights, multipliers, offsets. */
static void pack_eights(const nnacl_line_layer *layer, int32_t shift, char *to) {
    for (int32_t group = 0; group < nnacl_channel_groups(layer->channels, 8); group++) {
        const int32_t first = nnacl_group_channel(layer->channels, group, 8);
        nnacl_line lines[8];
        int32_t channels[8];
        find_channels(first, 8, channels);
        nnacl_lines_of_channels(layer, channels, 8, shift, lines);
        for (int32_t i = 0; i < 8; i++) {
            to = nnacl_put_s32(to, lines[i].start);
        }
        to = put_taps(layer, first, 8, to);
        for (int32_t i = 0; i < 16; i++) {
            to = nnacl_put_s32(to, i < 8 ? lines[i].multiplier : lines[i % 8].offset);
        }
    }
}

/* The weights of all groups of four channels. */
static char *put_fours(const nnacl_line_layer *layer, char *to) {
    for (int32_t group = 0; group < nnacl_channel_groups(layer->channels, 4); group++) {
        to = put_taps(layer, nnacl_group_channel(layer->channels, group, 4), 4, to);
    }
    return to;
}

/* Groups of four channels, for the DSP extension: the lines of all, the weights of all. */
static void pack_fours(const nnacl_line_layer *layer, int32_t shift, char *to) {
    for (int32_t group = 0; group < nnacl_channel_groups(layer->channels, 4); group++) {
        nnacl_line lines[4];
        int32_t channels[8];
        find_channels(nnacl_group_channel(layer->channels, group, 4), 4, channels);
        nnacl_lines_of_channels(layer, channels, 4, shift, lines);
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, lines[i].start);
        }
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(nnacl_put_s32(to, lines[i].multiplier), lines[i].offset);
        }
    }
    put_fours(layer, to);
}

/* With compact lines, or false when there are none. */
static bool pack_compact(const nnacl_line_layer *layer, bool sweeps, bool swapped, char *packed, size_t size) {
    char *const to = nnacl_compact_pack(layer, packed);
    if (to && sweeps) {
        put_3x3(layer, swapped, to);
        nnacl_compact_put_size(to + (layer->channels * 9 + 3) / 4 * 4, packed, size);
    } else if (to) {
        nnacl_compact_put_size(put_fours(layer, to), packed, size);
    }
    return to != NULL;
}

void nnacl_depthwise_small_pack(const nnacl_conv2d_params *p, uint32_t isa, bool compact, const void *const in[],
                                void *packed) {
    const nnacl_depthwise_axes axes = nnacl_depthwise_axes_of(p);
    const nnacl_line_layer layer = {.weights = in[1],
                                    .channel_step = 1,
                                    .element_step = p->out_c,
                                    .depth = p->kernel_h * p->kernel_w,
                                    .channels = p->out_c,
                                    .w_zero = p->w_zero,
                                    NNACL_LINES_SAME(p, in)};
    const bool sweeps = nnacl_depthwise_sweeps(p, isa);
    const size_t size = nnacl_depthwise_small_packed_size(p, isa, 1);
    if (compact && pack_compact(&layer, sweeps, axes.swapped, packed, size)) {
        return;
    }
    memset(packed, 0, size);
    const int32_t shift = nnacl_line_shift(&layer);
    char *to = nnacl_put_s32(packed, shift);
    if (sweeps) {
        pack_3x3(&layer, shift, axes.swapped, to);
    } else if (isa == NNACL_ISA_MVE) {
        pack_eights(&layer, shift, to);
    } else {
        pack_fours(&layer, shift, to);
    }
}

bool nnacl_depthwise_accepts_quads(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->w_zero == 0 && p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1 &&
           (p->out_c >= 32 || nnacl_quads_pixels(p) > 1) && nnacl_depthwise_accepts_plain(params);
}

bool nnacl_depthwise_accepts_half_blocks(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->out_c >= 32 && p->out_c % 16 == 0 && nnacl_depthwise_accepts_quads(params);
}

void nnacl_depthwise_quads_pack(const nnacl_conv2d_params *p, const int8_t *weights, int8_t *packed) {
    memset(packed, 0, (size_t)nnacl_quads_blocks(p) * NNACL_QUADS_BYTES);
    for (int32_t i = 0; i < p->out_c * nnacl_quads_pixels(p); i++) {
        const int32_t channel = i % p->out_c;
        int8_t *block = packed + (ptrdiff_t)(i / NNACL_QUADS_BLOCK) * NNACL_QUADS_BYTES;
        const int32_t place = 4 * nnacl_quads_place(i % NNACL_QUADS_BLOCK);
        int32_t sum = 0;
        for (int32_t tap = 0; tap < 9; tap++) {
            const int8_t weight = weights[(ptrdiff_t)tap * p->out_c + channel];
            block[4 * NNACL_QUADS_BLOCK * (1 + tap % 3) + place + tap / 3] = weight;
            sum += weight;
        }
        const int32_t start = -(128 + p->x_zero) * sum;
        memcpy(block + place, &start, sizeof start);
    }
}
