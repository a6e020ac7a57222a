/* SPDX-License-Identifier: Apache-2.0 */
/* The products of matrices that attention by blocks consists of (attention_f32_avx2.h). */
#ifndef NNACL_ATTENTION_PRODUCT_H
#define NNACL_ATTENTION_PRODUCT_H

#include "attention/attention_rows.h"

/* y[r, c] = sum over i of a[r, i] * b[i, c]: row r of a begins at a + r * a_step, row i of panel j, 16 columns, at
 * b + j * panel_step + i * b_step; `columns` of y are written, but all of the panels are read. */
typedef struct attention_product {
    int32_t rows, depth, columns;
    const float *a, *b;
    float *y;
    ptrdiff_t a_step, b_step, panel_step, y_step;
} attention_product;

typedef struct attention_method {
    int32_t panels; /* at a time */
    void (*multiply)(const attention_product *product);
    /* panel[d, c] = k[j + c, d] for the `count` <= 16 keys from j on; the rest of 16 columns is anything finite. */
    void (*pack_keys)(const nnacl_query *query, int32_t size, int32_t j, int32_t count, float *panel);
} attention_method;

#endif
