/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of an image to pixels of three; other matrices of elements of four bytes in squares of 16. */
#include <immintrin.h>

#include "common/share.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_transpose_any_avx512);

/* Columns first .. end - 1 of x [3][count] to rows of y [count][3]. */
static void interleave_3(const int32_t *x, int32_t count, int32_t first, int32_t end, int32_t *y) {
    /* Element i of the three vectors that come next is element i / 3 of plane i % 3; planes 0 and 1 come from one
     * permutation, into which the other blends plane 2. */
    int32_t pairs[3][16], thirds[3][16];
    __mmask16 third[3] = {0, 0, 0};
    for (int32_t i = 0; i < 48; i++) {
        pairs[i / 16][i % 16] = i / 3 + (i % 3 == 1 ? 16 : 0);
        thirds[i / 16][i % 16] = i / 3;
        third[i / 16] = (__mmask16)(third[i / 16] | (i % 3 == 2) << i % 16);
    }
    int32_t i = first;
    for (; i + 16 <= end; i += 16) {
        const __m512i a = _mm512_loadu_si512(x + i), b = _mm512_loadu_si512(x + count + i);
        const __m512i c = _mm512_loadu_si512(x + 2 * (ptrdiff_t)count + i);
        for (int32_t v = 0; v < 3; v++) {
            const __m512i both = _mm512_permutex2var_epi32(a, _mm512_loadu_si512(pairs[v]), b);
            _mm512_storeu_si512(y + 3 * (ptrdiff_t)i + 16 * v,
                                _mm512_mask_permutexvar_epi32(both, third[v], _mm512_loadu_si512(thirds[v]), c));
        }
    }
    for (; i < end; i++) {
        for (int32_t plane = 0; plane < 3; plane++) {
            y[3 * (ptrdiff_t)i + plane] = x[plane * (ptrdiff_t)count + i];
        }
    }
}

/* The same of bytes. */
static void interleave_bytes(const int8_t *x, int32_t count, int32_t first, int32_t end, int8_t *y) {
    int8_t places[3][3][16]; /* of a byte of vector v in plane p; -1 where it is from another */
    for (int32_t i = 0; i < 48; i++) {
        for (int32_t plane = 0; plane < 3; plane++) {
            places[i / 16][plane][i % 16] = (int8_t)(i % 3 == plane ? i / 3 : -1);
        }
    }
    int32_t i = first;
    for (; i + 16 <= end; i += 16) {
        for (int32_t v = 0; v < 3; v++) {
            __m128i all = _mm_setzero_si128();
            for (int32_t plane = 0; plane < 3; plane++) {
                const __m128i bytes = _mm_loadu_si128((const void *)(x + plane * (ptrdiff_t)count + i));
                all = _mm_or_si128(all, _mm_shuffle_epi8(bytes, _mm_loadu_si128((const void *)places[v][plane])));
            }
            _mm_storeu_si128((void *)(y + 3 * (ptrdiff_t)i + 16 * v), all);
        }
    }
    for (; i < end; i++) {
        for (int32_t plane = 0; plane < 3; plane++) {
            y[3 * (ptrdiff_t)i + plane] = x[plane * (ptrdiff_t)count + i];
        }
    }
}

/* 16 rows of x, or fewer, to columns of y; `lanes`: of a row. */
static inline void square(const int32_t *x, ptrdiff_t x_step, int32_t rows, __mmask16 lanes, int32_t width, int32_t *y,
                          ptrdiff_t y_step) {
    __m512i r[16], t[16];
    for (int32_t i = 0; i < 16; i++) {
        r[i] = i < rows ? _mm512_maskz_loadu_epi32(lanes, x + i * x_step) : _mm512_setzero_si512();
    }
    for (int32_t i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int32_t i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int32_t i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int32_t i = 0; i < 8; i++) {
        const __m512i even = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        const __m512i odd = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i] = even;
        r[i + 8] = odd;
    }
    const __mmask16 wanted = (__mmask16)(rows >= 16 ? 0xffff : (1u << rows) - 1u);
    for (int32_t i = 0; i < width; i++) {
        _mm512_mask_storeu_epi32(y + i * y_step, wanted, r[i]);
    }
}

/* Rows first .. end - 1 of y [rows][columns], from x [columns][rows]. */
static void squares(const int32_t *x, int32_t rows, int32_t columns, int32_t first, int32_t end, int32_t *y) {
    for (int32_t row = first; row < end; row += 16) {
        const int32_t width = end - row < 16 ? end - row : 16;
        const __mmask16 lanes = (__mmask16)(width >= 16 ? 0xffff : (1u << width) - 1u);
        for (int32_t column = 0; column < columns; column += 16) {
            const int32_t high = columns - column < 16 ? columns - column : 16;
            square(x + (ptrdiff_t)column * rows + row, rows, high, lanes, width, y + (ptrdiff_t)row * columns + column,
                   columns);
        }
    }
}

void nnacl_transpose_any_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_transpose_params *p = params;
    const int32_t batch = p->rank == 3 ? p->dims[0] : 1, rows = p->dims[p->rank - 2], columns = p->dims[p->rank - 1];
    const nnacl_range share = nnacl_share(ctx, batch * rows);
    for (int32_t row = share.begin; row < share.end;) {
        const int32_t matrix = row / rows, first = row - matrix * rows, left = share.end - row;
        const int32_t end = left < rows - first ? first + left : rows;
        const ptrdiff_t offset = (ptrdiff_t)matrix * rows * columns;
        if (p->element_size == 1) {
            interleave_bytes((const int8_t *)in[0] + offset, rows, first, end, (int8_t *)out[0] + offset);
        } else if (columns == 3) {
            interleave_3((const int32_t *)in[0] + offset, rows, first, end, (int32_t *)out[0] + offset);
        } else {
            squares((const int32_t *)in[0] + offset, rows, columns, first, end, (int32_t *)out[0] + offset);
        }
        row += end - first;
    }
}
