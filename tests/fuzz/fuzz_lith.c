/* Opens, asks, resizes and runs whatever bytes it is given: nothing may crash, hang, leak, or take more memory than the
 * allocator gives.
 *
 *     fuzz_lith FILE...                     each file as it is (the corpus)
 *     fuzz_lith --mutate N SEED FILE...     N damaged versions of them
 *
 * Also the entry point of libFuzzer: clang -fsanitize=fuzzer -DLITH_LIBFUZZER.
 */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "microlith.h"
#include "mutate.h"

#define MEMORY_LIMIT ((size_t)16 << 20)
#define MACS_LIMIT 2000000
#define MICROSECONDS_LIMIT 50000

/* ---- an allocator with an end -------------------------------------------------------------------------------------
 */

typedef struct heap {
    size_t used, blocks;
} heap;

static void *heap_allocate(void *user, size_t size, size_t alignment) {
    heap *self = user;
    if (size > MEMORY_LIMIT - self->used) {
        return NULL;
    }
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (memory != NULL) {
        self->used += size;
        self->blocks++;
    }
    return memory;
}

static void heap_release(void *user, void *memory, size_t size) {
    heap *self = user;
    self->used -= size;
    self->blocks--;
    free(memory);
}

static void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "fuzz_lith: %s\n", what);
        abort();
    }
}

/* ---- one model ----------------------------------------------------------------------------------------------------
 */

/* A loop may have any number of iterations: a timer ends what takes too long. */
static lith_session *volatile running;

static void stop_running(int number) {
    (void)number;
    if (running != NULL) {
        lith_session_cancel(running);
    }
}

static void start_timer(lith_session *session) {
    const struct itimerval time = {{0, 0}, {0, MICROSECONDS_LIMIT}};
    running = session;
    signal(SIGALRM, stop_running);
    setitimer(ITIMER_REAL, &time, NULL);
}

static void stop_timer(void) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    running = NULL;
}

static void look_at_event(void *user, const lith_profile_event *event) {
    (void)user;
    require(strlen(event->name) + strlen(event->op) + strlen(event->kernel) > 0, "an event has no names");
}

static size_t sum_of_strings(const lith_tensor_info *info) {
    size_t sum = strlen(info->name);
    for (int32_t i = 0; i < LITH_MAX_RANK; i++) {
        sum += strlen(info->symbols[i]);
    }
    for (int32_t i = 0; i < info->quant_count; i++) {
        sum += info->scales[i] > 0 && info->zero_points[i] > 0;
    }
    return sum;
}

static size_t ask(const lith_model *model) {
    lith_tensor_info tensor;
    lith_node_info node;
    lith_model_info info;
    const char *key, *value;
    size_t sum = 0;
    require(lith_model_get_info(model, &info) == LITH_OK, "no info");
    sum += strlen(info.name) + strlen(info.producer);
    for (int32_t i = 0; i < lith_model_input_count(model); i++) {
        require(lith_model_input_info(model, i, &tensor) == LITH_OK, "no input info");
        require(lith_model_input_index(model, tensor.name) >= 0, "an input cannot be found by name");
        sum += sum_of_strings(&tensor);
    }
    for (int32_t i = 0; i < lith_model_output_count(model); i++) {
        require(lith_model_output_info(model, i, &tensor) == LITH_OK, "no output info");
        sum += sum_of_strings(&tensor);
    }
    for (int32_t i = 0; i < info.node_count; i++) {
        require(lith_model_node_info(model, i, &node) == LITH_OK, "no node info");
        sum += strlen(node.name) + strlen(node.op) + strlen(node.source) + (node.kernel ? strlen(node.kernel) : 0);
    }
    for (int32_t i = 0; i < info.metadata_count; i++) {
        require(lith_model_metadata(model, i, &key, &value) == LITH_OK, "no metadata");
        sum += strlen(key) + strlen(value);
    }
    return sum;
}

