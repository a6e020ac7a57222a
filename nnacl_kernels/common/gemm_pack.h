/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights for common/gemm_s8_dsp.h and gemm_s8_mve.h. Portable: the plan half packs for any target. */
#ifndef NNACL_GEMM_PACK_H
#define NNACL_GEMM_PACK_H

#include <string.h>

#include "common/compact_pack.h"
#include "common/requant_line.h"
#include "common/runs.h"

/* Pairs of channels, the last of which may have only one. */
static inline int32_t nnacl_gemm_pairs(int32_t channels) {
    return channels / 2 + channels % 2;
}

/* For gemm_s8_dsp.h. The first word is the shift of the lines; with 0 there are none, and the ends of the lines hold
 * what the exact requantization wants. Then follow the lines of all pairs, that of a last channel alone, and in the
 * same order their units. Compact lines (compact_lines.h) stand in place of the first word and of the lines. */
static inline size_t nnacl_gemm_packed_size(int32_t channels, int32_t w_zero, nnacl_runs runs) {
    const size_t units = (size_t)(nnacl_runs_units(runs) + nnacl_zero_units(w_zero, runs));
    return sizeof(int32_t) + (size_t)channels * 12 + (size_t)(channels / 2) * units * 4 +
           (channels % 2 ? (units + 1) / 2 * 4 : 0);
}

static inline char *nnacl_put_s32(char *to, int32_t value) {
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

/* The lines of the four channels from `first` on, as far as there are any. */
static inline void nnacl_lines_of_four(const nnacl_line_layer *layer, int32_t first, int32_t shift,
                                       nnacl_line lines[4]) {
    int32_t channels[4];
    for (int32_t i = 0; i < 4; i++) {
        channels[i] = first + i < layer->channels ? first + i : -1;
    }
    nnacl_lines_of_channels(layer, channels, 4, shift, lines);
}

/* The units of the two channels whose weights begin at `w`, `step` elements from each other. */
static inline char *nnacl_gemm_pack_pair(const int8_t *w, ptrdiff_t step, nnacl_runs runs, char *to) {
    for (int32_t run = 0; run < runs.count; run++, w += runs.length) {
        for (int32_t unit = 0; unit < nnacl_run_units(runs.length); unit++) {
            int32_t elements[2];
            nnacl_run_unit(runs.length, unit, elements);
            for (int32_t i = 0; i < 4; i++) {
                const int32_t element = elements[i / 2];
                *to++ = element < 0 ? 0 : (char)w[i % 2 * step + element];
            }
        }
    }
    return to;
}

/* The units of all pairs, and those of a last channel alone: a word of it holds two units. */
static inline char *nnacl_gemm_pack_units(const nnacl_line_layer *layer, nnacl_runs runs, char *to) {
    const int32_t zeros = nnacl_zero_units(layer->w_zero, runs);
    const int8_t *w = layer->weights;
    for (int32_t pair = 0; pair < layer->channels / 2; pair++, w += 2 * layer->channel_step) {
        to = nnacl_gemm_pack_pair(w, layer->channel_step, runs, to);
        memset(to, layer->w_zero, (size_t)zeros * 4);
        to += zeros * 4;
    }
    const int32_t run_units = nnacl_run_units(runs.length), units = nnacl_runs_units(runs);
    for (int32_t unit = 0; layer->channels % 2 && unit < units + zeros; unit += 2, to += 4) {
        memset(to, 0, 4);
        for (int32_t i = 0; i < 2 && unit + i < units + zeros; i++) {
            int32_t elements[2] = {0, 0};
            const int8_t *const run = w + (ptrdiff_t)((unit + i) / run_units) * runs.length;
            if (unit + i < units) {
                nnacl_run_unit(runs.length, (unit + i) % run_units, elements);
            }
            for (int32_t j = 0; j < 2; j++) {
                to[i + 2 * j] = (char)(unit + i >= units ? layer->w_zero : elements[j] < 0 ? 0 : run[elements[j]]);
            }
        }
    }
    return to;
}

/* Weights are [channels][runs]. At least two channels. */
static inline void nnacl_gemm_pack(const nnacl_line_layer *layer, nnacl_runs runs, void *packed) {
    const int32_t shift = nnacl_line_shift(layer), even = layer->channels / 2 * 2;
    char *to = nnacl_put_s32((char *)packed, shift);
    for (int32_t channel = 0; channel < even; channel += 2) {
        nnacl_line lines[2];
        nnacl_lines_of_channels(layer, (const int32_t[2]){channel, channel + 1}, 2, shift, lines);
        to = nnacl_put_s32(nnacl_put_s32(to, lines[0].start), lines[1].start);
        for (int32_t i = 0; i < 2; i++) {
            to = nnacl_put_s32(nnacl_put_s32(to, lines[i].multiplier), lines[i].offset);
        }
    }
    if (even < layer->channels) {
        nnacl_line line;
        nnacl_lines_of_channels(layer, &even, 1, shift, &line);
        to = nnacl_put_s32(nnacl_put_s32(nnacl_put_s32(to, line.start), line.multiplier), line.offset);
    }
    nnacl_gemm_pack_units(layer, runs, to);
}

/* The same with compact lines where there are any. */
static inline void nnacl_gemm_pack_compact(const nnacl_line_layer *layer, nnacl_runs runs, void *packed, size_t size) {
    char *const units = nnacl_compact_pack(layer, packed);
    if (units) {
        nnacl_compact_put_size(nnacl_gemm_pack_units(layer, runs, units), packed, size);
    } else {
        nnacl_gemm_pack(layer, runs, packed);
    }
}

/* The same in groups of four channels, for gemm_s8_mve.h. */
static inline size_t nnacl_gemm_groups_size(int32_t channels, nnacl_runs runs) {
    const size_t chunks = (size_t)runs.count * (((size_t)runs.length + 15) / 16);
    return sizeof(int32_t) + ((size_t)channels + 3) / 4 * (48 + chunks * 64);
}

static inline void nnacl_gemm_groups_pack(const nnacl_line_layer *layer, nnacl_runs runs, void *packed) {
    const int32_t shift = nnacl_line_shift(layer);
    char *to = nnacl_put_s32((char *)packed, shift);
    for (int32_t first = 0; first < layer->channels; first += 4) {
        nnacl_line lines[4];
        nnacl_lines_of_four(layer, first, shift, lines);
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, lines[i].start);
        }
        for (int32_t run = 0; run < runs.count; run++) {
            for (int32_t chunk = 0; chunk < runs.length; chunk += 16) {
                const int32_t count = runs.length - chunk < 16 ? runs.length - chunk : 16;
                memset(to, 0, 64);
                for (int32_t i = 0; i < 4 && first + i < layer->channels; i++) {
                    const int8_t *w = layer->weights + (first + i) * layer->channel_step;
                    memcpy(to + 16 * i, w + (ptrdiff_t)run * runs.length + chunk, (size_t)count);
                }
                to += 64;
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

#endif
