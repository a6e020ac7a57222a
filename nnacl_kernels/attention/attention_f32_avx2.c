/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of queries at once: their scores are tiles of a matrix product with 16 keys, the results tiles of one with 16
 * columns of v. */
#include "attention/attention_rows.h"
#include "common/float_math.h"
#include "common/float_math_avx2.h"
#include "common/gemm_f32_avx2.h"
#include "common/share.h"

NNACL_DECLARE(nnacl_attention_f32_avx2);

/* The queries first .. first + rows - 1 of one head, and the scratch memory. */
typedef struct block {
    const nnacl_attention_params *p;
    nnacl_query query; /* the first */
    ptrdiff_t q_step, y_step;
    int32_t rows;
    float *scores; /* [rows, k length] */
    float *panel;
} block;

/* panel[d, c] = k[j + c, d] for the `count` keys from j on; the rest of 16 columns is 0. */
static void pack_keys(const block *b, int32_t j, int32_t count) {
    const int32_t size = b->p->size;
    for (int32_t c = 0; c < NNACL_TILE_COLUMNS; c++) {
        const float *k = b->query.k + (j + (c < count ? c : 0)) * b->query.k_step;
        for (int32_t d = 0; d < size; d++) {
            b->panel[d * NNACL_TILE_COLUMNS + c] = c < count ? k[d] : 0.0f;
        }
    }
}

/* panel[j, c] = v[j, first + c] for the `count` columns from `first` on; the rest of 16 columns is 0. */
static void pack_values(const block *b, int32_t first, int32_t count) {
    for (int32_t j = 0; j < b->p->k_length; j++) {
        const float *v = b->query.v + j * b->query.v_step + first;
        float *row = b->panel + (ptrdiff_t)j * NNACL_TILE_COLUMNS;
        for (int32_t c = 0; c < NNACL_TILE_COLUMNS; c++) {
            row[c] = c < count ? v[c] : 0.0f;
        }
    }
}

static int32_t at_most(int32_t value, int32_t most) {
    return value < most ? value : most;
}

static void run_tiles(const block *b, nnacl_tile *tile, const float *a, ptrdiff_t a_step, float *y) {
    for (int32_t row = 0; row < b->rows; row += NNACL_TILE_ROWS) {
        const int32_t count = at_most(b->rows - row, NNACL_TILE_ROWS);
        for (int32_t r = 0; r < count; r++) {
            tile->a[r] = a + (row + r) * a_step;
        }
        tile->y = y + row * tile->y_step;
        nnacl_tile_run(tile, count);
    }
}

static void score(const block *b) {
    nnacl_tile tile = {.depth = b->p->size,
                       .panel = b->panel,
                       .panel_step = NNACL_TILE_COLUMNS,
                       .y_step = b->p->k_length,
                       .clamp_min = -INFINITY,
                       .clamp_max = INFINITY};
    for (int32_t j = 0; j < b->p->k_length; j += NNACL_TILE_COLUMNS) {
        tile.columns = at_most(b->p->k_length - j, NNACL_TILE_COLUMNS);
        pack_keys(b, j, tile.columns);
        run_tiles(b, &tile, b->query.q, b->q_step, b->scores + j);
    }
}

static void gather(const block *b) {
    nnacl_tile tile = {.depth = b->p->k_length, .y_step = b->y_step, .clamp_min = -INFINITY, .clamp_max = INFINITY};
    for (int32_t first = 0; first < b->p->v_size; first += NNACL_TILE_COLUMNS) {
        tile.columns = at_most(b->p->v_size - first, NNACL_TILE_COLUMNS);
        if (tile.columns < NNACL_TILE_COLUMNS) {
            pack_values(b, first, tile.columns);
            tile.panel = b->panel;
            tile.panel_step = NNACL_TILE_COLUMNS;
        } else { /* the rows of v serve as they lie */
            tile.panel = b->query.v + first;
            tile.panel_step = b->query.v_step;
        }
        run_tiles(b, &tile, b->scores, b->p->k_length, b->query.y + first);
    }
}

/* The scores of one query, scaled and masked, of the keys that it sees; the others are hidden. Returns the largest, NaN
 * if there is one. */
