/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/arena.h"

#include "nnacl_kernels.h"

/* Above this many blocks the plan is made once, largest first; below it orders are tried. */
#define SEARCH_LIMIT 4096
/* The local search does about this many comparisons of two blocks. */
#define SEARCH_EFFORT 10000000

static size_t add_saturate(size_t a, size_t b) {
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t align_up(size_t size, size_t alignment) {
    return size > SIZE_MAX - (alignment - 1) ? SIZE_MAX : (size + alignment - 1) & ~(alignment - 1);
}

static bool live_together(const nnacl_block *a, const nnacl_block *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The step at which the most bytes live, and how many. Every maximum is reached where some block begins. */
static size_t find_peak(const nnacl_block *blocks, int32_t count, size_t alignment, int32_t *peak_step) {
    size_t peak = 0;
    *peak_step = 0;
    for (int32_t i = 0; i < count; i++) {
        size_t sum = 0;
        for (int32_t j = 0; j < count; j++) {
            if (blocks[j].first <= blocks[i].first && blocks[i].first <= blocks[j].last) {
                sum = add_saturate(sum, align_up(blocks[j].size, alignment));
            }
        }
        if (sum > peak) {
            peak = sum;
            *peak_step = blocks[i].first;
        }
    }
    return peak;
}

/* Places the blocks in the given order, each into the smallest gap that holds it (or the lowest, with `lowest`) among
 * the blocks placed before that live at the same time. `sorted` is scratch: the placed blocks by offset. Returns the
 * size of the arena, or SIZE_MAX as soon as it would reach `limit`. */
static size_t place(nnacl_block *blocks, const int32_t *order, int32_t count, size_t alignment, bool lowest,
                    size_t limit, int32_t *sorted) {
    size_t arena = 0;
    for (int32_t i = 0; i < count; i++) {
        nnacl_block *block = &blocks[order[i]];
        const size_t size = align_up(block->size, alignment);
        size_t end = 0, best_gap = SIZE_MAX, best_offset = SIZE_MAX;
        for (int32_t j = 0; j < i; j++) {
            const nnacl_block *other = &blocks[sorted[j]];
            if (!live_together(block, other)) {
                continue;
            }
            if (other->offset > end) {
                const size_t gap = other->offset - end;
                if (gap >= size && gap < best_gap) {
                    best_gap = gap;
                    best_offset = end;
                    if (lowest) {
                        break;
                    }
                }
            }
            const size_t other_end = add_saturate(other->offset, align_up(other->size, alignment));
            end = other_end > end ? other_end : end;
        }
        block->offset = best_offset != SIZE_MAX ? best_offset : end;
        const size_t block_end = add_saturate(block->offset, size);
        arena = block_end > arena ? block_end : arena;
        if (arena >= limit) {
            return SIZE_MAX;
        }
        int32_t j = i;
        for (; j > 0 && blocks[sorted[j - 1]].offset > block->offset; j--) {
            sorted[j] = sorted[j - 1];
        }
        sorted[j] = order[i];
    }
    return arena;
}

/* The orders that are tried. */
enum { BY_SIZE, BY_PEAK, BY_AREA, BY_DURATION, BY_START, BY_END, ORDER_COUNT };

/* Whether block a is placed before block b. A total order: equal blocks keep their indices' order. */
static bool before(const nnacl_block *blocks, int32_t a, int32_t b, int32_t kind, int32_t peak_step) {
    const nnacl_block *p = &blocks[a], *q = &blocks[b];
    const int64_t p_steps = (int64_t)p->last - p->first + 1, q_steps = (int64_t)q->last - q->first + 1;
    if (kind == BY_PEAK) {
        const bool p_peak = p->first <= peak_step && peak_step <= p->last;
        const bool q_peak = q->first <= peak_step && peak_step <= q->last;
        if (p_peak != q_peak) {
            return p_peak;
        }
    } else if (kind == BY_AREA) {
        const double p_area = (double)p->size * (double)p_steps, q_area = (double)q->size * (double)q_steps;
        if (p_area < q_area || p_area > q_area) {
            return p_area > q_area;
        }
    } else if (kind == BY_DURATION && p_steps != q_steps) {
        return p_steps > q_steps;
    } else if (kind == BY_START && p->first != q->first) {
        return p->first < q->first;
    } else if (kind == BY_END && p->last != q->last) {
        return p->last > q->last;
    }
    if (p->size != q->size) {
        return p->size > q->size;
    }
    return p_steps != q_steps ? p_steps > q_steps : a < b;
}

/* Shell sort: no recursion, no memory. */
static void sort(const nnacl_block *blocks, int32_t *order, int32_t count, int32_t kind, int32_t peak_step) {
    for (int32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    int32_t gap = 1;
    while (gap < count / 3) {
        gap = gap * 3 + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (int32_t i = gap; i < count; i++) {
            const int32_t moving = order[i];
            int32_t j = i;
            for (; j >= gap && before(blocks, moving, order[j - gap], kind, peak_step); j -= gap) {
                order[j] = order[j - gap];
            }
            order[j] = moving;
        }
    }
}

/* Takes the entry at `from` out of the order and puts it back at `to`. */
static void move(int32_t *order, int32_t from, int32_t to) {
    const int32_t moving = order[from];
    for (; from > to; from--) {
        order[from] = order[from - 1];
    }
    for (; from < to; from++) {
        order[from] = order[from + 1];
    }
    order[to] = moving;
}

/* Improves an order while the arena is above its lower bound: the block that reaches the top is placed earlier. */
static void search(nnacl_block *blocks, int32_t *order, int32_t count, size_t alignment, bool lowest, size_t arena,
                   size_t bound, int32_t *sorted) {
    const int32_t tries = count > 0 ? (int32_t)(SEARCH_EFFORT / ((int64_t)count * count)) : 0;
    uint32_t random = 1;
    for (int32_t attempt = 0; attempt < tries && attempt < 1000 && arena > bound; attempt++) {
        place(blocks, order, count, alignment, lowest, SIZE_MAX, sorted);
        int32_t top = 0;
        for (int32_t i = 0; i < count; i++) {
            const nnacl_block *block = &blocks[order[i]];
            if (add_saturate(block->offset, align_up(block->size, alignment)) == arena) {
                top = i;
                break;
            }
        }
        if (top == 0) {
            return;
        }
        random = random * 1664525u + 1013904223u;
        const int32_t target = (int32_t)((random >> 8) % (uint32_t)top);
        move(order, top, target);
        const size_t size = place(blocks, order, count, alignment, lowest, add_saturate(arena, 1), sorted);
        if (size <= arena) {
            arena = size;
        } else {
            move(order, target, top);
        }
    }
}

size_t nnacl_arena_plan(nnacl_block *blocks, int32_t count, size_t alignment, int32_t *order, size_t *lower_bound) {
    int32_t *sorted = order + count;
    int32_t peak_step;
    const size_t bound = find_peak(blocks, count, alignment, &peak_step);
    *lower_bound = bound;

    int32_t best_kind = BY_SIZE;
    bool best_lowest = false;
    if (count <= SEARCH_LIMIT) {
        size_t best = SIZE_MAX;
        for (int32_t kind = 0; kind < ORDER_COUNT && best > bound; kind++) {
            sort(blocks, order, count, kind, peak_step);
            for (int32_t lowest = 0; lowest < 2 && best > bound; lowest++) {
                const size_t size = place(blocks, order, count, alignment, lowest != 0, best, sorted);
                if (size < best) {
                    best = size;
                    best_kind = kind;
                    best_lowest = lowest != 0;
                }
            }
        }
        sort(blocks, order, count, best_kind, peak_step);
        search(blocks, order, count, alignment, best_lowest, best, bound, sorted);
    } else {
        sort(blocks, order, count, BY_SIZE, peak_step);
    }
    return place(blocks, order, count, alignment, best_lowest, SIZE_MAX, sorted);
}

/* The scratch memory of nnacl_memory_plan(), in the order in which it lies there. */
typedef struct plan_scratch {
    nnacl_block *blocks; /* one for each tensor and one for each workspace at most */
    int32_t *order;      /* two for each block */
    int32_t *first;      /* lifetime of each tensor; first is -1 for one that nothing touches */
    int32_t *last;
} plan_scratch;

size_t nnacl_memory_plan_scratch(int32_t n_tensors, int32_t n_nodes) {
    const size_t tensors = (size_t)n_tensors, blocks = tensors + (size_t)n_nodes;
    return blocks * (sizeof(nnacl_block) + 2 * sizeof(int32_t)) + tensors * 2 * sizeof(int32_t);
}

static plan_scratch divide(void *scratch, int32_t n_tensors, int32_t n_nodes) {
    const size_t blocks = (size_t)n_tensors + (size_t)n_nodes;
    plan_scratch parts;
    parts.blocks = scratch;
    parts.order = (int32_t *)(void *)(parts.blocks + blocks);
    parts.first = parts.order + 2 * blocks;
    parts.last = parts.first + n_tensors;
    return parts;
}

static void touch(const plan_scratch *s, int32_t tensor, int32_t step) {
    if (tensor >= 0) {
        s->first[tensor] = s->first[tensor] < 0 || step < s->first[tensor] ? step : s->first[tensor];
        s->last[tensor] = step > s->last[tensor] ? step : s->last[tensor];
    }
}

/* First and last step at which the content of each tensor is needed. */
static void find_lifetimes(const nnacl_memory_request *r, const plan_scratch *s) {
    const int32_t end = r->n_nodes; /* after the last node, so that it does not write into another output in place */
    for (int32_t i = 0; i < r->n_tensors; i++) {
        s->first[i] = s->last[i] = -1;
    }
    for (int32_t i = 0; i < r->n_inputs; i++) {
        touch(s, r->inputs[i], 0);
    }
    for (int32_t step = 0; step < r->n_nodes; step++) {
        const nnacl_plan_node *node = &r->nodes[step];
        for (int32_t i = 0; i < node->n_inputs; i++) {
            touch(s, node->inputs[i], step);
        }
        for (int32_t i = 0; i < node->n_outputs; i++) {
            touch(s, node->outputs[i], step);
        }
    }
    for (int32_t i = 0; i < r->n_outputs; i++) {
        touch(s, r->outputs[i], end);
    }
    for (int32_t i = 0; i < r->n_tensors; i++) {
        if (r->tensors[i].memory == NNACL_MEMORY_VARIABLE) {
            s->first[i] = 0;
            s->last[i] = end;
        }
    }
}

/* The block that the first output of a node can share, or -1. */
static int32_t shared_block(const nnacl_memory_request *r, const plan_scratch *s, int32_t step) {
    const nnacl_plan_node *node = &r->nodes[step];
    if (node->alias == NNACL_ALIAS_NONE || node->n_inputs < 1 || node->n_outputs < 1 || node->inputs[0] < 0) {
        return -1;
    }
    const nnacl_plan_tensor *x = &r->tensors[node->inputs[0]], *y = &r->tensors[node->outputs[0]];
    if (x->block < 0 || x->memory != NNACL_MEMORY_ARENA || y->memory != NNACL_MEMORY_ARENA || x->size != y->size) {
        return -1;
    }
    if (node->alias == NNACL_ALIAS_VIEW) {
        return x->block;
    }
    if (s->blocks[x->block].last > step) {
        return -1;
    }
    for (int32_t i = 1; i < node->n_inputs; i++) {
        const int32_t other = node->inputs[i];
        if (other >= 0 && other != node->inputs[0] && r->tensors[other].block == x->block) {
            return -1;
        }
    }
    return x->block;
}

/* Gives tensor `index` a block: `block`, or a new one when that is -1. Returns the number of blocks. */
static int32_t assign(const nnacl_memory_request *r, const plan_scratch *s, int32_t index, int32_t block,
                      int32_t count) {
    nnacl_plan_tensor *tensor = &r->tensors[index];
    if (tensor->block >= 0 || tensor->memory == NNACL_MEMORY_CONSTANT || s->first[index] < 0) {
        return count;
    }
    if (block < 0) {
        block = count++;
        s->blocks[block] = (nnacl_block){tensor->size, s->first[index], s->last[index], 0};
    } else {
        nnacl_block *shared = &s->blocks[block];
        shared->first = s->first[index] < shared->first ? s->first[index] : shared->first;
        shared->last = s->last[index] > shared->last ? s->last[index] : shared->last;
    }
    tensor->block = block;
    return count;
}

void nnacl_memory_plan(nnacl_memory_request *request, void *scratch) {
    const nnacl_memory_request *r = request;
    const plan_scratch s = divide(scratch, r->n_tensors, r->n_nodes);
    find_lifetimes(r, &s);

    int32_t count = 0;
    for (int32_t i = 0; i < r->n_tensors; i++) {
        r->tensors[i].block = -1;
        r->tensors[i].offset = 0;
    }
    for (int32_t i = 0; i < r->n_inputs; i++) {
        count = assign(r, &s, r->inputs[i], -1, count);
    }
    for (int32_t step = 0; step < r->n_nodes; step++) {
        const nnacl_plan_node *node = &r->nodes[step];
        for (int32_t i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] >= 0) {
                count = assign(r, &s, node->inputs[i], -1, count);
            }
        }
        for (int32_t i = 0; i < node->n_outputs; i++) {
            count = assign(r, &s, node->outputs[i], i == 0 ? shared_block(r, &s, step) : -1, count);
        }
    }
    for (int32_t i = 0; i < r->n_tensors; i++) { /* graph outputs and variables that are in no node */
        count = assign(r, &s, i, -1, count);
    }
    const int32_t tensor_blocks = count;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        if (r->nodes[step].workspace > 0) {
            s.blocks[count++] = (nnacl_block){r->nodes[step].workspace, step, step, 0};
        }
    }

    request->arena_size = nnacl_arena_plan(s.blocks, count, r->alignment, s.order, &request->lower_bound);
    for (int32_t i = 0; i < r->n_tensors; i++) {
        if (r->tensors[i].block >= 0) {
            r->tensors[i].offset = s.blocks[r->tensors[i].block].offset;
        }
    }
    count = tensor_blocks;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        r->nodes[step].workspace_offset = r->nodes[step].workspace > 0 ? s.blocks[count++].offset : 0;
    }
}
