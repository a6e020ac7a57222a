/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, messages, and the small facts about instruction sets and element types. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nnacl_kernels.h"

#ifndef LITH_VERSION
#define LITH_VERSION "0.0.0"
#endif

const char *lith_version(void) {
    return LITH_VERSION;
}

const char *lith_status_text(lith_status status) {
    switch (status) {
    case LITH_OK:
        return "ok";
    case LITH_ERROR_ARGUMENT:
        return "argument";
    case LITH_ERROR_MEMORY:
        return "memory";
    case LITH_ERROR_IO:
        return "io";
    case LITH_ERROR_FORMAT:
        return "format";
    case LITH_ERROR_VERSION:
        return "version";
    case LITH_ERROR_UNSUPPORTED:
        return "unsupported";
    case LITH_ERROR_SHAPE:
        return "shape";
    case LITH_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

lith_status lith_fail(lith_message *message, lith_status status, const char *format, ...) {
    if (message != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
        /* Names come from the file, so they may hold anything: a message stays on its line. */
        for (char *c = message->text; *c != '\0'; c++) {
            if ((unsigned char)*c < 0x20 || *c == 0x7f) {
                *c = '?';
            }
        }
    }
    return status;
}

lith_status lith_options_read(const void *given, void *options, size_t size, lith_message *message) {
    if (given == NULL) {
        return LITH_OK;
    }
    size_t known;
    memcpy(&known, given, sizeof known);
    if (known < sizeof known || known > size) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the options are of a newer version, or struct_size is not set");
    }
    memcpy(options, given, known);
    return LITH_OK;
}

lith_status lith_fail_memory(lith_message *message, const char *what) {
    return lith_fail(message, LITH_ERROR_MEMORY, "out of memory for %s", what);
}

uint32_t lith_isa_detect(void) {
    return nnacl_isa_detect();
}

const char *lith_isa_name(uint32_t bit) {
    return nnacl_isa_name(bit);
}

const char *lith_dtype_name(int32_t dtype) {
    return nnacl_dtype_name(dtype);
}

size_t lith_dtype_size(int32_t dtype) {
    return nnacl_dtype_size(dtype);
}

static lith_status fail_isa(lith_message *message, const char *name) {
    char known[128] = "all";
    size_t length = strlen(known);
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        const char *other = nnacl_isa_name(bit);
        if (other != NULL && length + strlen(other) + 3 < sizeof known) {
            length += (size_t)snprintf(known + length, sizeof known - length, ", %s", other);
        }
    }
    return lith_fail(message, LITH_ERROR_ARGUMENT, "there is no instruction set '%.32s'; there are %s", name, known);
}

lith_status lith_isa_parse(const char *names, uint32_t *mask, lith_message *message) {
    if (names == NULL || mask == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "names or mask is NULL");
    }
    uint32_t result = 0;
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        char name[16];
        if (length == 0 || length >= sizeof name) {
            return fail_isa(message, names);
        }
        memcpy(name, names, length);
        name[length] = '\0';
        char *end = name;
        unsigned long number = strtoul(name, &end, 0);
        if (strcmp(name, "all") == 0) {
            result = UINT32_MAX;
        } else if (end != name && *end == '\0' && number > 0 && number <= UINT32_MAX) {
            result |= (uint32_t)number;
        } else if (nnacl_isa_bit(name) != 0) {
            result |= nnacl_isa_bit(name);
        } else {
            return fail_isa(message, name);
        }
        names += length;
        if (*names == ',') {
            names++;
        }
    }
    if (result == 0) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "no instruction set is named");
    }
    *mask = result;
    return LITH_OK;
}
