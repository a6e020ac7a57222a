/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/order.h"

NNACL_DECLARE(nnacl_non_zero_any_c);

void nnacl_non_zero_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_non_zero_params *p = params;
    int64_t *y = out[0];
    int32_t elements = 1, found = 0;
    (void)ctx;
    for (int32_t i = 0; i < p->rank; i++) {
        elements *= p->dims[i] > 0 ? p->dims[i] : 1;
    }
    /* The count ends the search, so that an empty input is not looked at. */
    for (int32_t i = 0; i < elements && found < p->count; i++) {
        if (nnacl_is_zero(in[0], i, p->dtype)) {
            continue;
        }
        int32_t rest = i;
        for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
            y[(ptrdiff_t)axis * p->count + found] = rest % p->dims[axis];
            rest /= p->dims[axis];
        }
        found++;
    }
}