/* Every byte of the outputs is read, so that a sanitizer sees where they lie. */
static size_t read_outputs(const lith_session *session, int32_t count) {
    size_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        require(lith_session_output_info(session, i, &info) == LITH_OK, "no output info");
        const unsigned char *data = lith_session_output_data(session, i);
        require(data != NULL || info.size == 0, "an output has no place");
        for (size_t j = 0; j < info.size; j++) {
            sum += data[j];
        }
    }
    return sum;
}

static bool knows_shapes(const lith_session *session, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        require(lith_session_input_info(session, i, &info) == LITH_OK, "no input info");
        for (int32_t axis = 0; axis < info.rank; axis++) {
            if (info.dims[axis] < 0) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers of iterations are mostly small, so that something comes after the loop. */
static void fill_inputs(lith_session *session, int32_t count) {
    static unsigned runs;
    const bool small = ++runs % 16 != 0;
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        require(lith_session_input_info(session, i, &info) == LITH_OK, "no input info");
        unsigned char *data = lith_session_input_data(session, i);
        require(data != NULL || info.size == 0, "an input has no place");
        for (size_t j = 0; j < info.size; j++) {
            data[j] = (unsigned char)(j * 37 + 11);
        }
        if (small && info.size == sizeof(int64_t) && strcmp(lith_dtype_name(info.dtype), "s64") == 0) {
            const int64_t few = runs % 4;
            memcpy(data, &few, sizeof few);
        }
    }
}

static bool resize(lith_session *session, const lith_model *model, int32_t size) {
    int32_t count = lith_model_input_count(model);
    lith_shape *shapes = calloc((size_t)count + 1, sizeof *shapes);
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        require(lith_model_input_info(model, i, &info) == LITH_OK, "no input info");
        shapes[i].rank = info.rank;
        for (int32_t axis = 0; axis < info.rank; axis++) {
            shapes[i].dims[axis] = info.dims[axis] < 0 ? size : info.dims[axis];
        }
    }
    lith_message message;
    bool done = lith_session_resize(session, shapes, count, &message) == LITH_OK;
    free(shapes);
    return done;
}

/* The kernels of a dynamic model are chosen while it runs, so that what opening says of other models comes then: sizes
 * or positions that do not fit, an element type without kernel, more memory than there is. */
static bool may_refuse(const lith_model *model, lith_status status) {
    lith_model_info info;
    require(lith_model_get_info(model, &info) == LITH_OK, "no info");
    return info.is_dynamic && (status == LITH_ERROR_SHAPE || status == LITH_ERROR_FORMAT ||
                               status == LITH_ERROR_UNSUPPORTED || status == LITH_ERROR_MEMORY);
}

/* After a run that failed nothing of it can be read. */
static void look_at_no_outputs(lith_session *session, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        unsigned char byte;
        require(lith_session_output_info(session, i, &info) == LITH_OK, "no output info");
        const unsigned char *data = lith_session_output_data(session, i);
        for (size_t j = 0; data != NULL && j < info.size; j++) {
            byte = data[j];
            (void)byte;
        }
    }
}

static bool run(lith_session *session, const lith_model *model) {
    lith_message message;
    lith_session_set_profiler(session, look_at_event, NULL);
    if (!knows_shapes(session, lith_model_input_count(model))) {
        require(lith_session_run(session, &message) == LITH_ERROR_SHAPE, "a run without shapes");
        return false;
    }
    fill_inputs(session, lith_model_input_count(model));
    message.text[0] = '\0';
    start_timer(session);
    lith_status status = lith_session_run(session, &message);
    stop_timer();
    require(status == LITH_OK || status == LITH_CANCELLED || may_refuse(model, status), "a run failed");
    require(status == LITH_OK || message.text[0] != '\0', "a run failed without a message");
    if (status != LITH_OK && status != LITH_CANCELLED) {
        look_at_no_outputs(session, lith_model_output_count(model));
    }
    if (status == LITH_OK) {
        (void)read_outputs(session, lith_model_output_count(model));
    }
    return status == LITH_OK;
}

typedef struct tally {
    int opened, ran;
} tally;

