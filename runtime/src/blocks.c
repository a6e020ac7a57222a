/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

/* Sizes are rounded up, so that a tensor that grows step by step finds its old block again. */
#define GRANULE 256
/* A free block may be larger than what is asked for by this factor, and by this much. */
#define LARGEST_FACTOR 2
#define LARGEST_SURPLUS 4096

struct lith_block {
    lith_block *next;
    size_t size;
    int32_t users;
    bool touched; /* taken since lith_blocks_begin */
};

#define HEADER ((sizeof(lith_block) + LITH_ALIGNMENT - 1) / LITH_ALIGNMENT * LITH_ALIGNMENT)

static void release_block(lith_blocks *blocks, lith_block *block) {
    blocks->held -= block->size;
    blocks->allocator->release(blocks->allocator->user, block, HEADER + block->size);
}

/* Gives back free blocks: all of them, or those that this run did not touch. */
static void release_free(lith_blocks *blocks, bool all) {
    lith_block **link = &blocks->first;
    while (*link != NULL) {
        lith_block *block = *link;
        if (block->users == 0 && (all || !block->touched)) {
            *link = block->next;
            release_block(blocks, block);
        } else {
            link = &block->next;
        }
    }
}

static lith_block *find_free(const lith_blocks *blocks, size_t size) {
    lith_block *best = NULL;
    size_t most =
        size > SIZE_MAX / LARGEST_FACTOR - LARGEST_SURPLUS ? SIZE_MAX : size * LARGEST_FACTOR + LARGEST_SURPLUS;
    for (lith_block *block = blocks->first; block != NULL; block = block->next) {
        bool fits = block->users == 0 && block->size >= size && block->size <= most;
        if (fits && (best == NULL || block->size < best->size)) {
            best = block;
        }
    }
    return best;
}

static lith_block *add_block(lith_blocks *blocks, size_t size) {
    lith_block *block = blocks->allocator->allocate(blocks->allocator->user, HEADER + size, LITH_ALIGNMENT);
    if (block != NULL) {
        block->next = blocks->first;
        block->size = size;
        block->users = 0;
        blocks->first = block;
        blocks->held += size;
    }
    return block;
}

lith_block *lith_block_take(lith_blocks *blocks, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t rounded = size < GRANULE ? GRANULE : (size + GRANULE - 1) / GRANULE * GRANULE;
    lith_block *block = find_free(blocks, rounded);
    if (block == NULL) {
        block = add_block(blocks, rounded);
    }
    if (block == NULL) {
        release_free(blocks, true);
        block = add_block(blocks, rounded);
    }
    if (block != NULL) {
        block->users = 1;
        block->touched = true;
        blocks->used += block->size;
        blocks->peak = blocks->used > blocks->peak ? blocks->used : blocks->peak;
    }
    return block;
}

lith_block *lith_block_share(lith_block *block) {
    if (block != NULL) {
        block->users++;
    }
    return block;
}

void lith_block_give(lith_blocks *blocks, lith_block *block) {
    if (block != NULL && --block->users == 0) {
        blocks->used -= block->size;
    }
}

void *lith_block_data(lith_block *block) {
    return (unsigned char *)block + HEADER;
}

size_t lith_block_size(const lith_block *block) {
    return block->size;
}

int32_t lith_block_users(const lith_block *block) {
    return block->users;
}

void lith_blocks_begin(lith_blocks *blocks) {
    for (lith_block *block = blocks->first; block != NULL; block = block->next) {
        block->touched = block->users > 0;
    }
    blocks->peak = blocks->used;
}

void lith_blocks_end(lith_blocks *blocks) {
    release_free(blocks, false);
}

void lith_blocks_release(lith_blocks *blocks) {
    while (blocks->first != NULL) {
        lith_block *block = blocks->first;
        blocks->first = block->next;
        release_block(blocks, block);
    }
    blocks->used = 0;
}
