/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "ordered/ordered.h"

NNACL_DECLARE(nnacl_mean_ordered_f32_c);

static float of_four(const float *s) {
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* Four sums side by side, then what is left. */
static float sum_as_pool(const float *x, int32_t count) {
    float s[4] = {0};
    const int32_t whole = count & ~3;
    for (int32_t i = 0; i < whole; i++) {
        s[i & 3] += x[i];
    }
    float sum = of_four(s);
    for (int32_t i = whole; i < count; i++) {
        sum += x[i];
    }
    return sum;
}

/* Eight sums side by side from an element on whose place divides by four, folded to four, which take one more four if
 * there is one; then what stands before and behind. */
static float sum_as_reduction(const float *x, int32_t count, int32_t place) {
    const int32_t before = -place & 3;
    const int32_t begin = before < count ? before : count;
    const int32_t eights = begin + ((count - begin) & ~7), end = begin + ((count - begin) & ~3);
    float sum = x[0];
    if (begin == end) {
        for (int32_t i = 1; i < count; i++) {
            sum += x[i];
        }
        return sum;
    }
    float s[8];
    for (int32_t i = 0; i < 8; i++) {
        s[i] = begin + i < end ? x[begin + i] : 0.0f;
    }
    for (int32_t i = begin + 8; i < eights; i++) {
        s[(i - begin) & 7] += x[i];
    }
    for (int32_t i = 0; i < 4 && end - begin > 4; i++) {
        s[i] += s[i + 4];
    }
    for (int32_t i = 0; i < 4 && end > eights && eights > begin; i++) {
        s[i] += x[eights + i];
    }
    sum = of_four(s);
    for (int32_t i = 0; i < begin; i++) {
        sum += x[i];
    }
    for (int32_t i = end; i < count; i++) {
        sum += x[i];
    }
    return sum;
}

void nnacl_mean_ordered_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_mean_ordered_params *p = params;
    const float *x = in[0];
    float *y = out[0];
    const nnacl_range rows = nnacl_share(ctx, p->rows);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *from = x + (ptrdiff_t)row * p->count;
        const int32_t place = (int32_t)((int64_t)row * p->count & 3);
        const float sum = p->style ? sum_as_reduction(from, p->count, place) : sum_as_pool(from, p->count);
        y[row] = p->sum ? sum : sum / (float)p->count;
    }
}
