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
} plan_scratch;

static size_t arena_scratch(int32_t n_tensors, int32_t n_nodes) {
    return nnacl_arena_scratch(n_tensors + n_nodes, NODE_OVERLAPS * n_nodes);
}

size_t nnacl_memory_plan_scratch(int32_t n_tensors, int32_t n_nodes) {
    const size_t tensors = (size_t)n_tensors, nodes = (size_t)n_nodes;
    return nodes * NODE_OVERLAPS * sizeof(nnacl_overlap) + (tensors + nodes) * sizeof(nnacl_block) +
           tensors * 2 * sizeof(int32_t) + arena_scratch(n_tensors, n_nodes);
}

static plan_scratch divide(void *scratch, int32_t n_tensors, int32_t n_nodes) {
    plan_scratch parts;
    parts.overlaps = scratch;
    parts.blocks = (nnacl_block *)(void *)(parts.overlaps + (ptrdiff_t)NODE_OVERLAPS * n_nodes);
    parts.first = (int32_t *)(void *)(parts.blocks + n_tensors + n_nodes);
    parts.last = parts.first + n_tensors;
    parts.arena = parts.last + n_tensors;
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
static int32_t shared_block(const nnacl_memory_request *r, const plan_scratch *s, int32_t step, bool merge) {
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
    if (s->blocks[x->block].last > step || (!merge && node->leads && node->leads[0].kind != NNACL_LEAD_NONE)) {
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

/* Gives every tensor its block. Returns how many there are. */
static int32_t make_blocks(const nnacl_memory_request *r, const plan_scratch *s, bool merge) {
    int32_t count = 0;
    for (int32_t i = 0; i < r->n_tensors; i++) {
        r->tensors[i].block = -1;
        r->tensors[i].offset = 0;
    }
    for (int32_t i = 0; i < r->n_inputs; i++) {
        count = assign(r, s, r->inputs[i], -1, count);
    }
    for (int32_t step = 0; step < r->n_nodes; step++) {
        const nnacl_plan_node *node = &r->nodes[step];
        for (int32_t i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] >= 0) {
                count = assign(r, s, node->inputs[i], -1, count);
            }
        }
        for (int32_t i = 0; i < node->n_outputs; i++) {
            count = assign(r, s, node->outputs[i], i == 0 ? shared_block(r, s, step, merge) : -1, count);
        }
    }
    for (int32_t i = 0; i < r->n_tensors; i++) { /* graph outputs and variables that are in no node */
        count = assign(r, s, i, -1, count);
    }
    return count;
}

/* What the inputs of `node` that lie in `block` say together about its overlap with the first output. */
static nnacl_lead joint_lead(const nnacl_memory_request *r, const nnacl_plan_node *node, int32_t block) {
    nnacl_lead joint = {INT64_MIN, NNACL_LEAD_FROM};
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] < 0 || r->tensors[node->inputs[i]].block != block) {
            continue;
        }
        const nnacl_lead lead = node->leads[i];
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

static void plan_blocks(nnacl_memory_request *r, const plan_scratch *s, bool merge) {
    const int32_t tensor_blocks = make_blocks(r, s, merge);
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
        if (r->tensors[i].block >= 0) {
            r->tensors[i].offset = s->blocks[r->tensors[i].block].offset;
        }
    }
    count = tensor_blocks;
    for (int32_t step = 0; step < r->n_nodes; step++) {
        r->nodes[step].workspace_offset = r->nodes[step].workspace > 0 ? s->blocks[count++].offset : 0;
    }
}

void nnacl_memory_plan(nnacl_memory_request *request, void *scratch) {
    const plan_scratch s = divide(scratch, request->n_tensors, request->n_nodes);
    bool has_leads = false;
    find_lifetimes(request, &s);
    for (int32_t step = 0; step < request->n_nodes; step++) {
        has_leads = has_leads || request->nodes[step].leads;
    }
    plan_blocks(request, &s, true);
    if (!has_leads) {
        return;
    }
    /* Results in place may also have blocks of their own, which leaves more freedom to place them. */
    const size_t size = request->arena_size, bound = request->lower_bound;
    plan_blocks(request, &s, false);
    const size_t least = request->lower_bound < bound ? request->lower_bound : bound;
    if (request->arena_size > size) {
        plan_blocks(request, &s, true);
    }
    request->lower_bound = least;
}
