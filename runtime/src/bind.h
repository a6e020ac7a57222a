/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: what follows from the shapes of the inputs and the instruction sets, the same for every session. For each
 * tensor its type, for each node its parameters, kernel and packed constants. Memory is planned in layout.c. */
#ifndef LITH_BIND_H
#define LITH_BIND_H

#include "weights.h"

/* A node ready to run. */
typedef struct lith_step {
    const nnacl_kernel *kernel;
    void *params;
    size_t workspace; /* bytes for one worker */
    int32_t parts;    /* the most that the work can be split into */
    int64_t macs;
    lith_packed *packed;
    int32_t n_packed;
    bool early; /* its outputs were computed with the binding: nothing is left to run */
} lith_step;

typedef struct lith_binding {
    const lith_model *model;
    nnacl_tensor *types; /* of all tensors; `data` of constants is that of the file, that of early ones stands here */
    lith_step *steps;
    unsigned char *params; /* what the steps point into */
    size_t params_size;
    lith_packed *packed;
    size_t packed_count;
    int32_t stored_count; /* packed inputs that stand in the file */
    int64_t macs;
} lith_binding;

/* `shapes`: one for each input of the graph; NULL: the declared ones, with 1 for what is not known. With declared
 * shapes the types and parameters in the file must be exactly what the plan halves derive. Memory comes from
 * `allocator`, that of packed constants from the cache of the model. */
lith_status lith_binding_create(const lith_model *model, const lith_shape *shapes, const lith_allocator *allocator,
                                lith_binding **binding, lith_message *message);

/* The type of input `index` with another shape. */
lith_status lith_input_type(const lith_model *model, int32_t index, const lith_shape *shape, nnacl_tensor *type,
                            lith_message *message);

/* A binding in which no node is bound yet: for dynamic.c, which binds them one by one. */
lith_status lith_binding_prepare(const lith_model *model, const lith_allocator *allocator, lith_binding **binding,
                                 lith_message *message);

/* Derives parameters and output types of a node from the types of its inputs, whose `data` is set as far as it is
 * known, chooses its kernel and packs its constants. What was packed before is used again where it fits. */
lith_status lith_binding_bind_node(lith_binding *binding, int32_t index, lith_message *message);

/* Holds what is known of a dynamic model before it runs against the plan halves. */
lith_status lith_binding_check(const lith_model *model, lith_message *message);

/* Accepts NULL. */
void lith_binding_destroy(lith_binding *binding, const lith_allocator *allocator);

#endif
