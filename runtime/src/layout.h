/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: where every tensor of a session lies, and what each kernel call gets. */
#ifndef LITH_LAYOUT_H
#define LITH_LAYOUT_H

#include "chains.h"

/* Buffers of the caller, one entry for each input and output of the graph; NULL: memory of the session. */
typedef struct lith_ports {
    const void **inputs;
    void **outputs;
} lith_ports;

typedef struct lith_call {
    const lith_step *step;
    const void **in;
    void **out;
    unsigned char *workspace;
    size_t workspace_stride; /* from the scratch of one worker to that of the next */
    int32_t parts;           /* that the work is split into */
    bool skipped;            /* the output is a view of memory that holds it already */
    const lith_chain *chain; /* that begins here, and runs in place of its nodes; NULL: none */
} lith_call;

typedef struct lith_layout {
    const lith_binding *binding;
    const void **places; /* of all tensors; NULL: lies nowhere, no node touches it */
    lith_call *calls;
    lith_chain *chains;
    lith_chain_state *states; /* of each worker */
    int32_t n_chains, n_states;
    const void **in; /* what the calls point into */
    void **out;
    size_t n_in, n_out;
    size_t *workspace_offsets;
    size_t *offsets; /* in the arena; LITH_NOWHERE: elsewhere */
    unsigned char *arena;
    size_t arena_size;
    size_t lower_bound;
} lith_layout;

#define LITH_NOWHERE SIZE_MAX

/* Plans the memory and allocates it. */
lith_status lith_layout_create(const lith_binding *binding, const lith_ports *ports, int32_t threads, bool keep_inputs,
                               const lith_allocator *allocator, lith_layout **layout, lith_message *message);

/* Into how many parts the work of a bound node goes: as many as the threads can use, and no smaller than is worth it.
 */
int32_t lith_choose_parts(const lith_binding *binding, int32_t index, int32_t threads);

/* Takes note that bound buffers moved; which ports are bound has not changed since the layout was made. */
void lith_layout_point(lith_layout *layout, const lith_ports *ports);

/* Accepts NULL. */
void lith_layout_destroy(lith_layout *layout, const lith_allocator *allocator);

/* The output index that a node writes straight into the caller's buffer for tensor `tensor`, or -1. */
int32_t lith_direct_output(const lith_model *model, const lith_ports *ports, int32_t tensor);

#endif
