/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_setaffinity() */
#include <sched.h>
#endif

#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CORES 256

static void complain(const tool *self, const char *format, va_list arguments) {
    fprintf(stderr, "%s: ", self->program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void tool_fail(const tool *self, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(self, format, arguments);
    va_end(arguments);
    exit(1);
}

void tool_usage(const tool *self, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(self, format, arguments);
    va_end(arguments);
    exit(2);
}

void tool_check(const tool *self, lith_status status) {
    if (status != LITH_OK) {
        tool_fail(self, "%s: %s", self->path, self->message.text);
    }
}

const char *tool_argument(const tool *self, int argc, char **argv, int *i) {
    if (*i + 1 >= argc) {
        tool_usage(self, "%s needs an argument", argv[*i]);
    }
    return argv[++*i];
}

int32_t tool_number(const tool *self, const char *option, const char *text, int32_t low, int32_t high) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        tool_usage(self, "%s takes a number from %d to %d, not '%s'", option, (int)low, (int)high, text);
    }
    return (int32_t)value;
}

/* Reads "0,2,3" and moves this thread to the first one. */
static int32_t read_cores(const tool *self, const char *text, int32_t numbers[MAX_CORES]) {
    int32_t count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        char *end = NULL;
        const long number = strtol(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0') || number < 0 || number > 4095 || count == MAX_CORES) {
            tool_usage(self, "--cores takes numbers of cores with commas between them, not '%s'", text);
        }
        numbers[count] = (int32_t)number;
        at = *end == ',' ? end + 1 : end;
    }
#if defined(__linux__)
    cpu_set_t one;
    CPU_ZERO(&one);
    if (count > 0 && numbers[0] < CPU_SETSIZE) {
        CPU_SET((size_t)numbers[0], &one);
    }
    if (count > 0 && sched_setaffinity(0, sizeof one, &one) != 0) {
        tool_usage(self, "--cores: this machine has no core %d for this program", (int)numbers[0]);
    }
#endif
    return count;
}

void tool_open(tool *self, const char *isa, int32_t threads, const char *cores) {
    int32_t numbers[MAX_CORES];
    lith_model_options model_options = LITH_MODEL_OPTIONS_INIT;
    lith_session_options session_options = LITH_SESSION_OPTIONS_INIT;
    if (isa != NULL && lith_isa_parse(isa, &model_options.isa_mask, &self->message) != LITH_OK) {
        tool_usage(self, "--isa: %s", self->message.text);
    }
    session_options.threads = threads;
    session_options.cores = numbers;
    session_options.core_count = cores != NULL ? read_cores(self, cores, numbers) : 0;
    tool_check(self, lith_model_open(self->path, &model_options, &self->model, &self->message));
    tool_check(self, lith_session_create(self->model, &session_options, &self->session, &self->message));
}

void tool_print_prepacked(const tool *self) {
    lith_prepacked_info info;
    tool_check(self, lith_model_prepacked(self->model, &info));
    if (info.count > 0) {
        printf("weights packed in the file for %s: %d of %d serve this machine%s\n", info.target, (int)info.used,
               (int)info.count, info.used < info.count ? ", the others were packed anew" : "");
    }
}

static bool read_shape(const char *text, lith_shape *shape) {
    memset(shape, 0, sizeof *shape);
    while (*text != '\0') {
        char *end = NULL;
        long size = strtol(text, &end, 10);
        if (end == text || size < 0 || size > INT32_MAX || shape->rank == LITH_MAX_RANK ||
            (*end != ',' && *end != '\0')) {
            return false;
        }
        shape->dims[shape->rank++] = (int32_t)size;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

/* Ends the program when a size is open. */
static void require_sizes(const tool *self, int32_t input, const lith_shape *shape) {
    char text[16 * LITH_MAX_RANK] = "";
    size_t length = 0;
    bool open = false;
    for (int32_t axis = 0; axis < shape->rank; axis++) {
        open = open || shape->dims[axis] < 0;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%d", axis > 0 ? "," : "",
                                   shape->dims[axis] < 0 ? 1 : (int)shape->dims[axis]);
    }
    if (open) {
        lith_tensor_info info;
        tool_check(self, lith_model_input_info(self->model, input, &info));
        tool_usage(self, "the model leaves the shape of input '%s' open: give it, e.g. --shape %s=%s", info.name,
                   info.name, text);
    }
}

void tool_resize(tool *self, const char *const *shapes, int32_t count) {
    int32_t n = lith_model_input_count(self->model);
    lith_shape *all = tool_memory(self, (size_t)(n > 0 ? n : 1) * sizeof *all);
    for (int32_t i = 0; i < n; i++) {
        lith_tensor_info info;
        tool_check(self, lith_session_input_info(self->session, i, &info));
        all[i].rank = info.rank;
        memcpy(all[i].dims, info.dims, sizeof all[i].dims);
    }
    for (int32_t i = 0; i < count; i++) {
        const char *sign = strrchr(shapes[i], '=');
        char name[256] = "";
        if (sign == NULL || (size_t)(sign - shapes[i]) >= sizeof name) {
            tool_usage(self, "--shape takes NAME=1,3,224,224, not '%s'", shapes[i]);
        }
        memcpy(name, shapes[i], (size_t)(sign - shapes[i]));
        int32_t index = lith_model_input_index(self->model, name);
        if (index < 0 || !read_shape(sign + 1, &all[index])) {
            tool_usage(self, "--shape %s: there is no such input, or that is no shape", shapes[i]);
        }
    }
    for (int32_t i = 0; i < n; i++) {
        require_sizes(self, i, &all[i]);
    }
    if (count > 0) {
        tool_check(self, lith_session_resize(self->session, all, n, &self->message));
    }
    free(all);
}

void *tool_memory(const tool *self, size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) {
        tool_fail(self, "out of memory");
    }
    return memory;
}

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

void tool_noise(void *data, int32_t dtype, size_t size, uint32_t seed) {
    const char *name = lith_dtype_name(dtype);
    size_t element = lith_dtype_size(dtype);
    uint32_t state = seed * 2654435761u + 1u;
    unsigned char *bytes = data;
    for (size_t i = 0; i + element <= size; i += element) {
        float value = (float)(next_random(&state) >> 8) / 8388608.0f - 1.0f;
        if (strcmp(name, "f32") == 0) {
            memcpy(bytes + i, &value, sizeof value);
        } else if (strcmp(name, "f64") == 0) {
            double wide = (double)value;
            memcpy(bytes + i, &wide, sizeof wide);
        } else if (strcmp(name, "f16") == 0) {
            uint16_t half = (uint16_t)(0x3800u | (state & 0x83ffu)); /* magnitude from 0.5 to 1 */
            memcpy(bytes + i, &half, sizeof half);
        } else if (strcmp(name, "b8") == 0) {
            bytes[i] = (unsigned char)(state >> 31);
        } else {
            for (size_t j = 0; j < element; j++) {
                bytes[i + j] = (unsigned char)(next_random(&state) >> 24);
            }
        }
    }
}

void tool_print_profile_head(void) {
    printf("%5s %10s %12s %5s  %-24s %-32s %s\n", "node", "us", "MACs", "parts", "op", "kernel", "name");
}

void tool_print_profile(void *user, const lith_profile_event *event) {
    (void)user;
    printf("%5d %10.1f %12lld %5d  %-24s %-32s %s\n", (int)event->node, (double)event->nanoseconds / 1e3,
           (long long)event->macs, (int)event->parts, event->op, event->kernel, event->name);
}

void tool_close(tool *self) {
    lith_session_destroy(self->session);
    lith_model_close(self->model);
}
