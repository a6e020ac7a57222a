/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_neon.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* How a product is rounded, for nnacl_binary_rescale() and nnacl_binary_finish(): the shift to the left goes before. */
typedef struct scaling {
    int32x4_t left, multiplier, right;
    int32x4_t fix; /* -1 where halves go away from zero */
    bool down;     /* the shift to the right rounds down */
} scaling;

static scaling scaling_of(int32_t mult, int32_t shift, int32_t left_shift, int32_t rounding) {
    const int32_t left = shift > 0 ? shift : 0, right = shift < 0 ? (shift < -32 ? -32 : shift) : 0;
    const bool down = rounding == NNACL_ROUND_TFLITE_DOWN;
    const bool away = rounding == NNACL_ROUND_TFLITE_DOUBLE || down;
    return (scaling){vdupq_n_s32(left_shift + left), vdupq_n_s32(mult), vdupq_n_s32(right),
                     vdupq_n_s32(away && shift < 0 ? -1 : 0), down};
}

NNACL_ALWAYS_INLINE int32x4_t rescale(int32x4_t value, const scaling *s, const bool down) {
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(value, s->left), s->multiplier);
    return down ? vshlq_s32(high, s->right)
                : vrshlq_s32(vaddq_s32(high, vandq_s32(vshrq_n_s32(high, 31), s->fix)), s->right);
}

/* What does not change along a row. */
typedef struct operands {
    const nnacl_binary_params *p;
    int8x8_t a_zero, b_zero;
    scaling a, b, y;
    int16x8_t y_zero;
    int8x16_t q_min, q_max;
} operands;

static operands operands_of(const nnacl_binary_params *p) {
    const int32_t rounding = p->rounding;
    const int32_t last = rounding == NNACL_ROUND_TFLITE_DOWN ? NNACL_ROUND_TFLITE_DOUBLE : rounding;
    return (operands){p,
                      vdup_n_s8((int8_t)p->a_zero),
                      vdup_n_s8((int8_t)p->b_zero),
                      scaling_of(p->a_mult, p->a_shift, p->left_shift, rounding),
                      scaling_of(p->b_mult, p->b_shift, p->left_shift, rounding),
                      scaling_of(p->y_mult, p->y_shift, 0, last),
                      vdupq_n_s16((int16_t)p->y_zero),
                      vdupq_n_s8((int8_t)p->q_min),
                      vdupq_n_s8((int8_t)p->q_max)};
}

/* What is usual under tflite-double: halves go away from zero in a shift to the right, or there is none. */
#define ANY 0
#define AWAY 1
#define STRAIGHT 2

static int32_t kind_of(int32_t shift, int32_t rounding) {
    return rounding != NNACL_ROUND_TFLITE_DOUBLE ? ANY : shift < 0 ? AWAY : STRAIGHT;
}

NNACL_ALWAYS_INLINE int32x4_t operand(int32x4_t value, const scaling *s, const int32_t kind) {
    if (kind == ANY) {
        return rescale(value, s, s->down);
    }
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(value, s->left), s->multiplier);
    return kind == AWAY ? vrshlq_s32(vsraq_n_s32(high, high, 31), s->right) : high;
}

/* `usual`: the last shift is AWAY. */
NNACL_ALWAYS_INLINE int32x4_t finish(int32x4_t value, const operands *o, const bool usual) {
    if (usual) {
        const int32x4_t high = vqrdmulhq_s32(value, o->y.multiplier);
        return vrshlq_s32(vsraq_n_s32(high, high, 31), o->y.right);
    }
    return rescale(value, &o->y, false);
}

NNACL_ALWAYS_INLINE int32x4_t finish_float(float32x4_t value, const nnacl_binary_params *p) {
    const float32x4_t scaled = vdivq_f32(value, vdupq_n_f32(p->y_scale));
    const float32x4_t low = vdupq_n_f32((float)(p->q_min - p->y_zero));
    const float32x4_t high = vdupq_n_f32((float)(p->q_max - p->y_zero));
    return vcvtnq_s32_f32(vminq_f32(vmaxnmq_f32(scaled, low), high));
}

NNACL_ALWAYS_INLINE float32x4_t real(int32x4_t value, float scale) {
    return vmulq_n_f32(vcvtq_f32_s32(value), scale);
}

#define ADD 0
#define SUB 1
#define MUL 2

/* Four elements without their zero points. */
NNACL_ALWAYS_INLINE int32x4_t four(int16x4_t a, int16x4_t b, const operands *o, const int32_t op, const bool scales,
                                   const int32_t kinds) {
    if (scales) {
        const float32x4_t left = real(vmovl_s16(a), o->p->a_scale), right = real(vmovl_s16(b), o->p->b_scale);
        return finish_float(op == ADD   ? vaddq_f32(left, right)
                            : op == SUB ? vsubq_f32(left, right)
                                        : vmulq_f32(left, right),
                            o->p);
    }
    if (op == MUL) {
        return finish(vmull_s16(a, b), o, false);
    }
    const int32x4_t left = operand(vmovl_s16(a), &o->a, kinds / 4), right = operand(vmovl_s16(b), &o->b, kinds % 4);
    return finish(op == ADD ? vaddq_s32(left, right) : vsubq_s32(left, right), o, kinds != 0);
}

