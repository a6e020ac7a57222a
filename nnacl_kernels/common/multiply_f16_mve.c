/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_f16_mve.h"

#include "common/vector_f16_mve.h"

/* Where weights and rows are, and the sums. */
typedef struct walk {
    const uint16_t *w, *x0, *x1, *x2, *x3;
    float16x8_t sum0, sum1, sum2, sum3;
} walk;

#define STEP4                                                                                                          \
    "vldrh.u16 %q[w], [%[p]], #16\n"                                                                                   \
    "ldrh   %[a], [%[x0]], #2\n"                                                                                       \
    "ldrh   %[b], [%[x1]], #2\n"                                                                                       \
    "vfma.f16 %q[s0], %q[w], %[a]\n"                                                                                   \
    "ldrh   %[a], [%[x2]], #2\n"                                                                                       \
    "vfma.f16 %q[s1], %q[w], %[b]\n"                                                                                   \
    "ldrh   %[b], [%[x3]], #2\n"                                                                                       \
    "vfma.f16 %q[s2], %q[w], %[a]\n"                                                                                   \
    "vfma.f16 %q[s3], %q[w], %[b]\n"

/* `count` steps of four rows. */
NNACL_ALWAYS_INLINE void add4(walk *t, int32_t count) {
    float16x8_t w;
    uint32_t a, b;
    __asm__("wls    lr, %[pairs], 2f\n"
            "1:\n" STEP4 STEP4 "le     lr, 1b\n"
            "2:\n"
            "lsls   %[a], %[count], #31\n"
            "beq    3f\n" STEP4 "3:\n"
            : [p] "+r"(t->w), [x0] "+r"(t->x0), [x1] "+r"(t->x1), [x2] "+r"(t->x2), [x3] "+r"(t->x3), [a] "=&r"(a),
              [b] "=&r"(b), [w] "=&w"(w), [s0] "+w"(t->sum0), [s1] "+w"(t->sum1), [s2] "+w"(t->sum2), [s3] "+w"(t->sum3)
            : [pairs] "r"(count >> 1), [count] "r"(count)
            : "lr", "cc", "memory");
}

/* Of one row. */
NNACL_ALWAYS_INLINE void add1(walk *t, int32_t count) {
    float16x8_t v, w;
    uint32_t a, b;
    __asm__(
        "wls    lr, %[pairs], 2f\n"
        "1:\n"
        "vldrh.u16 %q[v], [%[p]], #16\n"
        "ldrh   %[a], [%[x0]], #2\n"
        "vldrh.u16 %q[w], [%[p]], #16\n"
        "ldrh   %[b], [%[x0]], #2\n"
        "vfma.f16 %q[s0], %q[v], %[a]\n"
        "vfma.f16 %q[s0], %q[w], %[b]\n"
        "le     lr, 1b\n"
        "2:\n"
        "lsls   %[a], %[count], #31\n"
        "beq    3f\n"
        "vldrh.u16 %q[v], [%[p]], #16\n"
        "ldrh   %[a], [%[x0]], #2\n"
        "vfma.f16 %q[s0], %q[v], %[a]\n"
        "3:\n"
        : [p] "+r"(t->w), [x0] "+r"(t->x0), [a] "=&r"(a), [b] "=&r"(b), [v] "=&w"(v), [w] "=&w"(w), [s0] "+w"(t->sum0)
        : [pairs] "r"(count >> 1), [count] "r"(count)
        : "lr", "cc", "memory");
}

/* Bias of up to eight columns. */
NNACL_ALWAYS_INLINE float32x4x2_t load_bias(const float *bias, int32_t columns) {
    if (!bias) {
        return nnacl_zeros_f16();
    }
    if (columns >= 8) {
        return vld2q_f32(bias);
    }
    float values[8];
    for (int32_t i = 0; i < 8; i++) {
        values[i] = i < columns ? bias[i] : 0.0f;
    }
    return vld2q_f32(values);
}

/* Eight columns. Sums in f32 are in memory: there are eight vector registers. */
NNACL_ALWAYS_INLINE void columns8(const nnacl_multiply_f16 *m, const uint16_t *w, int32_t first, const int32_t count) {
    const int32_t left = m->channels - first;
    const mve_pred16_t wanted = vctp16q((uint32_t)left);
    const float16x8_t zero = vdupq_n_f16(0);
    const float32x4x2_t bias = load_bias(m->bias ? m->bias + first : NULL, left);
    float32x4x2_t totals[NNACL_POSITIONS_F16];
    walk t = {w, m->x[0], m->x[1], m->x[2], m->x[3], zero, zero, zero, zero};
    int32_t room = NNACL_HALVES_MVE;
    for (int32_t i = 0; i < count; i++) {
        totals[i] = bias;
    }
    for (int32_t run = 0; run < m->runs; run++) {
        for (int32_t rest = m->length, take; rest > 0; rest -= take) {
            if (room == 0) {
                room = NNACL_HALVES_MVE;
                totals[0] = nnacl_join_f16(totals[0], t.sum0);
                t.sum0 = zero;
                if (count > 1) {
                    totals[1] = nnacl_join_f16(totals[1], t.sum1);
                    totals[2] = nnacl_join_f16(totals[2], t.sum2);
                    totals[3] = nnacl_join_f16(totals[3], t.sum3);
                    t.sum1 = t.sum2 = t.sum3 = zero;
                }
            }
            take = rest < room ? rest : room;
            room -= take;
            if (count > 1) {
                add4(&t, take);
            } else {
                add1(&t, take);
            }
        }
        t.w += m->weights_step;
        t.x0 += m->row_step;
        t.x1 += m->row_step;
        t.x2 += m->row_step;
        t.x3 += m->row_step;
    }
    const float16x8_t low = vdupq_n_f16((float16_t)m->clamp_min), high = vdupq_n_f16((float16_t)m->clamp_max);
    const float16x8_t sums[NNACL_POSITIONS_F16] = {t.sum0, t.sum1, t.sum2, t.sum3};
    for (int32_t i = 0; i < count; i++) {
        const float16x8_t y = nnacl_halves_of_mve(nnacl_join_f16(totals[i], sums[i]));
        vstrhq_p_f16((float16_t *)m->y[i] + first, nnacl_clamp_f16(y, low, high), wanted);
    }
}

void nnacl_multiply4_f16_mve(const nnacl_multiply_f16 *m) {
    const uint16_t *weights = m->weights;
    for (int32_t first = 0; first < m->channels; first += NNACL_PANEL_F16_MVE, weights += m->panel_step) {
        columns8(m, weights, first, 4);
    }
}

void nnacl_multiply1_f16_mve(const nnacl_multiply_f16 *m) {
    const uint16_t *weights = m->weights;
    for (int32_t first = 0; first < m->channels; first += NNACL_PANEL_F16_MVE, weights += m->panel_step) {
        columns8(m, weights, first, 1);
    }
}
