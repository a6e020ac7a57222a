/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__unix__) || defined(__APPLE__)
#define _DEFAULT_SOURCE /* madvise() */
#define LITH_HAVE_MMAP 1
#endif

#include "mapping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef LITH_HAVE_MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "alloc.h"
#include "status.h"

static lith_status fail_io(lith_message *message, const char *why) {
    return lith_fail(message, LITH_ERROR_IO, "the file cannot be read: %s", why);
}

#ifdef LITH_HAVE_MMAP

/* Smaller pieces are not worth the call. */
#define LEAST_TO_RELEASE 65536

void lith_mapping_release(const lith_mapping *mapping, const void *data, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)mapping->data, at = (uintptr_t)data;
    if (!mapping->mapped || at < base || at - base >= mapping->size || size < LEAST_TO_RELEASE) {
        return;
    }
    const uintptr_t first = (at + page - 1) / page * page, end = (at + size) / page * page;
    if (first < end) {
        madvise((void *)first, end - first, MADV_DONTNEED);
    }
}

lith_status lith_mapping_open(lith_mapping *mapping, const char *path, const lith_allocator *allocator,
                              lith_message *message) {
    (void)allocator;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return fail_io(message, strerror(errno));
    }
    struct stat facts;
    lith_mapping result = {NULL, 0, 1, NULL};
    const char *error = NULL;
    if (fstat(file, &facts) != 0) {
        error = strerror(errno);
    } else if (!S_ISREG(facts.st_mode)) {
        error = "it is not a regular file";
    } else if (facts.st_size <= 0) {
        error = "it is empty";
    } else if ((uint64_t)facts.st_size > SIZE_MAX / 2) {
        error = "it is too large for this machine";
    } else {
        result.size = (size_t)facts.st_size;
        void *memory = mmap(NULL, result.size, PROT_READ, MAP_PRIVATE, file, 0);
        if (memory == MAP_FAILED) {
            error = strerror(errno);
        }
        result.data = memory;
    }
    close(file);
    if (error != NULL) {
        return fail_io(message, error);
    }
    *mapping = result;
    return LITH_OK;
}

#else

void lith_mapping_release(const lith_mapping *mapping, const void *data, size_t size) {
    (void)mapping;
    (void)data;
    (void)size;
}

lith_status lith_mapping_open(lith_mapping *mapping, const char *path, const lith_allocator *allocator,
                              lith_message *message) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return fail_io(message, strerror(errno));
    }
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size <= 0 || fseek(file, 0, SEEK_SET) != 0) {
        fclose(file);
        return fail_io(message, "it is empty, or not a regular file");
    }
    void *memory = lith_allocate(allocator, (size_t)size, 1);
    if (memory == NULL) {
        fclose(file);
        return lith_fail_memory(message, "the bytes of the model");
    }
    size_t got = fread(memory, 1, (size_t)size, file);
    fclose(file);
    if (got != (size_t)size) {
        lith_release(allocator, memory, (size_t)size, 1);
        return fail_io(message, "reading stopped before the end");
    }
    *mapping = (lith_mapping){memory, (size_t)size, 0, memory};
    return LITH_OK;
}

#endif

lith_status lith_mapping_wrap(lith_mapping *mapping, const void *data, size_t size, const lith_allocator *allocator,
                              lith_message *message) {
    lith_mapping result = {data, size, 0, NULL};
    if ((uintptr_t)data % 16 != 0) {
        result.owned = lith_allocate(allocator, size, 1);
        if (result.owned == NULL) {
            return lith_fail_memory(message, "a copy of the model, whose bytes are not aligned to 16");
        }
        memcpy(result.owned, data, size);
        result.data = result.owned;
    }
    *mapping = result;
    return LITH_OK;
}

void lith_mapping_close(lith_mapping *mapping, const lith_allocator *allocator) {
#ifdef LITH_HAVE_MMAP
    if (mapping->mapped) {
        /* munmap takes what mmap gave. */
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    }
#endif
    lith_release(allocator, mapping->owned, mapping->size, 1);
    memset(mapping, 0, sizeof *mapping);
}