static void try_bytes(const uint8_t *data, size_t size, tally *counts) {
    heap memory = {0, 0};
    lith_allocator allocator = {heap_allocate, heap_release, &memory};
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    options.allocator = &allocator;
    lith_model *model = NULL;
    lith_session *session = NULL;
    lith_message message = {{0}};
    lith_status status = lith_model_open_memory(data, size, &options, &model, &message);
    require((status == LITH_OK) == (model != NULL), "model and status do not agree");
    require(status == LITH_OK || message.text[0] != '\0', "an error has no message");
    if (status == LITH_OK) {
        counts->opened++;
        (void)ask(model);
        lith_model_info info;
        require(lith_model_get_info(model, &info) == LITH_OK, "no info");
        if (lith_session_create(model, NULL, &session, &message) == LITH_OK) {
            bool ran = info.macs <= MACS_LIMIT && run(session, model);
            if (!info.is_static && resize(session, model, 3)) {
                ran = run(session, model) || ran;
            }
            counts->ran += ran;
            lith_session_destroy(session);
        }
        lith_model_close(model);
    }
    require(memory.used == 0 && memory.blocks == 0, "memory was lost");
}

#ifdef LITH_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tally counts = {0, 0};
    try_bytes(data, size, &counts);
    return 0;
}

#else

static int64_t now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

static file read_file(const char *path) {
    file result = {NULL, 0};
    FILE *stream = fopen(path, "rb");
    require(stream != NULL && fseek(stream, 0, SEEK_END) == 0, path);
    result.size = (size_t)ftell(stream);
    rewind(stream);
    result.data = malloc(result.size + 1);
    require(fread(result.data, 1, result.size, stream) == result.size, path);
    fclose(stream);
    return result;
}

/* The exact bytes in a block of their own, so that a read behind them is seen. */
static void try_copy(const uint8_t *data, size_t size, tally *counts) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    try_bytes(copy, size, counts);
    free(copy);
}

static void save_last(const uint8_t *data, size_t size) {
    const char *path = getenv("FUZZ_LAST");
    FILE *stream = path != NULL ? fopen(path, "wb") : NULL;
    if (stream != NULL) {
        fwrite(data, 1, size, stream);
        fclose(stream);
    }
}

static uint64_t data_offset_guess(const file *seed) {
    return seed->size < 2048 ? seed->size : 2048;
}

int main(int argc, char **argv) {
    bool mutating = argc > 3 && strcmp(argv[1], "--mutate") == 0;
    int first = mutating ? 4 : 1;
    int count = argc - first;
    file *files = calloc((size_t)(count > 0 ? count : 1), sizeof *files);
    tally counts = {0, 0};
    int tried = 0;
    for (int i = 0; i < count; i++) {
        files[i] = read_file(argv[first + i]);
    }
    for (int i = 0; i < count && !mutating; i++, tried++) {
        save_last(files[i].data, files[i].size);
        try_copy(files[i].data, files[i].size, &counts);
    }
    if (mutating && count > 0) {
        uint64_t state = strtoull(argv[3], NULL, 10);
        int64_t slowest = 0;
        for (long n = strtol(argv[2], NULL, 10); n > 0; n--, tried++) {
            const file *seed = &files[mutate_below(&state, (size_t)count)];
            const file *other = &files[mutate_below(&state, (size_t)count)];
            uint8_t *damaged = malloc(seed->size + 256);
            memcpy(damaged, seed->data, seed->size);
            size_t size = mutate(&state, damaged, seed->size, seed->size + 256, data_offset_guess(seed), other->data,
                                 other->size);
            save_last(damaged, size);
            int64_t start = now();
            try_copy(damaged, size, &counts);
            slowest = now() - start > slowest ? now() - start : slowest;
            free(damaged);
        }
        printf("slowest %.3f s, ", (double)slowest / 1e9);
    }
    for (int i = 0; i < count; i++) {
        free(files[i].data);
    }
    free(files);
    printf("%d tried, %d opened, %d ran\n", tried, counts.opened, counts.ran);
    return 0;
}

#endif
