/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_mve_pack.h"

#include "common/gemm_pack.h"
#include "conv/conv_pack.h"
#include "conv/conv_runs.h"
#include "conv/depthwise_3x3_mve.h"
#include "nnacl_kernels.h"
#include "quant/packed_mve.h"

bool nnacl_packed_mve_takes(int32_t bits, int32_t step) {
    return (bits == 2 || bits == 4) && step <= 1;
}

/* --- groups of four channels ------------------------------------------------------------------------------------- */

static size_t groups_size(int32_t bits, int32_t channels, nnacl_runs runs) {
    const size_t chunks = (size_t)runs.count * (((size_t)runs.length + 15) / 16);
    return sizeof(int32_t) + ((size_t)channels + 3) / 4 * (48 + chunks * 8 * (size_t)bits);
}

/* Element `element` of the `count` channels from `first` on in one byte. */
static char byte_of(const nnacl_line_layer *layer, int32_t first, int32_t count, int32_t element) {
    int32_t byte = 0;
    for (int32_t i = 0; i < count && first + i < layer->channels; i++) {
        const int32_t code = nnacl_line_code(layer, first + i, element);
        byte += (i == count - 1 ? code - (1 << (layer->bits - 1)) : code) * (1 << i * layer->bits);
    }
    return (char)byte;
}

static void groups_pack(const nnacl_line_layer *layer, nnacl_runs runs, void *packed) {
    const int32_t shift = nnacl_line_shift(layer), count = 8 / layer->bits;
    char *to = nnacl_put_s32((char *)packed, shift);
    for (int32_t first = 0; first < layer->channels; first += 4) {
        nnacl_line lines[4];
        uint32_t starts[4];
        nnacl_lines_of_four(layer, first, shift, lines);
        for (int32_t i = 3; i >= 0; i--) {
            const bool is_last = i % count == count - 1;
            starts[i] = (uint32_t)lines[i].start + (is_last ? 0 : starts[i + 1] << layer->bits);
        }
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, (int32_t)starts[i]);
        }
        for (int32_t run = 0; run < runs.count; run++) {
            for (int32_t chunk = 0; chunk < runs.length; chunk += 16) {
                for (int32_t i = 0; i < 4; i += count) {
                    for (int32_t j = chunk; j < chunk + 16; j++) {
                        *to++ = j < runs.length ? byte_of(layer, first + i, count, run * runs.length + j) : 0;
                    }
                }
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, lines[i].multiplier);
        }
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, lines[i].offset);
        }
    }
}

/* --- one output channel for each input channel ------------------------------------------------------------------- */

/* Appends codes to bytes that are 0. */
typedef struct code_writer {
    char *to;
    int32_t bits, used;
} code_writer;

static void put_code(code_writer *w, int32_t code) {
    *w->to = (char)((uint8_t)*w->to | code << w->used);
    w->used += w->bits;
    if (w->used == 8) {
        w->used = 0;
        w->to++;
    }
}

static size_t depthwise_size(const nnacl_conv2d_params *conv, int32_t bits) {
    const int32_t taps = conv->kernel_h * conv->kernel_w;
    if (nnacl_depthwise_sweeps(conv, NNACL_ISA_MVE)) {
        const int64_t codes = ((int64_t)conv->out_c * taps * bits + 31) / 32 * 4;
        return sizeof(int32_t) * (1 + 3 * (size_t)conv->out_c) + (size_t)codes;
    }
    const size_t words = NNACL_TAPS_WORDS_MVE + (size_t)nnacl_packed_group_codes_mve(bits, taps);
    return sizeof(int32_t) * (1 + (size_t)nnacl_channel_groups(conv->out_c, 8) * words);
}

static void pack_3x3(const nnacl_line_layer *layer, int32_t shift, bool swapped, char *to) {
    for (int32_t channel = 0; channel < layer->channels; channel++) {
        nnacl_line line;
        nnacl_lines_of_channels(layer, &channel, 1, shift, &line);
        to = nnacl_put_s32(nnacl_put_s32(nnacl_put_s32(to, line.start), line.multiplier), line.offset);
    }
    code_writer writer = {to, layer->bits, 0};
    for (int32_t channel = 0; channel < layer->channels; channel++) {
        for (int32_t i = 0; i < 9; i++) {
            put_code(&writer, nnacl_line_code(layer, channel, swapped ? i % 3 * 3 + i / 3 : i));
        }
    }
}

