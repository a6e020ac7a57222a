/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum of the lanes of words, for one position of max_pool2d. */
#ifndef NNACL_MAX_WORDS_DSP_H
#define NNACL_MAX_WORDS_DSP_H

#include <string.h>

#include "common/lanes_dsp.h"
#include "pool/pool_positions.h"

/* `size` bytes of channels, at least 4, a word at a time; the last word overlaps those before it. `low` and `high` are
 * the limits in each lane, `max` takes the larger of each two lanes. */
static inline void nnacl_max_words_dsp(const nnacl_taps *t, int32_t size, uint32_t low, uint32_t high, int8_t *y,
                                       uint32_t (*max)(uint32_t a, uint32_t b)) {
    const ptrdiff_t row_step = t->row_step - t->columns * t->column_step, column_step = t->column_step;
    const int32_t rows = t->columns > 0 ? t->rows : 0, columns = t->columns;
    for (int32_t next = 0; next < size; next += 4) {
        const int32_t c = next + 4 <= size ? next : size - 4;
        const int8_t *x = t->x + c;
        uint32_t most = low;
        for (int32_t row = rows; row > 0; row--, x += row_step) {
            int32_t column = columns;
            do {
                uint32_t word;
                memcpy(&word, x, sizeof word);
                most = max(most, word);
                x += column_step;
            } while (--column > 0);
        }
        most = ~max(~most, ~high); /* ~ turns the order round */
        memcpy(y + c, &most, sizeof most);
    }
}

#endif
