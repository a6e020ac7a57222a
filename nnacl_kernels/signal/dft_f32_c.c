/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "signal/signal.h"

/* Taylor series, for 0 .. pi / 4. */
static double sine(double x) {
    const double z = x * x;
    double p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return x + x * z * p;
}

static double cosine(double x) {
    const double z = x * x;
    double p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 1.0 / 2.0;
    return 1.0 + z * p;
}

/* Cosines and sines of 2 pi i / points, in pairs. Which eighth of the circle an angle is in, is exact. */
static void fill_angles(double *angles, int32_t points) {
    for (int32_t i = 0; i < points; i++) {
        const int64_t eighths = (int64_t)i * 8;
        const int32_t octant = (int32_t)(eighths / points);
        const int64_t rest = eighths % points;
        const double t = (double)(octant % 2 == 0 ? rest : points - rest) / points * 0.78539816339744830962;
        const double s = sine(t);
        const double c = cosine(t);
        const bool swapped = octant == 1 || octant == 2 || octant == 5 || octant == 6;
        angles[2 * i] = octant >= 2 && octant <= 5 ? -(swapped ? s : c) : swapped ? s : c;
        angles[2 * i + 1] = octant >= 4 ? -(swapped ? c : s) : swapped ? c : s;
    }
}

/* One number of the result. x points to the first number of its line. */
static void transform(const nnacl_dft_params *p, const double *angles, const float *x, int32_t bin, float *y) {
    const bool to_real = p->inverse && p->onesided;
    const double sign = p->inverse ? 1.0 : -1.0;
    const double scale = p->inverse ? (double)p->points : 1.0;
    double real = 0.0;
    double imaginary = 0.0;
    int32_t angle = 0;
    for (int32_t n = 0; n < p->used; n++) {
        const float *v = x + (ptrdiff_t)n * p->inner * p->components;
        const double c = angles[2 * angle];
        const double s = sign * angles[2 * angle + 1];
        const double a = (double)v[0];
        const double b = p->components == 2 ? (double)v[1] : 0.0;
        if (to_real) {
            /* All but the first number, and the middle one if there is one, have a mirror image. */
            const double weight = n == 0 || 2 * n == p->points ? 1.0 : 2.0;
            real += weight * (a * c - b * s);
        } else {
            real += a * c - b * s;
            imaginary += a * s + b * c;
        }
        angle += bin;
        angle -= angle >= p->points ? p->points : 0;
    }
    y[0] = (float)(real / scale);
    if (!to_real) {
        y[1] = (float)(imaginary / scale);
    }
}

NNACL_DECLARE(nnacl_dft_f32_c);
void nnacl_dft_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dft_params *p = params;
    double *angles = ctx->workspace;
    const int32_t width = p->inverse && p->onesided ? 1 : 2;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->bins * p->inner);
    fill_angles(angles, p->points);
    for (int32_t i = share.begin; i < share.end; i++) {
        const int32_t inner = i % p->inner;
        const int32_t bin = i / p->inner % p->bins;
        const ptrdiff_t line = (ptrdiff_t)(i / p->inner / p->bins) * p->in_length * p->inner + inner;
        transform(p, angles, (const float *)in[0] + line * p->components, bin, (float *)out[0] + (ptrdiff_t)i * width);
    }
}
