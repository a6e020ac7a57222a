/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a binding in the layouts that its kernels want: from the file, or from the cache of the model. */
#ifndef LITH_PACK_H
#define LITH_PACK_H

#include "bind.h"

/* Bytes of input `input` of a bound node as its kernel wants it; 0: as it is. */
size_t lith_packed_size(const lith_binding *binding, int32_t index, int32_t input);

/* Packs the constants of all nodes. */
lith_status lith_pack_all(lith_binding *binding, const lith_allocator *allocator, lith_message *message);

/* Packs those of one node, into the room that it has in `binding->packed`. What was packed before, for kernel `before`,
 * stays where it fits. */
lith_status lith_pack_node(lith_binding *binding, int32_t index, const nnacl_kernel *before, lith_message *message);

/* Ends the use of everything that was packed. */
void lith_pack_give(lith_binding *binding);

/* Bytes of what was packed for this binding, each once, and not for `besides` (may be NULL). */
size_t lith_pack_bytes(const lith_binding *binding, const lith_binding *besides);

#endif
