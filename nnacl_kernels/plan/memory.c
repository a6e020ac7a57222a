/* SPDX-License-Identifier: Apache-2.0 */
/* From a graph to blocks. */
#include "plan/arena.h"

/* Overlaps of one node that are looked at. */
#define NODE_OVERLAPS 2

/* The scratch memory of nnacl_memory_plan(), in the order in which it lies there. */
typedef struct plan_scratch {
    nnacl_overlap *overlaps;
    nnacl_block *blocks; /* one for each tensor and one for each workspace at most */
    void *arena;         /* for nnacl_arena_plan() */
    int32_t *first;      /* lifetime of each tensor; first is -1 for one that nothing touches */
    int32_t *last;
    int32_t *producer; /* of each tensor, -1: none */
    int32_t *holder;   /* the tensor in which each tensor lies, -1: none */
} plan_scratch;

/* What a plan makes use of. */
typedef struct plan_style {
    bool merge;  /* results in place share a block */
    bool pieces; /* what is held lies in what holds it */
} plan_style;

static size_t arena_scratch(int32_t n_tensors, int32_t n_nodes) {
    return nnacl_arena_scratch(n_tensors + n_nodes, NODE_OVERLAPS * n_nodes);
}

size_t nnacl_memory_plan_scratch(int32_t n_tensors, int32_t n_nodes) {
    const size_t tensors = (size_t)n_tensors, nodes = (size_t)n_nodes;
    return nodes * NODE_OVERLAPS * sizeof(nnacl_overlap) + (tensors + nodes) * sizeof(nnacl_block) +
           tensors * 4 * sizeof(int32_t) + arena_scratch(n_tensors, n_nodes);
}