static void pack_taps(const nnacl_line_layer *layer, int32_t shift, char *to) {
    for (int32_t group = 0; group < nnacl_channel_groups(layer->channels, 8); group++) {
        const int32_t first = nnacl_group_channel(layer->channels, group, 8);
        nnacl_line lines[8];
        int32_t channels[8];
        for (int32_t i = 0; i < 8; i++) { /* the even ones before the odd ones */
            channels[i] = first + i % 4 * 2 + i / 4;
        }
        nnacl_lines_of_channels(layer, channels, 8, shift, lines);
        for (int32_t i = 0; i < 8; i++) {
            to = nnacl_put_s32(to, lines[i].start);
        }
        code_writer writer = {to, layer->bits, 0};
        for (int32_t i = 0; i < 8 * layer->depth; i++) {
            put_code(&writer, nnacl_line_code(layer, first + i % 8, i / 8));
        }
        to += 4 * nnacl_packed_group_codes_mve(layer->bits, layer->depth);
        for (int32_t i = 0; i < 16; i++) {
            to = nnacl_put_s32(to, i < 8 ? lines[i].multiplier : lines[i % 8].offset);
        }
    }
}

static void depthwise_pack(const nnacl_conv2d_params *conv, const nnacl_line_layer *layer, void *packed) {
    memset(packed, 0, depthwise_size(conv, layer->bits));
    const int32_t shift = nnacl_line_shift(layer);
    char *to = nnacl_put_s32(packed, shift);
    if (nnacl_depthwise_sweeps(conv, NNACL_ISA_MVE)) {
        pack_3x3(layer, shift, nnacl_depthwise_axes_of(conv).swapped, to);
    } else {
        pack_taps(layer, shift, to);
    }
}

/* --- ops --------------------------------------------------------------------------------------------------------- */

#define LAYER_OF(p, in, all, codes)                                                                                    \
    (nnacl_line_layer) {                                                                                               \
        .weights = (in)[1], .channel_step = nnacl_packed_stride((p)->bits, codes), .depth = (codes),                   \
        .channels = (all), .bits = (p)->bits, .offset = nnacl_packed_offset((p)->offset, (p)->step),                   \
        .step = nnacl_packed_step((p)->step), NNACL_LINES_SAME(p, in)                                                  \
    }

bool nnacl_packed_conv_mve_copies(const nnacl_conv2d_compressed_params *p) {
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    return nnacl_conv2d_chunked_runs(&conv).count != nnacl_conv2d_runs(&conv).count;
}

size_t nnacl_packed_conv_mve_workspace(const nnacl_conv2d_compressed_params *p) {
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    const size_t taps = (size_t)(p->kernel_h * p->kernel_w);
    if (p->groups == 1) {
        return nnacl_conv2d_mve_workspace(&conv);
    }
    if (nnacl_depthwise_sweeps(&conv, NNACL_ISA_MVE)) {
        return nnacl_depthwise_small_workspace(&conv, NNACL_ISA_MVE, false);
    }
    return sizeof(uint32_t) * (taps + NNACL_PACKED_GROUPS_MVE * (NNACL_TAPS_WORDS_MVE + 2 * taps)) + (size_t)p->in_c;
}

size_t nnacl_packed_conv_mve_size(const nnacl_conv2d_compressed_params *p, int32_t index) {
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    if (index != 1) {
        return NNACL_PACKED_ELSEWHERE;
    }
    return p->groups == 1 ? groups_size(p->bits, p->out_c, nnacl_conv2d_chunked_runs(&conv))
                          : depthwise_size(&conv, p->bits);
}

void nnacl_packed_conv_mve_pack(const nnacl_conv2d_compressed_params *p, const void *const in[], void *packed) {
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    const int32_t depth = p->kernel_h * p->kernel_w * (p->in_c / p->groups);
    const nnacl_line_layer layer = LAYER_OF(p, in, p->out_c, depth);
    if (p->groups == 1) {
        groups_pack(&layer, nnacl_conv2d_chunked_runs(&conv), packed);
    } else {
        depthwise_pack(&conv, &layer, packed);
    }
}

static nnacl_runs run_of(const nnacl_dense_compressed_params *p) {
    const nnacl_runs run = {1, p->depth};
    return run;
}

size_t nnacl_packed_dense_mve_size(const nnacl_dense_compressed_params *p, int32_t index) {
    return index == 1 ? groups_size(p->bits, p->units, run_of(p)) : NNACL_PACKED_ELSEWHERE;
}

void nnacl_packed_dense_mve_pack(const nnacl_dense_compressed_params *p, const void *const in[], void *packed) {
    const nnacl_line_layer layer = LAYER_OF(p, in, p->units, p->depth);
    groups_pack(&layer, run_of(p), packed);
}
