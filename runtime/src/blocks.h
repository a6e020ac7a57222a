/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of memory that are taken and given back while a model runs, and kept to be taken again. */
#ifndef LITH_BLOCKS_H
#define LITH_BLOCKS_H

#include <stdbool.h>

#include "alloc.h"

/* The header of a block; its data follows, aligned to LITH_ALIGNMENT. */
typedef struct lith_block lith_block;

typedef struct lith_blocks {
    const lith_allocator *allocator;
    lith_block *first; /* of all blocks */
    size_t held;       /* bytes of all blocks */
    size_t used;       /* bytes of those that are in use */
    size_t peak;       /* the most that was in use since lith_blocks_begin */
} lith_blocks;

/* A block of at least `size` bytes with one user and arbitrary contents, or NULL. */
lith_block *lith_block_take(lith_blocks *blocks, size_t size);
/* One more user. Accepts NULL. */
lith_block *lith_block_share(lith_block *block);
/* One user less; without any it may be taken again. Accepts NULL. */
void lith_block_give(lith_blocks *blocks, lith_block *block);

void *lith_block_data(lith_block *block);
size_t lith_block_size(const lith_block *block);
int32_t lith_block_users(const lith_block *block);

/* Starts a run; lith_blocks_end gives back to the allocator what was not needed in it. */
void lith_blocks_begin(lith_blocks *blocks);
void lith_blocks_end(lith_blocks *blocks);

/* All of them, in use or not. */
void lith_blocks_release(lith_blocks *blocks);

#endif
