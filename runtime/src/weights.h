/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in the layout of a kernel, kept once for all that use the same: nodes, sessions, and the models that were
 * opened with one cache. */
#ifndef LITH_WEIGHTS_H
#define LITH_WEIGHTS_H

#include "model.h"

typedef struct lith_weights lith_weights;

/* What stands in for constant input `input` of a node. It must not move as long as it has `weights`. */
typedef struct lith_packed {
    int32_t input;
    size_t size;
    const void *data;
    lith_weights *weights; /* NULL: `data` stands in the file */
    const lith_model *model;
    int32_t node;
    const nnacl_kernel *kernel; /* of the node, and its parameters */
    const void *params;
    struct lith_packed *before, *after; /* the others that use `weights` */
} lith_packed;

/* Another user of a cache; lith_weights_cache_release ends it. */
lith_weights_cache *lith_weights_cache_hold(lith_weights_cache *cache);

/* Gives `data` to all of `items`, whose other fields are filled. What the cache has not yet is packed now, into one
 * block: there are few large pages to fill instead of many small ones. On failure the items have no weights. */
lith_status lith_weights_take(lith_weights_cache *cache, lith_packed **items, size_t count, lith_message *message);

/* Ends the use; an item without weights stays as it is. */
void lith_weights_give(lith_weights_cache *cache, lith_packed *item);

/* Bytes of the different weights of `items`, those of `besides` excepted. */
size_t lith_weights_bytes(lith_weights_cache *cache, const lith_packed *items, size_t count, const lith_packed *besides,
                          size_t besides_count);

#endif
