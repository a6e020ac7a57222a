/* SPDX-License-Identifier: Apache-2.0 */
#include "rnn/fixed_parts_mve.h"

#include <arm_mve.h>

#include "common/requant.h"
#include "common/rows_s16_mve.h"
#include "common/rows_s8_mve.h"
#include "rnn/fixed_parts_c.h"

/* nnacl_requant_single() of four sums, mult not negative and shift in -62 .. 30; false if one of them leaves no room
 * for its left shift. What remains is the upper half of a product, and a rounding right shift of it or, without one,
 * its own rounding. */
static inline bool scale(int32x4_t sums, int32x4_t mult, int32x4_t shift, int32x4_t *scaled) {
    const int32x4_t zero = vdupq_n_s32(0), more = vaddq_n_s32(shift, 1);
    const int32x4_t left = vmaxq_s32(more, zero), right = vminq_s32(more, zero);
    const int32x4_t shifted = vshlq_s32(sums, left);
    if (vcmpneq_s32(vshlq_s32(shifted, vnegq_s32(left)), sums)) {
        return false;
    }
    const int32x4_t high = vrshlq_s32(vmulhq_s32(shifted, mult), right);
    *scaled = vpselq_s32(vrmulhq_s32(shifted, mult), high, vcmpeqq_n_s32(right, 0));
    return true;
}

/* Sums of the rows row .. row + 3, `which` as in nnacl_fixed_scale(). */
static inline int32x4_t scale_rows(const nnacl_fixed_rnn_layer *layer, int32_t which, int32_t row,
                                   const int32_t sums[4]) {
    const int32_t *factors = layer->factors + (ptrdiff_t)2 * which * layer->rows + row;
    const int32x4_t mult = vmaxq_s32(vldrwq_s32(factors), vdupq_n_s32(0));
    const int32x4_t shift = vminq_s32(vmaxq_s32(vldrwq_s32(factors + layer->rows), vdupq_n_s32(-62)), vdupq_n_s32(30));
    int32x4_t scaled;
    if (scale(vldrwq_s32(sums), mult, shift, &scaled)) {
        return scaled;
    }
    int32_t exact[4];
    for (int32_t i = 0; i < 4; i++) {
        exact[i] = nnacl_fixed_scale(layer, which, row + i, sums[i]);
    }
    return vldrwq_s32(exact);
}

/* The first of four rows; those at the end overlap with the ones before. */
static inline int32_t four_rows(int32_t row, int32_t end) {
    return row + 4 <= end ? row : end - 4;
}

/* x of s8 or s16 with four rows of w at a time. */
NNACL_ALWAYS_INLINE void weigh_x(const nnacl_fixed_rnn_layer *layer, const void *x, const bool is_s8) {
    const int32_t size = layer->params->size, rows = layer->rows;
    if (rows < 4) {
        (is_s8 ? nnacl_fixed_x_s8_c : nnacl_fixed_x_s16_c)(layer, x);
        return;
    }
    for (int32_t next = 0; next < rows; next += 4) {
        const int32_t row = four_rows(next, rows);
        const int8_t *w = layer->w + (ptrdiff_t)row * size;
        int32_t sums[4];
        vstrwq_s32(sums, vldrwq_s32(layer->sums + row));
        if (is_s8) {
            nnacl_rows4_s8_mve(x, w, size, size, sums);
        } else {
            nnacl_rows4_s16_mve(x, w, size, size, sums);
        }
        vstrwq_s32(layer->x_part + row, scale_rows(layer, 0, row, sums));
    }
}

void nnacl_fixed_x_s8_mve(const nnacl_fixed_rnn_layer *layer, const void *x) {
    weigh_x(layer, x, true);
}

void nnacl_fixed_x_s16_mve(const nnacl_fixed_rnn_layer *layer, const void *x) {
    weigh_x(layer, x, false);
}

/* Four gates; in 32 bits where none of what is added is so large that a sum of four could leave them. */
static inline void write_gates(const nnacl_fixed_rnn_layer *layer, int32_t row, int32x4_t h_part, bool alone) {
    const int32_t *x_bias = layer->sums + layer->rows + row;
    const int32x4_t h_bias = vldrwq_s32(x_bias + layer->rows);
    uint32_t largest = vmaxavq_s32(vmaxavq_s32(0, h_part), h_bias);
    int32x4_t sum = vaddq_s32(h_part, h_bias);
    if (!alone) {
        const int32x4_t x_part = vldrwq_s32(layer->x_part + row), bias = vldrwq_s32(x_bias);
        largest = vmaxavq_s32(vmaxavq_s32(largest, x_part), bias);
        sum = vaddq_s32(sum, vaddq_s32(x_part, bias));
    }
    if (largest < 1u << 29) {
        sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(INT16_MIN)), vdupq_n_s32(INT16_MAX));
        vstrhq_s32(layer->gates + row, sum);
        return;
    }
    int32_t parts[4];
    vstrwq_s32(parts, h_part);
    for (int32_t i = 0; i < 4; i++) {
        layer->gates[row + i] = nnacl_fixed_gate(layer, row + i, parts[i], alone);
    }
}

