/* SPDX-License-Identifier: Apache-2.0 */
#include "dense/dense_pack.h"

#include "common/gemm_pack.h"
#include "common/panels_arm.h"
#include "nnacl_kernels.h"

/* The whole depth is one run. */
static nnacl_runs run_of(const nnacl_dense_params *p) {
    const nnacl_runs run = {1, p->depth};
    return run;
}

/* The shift of the lines, and then groups of four units as common/dot_s8_dsp.h wants them (missing units and a depth
 * that is no multiple of four are filled up with zeros), or for MVE as common/gemm_s8_mve.h does. */
size_t nnacl_dense_small_packed_size(const nnacl_dense_params *p, uint32_t isa, int32_t index) {
    const size_t groups = ((size_t)p->units + 3) / 4, quads = ((size_t)p->depth + 3) / 4;
    if (index != 1) {
        return NNACL_PACKED_ELSEWHERE;
    }
    return isa == NNACL_ISA_MVE ? nnacl_gemm_groups_size(p->units, run_of(p)) : 4 + groups * (48 + quads * 16);
}

void nnacl_dense_small_pack(const nnacl_dense_params *p, uint32_t isa, const void *const in[], void *packed) {
    const int8_t *weights = in[1];
    const nnacl_line_layer layer = {.weights = weights,
                                    .channel_step = p->depth,
                                    .element_step = 1,
                                    .depth = p->depth,
                                    .channels = p->units,
                                    .w_zero = p->w_zero,
                                    NNACL_LINES_SAME(p, in)};
    if (isa == NNACL_ISA_MVE) {
        nnacl_gemm_groups_pack(&layer, run_of(p), packed);
        return;
    }
    const int32_t shift = nnacl_line_shift(&layer);
    char *to = nnacl_put_s32(packed, shift);
    for (int32_t first = 0; first < p->units; first += 4) {
        nnacl_line lines[4];
        nnacl_lines_of_four(&layer, first, shift, lines);
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(to, lines[i].start);
        }
        for (int32_t depth = 0; depth < p->depth; depth += 4) {
            for (int32_t i = 0; i < 16; i++) {
                const int32_t unit = first + i / 4, element = depth + i % 4;
                const bool present = unit < p->units && element < p->depth;
                *to++ = (char)(present ? weights[(ptrdiff_t)unit * p->depth + element] : 0);
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            to = nnacl_put_s32(nnacl_put_s32(to, lines[i].multiplier), lines[i].offset);
        }
    }
}

size_t nnacl_dense_arm_packed_size(const nnacl_dense_params *p, uint32_t isa) {
    const nnacl_arm_layout layout = nnacl_arm_layout_of(isa);
    return NNACL_ARM_HEAD + (size_t)nnacl_arm_panels(p->units, layout) * nnacl_arm_panel_size(1, p->depth, layout);
}

void nnacl_dense_arm_pack(const nnacl_dense_params *p, uint32_t isa, const void *const in[], void *packed) {
    nnacl_arm_layer layer = {.weights = in[1],
                             .bias = p->has_bias ? in[2] : NULL,
                             .requant = in[3],
                             .channels = p->units,
                             .all = p->units,
                             .taps = 1,
                             .run = p->depth,
                             .rounding = p->rounding,
                             .x_zero = p->x_zero};
    layer.flags = nnacl_arm_flags(&layer, (size_t)p->units * (size_t)p->depth);
    nnacl_arm_pack(&layer, nnacl_arm_layout_of(isa), nnacl_arm_pack_head(layer.flags, packed));
}
