/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the allocator that is used unless the caller gives one, and the only use of malloc. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* mmap(), madvise() */
#define LITH_HAVE_HUGE_PAGES 1
#endif

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

#ifdef LITH_HAVE_HUGE_PAGES

#include <sys/mman.h>

/* Bytes of a page that the processor translates at once. A block of some of them is mapped apart: filling it costs one
 * fault for each of them instead of hundreds. */
#define HUGE_PAGE ((size_t)1 << 21)
#define LEAST_OF_HUGE_PAGES (2 * HUGE_PAGE)

/* Bytes that are mapped: what is left of the last large page if that is more than half of it. */
static size_t mapped_bytes(size_t size) {
    const size_t unit = size % HUGE_PAGE > HUGE_PAGE / 2 ? HUGE_PAGE : 4096;
    return (size + unit - 1) / unit * unit;
}

static void *allocate_huge(size_t size) {
    const size_t whole = mapped_bytes(size), room = whole + HUGE_PAGE;
    unsigned char *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    const size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) {
        munmap(memory, before);
    }
    munmap(memory + before + whole, HUGE_PAGE - before);
    madvise(memory + before, whole / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return memory + before;
}
#endif

/* Zeros. malloc knows no alignment in C11 on every system: the block is enlarged and its start noted before the result.
 */
static void *default_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    if (size > SIZE_MAX - alignment - sizeof(void *)) {
        return NULL;
    }
#ifdef LITH_HAVE_HUGE_PAGES
    if (size >= LEAST_OF_HUGE_PAGES && size <= SIZE_MAX / 2) {
        return allocate_huge(size);
    }
#endif
    unsigned char *block = calloc(size + alignment + sizeof(void *), 1);
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
#ifdef LITH_HAVE_HUGE_PAGES
    if (size >= LEAST_OF_HUGE_PAGES && size <= SIZE_MAX / 2) {
        munmap(memory, mapped_bytes(size));
        return;
    }
#endif
    (void)size;
    void *block;
    memcpy(&block, (unsigned char *)memory - sizeof(void *), sizeof(void *));
    free(block);
}

lith_allocator lith_allocator_default(void) {
    lith_allocator allocator = {default_allocate, default_release, NULL};
    return allocator;
}

lith_status lith_allocator_check(const lith_allocator *allocator, lith_message *message) {
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the allocator lacks a function");
    }
    return LITH_OK;
}

void *lith_allocate(const lith_allocator *allocator, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        return NULL;
    }
    size_t bytes = count * size;
    void *memory = allocator->allocate(allocator->user, bytes > 0 ? bytes : 1, LITH_ALIGNMENT);
    if (memory != NULL && allocator->allocate != default_allocate) { /* that gives zeros, which it need not write */
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
