/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fused_product.h"
#include "common/share.h"
#include "ordered/ordered.h"

NNACL_DECLARE(nnacl_sigmoid_ordered_f32_c);
NNACL_DECLARE(nnacl_tanh_ordered_f32_c);

#define LENGTH(array) (int32_t)(sizeof(array) / sizeof((array)[0]))

/* The coefficients that Eigen has, of odd and of even powers, highest first. */
static const float sigmoid_odd[] = {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                                    8.51377133304701e-03f, 2.48287947061529e-01f};
static const float sigmoid_even[] = {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                                     1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f};
static const float tanh_odd[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                 5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                                 4.89352455891786e-03f};
static const float tanh_even[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                                  4.89352518554385e-03f};

static NNACL_NOINLINE float polynomial(const float *factors, int32_t count, float x) {
    float sum = factors[0];
    for (int32_t i = 1; i < count; i++) {
        sum = nnacl_fused_product(sum, x, factors[i]);
    }
    return sum;
}

static float sigmoid(float x) {
    x = x < -18.0f ? -18.0f : x;
    x = x > 18.0f ? 18.0f : x;
    const float square = x * x;
    const float odd = polynomial(sigmoid_odd, LENGTH(sigmoid_odd), square) * x;
    const float y = odd / polynomial(sigmoid_even, LENGTH(sigmoid_even), square) + 0.5f;
    return y < 0.0f ? 0.0f : y;
}

static float hyperbolic_tangent(float x) {
    x = x < -9.0f ? -9.0f : x;
    x = x > 9.0f ? 9.0f : x;
    const float square = x * x;
    const float odd = polynomial(tanh_odd, LENGTH(tanh_odd), square) * x;
    return odd / polynomial(tanh_even, LENGTH(tanh_even), square);
}

#define FUNCTION(name, function)                                                                                       \
    void nnacl_##name##_ordered_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                \
                                      void *const out[]) {                                                             \
        const nnacl_function_ordered_params *p = params;                                                               \
        const float *x = in[0];                                                                                        \
        float *y = out[0];                                                                                             \
        const nnacl_range range = nnacl_share(ctx, p->count);                                                          \
        for (int32_t i = range.begin; i < range.end; i++) {                                                            \
            y[i] = function(x[i]);                                                                                     \
        }                                                                                                              \
    }

FUNCTION(sigmoid, sigmoid)
FUNCTION(tanh, hyperbolic_tangent)
