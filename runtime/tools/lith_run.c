/* SPDX-License-Identifier: Apache-2.0 */
/* lith_run: runs a .lith file from the command line. The smallest real client of microlith.h. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#include <sys/stat.h>
#define make_folder(path) mkdir(path, 0777)
#endif

#include "clock.h"
#include "npy.h"
#include "tool.h"

#define MAX_OPTIONS 256

static const char usage[] = "usage: lith_run MODEL.lith [--input NAME=FILE]... [--output-dir DIR] [options]\n"
                            "\n"
                            "Runs a model and prints the first values of each output.\n"
                            "\n"
                            "  --input NAME=FILE   raw bytes (little-endian, C order) or a .npy file; NAME= may be "
                            "left out when the model has\n"
                            "                      one input. Inputs that are not given are seeded noise.\n"
                            "  --output-dir DIR    writes each output to DIR/<index>_<name>.npy; makes DIR\n"
                            "  --shape NAME=1,3,8  shape of an input, for sizes that the model leaves open\n"
                            "  --threads N         1 unless given\n"
                            "  --cores 2,3         the cores that the threads stay on, in turn (Linux)\n"
                            "  --isa NAMES         only these instruction sets: c, or c,avx2, ...\n"
                            "  --repeat N          runs so often and prints the fastest and the mean time\n"
                            "  --profile           prints the time of each node\n"
                            "\n"
                            "example: lith_run digits.lith --input image.npy --output-dir out --threads 2\n";

typedef struct options {
    const char *inputs[MAX_OPTIONS];
    int32_t n_inputs;
    const char *shapes[MAX_OPTIONS];
    int32_t n_shapes;
    const char *output_dir;
    const char *isa;
    const char *cores;
    int32_t threads;
    int32_t repeat;
    bool profile;
} options;

static void read_options(tool *self, options *chosen, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(usage, stdout);
            exit(0);
        } else if (strcmp(word, "--input") == 0 && chosen->n_inputs < MAX_OPTIONS) {
            chosen->inputs[chosen->n_inputs++] = tool_argument(self, argc, argv, &i);
        } else if (strcmp(word, "--shape") == 0 && chosen->n_shapes < MAX_OPTIONS) {
            chosen->shapes[chosen->n_shapes++] = tool_argument(self, argc, argv, &i);
        } else if (strcmp(word, "--output-dir") == 0) {
            chosen->output_dir = tool_argument(self, argc, argv, &i);
        } else if (strcmp(word, "--isa") == 0) {
            chosen->isa = tool_argument(self, argc, argv, &i);
        } else if (strcmp(word, "--cores") == 0) {
            chosen->cores = tool_argument(self, argc, argv, &i);
        } else if (strcmp(word, "--threads") == 0) {
            chosen->threads = tool_number(self, word, tool_argument(self, argc, argv, &i), 1, 1024);
        } else if (strcmp(word, "--repeat") == 0) {
            chosen->repeat = tool_number(self, word, tool_argument(self, argc, argv, &i), 1, 1000000);
        } else if (strcmp(word, "--profile") == 0) {
            chosen->profile = true;
        } else if (word[0] == '-') {
            tool_usage(self, "unknown option %s (see --help)", word);
        } else if (self->path != NULL) {
            tool_usage(self, "more than one model is named: %s and %s", self->path, word);
        } else {
            self->path = word;
        }
    }
    if (self->path == NULL) {
        fputs(usage, stderr);
        exit(2);
    }
}

static unsigned char *read_file(const tool *self, const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        tool_fail(self, "cannot read %s: %s", path, strerror(errno));
    }
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length < 0 || fseek(file, 0, SEEK_SET) != 0) {
        tool_fail(self, "cannot read %s: it is not a regular file", path);
    }
    unsigned char *bytes = tool_memory(self, (size_t)length);
    *size = fread(bytes, 1, (size_t)length, file);
    fclose(file);
    return bytes;
}

/* The input that "NAME=FILE" or "FILE" is for; *path gets the file. */
static int32_t find_input(const tool *self, const char *text, const char **path) {
    int32_t count = lith_model_input_count(self->model);
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        tool_check(self, lith_model_input_info(self->model, i, &info));
        size_t length = strlen(info.name);
        if (strncmp(text, info.name, length) == 0 && text[length] == '=') {
            *path = text + length + 1;
            return i;
        }
    }
    if (count != 1 || strchr(text, '=') != NULL) {
        fprintf(stderr, "lith_run: --input %s names no input of the model; it has:\n", text);
        for (int32_t i = 0; i < count; i++) {
            lith_tensor_info info;
            tool_check(self, lith_model_input_info(self->model, i, &info));
            fprintf(stderr, "  %s (%s, %llu bytes)\n", info.name, lith_dtype_name(info.dtype),
                    (unsigned long long)info.size);
        }
        exit(2);
    }
    *path = text;
    return 0;
}

/* The bytes of input `index`; the caller frees them. */
static unsigned char *load_input(tool *self, const options *chosen, int32_t index, const lith_tensor_info *info) {
    for (int32_t i = 0; i < chosen->n_inputs; i++) {
        const char *path = NULL;
        if (find_input(self, chosen->inputs[i], &path) != index) {
            continue;
        }
        size_t size = 0;
        unsigned char *bytes = read_file(self, path, &size);
        if (npy_is(bytes, size)) {
            size_t start = npy_find(bytes, size, info, &self->message);
            if (start == 0) {
                tool_fail(self, "%s: input '%s': %s", path, info->name, self->message.text);
            }
            memmove(bytes, bytes + start, info->size);
        } else if (size != info->size) {
            tool_fail(self, "%s has %llu bytes, input '%s' wants %llu", path, (unsigned long long)size, info->name,
                      (unsigned long long)info->size);
        }
        return bytes;
    }
    unsigned char *bytes = tool_memory(self, info->size);
    tool_noise(bytes, info->dtype, info->size, (uint32_t)index);
    return bytes;
}

