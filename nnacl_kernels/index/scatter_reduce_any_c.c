/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters that combine each update with the element that is there. */
#include "index/scatter.h"

#define COMBINE(dtype, type, sum, product, larger, smaller)                                                            \
    static void combine_##dtype(void *to, const void *from, int32_t count, int32_t reduction) {                        \
        type *y = to;                                                                                                  \
        const type *update = from;                                                                                     \
        for (int32_t i = 0; i < count; i++) {                                                                          \
            const type a = y[i], b = update[i];                                                                        \
            y[i] = reduction == NNACL_SCATTER_ADD   ? sum                                                              \
                   : reduction == NNACL_SCATTER_MUL ? product                                                          \
                   : reduction == NNACL_SCATTER_MAX ? larger                                                           \
                                                    : smaller;                                                         \
        }                                                                                                              \
    }

/* Integers wrap: they are added and multiplied as unsigned numbers of at least 32 bits. */
#define INTEGER(dtype, type, wide)                                                                                     \
    COMBINE(dtype, type, (type)((wide)a + (wide)b), (type)((wide)a * (wide)b), a > b ? a : b, a < b ? a : b)

/* NaN stays. */
#define FLOAT(dtype, type) COMBINE(dtype, type, a + b, a * b, a > b || a != a ? a : b, a < b || a != a ? a : b)

FLOAT(f32, float)
FLOAT(f64, double)
INTEGER(s8, int8_t, uint32_t)
INTEGER(u8, uint8_t, uint32_t)
INTEGER(s16, int16_t, uint32_t)
INTEGER(u16, uint16_t, uint32_t)
INTEGER(s32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(s64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)

static nnacl_combine_fn combine_of(int32_t dtype) {
    switch (dtype) {
    case NNACL_F32:
        return combine_f32;
    case NNACL_F64:
        return combine_f64;
    case NNACL_S8:
        return combine_s8;
    case NNACL_S16:
        return combine_s16;
    case NNACL_U16:
        return combine_u16;
    case NNACL_S32:
        return combine_s32;
    case NNACL_U32:
        return combine_u32;
    case NNACL_S64:
        return combine_s64;
    case NNACL_U64:
        return combine_u64;
    default:
        return combine_u8;
    }
}

NNACL_DECLARE(nnacl_scatter_elements_reduce_any_c);

void nnacl_scatter_elements_reduce_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                         void *const out[]) {
    const nnacl_scatter_elements_params *p = params;
    (void)ctx;
    nnacl_scatter_elements(p, in, out[0], combine_of(p->dtype), p->reduction);
}

NNACL_DECLARE(nnacl_scatter_nd_reduce_any_c);

void nnacl_scatter_nd_reduce_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_scatter_nd_params *p = params;
    (void)ctx;
    nnacl_scatter_nd(p, in, out[0], combine_of(p->dtype), p->reduction);
}
