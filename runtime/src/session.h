/* SPDX-License-Identifier: Apache-2.0 */
/* A session: the memory of one run at a time, and what the caller bound to it. */
#ifndef LITH_SESSION_H
#define LITH_SESSION_H

#include <stdatomic.h>

#include "dynamic.h"
#include "layout.h"
#include "threads.h"

struct lith_session {
    const lith_model *model;
    lith_allocator allocator;
    lith_pool *pool;
    bool keep_inputs;
    const lith_binding *binding; /* that of the model, or `own`; NULL: shapes are not known yet */
    lith_binding *own;
    uint64_t rounds;       /* of chains that ran */
    lith_layout *layout;   /* NULL as long as `binding` is */
    lith_dynamic *dynamic; /* of a dynamic model, which has neither of these */
    lith_blocks blocks;    /* of `dynamic` */
    lith_ports ports;
    size_t *output_sizes; /* of the bound output buffers; what a dynamic model writes may be smaller */
    lith_profile_fn profiler;
    void *profiler_user;
    atomic_bool cancelled;
};

#endif
