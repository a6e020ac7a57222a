/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter structs of the extension `acme`, and the arithmetic of its ops.
 *
 * acme.snake: y = x + sin(a x)^2 / a, with a = alpha[c] for slice c along `axis`. Inputs 0 x f32, 1 alpha f32
 * [channels], not 0.
 */
#ifndef ACME_H
#define ACME_H

#include "nnacl_base.h"

typedef struct acme_snake_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 1 */
    /* shapes, derived */
    int32_t outer, channels, inner;
} acme_snake_params;

#endif