static float mask_row(const nnacl_attention_params *p, const nnacl_query *query, const void *mask, float *scores) {
    for (int32_t j = 0; j < query->begin; j++) {
        scores[j] = -INFINITY;
    }
    for (int32_t j = query->end; j < p->k_length; j++) {
        scores[j] = -INFINITY;
    }
    const float *added = p->mask == NNACL_ATTENTION_ADDED_MASK ? (const float *)mask + query->mask : NULL;
    const uint8_t *shown = p->mask == NNACL_ATTENTION_BOOLEAN_MASK ? (const uint8_t *)mask + query->mask : NULL;
    const __m256 scale = _mm256_set1_ps(p->scale);
    __m256 max = _mm256_set1_ps(-INFINITY), unordered = _mm256_setzero_ps();
    for (int32_t j = query->begin; j < query->end; j += 8) {
        const int32_t count = query->end - j;
        const __m256 lanes = _mm256_castsi256_ps(nnacl_lanes_avx2(count));
        __m256 value = _mm256_mul_ps(nnacl_load_avx2(scores + j, count), scale);
        if (added) {
            value = _mm256_add_ps(value, nnacl_load_avx2(added + j, count));
        }
        nnacl_store_avx2(scores + j, value, count);
        for (int32_t i = j; shown && i < query->end && i < j + 8; i++) {
            scores[i] = shown[i] ? scores[i] : -INFINITY;
        }
        value = _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), nnacl_load_avx2(scores + j, count), lanes);
        max = _mm256_max_ps(max, value);
        unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    }
    max = _mm256_max_ps(max, _mm256_permute2f128_ps(max, max, 1));
    max = _mm256_max_ps(max, _mm256_permute_ps(max, 0x4e));
    max = _mm256_max_ps(max, _mm256_permute_ps(max, 0xb1));
    return _mm256_movemask_ps(unordered) ? NAN : _mm256_cvtss_f32(max);
}

static float sum_lanes(__m256 lanes) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* Softmax of one row; hidden keys get exactly 0. */
static void normalize(float *scores, int32_t length, float max) {
    const __m256 hidden = _mm256_set1_ps(-INFINITY), top = _mm256_set1_ps(max == -INFINITY ? 0.0f : max);
    __m256 lanes = _mm256_setzero_ps();
    for (int32_t j = 0; j < length; j += 8) {
        const int32_t count = length - j;
        const __m256 value = nnacl_load_avx2(scores + j, count);
        const __m256 seen = _mm256_cmp_ps(value, hidden, _CMP_NEQ_UQ);
        const __m256 e = _mm256_and_ps(nnacl_exp_avx2(_mm256_sub_ps(value, top)), seen);
        nnacl_store_avx2(scores + j, e, count);
        lanes = _mm256_add_ps(lanes, _mm256_and_ps(e, _mm256_castsi256_ps(nnacl_lanes_avx2(count))));
    }
    const float sum = sum_lanes(lanes);
    const __m256 factor = _mm256_set1_ps(sum == 0.0f ? 0.0f : 1.0f / sum);
    for (int32_t j = 0; j < length; j += 8) {
        nnacl_store_avx2(scores + j, _mm256_mul_ps(nnacl_load_avx2(scores + j, length - j), factor), length - j);
    }
}

void nnacl_attention_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_attention_params *p = params;
    block b = {.p = p, .scores = ctx->workspace};
    b.panel = b.scores + (ptrdiff_t)NNACL_ATTENTION_BLOCK * p->k_length;
    b.q_step = nnacl_head_step(p->q_layout, p->heads, p->size);
    b.y_step = nnacl_head_step(p->q_layout, p->heads, p->v_size);
    const nnacl_range share = nnacl_share(ctx, p->batch * p->heads * p->q_length);
    for (int32_t row = share.begin; row < share.end; row += b.rows) {
        b.rows = at_most(at_most(share.end - row, p->q_length - row % p->q_length), NNACL_ATTENTION_BLOCK);
        b.query = nnacl_query_at(p, in, out, row);
        score(&b);
        for (int32_t r = 0; r < b.rows; r++) {
            const nnacl_query query = nnacl_query_at(p, in, out, row + r);
            float *scores = b.scores + (ptrdiff_t)r * p->k_length;
            normalize(scores, p->k_length, mask_row(p, &query, p->mask ? in[3] : NULL, scores));
        }
        gather(&b);
    }
}
