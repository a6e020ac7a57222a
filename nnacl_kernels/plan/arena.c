/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/arena.h"

#include "nnacl_kernels.h"

/* Above this many blocks the plan is made once, largest first; below it orders are tried. */
#define SEARCH_LIMIT 4096
/* The local search does about this many comparisons of two blocks. */
#define SEARCH_EFFORT INT64_C(10000000)
/* At most so many orders are tried. */
#define MOST_TRIES 1000
#define MOST_TRIES_OVERLAPPED 4000

static size_t add_saturate(size_t a, size_t b) {
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t align_up(size_t size, size_t alignment) {
    return size > SIZE_MAX - (alignment - 1) ? SIZE_MAX : (size + alignment - 1) & ~(alignment - 1);
}

static bool live_together(const nnacl_block *a, const nnacl_block *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* What the functions below share. */
typedef struct packing {
    nnacl_block *blocks;
    int32_t count;
    const nnacl_overlap *overlaps;
    int32_t n_overlaps;
    int64_t alignment;
    int32_t *order;  /* in which the blocks are placed */
    int32_t *sorted; /* blocks that are placed, by offset */
    int32_t *first;  /* of each block: its first entry in `entries`, -1: none */
    int32_t *mark;   /* of each block: its overlap with the block at hand, -1: none */
    int32_t *next;   /* entries 2 i and 2 i + 1 belong to the blocks of overlap i; the next entry of the same block */
} packing;

static int64_t up(const packing *p, int64_t bytes) {
    return (bytes + (p->alignment - 1)) & ~(p->alignment - 1);
}

/* Bytes that the two blocks of an overlap can have in common. */
static size_t saving(const packing *p, const nnacl_overlap *overlap) {
    const size_t in = align_up(p->blocks[overlap->in].size, (size_t)p->alignment);
    const size_t out = align_up(p->blocks[overlap->out].size, (size_t)p->alignment);
    const size_t most = in < out ? in : out;
    const int64_t behind = overlap->lead > 0 ? up(p, overlap->lead) : 0; /* the least that the input begins later */
    if ((uint64_t)behind >= out) {
        return 0;
    }
    const size_t common = out - (size_t)behind;
    return common < most ? common : most;
}

/* The step at which the most bytes live, and how many, less what overlaps may spare. Every maximum is reached where
 * some block begins. */
static size_t find_peak(const packing *p, int32_t *peak_step) {
    const nnacl_block *blocks = p->blocks;
    size_t peak = 0;
    *peak_step = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t step = blocks[i].first;
        size_t sum = 0;
        for (int32_t j = 0; j < p->count; j++) {
            if (blocks[j].first > step || step > blocks[j].last) {
                continue;
            }
            size_t size = align_up(blocks[j].size, (size_t)p->alignment), spared = 0;
            for (int32_t entry = blocks[j].first == step ? p->first[j] : -1; entry >= 0; entry = p->next[entry]) {
                spared = entry % 2 ? add_saturate(spared, saving(p, &p->overlaps[entry / 2])) : spared;
            }
            sum = add_saturate(sum, spared < size ? size - spared : 0);
        }
        if (sum > peak) {
            peak = sum;
            *peak_step = step;
        }
    }
    return peak;
}

/* Offsets between `low` and `high`, both excluded, are taken. */
typedef struct taken {
    int64_t low, high;
} taken;

/* Where block `b` cannot lie because of block `a`; *same gets the offset at which it can nevertheless, or -1. */
static taken taken_by(const packing *p, int32_t a, int32_t b, int64_t *same) {
    const nnacl_block *other = &p->blocks[a];
    const int64_t begin = (int64_t)other->offset;
    taken t = {begin - up(p, (int64_t)p->blocks[b].size), begin + up(p, (int64_t)other->size)};
    *same = -1;
    if (p->mark[a] < 0) {
        return t;
    }
    const nnacl_overlap *overlap = &p->overlaps[p->mark[a]];
    if (overlap->kind == NNACL_LEAD_AT) {
        *same = begin + (overlap->in == b ? overlap->lead : -overlap->lead);
        *same = *same % p->alignment == 0 ? *same : -1;
    } else if (overlap->in == b) {
        const int64_t high = begin + up(p, overlap->lead);
        t.high = high < t.high ? high : t.high;
    } else {
        const int64_t low = begin - up(p, overlap->lead);
        t.low = low > t.low ? low : t.low;
    }
    return t;
}

static bool is_free(const packing *p, int32_t b, int32_t placed, int64_t offset) {
    for (int32_t j = 0; j < placed; j++) {
        const int32_t a = p->sorted[j];
        int64_t same;
        if (live_together(&p->blocks[a], &p->blocks[b])) {
            const taken t = taken_by(p, a, b, &same);
            if (t.low < offset && offset < t.high && offset != same) {
                return false;
            }
        }
    }
    return true;
}

/* The offset of block `b`: the smallest gap that holds it (or the lowest, with `lowest`) among the `placed` blocks. */
static int64_t find_offset(const packing *p, int32_t b, int32_t placed, bool lowest) {
    int64_t end = 0, best_gap = INT64_MAX, best = -1, same;
    bool settled = p->first[b] < 0; /* without overlaps the taken ranges come by rising lower ends */
    for (int32_t j = 0; settled && j < placed; j++) {
        const int32_t a = p->sorted[j];
        if (!live_together(&p->blocks[a], &p->blocks[b])) {
            continue;
        }
        const taken t = taken_by(p, a, b, &same);
        if (t.low >= end && t.low - end < best_gap) {
            best_gap = t.low - end;
            best = end;
            if (lowest) {
                return best;
            }
        }
        end = t.high > end ? t.high : end;
    }
    if (settled) {
        return best >= 0 ? best : end;
    }
    /* With overlaps: 0, the ends of taken ranges and the offsets that overlaps name are tried one by one; the gap is
     * what is left behind. */
    for (int32_t j = -1; j < placed; j++) {
        int64_t tried[2] = {0, -1};
        if (j >= 0) {
            const int32_t a = p->sorted[j];
            if (!live_together(&p->blocks[a], &p->blocks[b])) {
                continue;
            }
            tried[0] = taken_by(p, a, b, &tried[1]).high;
        }
        for (int32_t k = 0; k < 2; k++) {
            if (tried[k] >= 0 && (best < 0 || tried[k] < best) && is_free(p, b, placed, tried[k])) {
                best = tried[k];
            }
        }
    }
    return best;
}

/* Places the blocks in their order. Returns the size of the arena, or SIZE_MAX as soon as it would reach `limit`. */
static size_t place(const packing *p, bool lowest, size_t limit) {
    size_t arena = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t b = p->order[i];
        nnacl_block *block = &p->blocks[b];
        for (int32_t entry = p->first[b]; entry >= 0; entry = p->next[entry]) {
            const nnacl_overlap *overlap = &p->overlaps[entry / 2];
            p->mark[entry % 2 ? overlap->in : overlap->out] = entry / 2;
        }
        block->offset = (size_t)find_offset(p, b, i, lowest);
        for (int32_t entry = p->first[b]; entry >= 0; entry = p->next[entry]) {
            const nnacl_overlap *overlap = &p->overlaps[entry / 2];
            p->mark[entry % 2 ? overlap->in : overlap->out] = -1;
        }
        const size_t end = add_saturate(block->offset, align_up(block->size, (size_t)p->alignment));
        arena = end > arena ? end : arena;
        if (arena >= limit) {
            return SIZE_MAX;
        }
        int32_t j = i;
        for (; j > 0 && p->blocks[p->sorted[j - 1]].offset > block->offset; j--) {
            p->sorted[j] = p->sorted[j - 1];
        }
        p->sorted[j] = b;
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

static uint32_t draw(uint32_t *random, int32_t count) {
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % (uint32_t)count;
}

/* Where in the order the block is that reaches the top. */
static int32_t find_top(const packing *p, size_t arena) {
    for (int32_t i = 0; i < p->count; i++) {
        const nnacl_block *block = &p->blocks[p->order[i]];
        if (add_saturate(block->offset, align_up(block->size, (size_t)p->alignment)) == arena) {
            return i;
        }
    }
    return 0;
}

/* Improves an order while the arena is above its lower bound: the block that reaches the top is placed earlier, or,
 * where overlaps make the one depend on the other, any block is placed at another time. Returns the size of the arena.
 */
static size_t search(const packing *p, bool lowest, size_t arena, size_t bound) {
    const int64_t work = (int64_t)p->count * p->count;
    const int64_t limit = p->n_overlaps > 0 ? MOST_TRIES_OVERLAPPED : MOST_TRIES;
    const int64_t effort = SEARCH_EFFORT * (limit / MOST_TRIES) / (work > 0 ? work : 1);
    const int64_t tries = effort < limit ? effort : limit;
    uint32_t random = 1;
    for (int64_t attempt = 0; attempt < tries && arena > bound; attempt++) {
        place(p, lowest, SIZE_MAX);
        const int32_t top = find_top(p, arena);
        const bool any = p->n_overlaps > 0 && (top == 0 || draw(&random, 2) == 0);
        if (top == 0 && !any) {
            break;
        }
        const int32_t from = any ? (int32_t)draw(&random, p->count) : top;
        const int32_t to = (int32_t)draw(&random, any ? p->count : top);
        move(p->order, from, to);
        const size_t size = place(p, lowest, add_saturate(arena, 1));
        if (size <= arena) {
            arena = size;
        } else {
            move(p->order, to, from);
        }
    }
    return arena;
}

size_t nnacl_arena_scratch(int32_t count, int32_t n_overlaps) {
    return (4 * (size_t)count + 2 * (size_t)n_overlaps) * sizeof(int32_t);
}

size_t nnacl_arena_plan(nnacl_block *blocks, int32_t count, const nnacl_overlap *overlaps, int32_t n_overlaps,
                        size_t alignment, void *scratch, size_t *lower_bound) {
    int32_t *entries = scratch;
    const packing p = {
        .blocks = blocks,
        .count = count,
        .overlaps = overlaps,
        .n_overlaps = n_overlaps,
        .alignment = (int64_t)alignment,
        .order = entries,
        .sorted = entries + count,
        .first = entries + 2 * (ptrdiff_t)count,
        .mark = entries + 3 * (ptrdiff_t)count,
        .next = entries + 4 * (ptrdiff_t)count,
    };
    for (int32_t i = 0; i < count; i++) {
        p.first[i] = p.mark[i] = -1;
    }
    for (int32_t entry = 0; entry < 2 * n_overlaps; entry++) {
        const int32_t block = entry % 2 ? overlaps[entry / 2].out : overlaps[entry / 2].in;
        p.next[entry] = p.first[block];
        p.first[block] = entry;
    }
    int32_t peak_step;
    const size_t bound = find_peak(&p, &peak_step);
    *lower_bound = bound;

    int32_t best_kind = BY_SIZE;
    bool best_lowest = false;
    if (count <= SEARCH_LIMIT) {
        size_t best = SIZE_MAX;
        for (int32_t kind = 0; kind < ORDER_COUNT && best > bound; kind++) {
            sort(blocks, p.order, count, kind, peak_step);
            for (int32_t lowest = 0; lowest < 2 && best > bound; lowest++) {
                const size_t size = place(&p, lowest != 0, best);
                if (size < best) {
                    best = size;
                    best_kind = kind;
                    best_lowest = lowest != 0;
                }
            }
        }
        sort(blocks, p.order, count, best_kind, peak_step);
        search(&p, best_lowest, best, bound);
    } else {
        sort(blocks, p.order, count, BY_SIZE, peak_step);
    }
    return place(&p, best_lowest, SIZE_MAX);
}
