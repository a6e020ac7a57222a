/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses with their sentence. */
#ifndef LITH_STATUS_H
#define LITH_STATUS_H

#include "microlith.h"

#if defined(__GNUC__)
#define LITH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define LITH_PRINTF(text, first)
#endif

/* Writes the sentence to `message` (may be NULL) and returns `status`, so that it can stand behind `return`. */
lith_status lith_fail(lith_message *message, lith_status status, const char *format, ...) LITH_PRINTF(3, 4);

/* Puts what a caller gave (NULL: nothing) into options that hold their defaults, of `size` bytes. Both begin with
 * struct_size, which says how many of the bytes that caller knows. */
lith_status lith_options_read(const void *given, void *options, size_t size, lith_message *message);

/* Out of memory, with what it was for. */
lith_status lith_fail_memory(lith_message *message, const char *what);

#endif
