/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NNACL_TAP_SUMS_DSP_H
#define NNACL_TAP_SUMS_DSP_H

#include <string.h>

#include "common/tap_sums.h"

#define NNACL_TAP_LANES_DSP 4

/* To the halves of `sums`: the bytes 0 and 2 of a word, or the bytes 1 and 3. */
static inline uint32_t nnacl_add_even_bytes_dsp(uint32_t sums, uint32_t word) {
    __asm__("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(word));
    return sums;
}

static inline uint32_t nnacl_add_odd_bytes_dsp(uint32_t sums, uint32_t word) {
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(word));
    return sums;
}

/* Adds four channels of `count` positions, at most NNACL_TAPS_IN_WORDS, to the halves of two words. */
static inline void nnacl_add_taps_dsp(const int8_t *x, ptrdiff_t step, int32_t count, uint32_t halves[2]) {
    uint32_t even = halves[0], odd = halves[1];
#pragma GCC unroll 2
    for (int32_t i = 0; i < count; i++, x += step) {
        uint32_t word;
        memcpy(&word, x, sizeof word);
        even = nnacl_add_even_bytes_dsp(even, word);
        odd = nnacl_add_odd_bytes_dsp(odd, word);
    }
    halves[0] = even;
    halves[1] = odd;
}

static inline void nnacl_move_halves_dsp(uint32_t halves[2], int32_t *sums) {
    sums[0] += (int16_t)(halves[0] & 0xffffu);
    sums[1] += (int16_t)(halves[1] & 0xffffu);
    sums[2] += (int16_t)(halves[0] >> 16);
    sums[3] += (int16_t)(halves[1] >> 16);
    halves[0] = halves[1] = 0;
}

/* nnacl_sum_taps of at most four lanes. */
static inline void nnacl_sum_taps_dsp(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums) {
    const int8_t *row = t->x + channel;
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    if (lanes < NNACL_TAP_LANES_DSP) {
        for (int32_t i = 0; i < t->rows; i++, row += t->row_step) {
            for (int32_t j = 0; j < t->columns; j++) {
                for (int32_t lane = 0; lane < lanes; lane++) {
                    sums[lane] += row[j * t->column_step + lane];
                }
            }
        }
        return;
    }
    uint32_t halves[2] = {0, 0};
    if (t->rows * t->columns <= NNACL_TAPS_IN_WORDS) {
        for (int32_t i = 0; i < t->rows; i++, row += t->row_step) {
            nnacl_add_taps_dsp(row, t->column_step, t->columns, halves);
        }
        nnacl_move_halves_dsp(halves, sums);
        return;
    }
    for (int32_t i = 0; i < t->rows; i++, row += t->row_step) {
        for (int32_t j = 0; j < t->columns; j += NNACL_TAPS_IN_WORDS) {
            const int32_t left = t->columns - j;
            nnacl_add_taps_dsp(row + j * t->column_step, t->column_step,
                               left < NNACL_TAPS_IN_WORDS ? left : NNACL_TAPS_IN_WORDS, halves);
            nnacl_move_halves_dsp(halves, sums);
        }
    }
}

/* The same of s16. */
static inline void nnacl_sum_taps_s16_dsp(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums) {
    const int8_t *x = t->x + 2 * channel;
    const ptrdiff_t row_step = t->row_step - t->columns * t->column_step, column_step = t->column_step;
    int32_t first = 0, second = 0, third = 0, fourth = 0;
    for (int32_t row = t->columns > 0 ? t->rows : 0; row > 0; row--, x += row_step) {
        int32_t column = t->columns;
        do {
            if (lanes < NNACL_TAP_LANES_DSP) {
                const int16_t *halves = (const int16_t *)(const void *)x;
                first += halves[0];
                second += lanes > 1 ? halves[1] : 0;
                third += lanes > 2 ? halves[2] : 0;
            } else {
                uint32_t low, high;
                memcpy(&low, x, sizeof low);
                memcpy(&high, x + sizeof low, sizeof high);
                first += (int16_t)(low & 0xffffu);
                second += (int32_t)low >> 16;
                third += (int16_t)(high & 0xffffu);
                fourth += (int32_t)high >> 16;
            }
            x += column_step;
        } while (--column > 0);
    }
    sums[0] = first;
    sums[1] = second;
    sums[2] = third;
    sums[3] = fourth;
}

#endif
