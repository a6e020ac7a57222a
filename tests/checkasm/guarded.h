/* Memory whose borders bite: a block of bytes between two pages that cannot be touched. The block lies against the page
 * behind it (so that a read or write past the end faults) or against the page before it; what is left of the pages
 * between holds a pattern that guarded_intact() looks for. */
#ifndef GUARDED_H
#define GUARDED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct guarded {
    unsigned char *data;
    size_t size;
    unsigned char *pages; /* between the two guards */
    size_t pages_size;
} guarded;

/* `size` bytes, 16-byte aligned when they lie at the front, else aligned as `size` allows. Ends the program when there
 * is no memory. */
guarded guarded_alloc(size_t size, bool at_end);

/* From now on a write faults. */
void guarded_seal(const guarded *block);

/* Nothing was written around the block. */
bool guarded_intact(const guarded *block);

void guarded_free(guarded *block);

#endif
