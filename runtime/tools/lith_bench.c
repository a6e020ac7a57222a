/* SPDX-License-Identifier: Apache-2.0 */
/* lith_bench: how long a .lith file takes on this machine, on seeded noise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "tool.h"

#define MAX_OPTIONS 256

static const char usage[] = "usage: lith_bench MODEL.lith [options]\n"
                            "\n"
                            "  --shape NAME=1,3,8  shape of an input, for sizes that the model leaves open\n"
                            "  --threads N         1 unless given\n"
                            "  --cores 2,3         the cores that the threads stay on, in turn (Linux)\n"
                            "  --isa NAMES         only these instruction sets: c, or c,avx2, ...\n"
                            "  --repeat N          measured runs; 50 unless given\n"
                            "  --warmup N          runs before them; 5 unless given\n"
                            "  --profile           the time of each node in one more run\n"
                            "  --json              one JSON object instead of text\n"
                            "\n"
                            "example: lith_bench mobilenet.lith --threads 4 --profile\n";

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_result(const tool *self, const int64_t *sorted, int32_t count, bool json) {
    lith_memory_info memory;
    lith_model_info info;
    tool_check(self, lith_session_memory(self->session, &memory));
    tool_check(self, lith_model_get_info(self->model, &info));
    double median = (double)(sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    double p90 = (double)sorted[count * 9 / 10 < count ? count * 9 / 10 : count - 1];
    if (json) {
        printf("{\"median_ns\": %.0f, \"min_ns\": %lld, \"p90_ns\": %.0f, \"repeat\": %d, \"threads\": %d, "
               "\"arena_bytes\": %llu, \"arena_lower_bound_bytes\": %llu, \"packed_bytes\": %llu, \"macs\": %lld}\n",
               median, (long long)sorted[0], p90, (int)count, (int)memory.threads,
               (unsigned long long)memory.arena_bytes, (unsigned long long)memory.lower_bound_bytes,
               (unsigned long long)(info.packed_bytes + memory.packed_bytes), (long long)info.macs);
        return;
    }
    printf("median %.1f us, fastest %.1f us, 90 %% under %.1f us (%d runs, %d threads)\n", median / 1e3,
           (double)sorted[0] / 1e3, p90 / 1e3, (int)count, (int)memory.threads);
    if (info.macs > 0) {
        printf("%.3f million multiply-accumulates, %.2f billion per second\n", (double)info.macs / 1e6,
               (double)info.macs / median);
    }
    printf("arena %llu bytes (no plan needs less than %llu), packed weights %llu bytes\n",
           (unsigned long long)memory.arena_bytes, (unsigned long long)memory.lower_bound_bytes,
           (unsigned long long)(info.packed_bytes + memory.packed_bytes));
    tool_print_prepacked(self);
}

int main(int argc, char **argv) {
    tool self = {"lith_bench", NULL, NULL, NULL, {{0}}};
    const char *shapes[MAX_OPTIONS], *isa = NULL, *cores = NULL;
    int32_t n_shapes = 0, threads = 1, repeat = 50, warmup = 5;
    bool profile = false, json = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(word, "--shape") == 0 && n_shapes < MAX_OPTIONS) {
            shapes[n_shapes++] = tool_argument(&self, argc, argv, &i);
        } else if (strcmp(word, "--isa") == 0) {
            isa = tool_argument(&self, argc, argv, &i);
        } else if (strcmp(word, "--cores") == 0) {
            cores = tool_argument(&self, argc, argv, &i);
        } else if (strcmp(word, "--threads") == 0) {
            threads = tool_number(&self, word, tool_argument(&self, argc, argv, &i), 1, 1024);
        } else if (strcmp(word, "--repeat") == 0) {
            repeat = tool_number(&self, word, tool_argument(&self, argc, argv, &i), 1, 1000000);
        } else if (strcmp(word, "--warmup") == 0) {
            warmup = tool_number(&self, word, tool_argument(&self, argc, argv, &i), 0, 1000000);
        } else if (strcmp(word, "--profile") == 0) {
            profile = true;
        } else if (strcmp(word, "--json") == 0) {
            json = true;
        } else if (word[0] == '-' || self.path != NULL) {
            tool_usage(&self, "unknown option %s (see --help)", word);
        } else {
            self.path = word;
        }
    }
    if (self.path == NULL) {
        fputs(usage, stderr);
        return 2;
    }
    tool_open(&self, isa, threads, cores);
    tool_resize(&self, shapes, n_shapes);

    int32_t count = lith_model_input_count(self.model);
    void **buffers = tool_memory(&self, (size_t)count * sizeof *buffers);
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        tool_check(&self, lith_session_input_info(self.session, i, &info));
        buffers[i] = tool_memory(&self, info.size);
        tool_noise(buffers[i], info.dtype, info.size, (uint32_t)i);
        tool_check(&self, lith_session_bind_input(self.session, i, buffers[i], info.size, &self.message));
    }
    int64_t *times = tool_memory(&self, (size_t)repeat * sizeof *times);
    for (int32_t run = -warmup; run < repeat; run++) {
        int64_t start = lith_now();
        tool_check(&self, lith_session_run(self.session, &self.message));
        if (run >= 0) {
            times[run] = lith_now() - start;
        }
    }
    qsort(times, (size_t)repeat, sizeof *times, compare);
    print_result(&self, times, repeat, json);
    if (profile && !json) {
        tool_print_profile_head();
        lith_session_set_profiler(self.session, tool_print_profile, NULL);
        tool_check(&self, lith_session_run(self.session, &self.message));
    }
    tool_close(&self);
    for (int32_t i = 0; i < count; i++) {
        free(buffers[i]);
    }
    free(buffers);
    free(times);
    return 0;
}
