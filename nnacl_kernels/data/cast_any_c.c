/* SPDX-License-Identifier: Apache-2.0 */
/* Cast goes through small chunks of either s64 or f64, both of which hold every value of the types on their side. */
#include <string.h>

#include "common/half.h"
#include "common/share.h"
#include "data/data.h"

#define CHUNK 16

static bool is_float(int32_t dtype) {
    return dtype == NNACL_F32 || dtype == NNACL_F16 || dtype == NNACL_F64;
}

#define LOAD(type)                                                                                                     \
    for (int32_t i = 0; i < n; i++) {                                                                                  \
        wide[i] = ((const type *)x)[first + i];                                                                        \
    }                                                                                                                  \
    break

static void load_integers(int64_t *wide, const void *x, int32_t first, int32_t n, int32_t dtype) {
    switch (dtype) {
    case NNACL_S8:
        LOAD(int8_t);
    case NNACL_U8:
    case NNACL_B8:
        LOAD(uint8_t);
    case NNACL_S16:
        LOAD(int16_t);
    case NNACL_U16:
        LOAD(uint16_t);
    case NNACL_S32:
        LOAD(int32_t);
    case NNACL_U32:
        LOAD(uint32_t);
    default:
        /* The bits of u64 as well. */
        LOAD(int64_t);
    }
}

static void load_floats(double *wide, const void *x, int32_t first, int32_t n, int32_t dtype) {
    switch (dtype) {
    case NNACL_F16:
        for (int32_t i = 0; i < n; i++) {
            wide[i] = (double)nnacl_half_to_float(((const uint16_t *)x)[first + i]);
        }
        break;
    case NNACL_F32:
        LOAD(float);
    default:
        LOAD(double);
    }
}

/* Floats of unsigned numbers that s64 does not hold. */
#define STORE_UNSIGNED(type, value)                                                                                    \
    for (int32_t i = 0; i < n; i++) {                                                                                  \
        const uint64_t v = (uint64_t)wide[i];                                                                          \
        ((type *)y)[first + i] = value;                                                                                \
    }                                                                                                                  \
    break

static void store_unsigned(void *y, const int64_t *wide, int32_t first, int32_t n, int32_t dtype) {
    switch (dtype) {
    case NNACL_F16:
        STORE_UNSIGNED(uint16_t, nnacl_float_to_half((float)v));
    case NNACL_F32:
        STORE_UNSIGNED(float, (float)v);
    default:
        STORE_UNSIGNED(double, (double)v);
    }
}

#define STORE(type)                                                                                                    \
    for (int32_t i = 0; i < n; i++) {                                                                                  \
        ((type *)y)[first + i] = (type)wide[i];                                                                        \
    }                                                                                                                  \
    break

static void store_integers(void *y, const int64_t *wide, int32_t first, int32_t n, int32_t dtype) {
    switch (dtype) {
    case NNACL_S8:
        STORE(int8_t);
    case NNACL_U8:
        STORE(uint8_t);
    case NNACL_S16:
        STORE(int16_t);
    case NNACL_U16:
        STORE(uint16_t);
    case NNACL_S32:
        STORE(int32_t);
    case NNACL_U32:
        STORE(uint32_t);
    case NNACL_B8:
        for (int32_t i = 0; i < n; i++) {
            ((uint8_t *)y)[first + i] = wide[i] != 0;
        }
        break;
    case NNACL_F32:
        STORE(float);
    case NNACL_F64:
        STORE(double);
    case NNACL_F16:
        /* Through f32: beyond 65520 the half is infinite, and below that f32 is exact. */
        for (int32_t i = 0; i < n; i++) {
            ((uint16_t *)y)[first + i] = nnacl_float_to_half((float)wide[i]);
        }
        break;
    default:
        STORE(int64_t);
    }
}

/* Truncates into [low, high]; NaN becomes 0. */
#define STORE_SATURATED(type, low, high)                                                                               \
    for (int32_t i = 0; i < n; i++) {                                                                                  \
        const double v = wide[i];                                                                                      \
        ((type *)y)[first + i] = v != v ? 0 : v <= (double)(low) ? low : v >= (double)(high) ? high : (type)v;         \
    }                                                                                                                  \
    break

/* The nearest half of a double, ties to even: rounded to odd into f32 first, so that only the second rounding counts.
 */
static uint16_t double_to_half(double value) {
    float narrow = (float)value;
    if ((double)narrow != value && value == value) {
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        const bool away = value > 0.0 ? (double)narrow > value : (double)narrow < value;
        bits = (bits - away) | 1u;
        memcpy(&narrow, &bits, sizeof bits);
    }
    return nnacl_float_to_half(narrow);
}

static void store_floats(void *y, const double *wide, int32_t first, int32_t n, int32_t dtype) {
    switch (dtype) {
    case NNACL_S8:
        STORE_SATURATED(int8_t, INT8_MIN, INT8_MAX);
    case NNACL_U8:
        STORE_SATURATED(uint8_t, 0, UINT8_MAX);
    case NNACL_S16:
        STORE_SATURATED(int16_t, INT16_MIN, INT16_MAX);
    case NNACL_U16:
        STORE_SATURATED(uint16_t, 0, UINT16_MAX);
    case NNACL_S32:
        STORE_SATURATED(int32_t, INT32_MIN, INT32_MAX);
    case NNACL_U32:
        STORE_SATURATED(uint32_t, 0, UINT32_MAX);
    case NNACL_S64:
        STORE_SATURATED(int64_t, INT64_MIN, INT64_MAX);
    case NNACL_U64:
        STORE_SATURATED(uint64_t, 0, UINT64_MAX);
    case NNACL_B8:
        for (int32_t i = 0; i < n; i++) {
            ((uint8_t *)y)[first + i] = wide[i] != 0.0;
        }
        break;
    case NNACL_F16:
        for (int32_t i = 0; i < n; i++) {
            ((uint16_t *)y)[first + i] = double_to_half(wide[i]);
        }
        break;
    case NNACL_F32:
        STORE(float);
    default:
        STORE(double);
    }
}

NNACL_DECLARE(nnacl_cast_any_c);
void nnacl_cast_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_cast_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    int32_t n;
    for (int32_t first = share.begin; first < share.end; first += n) {
        n = share.end - first < CHUNK ? share.end - first : CHUNK;
        if (is_float(p->from)) {
            double wide[CHUNK];
            load_floats(wide, in[0], first, n, p->from);
            store_floats(out[0], wide, first, n, p->to);
        } else {
            int64_t wide[CHUNK];
            load_integers(wide, in[0], first, n, p->from);
            if (p->from == NNACL_U64 && is_float(p->to)) {
                store_unsigned(out[0], wide, first, n, p->to);
            } else {
                store_integers(out[0], wide, first, n, p->to);
            }
        }
    }
}