static plan_scratch divide(void *scratch, int32_t n_tensors, int32_t n_nodes) {
    plan_scratch parts;
    parts.overlaps = scratch;
    parts.blocks = (nnacl_block *)(void *)(parts.overlaps + (ptrdiff_t)NODE_OVERLAPS * n_nodes);
    parts.first = (int32_t *)(void *)(parts.blocks + n_tensors + n_nodes);
    parts.last = parts.first + n_tensors;
    parts.producer = parts.last + n_tensors;
    parts.holder = parts.producer + n_tensors;
    parts.arena = parts.holder + n_tensors;
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

/* Every input of a node that puts its inputs together lies in the arena, is made by a node that shares no memory
 * already, is no output of the graph, and stands there once. */
static bool can_be_held(const nnacl_memory_request *r, const plan_scratch *s, const nnacl_plan_node *node) {
    for (int32_t i = 0; i < node->n_inputs; i++) {
        const int32_t tensor = node->inputs[i];
        if (tensor < 0 || node->holds[i] < 0 || node->holds[i] % (int64_t)r->alignment != 0 ||
            r->tensors[tensor].memory != NNACL_MEMORY_ARENA || s->producer[tensor] < 0 || s->holder[tensor] >= 0 ||
            s->last[tensor] == r->n_nodes || r->nodes[s->producer[tensor]].alias == NNACL_ALIAS_VIEW) {
            return false;
        }
        for (int32_t j = 0; j < i; j++) {
            if (node->inputs[j] == tensor) {
                return false;
            }
        }
    }
    return node->n_inputs > 0 && r->tensors[node->outputs[0]].memory == NNACL_MEMORY_ARENA;
}

/* Which tensors lie in the output of a node that only puts them together, and where in it. The last node comes first,
 * so that this output may itself be held. */
static void find_holders(const nnacl_memory_request *r, const plan_scratch *s, bool pieces) {
    for (int32_t i = 0; i < r->n_tensors; i++) {
        s->producer[i] = s->holder[i] = -1;
        r->tensors[i].shift = 0;
    }
    for (int32_t step = 0; step < r->n_nodes; step++) {
        for (int32_t i = 0; i < r->nodes[step].n_outputs; i++) {
            s->producer[r->nodes[step].outputs[i]] = step;
        }
    }
    for (int32_t step = r->n_nodes - 1; pieces && step >= 0; step--) {
        const nnacl_plan_node *node = &r->nodes[step];
        if (node->holds && node->n_outputs == 1 && can_be_held(r, s, node)) {
            for (int32_t i = 0; i < node->n_inputs; i++) {
                const nnacl_plan_tensor *whole = &r->tensors[node->outputs[0]];
                const int32_t holder = s->holder[node->outputs[0]];
                s->holder[node->inputs[i]] = holder >= 0 ? holder : node->outputs[0];
                r->tensors[node->inputs[i]].shift = whole->shift + (size_t)node->holds[i];
            }
        }
    }
}

/* The block that the first output of a node can share, or -1; *shift gets where in it. */
static int32_t shared_block(const nnacl_memory_request *r, const plan_scratch *s, int32_t step, plan_style style,
                            size_t *shift) {
    const nnacl_plan_node *node = &r->nodes[step];
    const bool is_held = style.pieces && node->held >= 0 && node->held % (int64_t)r->alignment == 0;
    if ((node->alias == NNACL_ALIAS_NONE && !is_held) || node->n_inputs < 1 || node->n_outputs < 1 ||
        node->inputs[0] < 0) {
        return -1;
    }
    const nnacl_plan_tensor *x = &r->tensors[node->inputs[0]], *y = &r->tensors[node->outputs[0]];
    if (x->block < 0 || x->memory != NNACL_MEMORY_ARENA || y->memory != NNACL_MEMORY_ARENA ||
        (x->size != y->size && !is_held)) {
        return -1;
    }
    *shift = x->shift + (is_held ? (size_t)node->held : 0);
    if (node->alias == NNACL_ALIAS_VIEW || is_held) {
        return x->block;
    }
    if (s->blocks[x->block].last > step || (!style.merge && node->leads && node->leads[0].kind != NNACL_LEAD_NONE)) {
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

/* Gives tensor `index` a block: that of its holder, or `block` at `shift`, or a new one when that is -1. Returns the
 * number of blocks. */
static int32_t assign(const nnacl_memory_request *r, const plan_scratch *s, int32_t index, int32_t block, size_t shift,
                      int32_t count) {
    nnacl_plan_tensor *tensor = &r->tensors[index];
    if (tensor->block >= 0 || tensor->memory == NNACL_MEMORY_CONSTANT || s->first[index] < 0) {
        return count;
    }
    const int32_t holder = s->holder[index];
    if (holder >= 0) {
        nnacl_plan_tensor *whole = &r->tensors[holder];
        if (whole->block < 0) {
            whole->block = count++;
            s->blocks[whole->block] = (nnacl_block){whole->size, s->first[holder], s->last[holder], 0};
        }
        block = whole->block;
    } else if (block < 0) {
        block = count++;
        s->blocks[block] = (nnacl_block){tensor->size, s->first[index], s->last[index], 0};
    } else {
        tensor->shift = shift;
    }
    nnacl_block *shared = &s->blocks[block];
    shared->first = s->first[index] < shared->first ? s->first[index] : shared->first;
    shared->last = s->last[index] > shared->last ? s->last[index] : shared->last;
    tensor->block = block;
    return count;
}

/* Gives every tensor its block. Returns how many there are. */
static int32_t make_blocks(const nnacl_memory_request *r, const plan_scratch *s, plan_style style) {
    int32_t count = 0;
    find_holders(r, s, style.pieces);
    for (int32_t i = 0; i < r->n_tensors; i++) {
        r->tensors[i].block = -1;
        r->tensors[i].offset = 0;
    }
    for (int32_t i = 0; i < r->n_inputs; i++) {
        count = assign(r, s, r->inputs[i], -1, 0, count);
    }
    for (int32_t step = 0; step < r->n_nodes; step++) {
        const nnacl_plan_node *node = &r->nodes[step];
        for (int32_t i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] >= 0) {
                count = assign(r, s, node->inputs[i], -1, 0, count);
            }
        }
        for (int32_t i = 0; i < node->n_outputs; i++) {
            size_t shift = 0;
            const int32_t block = i == 0 ? shared_block(r, s, step, style, &shift) : -1;
            count = assign(r, s, node->outputs[i], block, shift, count);
        }
    }
    for (int32_t i = 0; i < r->n_tensors; i++) { /* graph outputs and variables that are in no node */
        count = assign(r, s, i, -1, 0, count);
    }
    return count;
}

/* What the inputs of `node` that lie in `block` say together about the distance of its beginning from that of the block
 * of the first output. */
static nnacl_lead joint_lead(const nnacl_memory_request *r, const nnacl_plan_node *node, int32_t block) {
    nnacl_lead joint = {INT64_MIN, NNACL_LEAD_FROM};
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] < 0 || r->tensors[node->inputs[i]].block != block) {
            continue;
        }
        const int64_t apart = (int64_t)r->tensors[node->outputs[0]].shift - (int64_t)r->tensors[node->inputs[i]].shift;
        const nnacl_lead lead = {node->leads[i].bytes + apart, node->leads[i].kind};
        const bool clash = joint.kind == NNACL_LEAD_AT &&
                           (lead.kind == NNACL_LEAD_AT ? lead.bytes != joint.bytes : lead.bytes > joint.bytes);
        if (lead.kind == NNACL_LEAD_NONE || clash ||
            (lead.kind == NNACL_LEAD_AT && joint.kind == NNACL_LEAD_FROM && lead.bytes < joint.bytes)) {
            return (nnacl_lead){0, NNACL_LEAD_NONE};
        }
        if (lead.kind == NNACL_LEAD_AT) {
            joint = lead;
        } else if (joint.kind == NNACL_LEAD_FROM && lead.bytes > joint.bytes) {
            joint.bytes = lead.bytes;
        }
    }
    return joint;
}

