/* SPDX-License-Identifier: Apache-2.0 */
#include "common/panels.h"
#include "common/requant_avx2.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_s8_avx2);

/* Output positions that are computed together. */
#define ROWS 6

/* Writes x[0 .. count - 1] - zero as 16-bit numbers; returns their sum. */
static uint32_t widen(const int8_t *x, int32_t count, int32_t zero, int16_t *wide) {
    const __m256i zeros = _mm256_set1_epi16((int16_t)zero), ones = _mm256_set1_epi16(1);
    __m256i sums = _mm256_setzero_si256();
    int32_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i words =
            _mm256_sub_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(x + i))), zeros);
        _mm256_storeu_si256((__m256i *)(void *)(wide + i), words);
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, ones));
    }
    uint32_t lanes[8], sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)lanes, sums);
    for (int32_t lane = 0; lane < 8; lane++) {
        sum += lanes[lane];
    }
    for (; i < count; i++) {
        wide[i] = (int16_t)(x[i] - zero);
        sum += (uint32_t)wide[i];
    }
    return sum;
}

/* Writes the input window of one output position and group to `patch` [kernel_h][kernel_w][depth], less x_zero, 0
 * outside and at the end of an odd length. Returns its sum. Neighbours in a row of the kernel that are neighbours in
 * memory are copied at once. */
static uint32_t widen_patch(const nnacl_conv2d_params *p, const int8_t *image, const nnacl_window *tall, int32_t column,
                            int32_t depth, int16_t *patch) {
    const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
    const int32_t width = p->kernel_w * depth, before = wide.begin * depth, inside = (wide.end - wide.begin) * depth;
    const int32_t run = p->dilation_w == 1 && p->groups == 1 ? inside : depth;
    uint32_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, patch += width) {
        if (ky < tall->begin || ky >= tall->end) {
            memset(patch, 0, (size_t)width * sizeof *patch);
            continue;
        }
        const ptrdiff_t iy = tall->origin + ky * p->dilation_h, ix = wide.origin + wide.begin * p->dilation_w;
        const int8_t *a = image + (iy * p->in_w + ix) * p->in_c;
        memset(patch, 0, (size_t)before * sizeof *patch);
        for (int32_t done = 0; done < inside; done += run) {
            sum += widen(a, run, p->x_zero, patch + before + done);
            a += (ptrdiff_t)p->dilation_w * p->in_c;
        }
        memset(patch + before + inside, 0, (size_t)(width - before - inside) * sizeof *patch);
    }
    if (p->kernel_h * width % 2 != 0) {
        *patch = 0;
    }
    return sum;
}

/* sums[r] = patch r x panel, 16 channels each. */
NNACL_ALWAYS_INLINE void multiply(const int16_t *patches, ptrdiff_t step, const int8_t *panel, int32_t pairs,
                                  const int32_t rows, __m256i sums[ROWS][2]) {
    __m256i left[ROWS], right[ROWS];
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        left[r] = right[r] = _mm256_setzero_si256();
    }
    for (int32_t i = 0; i < pairs; i++, panel += 32) {
        const __m256i w_left = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)panel));
        const __m256i w_right = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(panel + 16)));
#pragma GCC unroll 6
        for (int32_t r = 0; r < rows; r++) {
            int32_t pair;
            memcpy(&pair, patches + r * step + 2 * i, sizeof pair);
            const __m256i factor = _mm256_set1_epi32(pair);
            left[r] = _mm256_add_epi32(left[r], _mm256_madd_epi16(factor, w_left));
            right[r] = _mm256_add_epi32(right[r], _mm256_madd_epi16(factor, w_right));
        }
    }
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        sums[r][0] = left[r];
        sums[r][1] = right[r];
    }
}

static void multiply_rows(const int16_t *patches, ptrdiff_t step, const int8_t *panel, int32_t pairs, int32_t rows,
                          __m256i sums[ROWS][2]) {
    switch (rows) {
    case 1:
        multiply(patches, step, panel, pairs, 1, sums);
        break;
    case 2:
        multiply(patches, step, panel, pairs, 2, sums);
        break;
    case 3:
        multiply(patches, step, panel, pairs, 3, sums);
        break;
    case 4:
        multiply(patches, step, panel, pairs, 4, sums);
        break;
    case 5:
        multiply(patches, step, panel, pairs, 5, sums);
        break;
    default:
        multiply(patches, step, panel, pairs, 6, sums);
        break;
    }
}

void nnacl_conv2d_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int8_t *x = in[0], *packed = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    int16_t *patches = ctx->workspace;
    int8_t *y = out[0];
    const int32_t channels = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const int32_t pairs = (int32_t)(((int64_t)p->kernel_h * p->kernel_w * channels + 1) / 2);
    const ptrdiff_t step = (ptrdiff_t)pairs * 2, panel_size = step * NNACL_PANEL_S8;
    const int32_t panels = nnacl_panel_count(group_size, NNACL_PANEL_S8);

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column += ROWS) {
            const int32_t count = p->out_w - column < ROWS ? p->out_w - column : ROWS;
            for (int32_t group = 0; group < p->groups; group++) {
                uint32_t patch_sums[ROWS];
                for (int32_t r = 0; r < count; r++) {
                    patch_sums[r] = widen_patch(p, image + (ptrdiff_t)group * channels, &tall, column + r, channels,
                                                patches + r * step);
                }
                for (int32_t panel = 0; panel < panels; panel++) {
                    __m256i sums[ROWS][2];
                    multiply_rows(patches, step, packed + ((ptrdiff_t)group * panels + panel) * panel_size, pairs,
                                  count, sums);
                    for (int32_t part = 0; part < 2; part++) {
                        const int32_t in_group = panel * NNACL_PANEL_S8 + part * 8;
                        const int32_t first = group * group_size + in_group;
                        const int32_t rest = group_size - in_group, lanes = rest < 8 ? rest : 8;
                        if (lanes <= 0) {
                            break;
                        }
                        const __m256i start = bias ? nnacl_load_s32_avx2(bias + first, lanes) : _mm256_setzero_si256();
                        for (int32_t r = 0; r < count; r++) {
                            /* sum(x * (w - w_zero)) = sum(x * w) - w_zero * sum(x) */
                            const uint32_t correction = (uint32_t)p->w_zero * patch_sums[r];
                            const __m256i sum = _mm256_sub_epi32(_mm256_add_epi32(sums[r][part], start),
                                                                 _mm256_set1_epi32((int32_t)correction));
                            nnacl_requant_store_avx2(sum, requant, p->out_c, first, lanes, p->rounding, p->y_zero,
                                                     p->q_min, p->q_max,
                                                     y + ((ptrdiff_t)row * p->out_w + column + r) * p->out_c + first);
                        }
                    }
                }
            }
        }
    }
}
