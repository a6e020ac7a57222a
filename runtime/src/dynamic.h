/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic mode: runs a model in which a shape depends on values that are known only while it runs. Each node is bound
 * when it is its turn, its outputs are allocated, and what nobody needs any more is given back. */
#ifndef LITH_DYNAMIC_H
#define LITH_DYNAMIC_H

#include "bind.h"
#include "blocks.h"
#include "threads.h"

/* Where a tensor is. */
typedef struct lith_slot {
    const void *place; /* NULL: it has no value now */
    lith_block *block; /* that holds it; NULL: a constant, or memory of the caller */
    uint64_t changed;  /* the time at which its type became what it is */
    int32_t last_use;  /* the node after which it is not needed; KEPT: stays beyond a run */
} lith_slot;

#define LITH_KEPT INT32_MAX

typedef struct lith_dynamic {
    const lith_model *model;
    lith_allocator allocator;
    lith_pool *pool;
    lith_blocks *blocks;
    lith_binding *binding; /* types as they are now; `data` of all tensors that have a value */
    lith_slot *slots;
    uint64_t *bound; /* the time at which each node was bound; 0: never */
    uint64_t clock;
    struct lith_dynamic **children; /* of the subgraphs of all nodes; NULL: not needed so far */
    bool shaped;                    /* the shapes of all inputs are known */
} lith_dynamic;

/* Returns whether the run has to stop. */
typedef bool (*lith_cancelled_fn)(void *user);
/* Called after each node. */
typedef void (*lith_ran_fn)(void *user, int32_t node, const lith_step *step, int32_t parts, int64_t start);

typedef struct lith_watch {
    lith_cancelled_fn cancelled;
    lith_ran_fn ran; /* NULL: nobody listens */
    void *user;
} lith_watch;

/* Blocks are taken from `blocks`, which outlives this. */
lith_status lith_dynamic_create(const lith_model *model, lith_pool *pool, lith_blocks *blocks,
                                const lith_allocator *allocator, lith_dynamic **dynamic, lith_message *message);
/* Accepts NULL. */
void lith_dynamic_destroy(lith_dynamic *dynamic);

/* Sets the shapes of all inputs (NULL: the declared ones, all of which are known) and allocates them. */
lith_status lith_dynamic_resize(lith_dynamic *dynamic, const lith_shape *shapes, lith_message *message);

/* Lets input `index` be read from `data`; NULL: from memory of its own again. */
lith_status lith_dynamic_bind_input(lith_dynamic *dynamic, int32_t index, const void *data, lith_message *message);

/* Runs all nodes. Outputs keep their values until the next run, resize, or failed run. */
lith_status lith_dynamic_run(lith_dynamic *dynamic, const lith_watch *watch, lith_message *message);

/* Bytes of constants that were packed, those of subgraphs included. */
size_t lith_dynamic_packed_bytes(const lith_dynamic *dynamic);

/* Gives a tensor a value, whose block (may be NULL) is taken over. */
void lith_dynamic_put(lith_dynamic *dynamic, int32_t tensor, const nnacl_tensor *type, const void *place,
                      lith_block *block);

/* Forgets all values but inputs, variables and constants. */
void lith_dynamic_clear(lith_dynamic *dynamic);
/* Forgets the inputs. */
void lith_dynamic_clear_inputs(lith_dynamic *dynamic);

#endif
