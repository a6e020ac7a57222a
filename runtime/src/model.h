/* SPDX-License-Identifier: Apache-2.0 */
/* A model in memory: the verified graph, and how its declared shapes are bound to kernels. */
#ifndef LITH_MODEL_H
#define LITH_MODEL_H

#include <stdbool.h>

#include "alloc.h"
#include "fb_reader.h"
#include "mapping.h"
#include "microlith.h"
#include "nnacl_extension.h"
#include "nnacl_kernels.h"

/* More than any model has. Planning memory takes time that grows with the square of these. */
#define LITH_MAX_PORTS 4096
#define LITH_MAX_NODES 65536
#define LITH_MAX_TENSORS 131072

/* Of files; a larger one is refused. */
#define LITH_FORMAT_VERSION 1

typedef struct lith_tensor {
    const char *name;
    nnacl_tensor type;  /* dims: -1 where known at run time only; data: set for a constant */
    fb_pointer symbols; /* vector of one string for each dimension, or NULL */
    const float *scales;
    const int32_t *zero_points;
    int32_t quant_count, quant_axis;
    bool variable;
    const void *initial; /* what a variable holds at reset; NULL: zero */
    bool produced;       /* by a node */
    bool input;          /* of the graph */
    bool early;          /* follows from the shapes of the inputs, and is computed with them: a shape depends on it */
} lith_tensor;

/* What runs a node: a kernel, or the runtime itself, by way of subgraphs (control.h). */
typedef enum lith_control { LITH_CONTROL_NONE, LITH_CONTROL_IF, LITH_CONTROL_LOOP } lith_control;

#define LITH_MAX_SUBGRAPHS 2
/* Of subgraphs within subgraphs. */
#define LITH_MAX_DEPTH 16

typedef struct lith_node {
    const nnacl_op *op;
    const nnacl_extension *extension; /* that has the op; NULL: this library */
    lith_control control;
    const char *name;
    const char *source;
    const int32_t *inputs; /* tensor indices, -1: absent */
    int32_t n_inputs;
    const int32_t *outputs;
    int32_t n_outputs;
    const uint8_t *params;
    size_t params_size; /* at most op->params_size */
    const struct lith_model *subgraphs[LITH_MAX_SUBGRAPHS];
    int32_t n_subgraphs;
    int32_t first_child; /* subgraphs of the nodes before it */
} lith_node;

struct lith_binding;

struct lith_model {
    lith_allocator allocator;
    lith_mapping mapping;
    fb_pointer root;
    uint32_t isa_mask;
    lith_weights_cache *weights; /* that of the options, or its own */
    size_t packed_limit;
    bool keeps_weights; /* the file is larger than packed_limit: no copies of large weights in other layouts */
    const lith_extension *const *extensions;
    int32_t n_extensions;
    int32_t contract;
    const struct lith_stored *stored; /* constants that the file holds in the layout of a kernel, by node and input */
    int32_t n_stored;
    struct lith_model *parts; /* the graphs of the file but the first, which is this one; subgraphs have none */
    int32_t n_parts;
    int32_t n_children; /* subgraphs of its nodes */
    int32_t depth;      /* 0: not a subgraph */
    const char *name;
    const lith_tensor *tensors;
    int32_t n_tensors;
    const lith_node *nodes;
    int32_t n_nodes;
    const int32_t *inputs;
    int32_t n_inputs;
    const int32_t *outputs;
    int32_t n_outputs;
    bool is_static;
    bool is_dynamic; /* a shape depends on values that are known only while the model runs: see dynamic.h */
    size_t constant_bytes;
    /* For the declared shapes, sizes known at run time only taken as 1. NULL: the model cannot run with those, or is
     * dynamic. */
    struct lith_binding *binding;
};

/* Fills the graphs of a model whose mapping is open: verifies the flatbuffer, then everything that stands in it but the
 * parameters of nodes, which bind.c holds against the plan halves. What is allocated so far is released by
 * lith_graph_release, also after a failure. */
lith_status lith_graph_load(lith_model *model, lith_message *message);
void lith_graph_release(lith_model *model);

/* Finds out which tensors are early, and whether the model is dynamic. (graph_flow.c) */
lith_status lith_graph_flow(lith_model *model, lith_tensor *tensors, lith_message *message);

/* Whether resize() of this node reads an input that is not a constant. */
bool lith_node_reads_data(const lith_model *model, const lith_node *node);

/* Bytes of a tensor all of whose dimensions are known. */
size_t lith_type_bytes(const nnacl_tensor *type);

/* Fills `info` for a tensor, whose dimensions are taken from `type`. */
void lith_describe_tensor(const lith_tensor *tensor, const nnacl_tensor *type, lith_tensor_info *info);

/* "node 3 'conv1' (conv2d)", cut to fit. */
typedef struct lith_label {
    char text[160];
} lith_label;
lith_label lith_node_label(const lith_model *model, int32_t index);

#endif