void nnacl_fixed_gates_mve(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end, const int16_t *h,
                           bool alone) {
    const int32_t hidden = layer->params->hidden;
    if (end - first < 4) {
        nnacl_fixed_gates_c(layer, first, end, h, alone);
        return;
    }
    for (int32_t next = first; next < end; next += 4) {
        const int32_t row = four_rows(next, end);
        int32_t sums[4] = {0};
        nnacl_rows4_s16_mve(h, layer->r + (ptrdiff_t)row * hidden, hidden, hidden, sums);
        write_gates(layer, row, scale_rows(layer, 1, row, sums), alone);
    }
}

void nnacl_fixed_add_x_mve(const nnacl_fixed_rnn_layer *layer, int32_t first, int32_t end) {
    const int32_t *bias = layer->sums + layer->rows;
    for (int32_t row = first; row < end; row += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)(end - row));
        const int32x4_t x_part = vldrwq_z_s32(layer->x_part + row, present), added = vldrwq_z_s32(bias + row, present);
        if (vmaxavq_s32(vmaxavq_s32(0, x_part), added) >= 1u << 29) {
            nnacl_fixed_add_x_c(layer, row, row + 4 < end ? row + 4 : end);
            continue;
        }
        int32x4_t sum = vaddq_s32(vaddq_s32(x_part, added), vldrhq_z_s32(layer->gates + row, present));
        sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(INT16_MIN)), vdupq_n_s32(INT16_MAX));
        vstrhq_p_s32(layer->gates + row, sum, present);
    }
}

/* nnacl_round_product() */
static inline int32x4_t round_product(int32x4_t product, int32_t shift) {
    return vrshlq_n_s32(vaddq_s32(product, vshrq_n_s32(product, 31)), -shift);
}

void nnacl_fixed_multiply_mve(const int16_t *a, const int16_t *b, int16_t *y, int32_t count) {
    for (; count > 0; count -= 4, a += 4, b += 4, y += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)count);
        const int32x4_t product = vmulq_s32(vldrhq_z_s32(a, present), vldrhq_z_s32(b, present));
        vstrhq_p_s32(y, round_product(product, 15), present);
    }
}

void nnacl_fixed_cells_mve(const nnacl_fixed_rnn_layer *layer, int16_t *c) {
    const nnacl_fixed_rnn_params *p = layer->params;
    const int32_t hidden = p->hidden, clip = p->cell_clip > 0 ? p->cell_clip : -INT16_MIN;
    const int32x4_t highest = vdupq_n_s32(clip < INT16_MAX ? clip : INT16_MAX), lowest = vdupq_n_s32(-clip);
    for (int32_t j = 0; j < hidden; j += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)(hidden - j));
        int16_t *gates = layer->gates + j;
        const int32x4_t kept = vmulq_s32(vldrhq_z_s32(gates + 2 * hidden, present), vldrhq_z_s32(c + j, present));
        const int32x4_t added = vmulq_s32(vldrhq_z_s32(gates, present), vldrhq_z_s32(gates + 3 * hidden, present));
        int32x4_t next = vaddq_s32(round_product(kept, 15), round_product(added, 30 + p->cell_exponent));
        next = vminq_s32(vmaxq_s32(next, lowest), highest);
        vstrhq_p_s32(c + j, next, present);
        vstrhq_p_s32(gates + 3 * hidden, next, present);
    }
}

void nnacl_fixed_blend_mve(const int16_t *z, const int16_t *candidates, int16_t *h, int32_t count) {
    for (; count > 0; count -= 4, z += 4, candidates += 4, h += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)count);
        const int32x4_t update = vldrhq_z_s32(z, present);
        const int32x4_t fresh = vmulq_s32(vsubq_s32(vdupq_n_s32(32768), update), vldrhq_z_s32(candidates, present));
        const int32x4_t kept = vmulq_s32(update, vldrhq_z_s32(h, present));
        vstrhq_p_s32(h, round_product(vaddq_s32(fresh, kept), 15), present);
    }
}

/* Four of y. */
static inline int32x4_t finish(const nnacl_fixed_rnn_params *p, const int16_t *h, mve_pred16_t present, int32_t lowest,
                               int32_t highest) {
    const int32x4_t values = vldrhq_z_s32(h, present);
    int32x4_t scaled;
    if (!scale(values, vdupq_n_s32(p->y_mult), vdupq_n_s32(p->y_shift), &scaled)) {
        int32_t exact[4];
        vstrwq_s32(exact, values);
        for (int32_t i = 0; i < 4; i++) {
            exact[i] = nnacl_requant_single(exact[i], p->y_mult, p->y_shift);
        }
        scaled = vldrwq_s32(exact);
    }
    return vminq_s32(vmaxq_s32(vqaddq_n_s32(scaled, p->y_zero), vdupq_n_s32(lowest)), vdupq_n_s32(highest));
}

void nnacl_fixed_write_s8_mve(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)(params->hidden - j));
        vstrbq_p_s32((int8_t *)y + j, finish(params, h + j, present, INT8_MIN, INT8_MAX), present);
    }
}

void nnacl_fixed_write_s16_mve(const nnacl_fixed_rnn_params *params, const int16_t *h, void *y) {
    for (int32_t j = 0; j < params->hidden; j += 4) {
        const mve_pred16_t present = vctp32q((uint32_t)(params->hidden - j));
        vstrhq_p_s32((int16_t *)y + j, finish(params, h + j, present, INT16_MIN, INT16_MAX), present);
    }
}
