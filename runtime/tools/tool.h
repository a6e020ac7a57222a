/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line tools share. */
#ifndef LITH_TOOL_H
#define LITH_TOOL_H

#include <stdbool.h>

#include "microlith.h"

/* A model with a session, opened as the options of the command line say. */
typedef struct tool {
    const char *program;
    const char *path;
    lith_model *model;
    lith_session *session;
    lith_message message;
} tool;

/* Prints "program: ..." and exits with 1. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3), noreturn))
#endif
void tool_fail(const tool *self, const char *format, ...);

/* The same for what is wrong with the command line: exits with 2. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3), noreturn))
#endif
void tool_usage(const tool *self, const char *format, ...);

/* Exits with the message when `status` is an error. */
void tool_check(const tool *self, lith_status status);

/* The argument of option argv[*i], which is moved on; exits when there is none. */
const char *tool_argument(const tool *self, int argc, char **argv, int *i);

/* A whole number from `low` to `high`; exits for anything else. */
int32_t tool_number(const tool *self, const char *option, const char *text, int32_t low, int32_t high);

/* Opens the model; `isa` and `cores` ("2,3", for the threads in turn) may be NULL. */
void tool_open(tool *self, const char *isa, int32_t threads, const char *cores);

/* Prints how many of the weights that the file holds packed serve here, if it has any. */
void tool_print_prepacked(const tool *self);

/* Sets the shapes of inputs: `shapes` holds `count` texts "name=1,3,224,224". Exits when a size stays open. */
void tool_resize(tool *self, const char *const *shapes, int32_t count);

/* Memory, or exit. */
void *tool_memory(const tool *self, size_t size);

/* Fills a buffer with noise of a seed: floats in [-1, 1), bools 0 or 1, integers over their whole range. */
void tool_noise(void *data, int32_t dtype, size_t size, uint32_t seed);

/* A profile function that prints a row for each node; `user` is not used. */
void tool_print_profile(void *user, const lith_profile_event *event);
void tool_print_profile_head(void);

void tool_close(tool *self);

#endif
