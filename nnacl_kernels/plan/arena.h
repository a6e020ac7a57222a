/* SPDX-License-Identifier: Apache-2.0 */
/* Memory planning: one implementation, used by the converter (report), the runtime (open, resize) and codegen.
 *
 * Two layers. nnacl_arena_plan() packs blocks with lifetimes into one arena. nnacl_memory_plan() derives the blocks
 * from a graph: lifetimes from the order of the nodes, views and in-place results merged into one block, workspaces.
 */
#ifndef NNACL_ARENA_H
#define NNACL_ARENA_H

#include "nnacl_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block that lives from step `first` to step `last`, both included. `offset` is the result. */
typedef struct nnacl_block {
    size_t size;
    int32_t first;
    int32_t last;
    size_t offset;
} nnacl_block;

/* Two blocks that live together at one step only, the last of `in` and the first of `out`, may overlap: see nnacl_lead.
 */
typedef struct nnacl_overlap {
    int64_t lead; /* bytes */
    int32_t in, out;
    int32_t kind; /* NNACL_LEAD_FROM or NNACL_LEAD_AT */
} nnacl_overlap;

/* Bytes of scratch that nnacl_arena_plan() needs. */
size_t nnacl_arena_scratch(int32_t count, int32_t n_overlaps);

/* Sets the offsets (multiples of `alignment`, a power of two) so that no two blocks that live at the same step overlap
 * but as `overlaps` allow. Returns the size of the arena; *lower_bound gets the largest sum of sizes that live at one
 * step, less what overlaps can spare there, below which no plan can go. Both count each size rounded up to the
 * alignment. The sum of all sizes must be less than 2^62. Several orders of placement are tried and the best is kept;
 * the same blocks give the same plan on every machine. `scratch` is aligned for int32_t. */
size_t nnacl_arena_plan(nnacl_block *blocks, int32_t count, const nnacl_overlap *overlaps, int32_t n_overlaps,
                        size_t alignment, void *scratch, size_t *lower_bound);

#define NNACL_MEMORY_ARENA 0    /* planned: an activation, a graph input or output */
#define NNACL_MEMORY_CONSTANT 1 /* lives in the model; not planned */
#define NNACL_MEMORY_VARIABLE 2 /* state that outlives a run: a block of its own for ever */

typedef struct nnacl_plan_tensor {
    size_t size;    /* bytes */
    int32_t memory; /* NNACL_MEMORY_* */
    int32_t block;  /* result: index of its block; -1: not planned (a constant, or in no node and no graph input or
                       output) */
    size_t shift;   /* result: bytes from the start of its block */
    size_t offset;  /* result: bytes from the start of the arena */
} nnacl_plan_tensor;

typedef struct nnacl_plan_node {
    const int32_t *inputs; /* tensor indices; -1: absent */
    int32_t n_inputs;
    const int32_t *outputs;
    int32_t n_outputs;
    int32_t alias;           /* NNACL_ALIAS_* of the op */
    size_t workspace;        /* bytes */
    size_t workspace_offset; /* result */
    const nnacl_lead *leads; /* one for each input; NULL: the first output overlaps no input, but for `alias` */
    const int64_t *holds;    /* one for each input, as nnacl_op says; NULL: none is held */
    int64_t held;            /* as nnacl_op says; -1: not held */
} nnacl_plan_node;

typedef struct nnacl_memory_request {
    nnacl_plan_tensor *tensors;
    int32_t n_tensors;
    nnacl_plan_node *nodes;
    int32_t n_nodes;
    const int32_t *inputs; /* of the graph: live from the start */
    int32_t n_inputs;
    const int32_t *outputs; /* of the graph: live to the end */
    int32_t n_outputs;
    size_t alignment;
    /* results */
    size_t arena_size;
    size_t lower_bound;
} nnacl_memory_request;

/* Bytes of scratch that nnacl_memory_plan() needs. */
size_t nnacl_memory_plan_scratch(int32_t n_tensors, int32_t n_nodes);

/* Plans the memory of a graph whose nodes run in the given order. `scratch` is aligned for size_t.
 *
 * The first output of a view shares the block of its first input, unless that is a constant or a variable. So does the
 * first output of an in-place op when both have the same size and nothing in that block is needed any more: neither by
 * a later node, nor as a graph output, nor as another input of the same node under another shape.
 *
 * Where a node has `holds` or `held`, what is held may lie inside of what holds it, if that makes the arena smaller.
 * Where a node has `leads`, its first output may overlap what it is the last to need, if it is run as one part. */
void nnacl_memory_plan(nnacl_memory_request *request, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
