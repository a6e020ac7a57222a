/* Every allocation fails once: open, make a session, resize, bind, run. Each time the call that needed the memory has
 * to say LITH_ERROR_MEMORY, and nothing may be lost. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "microlith.h"

typedef struct counter {
    long left; /* allocations until one fails; negative: none does */
    long made, live;
    size_t bytes;
} counter;

static void *count_allocate(void *user, size_t size, size_t alignment) {
    counter *self = user;
    self->made++;
    if (self->left == 0) {
        self->left = -1;
        return NULL;
    }
    self->left -= self->left > 0;
    void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory != NULL) {
        self->live++;
        self->bytes += size;
    }
    return memory;
}

static void count_release(void *user, void *memory, size_t size) {
    counter *self = user;
    self->live--;
    self->bytes -= size;
    free(memory);
}

static void require(bool condition, const char *what, long n) {
    if (!condition) {
        fprintf(stderr, "alloc_check: allocation %ld: %s\n", n, what);
        exit(1);
    }
}

/* A call that failed for want of memory is made again, and has to work then: it left everything as it was. */
static void expect(lith_status status, const lith_message *message, long n) {
    require(status == LITH_ERROR_MEMORY, "a call failed otherwise", n);
    require(strstr(message->text, "memory") != NULL || strstr(message->text, "threads") != NULL,
            "the message does not say so", n);
}

static void resize(lith_session *session, const lith_model *model, long n) {
    lith_message message;
    int32_t count = lith_model_input_count(model);
    lith_shape *shapes = calloc((size_t)count, sizeof *shapes);
    for (int32_t i = 0; i < count; i++) {
        lith_tensor_info info;
        require(lith_model_input_info(model, i, &info) == LITH_OK, "no info", n);
        shapes[i].rank = info.rank;
        for (int32_t axis = 0; axis < info.rank; axis++) {
            shapes[i].dims[axis] = info.dims[axis] < 0 ? 3 : info.dims[axis];
        }
    }
    for (int32_t again = 0; again < 2; again++) { /* the second takes over what the first packed */
        lith_status status = lith_session_resize(session, shapes, count, &message);
        if (status != LITH_OK) {
            expect(status, &message, n);
            require(lith_session_resize(session, shapes, count, &message) == LITH_OK, "resize does not recover", n);
        }
    }
    free(shapes);
}

static void bind_and_run(lith_session *session, const lith_model *model, long n) {
    lith_message message;
    lith_tensor_info in, out;
    require(lith_session_input_info(session, 0, &in) == LITH_OK, "no info", n);
    require(lith_session_output_info(session, 0, &out) == LITH_OK, "no info", n);
    void *input = calloc(1, in.size + 1), *output = calloc(1, out.size + 1);
    for (int32_t i = 1; i < lith_model_input_count(model); i++) {
        lith_tensor_info info;
        require(lith_session_input_info(session, i, &info) == LITH_OK, "no info", n);
        memset(lith_session_input_data(session, i), 0, info.size);
    }
    lith_status status = lith_session_bind_input(session, 0, input, in.size, &message);
    if (status != LITH_OK) {
        expect(status, &message, n);
        require(lith_session_bind_input(session, 0, input, in.size, &message) == LITH_OK, "bind does not recover", n);
    }
    lith_model_info facts;
    require(lith_model_get_info(model, &facts) == LITH_OK, "no info", n);
    if (!facts.is_dynamic) {
        status = lith_session_bind_output(session, 0, output, out.size, &message);
        if (status != LITH_OK) {
            expect(status, &message, n);
            require(lith_session_bind_output(session, 0, output, out.size, &message) == LITH_OK,
                    "bind does not recover", n);
        }
    }
    /* A dynamic model allocates while it runs. */
    for (int32_t again = 0; again < 2; again++) {
        status = lith_session_run(session, &message);
        if (status != LITH_OK) {
            require(facts.is_dynamic, "run", n);
            expect(status, &message, n);
            require(lith_session_run(session, &message) == LITH_OK, "run does not recover", n);
        }
    }
    free(input);
    free(output);
}

/* True when the n-th allocation was reached. */
static bool attempt(const uint8_t *data, size_t size, size_t shift, int32_t threads, long n) {
    counter memory = {n, 0, 0, 0};
    lith_allocator allocator = {count_allocate, count_release, &memory};
    lith_model_options model_options = LITH_MODEL_OPTIONS_INIT;
    lith_session_options session_options = LITH_SESSION_OPTIONS_INIT;
    model_options.allocator = &allocator;
    session_options.threads = threads;
    lith_model *model = NULL;
    lith_session *session = NULL;
    lith_message message = {{0}};
    lith_status status = lith_model_open_memory(data + shift, size, &model_options, &model, &message);
    if (status != LITH_OK) {
        expect(status, &message, n);
        require(model == NULL, "the model was touched", n);
        require(memory.live == 0 && memory.bytes == 0, "open lost memory", n);
        require(lith_model_open_memory(data + shift, size, &model_options, &model, &message) == LITH_OK, "open again",
                n);
    }
    long live = memory.live;
    status = lith_session_create(model, &session_options, &session, &message);
    if (status != LITH_OK) {
        expect(status, &message, n);
        require(session == NULL && memory.live == live, "create lost memory", n);
        require(lith_session_create(model, &session_options, &session, &message) == LITH_OK, "create again", n);
    }
    resize(session, model, n);
    bind_and_run(session, model, n);
    lith_session_destroy(session);
    lith_model_close(model);
    require(memory.live == 0 && memory.bytes == 0, "memory was lost", n);
    return memory.left < 0 && n >= 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        FILE *stream = fopen(argv[i], "rb");
        require(stream != NULL && fseek(stream, 0, SEEK_END) == 0, argv[i], 0);
        size_t size = (size_t)ftell(stream);
        rewind(stream);
        uint8_t *data = aligned_alloc(64, (size + 127) / 64 * 64);
        for (size_t shift = 0; shift < 2; shift++) { /* 1: bytes that are not aligned are copied */
            rewind(stream);
            require(fread(data + shift, 1, size, stream) == size, argv[i], 0);
            for (int32_t threads = 1; threads <= 3; threads += 2) {
                long n = 0;
                while (attempt(data, size, shift, threads, n)) {
                    n++;
                }
                require(n > 10, "hardly anything was allocated", n);
                printf("%s: %ld allocations\n", argv[i], n);
            }
        }
        free(data);
        fclose(stream);
    }
    lith_session_destroy(NULL);
    lith_model_close(NULL);
    return 0;
}
