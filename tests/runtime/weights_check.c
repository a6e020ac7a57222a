/* Threads that open, run and close models with one cache, all at once: weights_check MODEL..., each with one input and
 * one output. Outputs have to be those of a model on its own, and nothing may be left at the end. In the
 * second round the cache gets no memory now and then. */
#define _POSIX_C_SOURCE 200809L
#include <microlith.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 6
#define TURNS 20
#define MOST_MODELS 8

typedef struct memory {
    atomic_long live, made;
    atomic_bool scarce;
} memory;

static void *take(void *user, size_t size, size_t alignment) {
    memory *self = user;
    if (atomic_fetch_add(&self->made, 1) % 5 == 4 && atomic_load(&self->scarce)) {
        return NULL;
    }
    atomic_fetch_add(&self->live, 1);
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void give(void *user, void *block, size_t size) {
    (void)size;
    atomic_fetch_sub(&((memory *)user)->live, 1);
    free(block);
}

typedef struct work {
    char **paths;
    int count, number;
    lith_weights_cache *cache;
    unsigned char *expected[MOST_MODELS];
    size_t size[MOST_MODELS];
} work;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "weights_check: %s: %s\n", what, why);
    exit(1);
}

/* The output of a model for an input of ones; NULL: there was no memory. */
static unsigned char *output_of(const char *path, lith_weights_cache *cache, size_t *size) {
    lith_message message = {{0}};
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    options.weights_cache = cache;
    lith_model *model = NULL;
    lith_session *session = NULL;
    const lith_status status = lith_model_open(path, &options, &model, &message);
    if (status == LITH_ERROR_MEMORY) {
        return NULL;
    }
    if (status != LITH_OK || lith_session_create(model, NULL, &session, &message) != LITH_OK) {
        fail(path, message.text);
    }
    lith_tensor_info in, out;
    if (lith_session_input_info(session, 0, &in) != LITH_OK || lith_session_output_info(session, 0, &out) != LITH_OK) {
        fail(path, "no info");
    }
    float *x = lith_session_input_data(session, 0);
    for (size_t i = 0; i < in.size / sizeof *x; i++) {
        x[i] = 1;
    }
    if (lith_session_run(session, &message) != LITH_OK) {
        fail(path, message.text);
    }
    unsigned char *result = malloc(out.size);
    if (!result || lith_session_get_output(session, 0, result, out.size, &message) != LITH_OK) {
        fail(path, "no output");
    }
    *size = out.size;
    lith_session_destroy(session);
    lith_model_close(model);
    return result;
}

static void *run(void *user) {
    const work *self = user;
    for (int turn = 0; turn < TURNS; turn++) {
        const int index = (self->number + turn) % self->count;
        size_t size = 0;
        unsigned char *got = output_of(self->paths[index], self->cache, &size);
        if (got && (size != self->size[index] || memcmp(got, self->expected[index], size) != 0)) {
            fail(self->paths[index], "another output");
        }
        free(got);
    }
    return NULL;
}

int main(int argc, char **argv) {
    memory counted = {0, 0, false};
    const lith_allocator allocator = {take, give, &counted};
    lith_message message = {{0}};
    work all[THREADS];
    memset(all, 0, sizeof all);
    lith_weights_cache *cache = NULL;
    if (argc < 2 || argc > MOST_MODELS || lith_weights_cache_create(&allocator, &cache, &message) != LITH_OK) {
        fail("start", message.text);
    }
    for (int i = 0; i < argc - 1; i++) {
        all[0].expected[i] = output_of(argv[i + 1], NULL, &all[0].size[i]);
    }
    for (int scarce = 0; scarce < 2; scarce++) {
        pthread_t threads[THREADS];
        atomic_store(&counted.scarce, scarce != 0);
        for (int i = 0; i < THREADS; i++) {
            all[i] = all[0];
            all[i].paths = argv + 1;
            all[i].count = argc - 1;
            all[i].number = i;
            all[i].cache = cache;
            if (pthread_create(&threads[i], NULL, run, &all[i]) != 0) {
                fail("pthread_create", "no thread");
            }
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        lith_weights_info info;
        if (lith_weights_cache_get_info(cache, &info) != LITH_OK || info.bytes || info.saved_bytes || info.count) {
            fail("the cache", "it still holds weights");
        }
    }
    /* A model keeps a cache that its maker has released. */
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    options.weights_cache = cache;
    atomic_store(&counted.scarce, false);
    lith_model *model = NULL;
    if (lith_model_open(argv[1], &options, &model, &message) != LITH_OK) {
        fail(argv[1], message.text);
    }
    lith_weights_cache_release(cache);
    lith_weights_cache_release(NULL);
    if (atomic_load(&counted.live) == 0) {
        fail("the cache", "it went before its model");
    }
    lith_model_close(model);
    if (atomic_load(&counted.live) != 0) {
        fail("the cache", "memory was lost");
    }
    for (int i = 0; i < argc - 1; i++) {
        free(all[0].expected[i]);
    }
    puts("nothing is left");
    return 0;
}
