/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that a file holds in the layout of a kernel as well (`microlith convert --prepack`). */
#ifndef LITH_STORED_H
#define LITH_STORED_H

#include "model.h"

/* Reads their table. A table of another version of the layouts, or of a file in memory at an odd address, counts as
 * none. */
lith_status lith_stored_load(lith_model *model, lith_message *message);
void lith_stored_release(lith_model *model);

/* The bytes of constant input `input` of node `node` as `kernel` wants them, `size` of them; NULL: not in the file. */
const void *lith_stored_find(const lith_model *model, int32_t node, int32_t input, const nnacl_kernel *kernel,
                             size_t size);

#endif