NNACL_ALWAYS_INLINE int8x16_t sixteen(int8x16_t a, int8x16_t b, const operands *o, const int32_t op, const bool scales,
                                      const int32_t kinds) {
    const int16x8_t a0 = vsubl_s8(vget_low_s8(a), o->a_zero), a1 = vsubl_s8(vget_high_s8(a), o->a_zero);
    const int16x8_t b0 = vsubl_s8(vget_low_s8(b), o->b_zero), b1 = vsubl_s8(vget_high_s8(b), o->b_zero);
    const int16x8_t low =
        nnacl_requant_words_neon(four(vget_low_s16(a0), vget_low_s16(b0), o, op, scales, kinds),
                                 four(vget_high_s16(a0), vget_high_s16(b0), o, op, scales, kinds), o->y_zero);
    const int16x8_t high =
        nnacl_requant_words_neon(four(vget_low_s16(a1), vget_low_s16(b1), o, op, scales, kinds),
                                 four(vget_high_s16(a1), vget_high_s16(b1), o, op, scales, kinds), o->y_zero);
    return vminq_s8(vmaxq_s8(vqmovn_high_s16(vqmovn_s16(low), high), o->q_min), o->q_max);
}

/* Up to sixteen elements, or a repeated one. */
NNACL_ALWAYS_INLINE int8x16_t load(const int8_t *x, bool repeated, int32_t count) {
    if (repeated) {
        return vld1q_dup_s8(x);
    }
    if (count >= 16) {
        return vld1q_s8(x);
    }
    int8_t some[16] = {0};
    memcpy(some, x, (size_t)count);
    return vld1q_s8(some);
}

NNACL_ALWAYS_INLINE void row(const int8_t *a, bool one_a, const int8_t *b, bool one_b, int8_t *y, int32_t count,
                             const operands *given, const int32_t op, const bool scales, const int32_t kinds) {
    const operands o = *given; /* what is written cannot lie there */
    if (!one_a && !one_b) {
        for (; count >= 16; count -= 16, a += 16, b += 16, y += 16) {
            vst1q_s8(y, sixteen(vld1q_s8(a), vld1q_s8(b), &o, op, scales, kinds));
        }
    }
    for (; count > 0; count -= 16, y += 16) {
        const int8x16_t left = load(a, one_a, count), right = load(b, one_b, count);
        nnacl_store_16_neon(y, sixteen(left, right, &o, op, scales, kinds), count);
        a += one_a ? 0 : 16;
        b += one_b ? 0 : 16;
    }
}

/* Of both operands, where all shifts are usual; else 0. */
static int32_t kinds_of(const nnacl_binary_params *p) {
    const int32_t a = kind_of(p->a_shift, p->rounding), b = kind_of(p->b_shift, p->rounding);
    return kind_of(p->y_shift, p->rounding) == AWAY ? 4 * a + b : 0;
}

#define BINARY(name, op)                                                                                               \
    NNACL_DECLARE(nnacl_##name##_s8_neon);                                                                             \
    void nnacl_##name##_s8_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) { \
        const nnacl_binary_params *p = params;                                                                         \
        const bool one_a = p->a_strides[p->rank - 1] == 0, one_b = p->b_strides[p->rank - 1] == 0;                     \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        const operands o = operands_of(p);                                                                             \
        const int32_t kinds = kinds_of(p);                                                                             \
        for (int32_t i = walk.row; i < walk.last_row; i++) {                                                           \
            const int8_t *a = (const int8_t *)in[0] + nnacl_walk_offset(i, p->rank, p->dims, p->a_strides);            \
            const int8_t *b = (const int8_t *)in[1] + nnacl_walk_offset(i, p->rank, p->dims, p->b_strides);            \
            int8_t *y = (int8_t *)out[0] + (ptrdiff_t)i * walk.width + walk.begin;                                     \
            const int32_t count = walk.end - walk.begin;                                                               \
            a += one_a ? 0 : walk.begin;                                                                               \
            b += one_b ? 0 : walk.begin;                                                                               \
            if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {                                                   \
                row(a, one_a, b, one_b, y, count, &o, op, true, 0);                                                    \
            } else if (op != MUL && kinds == 4 * AWAY + AWAY) {                                                        \
                row(a, one_a, b, one_b, y, count, &o, op, false, 4 * AWAY + AWAY);                                     \
            } else if (op != MUL && kinds == 4 * STRAIGHT + AWAY) {                                                    \
                row(a, one_a, b, one_b, y, count, &o, op, false, 4 * STRAIGHT + AWAY);                                 \
            } else if (op != MUL && kinds == 4 * STRAIGHT + STRAIGHT) {                                                \
                row(a, one_a, b, one_b, y, count, &o, op, false, 4 * STRAIGHT + STRAIGHT);                             \
            } else if (op != MUL && kinds == 4 * AWAY + STRAIGHT) {                                                    \
                row(a, one_a, b, one_b, y, count, &o, op, false, 4 * AWAY + STRAIGHT);                                 \
            } else {                                                                                                   \
                row(a, one_a, b, one_b, y, count, &o, op, false, 0);                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
