#define _DEFAULT_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guarded.h"

#define PATTERN 0xa5

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

guarded guarded_alloc(size_t size, bool at_end) {
    const size_t page = page_size();
    guarded block = {.size = size, .pages_size = (size + page) / page * page};
    unsigned char *base = mmap(NULL, block.pages_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, block.pages_size, PROT_READ | PROT_WRITE) != 0) {
        perror("checkasm: no memory");
        exit(2);
    }
    block.pages = base + page;
    block.data = at_end ? block.pages + block.pages_size - size : block.pages;
    memset(block.pages, PATTERN, block.pages_size);
    return block;
}

void guarded_seal(const guarded *block) {
    mprotect(block->pages, block->pages_size, PROT_READ);
}

bool guarded_intact(const guarded *block) {
    const unsigned char *end = block->pages + block->pages_size;
    for (const unsigned char *byte = block->pages; byte < block->data; byte++) {
        if (*byte != PATTERN) {
            return false;
        }
    }
    for (const unsigned char *byte = block->data + block->size; byte < end; byte++) {
        if (*byte != PATTERN) {
            return false;
        }
    }
    return true;
}

void guarded_free(guarded *block) {
    if (block->pages) {
        munmap(block->pages - page_size(), block->pages_size + 2 * page_size());
    }
    memset(block, 0, sizeof *block);
}
