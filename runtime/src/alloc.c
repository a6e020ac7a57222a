/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the allocator that is used unless the caller gives one, and the only use of malloc. */
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

/* malloc knows no alignment in C11 on every system: the block is enlarged and its start noted before the result. */
static void *default_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    if (size > SIZE_MAX - alignment - sizeof(void *)) {
        return NULL;
    }
    unsigned char *block = malloc(size + alignment + sizeof(void *));
    if (block == NULL) {
        return NULL;
    }
    uintptr_t start = (uintptr_t)(block + sizeof(void *));
    size_t gap = (alignment - start % alignment) % alignment;
    unsigned char *memory = block + sizeof(void *) + gap;
    memcpy(memory - sizeof(void *), &block, sizeof(void *));
    return memory;
}

static void default_release(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    void *block;
    memcpy(&block, (unsigned char *)memory - sizeof(void *), sizeof(void *));
    free(block);
}

lith_allocator lith_allocator_default(void) {
    lith_allocator allocator = {default_allocate, default_release, NULL};
    return allocator;
}

void *lith_allocate(const lith_allocator *allocator, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        return NULL;
    }
    size_t bytes = count * size;
    void *memory = allocator->allocate(allocator->user, bytes > 0 ? bytes : 1, LITH_ALIGNMENT);
    if (memory != NULL) {
        memset(memory, 0, bytes);
    }
    return memory;
}

void lith_release(const lith_allocator *allocator, void *memory, size_t count, size_t size) {
    if (memory != NULL) {
        size_t bytes = count * size;
        allocator->release(allocator->user, memory, bytes > 0 ? bytes : 1);
    }
}
