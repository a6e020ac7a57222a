/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: nodes one behind the other that a thread runs together, some rows at a time, so that what is between them
 * stays in its cache and never exists as a whole. */
#ifndef LITH_CHAINS_H
#define LITH_CHAINS_H

#include "bind.h"

#define LITH_CHAIN_MOST 8
#define LITH_LINK_INPUTS 8

/* A node of a chain. */
typedef struct lith_link {
    int32_t rows;    /* of its output */
    size_t row_size; /* bytes */
    size_t place;    /* of the rows of its output that are kept, in the scratch of a worker; not of the last */
    int32_t kept;    /* rows there */
} lith_link;

typedef struct lith_chain {
    int32_t first, count; /* nodes */
    int32_t stripe;       /* rows of the last output that come at a time */
    int32_t parts;
    size_t row_size;  /* of the input */
    size_t workspace; /* of the kernels, in the scratch of a worker */
    size_t scratch;   /* bytes of a worker */
    lith_link links[LITH_CHAIN_MOST];
} lith_chain;

/* How far a worker is: rows begin .. end - 1 of each output but the last are in its scratch, in round `round`. */
typedef struct lith_chain_state {
    _Alignas(LITH_ALIGNMENT) uint64_t round;
    int32_t next; /* row of the last output, if it goes on */
    int32_t begin[LITH_CHAIN_MOST], end[LITH_CHAIN_MOST];
    int64_t nanoseconds[LITH_CHAIN_MOST]; /* of each node */
} lith_chain_state;

/* What a run of a chain gets. */
typedef struct lith_chain_run {
    const lith_chain *chain;
    const lith_binding *binding;
    const void **const *in; /* inputs of each node */
    void *out;              /* of the last */
    unsigned char *scratch;
    lith_chain_state *states; /* of all workers */
    uint64_t round;           /* never twice */
    bool timed;
} lith_chain_run;

/* The chain that begins at node `first`, if one that is worth it does. `readers`: of each tensor, by nodes and the
 * caller. */
bool lith_chain_find(const lith_binding *binding, const int32_t *readers, int32_t threads, int32_t first,
                     lith_chain *chain);

/* Part `part` of `parts` of a round. */
void lith_chain_part(const lith_chain_run *run, int32_t worker, int32_t part, int32_t parts);

#endif