/* The text that an element, or its position along the last dimension, stands for. */
static void print_label(const lith_model *model, const lith_tensor_info *info, size_t index, int64_t value) {
    const char *name = lith_dtype_name(info->dtype);
    bool is_value = name[0] != 'f' && lith_dtype_size(info->dtype) >= 4;
    int64_t last = info->rank > 0 ? info->dims[info->rank - 1] : 1;
    size_t length = 0;
    int64_t position = is_value ? value : (int64_t)(index % (size_t)last);
    const char *label = lith_model_label(model, info->name, position, &length);
    if (label != NULL) {
        printf(" (%.*s)", (int)length, label);
    }
}

static void print_value(const lith_model *model, const lith_tensor_info *info, const unsigned char *bytes,
                        size_t index) {
    int32_t dtype = info->dtype;
    const char *name = lith_dtype_name(dtype);
    size_t element = lith_dtype_size(dtype);
    const unsigned char *place = bytes + index * element;
    if (strcmp(name, "f32") == 0) {
        float value;
        memcpy(&value, place, sizeof value);
        printf(" %.6g", (double)value);
        print_label(model, info, index, 0);
    } else if (strcmp(name, "f64") == 0) {
        double value;
        memcpy(&value, place, sizeof value);
        printf(" %.6g", value);
    } else if (strcmp(name, "f16") == 0) {
        printf(" 0x%02x%02x", place[1], place[0]);
    } else {
        uint64_t bits = 0;
        memcpy(&bits, place, element);
        bool negative = name[0] == 's' && (bits >> (8 * element - 1) & 1) != 0;
        int64_t value = (int64_t)(negative && element < 8 ? bits | UINT64_MAX << (8 * element) : bits);
        printf(" %lld", (long long)value);
        print_label(model, info, index, value);
    }
}

static void write_output(const tool *self, const char *folder, int32_t index, const lith_tensor_info *info,
                         const void *data) {
    char path[4096], name[128];
    snprintf(name, sizeof name, "%s", info->name);
    for (char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '-';
        *c = plain ? *c : '_';
    }
    snprintf(path, sizeof path, "%s/%d_%s.npy", folder, (int)index, name);
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && npy_write(file, info, data);
    if (file == NULL || fclose(file) != 0 || !written) {
        tool_fail(self, "cannot write %s: %s", path, strerror(errno));
    }
}

static void show_outputs(const tool *self, const options *chosen) {
    for (int32_t i = 0; i < lith_model_output_count(self->model); i++) {
        lith_tensor_info info;
        tool_check(self, lith_session_output_info(self->session, i, &info));
        const void *data = lith_session_output_data(self->session, i);
        size_t count = info.size / lith_dtype_size(info.dtype);
        printf("%s %s[", info.name, lith_dtype_name(info.dtype));
        for (int32_t axis = 0; axis < info.rank; axis++) {
            printf("%s%d", axis > 0 ? "," : "", (int)info.dims[axis]);
        }
        printf("]:");
        for (size_t j = 0; j < count && j < 10; j++) {
            print_value(self->model, &info, data, j);
        }
        puts(count > 10 ? " ..." : "");
        if (chosen->output_dir != NULL) {
            write_output(self, chosen->output_dir, i, &info, data);
        }
    }
}

int main(int argc, char **argv) {
    tool self = {"lith_run", NULL, NULL, NULL, {{0}}};
    options chosen = {{NULL}, 0, {NULL}, 0, NULL, NULL, NULL, 1, 1, false};
    read_options(&self, &chosen, argc, argv);
    tool_open(&self, chosen.isa, chosen.threads, chosen.cores);
    tool_resize(&self, chosen.shapes, chosen.n_shapes);
    if (chosen.output_dir != NULL && make_folder(chosen.output_dir) != 0 && errno != EEXIST) {
        tool_fail(&self, "cannot make the folder %s: %s", chosen.output_dir, strerror(errno));
    }

    int32_t count = lith_model_input_count(self.model);
    unsigned char **buffers = tool_memory(&self, (size_t)count * sizeof *buffers);
    for (int32_t i = 0; i < chosen.n_inputs; i++) {
        const char *path = NULL;
        find_input(&self, chosen.inputs[i], &path);
    }
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        tool_check(&self, lith_session_input_info(self.session, i, &info));
        buffers[i] = load_input(&self, &chosen, i, &info);
    }

    int64_t fastest = INT64_MAX, total = 0;
    for (int32_t run = 0; run < chosen.repeat; run++) {
        for (int32_t i = 0; i < count; i++) {
            lith_tensor_info info;
            tool_check(&self, lith_session_input_info(self.session, i, &info));
            tool_check(&self, lith_session_set_input(self.session, i, buffers[i], info.size, &self.message));
        }
        if (chosen.profile && run + 1 == chosen.repeat) {
            tool_print_profile_head();
            lith_session_set_profiler(self.session, tool_print_profile, NULL);
        }
        int64_t start = lith_now();
        tool_check(&self, lith_session_run(self.session, &self.message));
        int64_t time = lith_now() - start;
        total += time;
        fastest = time < fastest ? time : fastest;
    }
    show_outputs(&self, &chosen);
    if (chosen.repeat > 1) {
        printf("%d runs: fastest %.1f us, mean %.1f us\n", (int)chosen.repeat, (double)fastest / 1e3,
               (double)total / 1e3 / chosen.repeat);
    }
    for (int32_t i = 0; i < count; i++) {
        free(buffers[i]);
    }
    free(buffers);
    tool_close(&self);
    return 0;
}
