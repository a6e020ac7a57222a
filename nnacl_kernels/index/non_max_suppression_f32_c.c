/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/order.h"

NNACL_DECLARE(nnacl_non_max_suppression_f32_c);

typedef struct corners {
    float left, top, right, bottom;
} corners;

static float smaller(float a, float b) {
    return a < b ? a : b;
}

static float larger(float a, float b) {
    return a > b ? a : b;
}

static corners corners_of(const float *box, int32_t center_point_box) {
    if (center_point_box) {
        const float half_width = box[2] / 2.0f, half_height = box[3] / 2.0f;
        const corners c = {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
        return c;
    }
    const corners c = {smaller(box[0], box[2]), smaller(box[1], box[3]), larger(box[0], box[2]),
                       larger(box[1], box[3])};
    return c;
}

/* Whether the part that two boxes share is more than `threshold` of what they cover together. */
static bool overlap(const float *first, const float *second, int32_t center_point_box, float threshold) {
    const corners a = corners_of(first, center_point_box), b = corners_of(second, center_point_box);
    const float width = smaller(a.right, b.right) - larger(a.left, b.left);
    const float height = smaller(a.bottom, b.bottom) - larger(a.top, b.top);
    const float area_a = (a.right - a.left) * (a.bottom - a.top), area_b = (b.right - b.left) * (b.bottom - b.top);
    if (!(width > 0.0f) || !(height > 0.0f) || !(area_a > 0.0f) || !(area_b > 0.0f)) {
        return false;
    }
    const float shared = width * height;
    return shared / (area_a + area_b - shared) > threshold;
}

static bool comes_before(const float *scores, int32_t a, int32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
}

static void sink(const float *scores, int32_t *heap, int32_t count, int32_t root) {
    const int32_t item = heap[root];
    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(scores, heap[child + 1], heap[child])) {
            child++;
        }
        if (!comes_before(scores, heap[child], item)) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = item;
}

/* The boxes with a score above the threshold as a heap, the best at its root. NaN is above nothing. */
static int32_t start_heap(int32_t *heap, const float *scores, int32_t boxes, float threshold) {
    int32_t count = 0;
    for (int32_t i = 0; i < boxes; i++) {
        if (scores[i] > threshold) {
            heap[count++] = i;
        }
    }
    for (int32_t root = count / 2 - 1; root >= 0; root--) {
        sink(scores, heap, count, root);
    }
    return count;
}

void nnacl_non_max_suppression_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_non_max_suppression_params *p = params;
    const float iou_threshold = p->has_iou_threshold ? *(const float *)in[3] : p->iou_threshold;
    const float score_threshold = p->has_score_threshold ? *(const float *)in[4] : p->score_threshold;
    int64_t *rows = out[0];
    int32_t *heap = ctx->workspace;
    int32_t found = 0;
    for (int32_t batch = 0; batch < p->batch; batch++) {
        const float *boxes = (const float *)in[0] + (ptrdiff_t)batch * p->boxes * 4;
        for (int32_t class = 0; class < p->classes; class ++) {
            const float *scores = (const float *)in[1] + ((ptrdiff_t)batch * p->classes + class) * p->boxes;
            const int32_t first = found;
            int32_t waiting = start_heap(heap, scores, p->boxes, score_threshold);
            while (waiting > 0 && found - first < p->max_output) {
                const int32_t box = heap[0];
                heap[0] = heap[--waiting];
                if (waiting > 0) {
                    sink(scores, heap, waiting, 0);
                }
                bool free = true;
                for (int32_t i = found - 1; i >= first && free; i--) {
                    const float *other = boxes + (ptrdiff_t)rows[(ptrdiff_t)i * 3 + 2] * 4;
                    free = !overlap(boxes + (ptrdiff_t)box * 4, other, p->center_point_box, iou_threshold);
                }
                if (free) {
                    rows[(ptrdiff_t)found * 3] = batch;
                    rows[(ptrdiff_t)found * 3 + 1] = class;
                    rows[(ptrdiff_t)found * 3 + 2] = box;
                    found++;
                }
            }
        }
    }
    const int32_t room = p->batch * p->classes * (p->max_output < p->boxes ? p->max_output : p->boxes);
    for (ptrdiff_t i = (ptrdiff_t)found * 3; i < (ptrdiff_t)room * 3; i++) {
        rows[i] = 0;
    }
    *(int64_t *)out[1] = found;
}
