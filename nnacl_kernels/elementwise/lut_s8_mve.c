/* SPDX-License-Identifier: Apache-2.0 */
#include "common/assembly.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_lut_s8_mve);

/* y[i] = table[(uint8_t)(x[i] + 128)]. */
void nnacl_look_up_s8_mve(const int8_t *x, const int8_t *table, int8_t *y, int32_t count);

/* clang-format off */
__asm__(NNACL_FUNCTION("nnacl_look_up_s8_mve")
    "push   {r4, lr}\n"
    "movs   r4, #128\n"
    "wlstp.8 lr, r3, 2f\n"
    "1:\n"
    "vldrb.u8 q0, [r0], #16\n"
    "vadd.i8 q0, q0, r4\n"
    "vldrb.u8 q1, [r1, q0]\n"
    "vstrb.8 q1, [r2], #16\n"
    "letp   lr, 1b\n"
    "2:\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_look_up_s8_mve"));
/* clang-format on */

void nnacl_lut_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lut_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    nnacl_look_up_s8_mve((const int8_t *)in[0] + share.begin, in[1], (int8_t *)out[0] + share.begin,
                         share.end - share.begin);
}
