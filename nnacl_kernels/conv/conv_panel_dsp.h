/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of conv2d as panels for common/gemm_s8_dsp.h. */
#ifndef NNACL_CONV_PANEL_DSP_H
#define NNACL_CONV_PANEL_DSP_H

#include <arm_acle.h>

#include "common/gemm_s8_dsp.h"
#include "conv/conv_windows.h"

/* Positions that are computed together. */
#define NNACL_PANEL_POSITIONS 4

/* One run of `count` positions; `high`: times 256. */
static inline uint32_t *nnacl_widen_panel(uint32_t *panel, const int8_t *const *source, int32_t count, int32_t length,
                                          bool high) {
    if (high) {
        return count == NNACL_PANEL_POSITIONS ? nnacl_widen4_high_s8_dsp(panel, source, length)
                                              : nnacl_widen1_high_s8_dsp(panel, source[0], length);
    }
    return count == NNACL_PANEL_POSITIONS ? nnacl_widen4_s8_dsp(panel, source, length)
                                          : nnacl_widen1_s8_dsp(panel, source[0], length);
}

/* The runs of `count` (NNACL_PANEL_POSITIONS or 1) positions, and the window moved on behind them. `edges` has room for
 * NNACL_PANEL_POSITIONS + 1 runs; the first is zero points. */
static inline void nnacl_fill_panel(const nnacl_conv2d_params *p, nnacl_runs runs, nnacl_conv_window *next,
                                    int32_t count, bool high, uint32_t *panel, int8_t *edges) {
    const int8_t *source[NNACL_PANEL_POSITIONS];
    const int32_t step = p->stride_w * p->in_c;
    if (next->column + count <= p->out_w && nnacl_taps_fit(next->y, p->kernel_h, p->dilation_h, p->in_h) &&
        next->x >= 0 && nnacl_taps_fit(next->x + (count - 1) * p->stride_w, p->kernel_w, p->dilation_w, p->in_w)) {
        const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, tap_step = p->dilation_w * p->in_c;
        const int32_t taps = p->dilation_w == 1 ? 1 : p->kernel_w; /* runs of a kernel row */
        const int8_t *corner = next->corner;
        for (int32_t run = 0, tap = 0; run < runs.count; run++) {
            for (int32_t i = 0; i < count; i++) {
                source[i] = corner + i * step;
            }
            panel = nnacl_widen_panel(panel, source, count, runs.length, high);
            corner += tap_step;
            if (++tap == taps) {
                tap = 0;
                corner += row_step - taps * tap_step;
            }
        }
        next->column += count - 1;
        next->x += (count - 1) * p->stride_w;
        next->corner += (count - 1) * step;
        nnacl_window_next(p, next);
        return;
    }
    nnacl_conv_window windows[NNACL_PANEL_POSITIONS];
    for (int32_t i = 0; i < count; i++) {
        windows[i] = *next;
        nnacl_window_next(p, next);
    }
    const int32_t edge_size = (runs.length + 3) / 4 * 4;
    for (int32_t run = 0; run < runs.count; run++) {
        for (int32_t i = 0; i < count; i++) {
            source[i] = nnacl_window_run(p, &windows[i], run, edges, edges + (i + 1) * edge_size);
        }
        panel = nnacl_widen_panel(panel, source, count, runs.length, high);
    }
}

/* Fills in the units behind those of a panel that a zero point of the weights takes (runs.h). */
static inline void nnacl_fill_zero_units(nnacl_runs runs, int32_t count, uint32_t *panel) {
    const int32_t run_units = nnacl_run_units(runs.length), units = nnacl_runs_units(runs);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t *from = panel + i;
        uint32_t *to = panel + units * count + i, before = 0;
        bool is_second = false;
        for (int32_t begin = 0; begin < units; begin += NNACL_ZERO_SPAN) {
            const int32_t end = units - begin < NNACL_ZERO_SPAN ? units : begin + NNACL_ZERO_SPAN;
            int32_t sum = 0, in_run = begin % run_units;
            for (int32_t unit = begin; unit < end; unit++, from += count) {
                sum = __smlad((int32_t)*from, 0x00010001, sum);
                if (++in_run == run_units) {
                    in_run = 0;
                    sum -= runs.length % 2 ? (int32_t)*from >> 16 : 0; /* not an element */
                }
            }
            before = is_second ? before | (uint32_t)-sum << 16 : (uint16_t)-sum;
            to[0] = before;
            to += is_second ? count : 0;
            is_second = !is_second;
        }
    }
}

#endif
