/* Memory between two stretches of a pattern; without a memory protection unit only writes are noticed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guarded.h"

#define PATTERN 0xa5
#define BORDER 64 /* bytes, at least, on each side */

guarded guarded_alloc(size_t size, bool at_end) {
    guarded block = {.size = size, .pages_size = (size + 15) / 16 * 16 + 2 * BORDER};
    block.pages = malloc(block.pages_size + 15);
    if (!block.pages) {
        fprintf(stderr, "checkasm: no memory for %zu bytes\n", size);
        exit(2);
    }
    memset(block.pages, PATTERN, block.pages_size + 15);
    const size_t skip = (16 - (uintptr_t)block.pages % 16) % 16;
    block.data = block.pages + skip + (at_end ? block.pages_size - BORDER - size : BORDER);
    return block;
}

void guarded_seal(const guarded *block) {
    (void)block;
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
    free(block->pages);
    memset(block, 0, sizeof *block);
}
