/* SPDX-License-Identifier: Apache-2.0 */
#include "common/halves.h"

float nnacl_add_half_products(float sum, const uint16_t *a, const uint16_t *b, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        sum += nnacl_half_to_float(a[i]) * nnacl_half_to_float(b[i]);
    }
    return sum;
}
