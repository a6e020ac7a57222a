/* SPDX-License-Identifier: Apache-2.0 */
/* Probabilities of classes from those of pairs: T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class
 * Classification by Pairwise Coupling", JMLR 5 (2004), algorithm 2. With r(i, j) the probability of i among i and j, p
 * is the minimum of p' Q p over all p that sum to 1, where Q(i, i) = sum of r(j, i)^2, Q(i, j) = -r(j, i) * r(i, j). */
#include "common/share.h"
#include "tree/tree.h"

NNACL_DECLARE(nnacl_couple_pairs_f32_c);

#define MOST_STEPS 100

/* r(i, j), i not j. */
static float among_two(const float *x, int32_t classes, int32_t i, int32_t j) {
    const int32_t low = i < j ? i : j, high = i < j ? j : i;
    const float first = x[low * classes - low * (low + 1) / 2 + high - low - 1];
    return i < j ? first : 1.0f - first;
}

static float quadratic(const float *x, const float *diagonal, int32_t classes, int32_t i, int32_t j) {
    return i == j ? diagonal[i] : -(among_two(x, classes, j, i) * among_two(x, classes, i, j));
}

/* q = Q p; returns p' Q p. */
static float multiply(const float *x, const float *diagonal, const float *p, float *q, int32_t classes) {
    float total = 0.0f;
    for (int32_t i = 0; i < classes; i++) {
        q[i] = 0.0f;
        for (int32_t j = 0; j < classes; j++) {
            q[i] += quadratic(x, diagonal, classes, i, j) * p[j];
        }
        total += p[i] * q[i];
    }
    return total;
}

/* How far p is from the minimum, where all elements of q are equal. */
static float largest_error(const float *q, float total, int32_t classes) {
    float largest = 0.0f;
    for (int32_t i = 0; i < classes; i++) {
        const float error = q[i] < total ? total - q[i] : q[i] - total;
        largest = error > largest ? error : largest;
    }
    return largest;
}

static void couple(const float *x, float *p, float *diagonal, float *q, int32_t classes) {
    const float enough = 0.005f / (float)classes;
    for (int32_t i = 0; i < classes; i++) {
        p[i] = 1.0f / (float)classes;
        diagonal[i] = 0.0f;
        for (int32_t j = 0; j < classes; j++) {
            const float r = i == j ? 0.0f : among_two(x, classes, j, i);
            diagonal[i] += r * r;
        }
    }
    for (int32_t step = 0; step < MOST_STEPS; step++) {
        float total = multiply(x, diagonal, p, q, classes);
        if (largest_error(q, total, classes) < enough) {
            return;
        }
        for (int32_t i = 0; i < classes; i++) {
            const float change = (total - q[i]) / diagonal[i], sum = 1.0f + change;
            p[i] += change;
            total = (total + change * (change * diagonal[i] + 2.0f * q[i])) / sum / sum;
            for (int32_t j = 0; j < classes; j++) {
                q[j] = (q[j] + change * quadratic(x, diagonal, classes, i, j)) / sum;
                p[j] /= sum;
            }
        }
    }
}

void nnacl_couple_pairs_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_couple_pairs_params *p = params;
    const int32_t pairs = p->classes * (p->classes - 1) / 2;
    float *diagonal = ctx->workspace;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * pairs;
        couple(x, (float *)out[0] + (ptrdiff_t)row * p->classes, diagonal, diagonal + p->classes, p->classes);
    }
}