/* The overlaps of the inputs that a node is the last to need with its first output, which no other block than that
 * begins with. Returns how many there are. */
static int32_t find_overlaps(const nnacl_memory_request *r, const plan_scratch *s) {
    int32_t count = 0;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        const nnacl_plan_node *node = &r->nodes[step];
        const int32_t out = node->leads && node->n_outputs > 0 ? r->tensors[node->outputs[0]].block : -1;
        if (out < 0 || s->blocks[out].first != step) {
            continue;
        }
        bool alone = true;
        for (int32_t i = 0; i < node->n_inputs;
             i++) { /* in place: the block may hold a graph input, live from the start */
            alone = alone && (node->inputs[i] < 0 || r->tensors[node->inputs[i]].block != out);
        }
        for (int32_t i = 1; i < node->n_outputs; i++) {
            alone = alone && r->tensors[node->outputs[i]].block != out;
        }
        int32_t found = 0, blocks[NODE_OVERLAPS];
        for (int32_t i = 0; alone && i < node->n_inputs && found < NODE_OVERLAPS; i++) {
            const int32_t in = node->inputs[i] < 0 ? -1 : r->tensors[node->inputs[i]].block;
            if (in < 0 || in == out || s->blocks[in].last != step || (found > 0 && blocks[0] == in)) {
                continue;
            }
            const nnacl_lead lead = joint_lead(r, node, in);
            if (lead.kind != NNACL_LEAD_NONE) {
                blocks[found++] = in;
                s->overlaps[count++] = (nnacl_overlap){lead.bytes, in, out, lead.kind};
            }
        }
    }
    return count;
}

static void plan_blocks(nnacl_memory_request *r, const plan_scratch *s, plan_style style) {
    const int32_t tensor_blocks = make_blocks(r, s, style);
    int32_t count = tensor_blocks;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        if (r->nodes[step].workspace > 0) {
            s->blocks[count++] = (nnacl_block){r->nodes[step].workspace, step, step, 0};
        }
    }
    const int32_t n_overlaps = find_overlaps(r, s);
    r->arena_size =
        nnacl_arena_plan(s->blocks, count, s->overlaps, n_overlaps, r->alignment, s->arena, &r->lower_bound);
    for (int32_t i = 0; i < r->n_tensors; i++) {
        nnacl_plan_tensor *tensor = &r->tensors[i];
        tensor->offset = tensor->block >= 0 ? s->blocks[tensor->block].offset + tensor->shift : 0;
    }
    count = tensor_blocks;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        r->nodes[step].workspace_offset = r->nodes[step].workspace > 0 ? s->blocks[count++].offset : 0;
    }
}

void nnacl_memory_plan(nnacl_memory_request *request, void *scratch) {
    /* Results in place may also have blocks of their own, which leaves more freedom to place them; and what is held by
     * another tensor keeps the memory of that in use. So all ways are tried. */
    static const plan_style styles[] = {{true, false}, {false, false}, {true, true}, {false, true}};
    const plan_scratch s = divide(scratch, request->n_tensors, request->n_nodes);
    bool has_leads = false, has_pieces = false;
    find_lifetimes(request, &s);
    for (int32_t step = 0; step < request->n_nodes; step++) {
        const nnacl_plan_node *node = &request->nodes[step];
        has_leads = has_leads || node->leads;
        has_pieces = has_pieces || node->holds || node->held >= 0;
    }
    int32_t best = 0, last = 0;
    size_t size = SIZE_MAX, bound = SIZE_MAX;
    for (int32_t i = 0; i < (has_pieces ? 4 : has_leads ? 2 : 1); i++) {
        if (!styles[i].merge && !has_leads) {
            continue;
        }
        plan_blocks(request, &s, styles[i]);
        last = i;
        bound = request->lower_bound < bound ? request->lower_bound : bound;
        if (request->arena_size < size) {
            size = request->arena_size;
            best = i;
        }
    }
    if (last != best) {
        plan_blocks(request, &s, styles[best]);
    }
    request->lower_bound = bound;
}
