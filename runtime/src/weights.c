/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two constants are the same is seen from their bytes, all of them: what nearly every other one differs in (the
 * sample) only says where to look, so that a model that shares nothing pays for nothing. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#define LITH_HAVE_PTHREAD 1
#endif

#include "weights.h"

#include <string.h>

#ifdef LITH_HAVE_PTHREAD
#include <pthread.h>
#else
#include <stdatomic.h>
#endif

#include "status.h"

/* ---- the lock -----------------------------------------------------------------------------------------------------
 */

typedef struct lith_lock {
#ifdef LITH_HAVE_PTHREAD
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#else
    atomic_flag taken;
#endif
} lith_lock;

#ifdef LITH_HAVE_PTHREAD

static bool lock_init(lith_lock *self) {
    if (pthread_mutex_init(&self->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&self->changed, NULL) != 0) {
        pthread_mutex_destroy(&self->mutex);
        return false;
    }
    return true;
}

static void lock_destroy(lith_lock *self) {
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
}

static void lock(lith_lock *self) {
    pthread_mutex_lock(&self->mutex);
}

static void unlock(lith_lock *self) {
    pthread_mutex_unlock(&self->mutex);
}

static void lock_wait(lith_lock *self) {
    pthread_cond_wait(&self->changed, &self->mutex);
}

static void lock_wake(lith_lock *self) {
    pthread_cond_broadcast(&self->changed);
}

#else

static bool lock_init(lith_lock *self) {
    atomic_flag_clear(&self->taken);
    return true;
}

static void lock_destroy(lith_lock *self) {
    (void)self;
}

static void lock(lith_lock *self) {
    while (atomic_flag_test_and_set_explicit(&self->taken, memory_order_acquire)) {
    }
}

static void unlock(lith_lock *self) {
    atomic_flag_clear_explicit(&self->taken, memory_order_release);
}

static void lock_wait(lith_lock *self) {
    unlock(self);
    lock(self);
}

static void lock_wake(lith_lock *self) {
    (void)self;
}

#endif

/* ---- the cache ----------------------------------------------------------------------------------------------------
 */

/* Of a table of lists, at first. */
#define LEAST_LISTS 32
/* Constants with the same sample that one is compared with before it counts as new. */
#define MOST_COMPARED 4
/* Words of a constant that its sample consists of. */
#define SAMPLE_WORDS 16

typedef enum lith_state { LITH_PENDING, LITH_READY, LITH_FAILED } lith_state;

/* What one call of lith_weights_take has packed, and the tables for that. */
typedef struct lith_slab {
    size_t weights; /* that are in use */
    unsigned char *data;
    size_t data_size, size; /* size: of the tables, this struct included */
} lith_slab;

struct lith_weights {
    lith_weights *next; /* of the same list */
    uint64_t sample;
    const nnacl_kernel *kernel;
    int32_t input;
    size_t size;
    const void *data;
    lith_slab *slab;
    lith_packed *users;
    lith_state state;
    uint64_t counted; /* the time at which lith_weights_bytes saw it */
};

struct lith_weights_cache {
    lith_allocator allocator;
    lith_lock lock;
    size_t holders;
    lith_weights **lists;
    size_t n_lists; /* a power of two */
    size_t n_weights;
    uint64_t clock;
};

lith_status lith_weights_cache_create(const lith_allocator *allocator, lith_weights_cache **cache,
                                      lith_message *message) {
    if (cache == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "cache is NULL");
    }
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "the allocator lacks a function");
    }
    const lith_allocator chosen = allocator != NULL ? *allocator : lith_allocator_default();
    lith_weights_cache *result = lith_allocate(&chosen, 1, sizeof *result);
    lith_weights **lists = result != NULL ? lith_allocate(&chosen, LEAST_LISTS, sizeof(lith_weights *)) : NULL;
    if (lists == NULL || !lock_init(&result->lock)) {
        lith_release(&chosen, lists, LEAST_LISTS, sizeof(lith_weights *));
        lith_release(&chosen, result, 1, sizeof *result);
        return lith_fail_memory(message, "the cache of packed weights");
    }
    result->allocator = chosen;
    result->holders = 1;
    result->lists = lists;
    result->n_lists = LEAST_LISTS;
    *cache = result;
    return LITH_OK;
}

lith_weights_cache *lith_weights_cache_hold(lith_weights_cache *cache) {
    lock(&cache->lock);
    cache->holders++;
    unlock(&cache->lock);
    return cache;
}

void lith_weights_cache_release(lith_weights_cache *cache) {
    if (cache == NULL) {
        return;
    }
    lock(&cache->lock);
    const bool last = --cache->holders == 0;
    unlock(&cache->lock);
    if (last) {
        const lith_allocator allocator = cache->allocator;
        lock_destroy(&cache->lock);
        lith_release(&allocator, (void *)cache->lists, cache->n_lists, sizeof(lith_weights *));
        lith_release(&allocator, cache, 1, sizeof *cache);
    }
}

lith_status lith_weights_cache_get_info(lith_weights_cache *cache, lith_weights_info *info) {
    if (cache == NULL || info == NULL) {
        return LITH_ERROR_ARGUMENT;
    }
    lith_weights_info result = {0, 0, 0};
    lock(&cache->lock);
    for (size_t i = 0; i < cache->n_lists; i++) {
        for (const lith_weights *weights = cache->lists[i]; weights != NULL; weights = weights->next) {
            result.count++;
            result.bytes += weights->size;
            for (const lith_packed *user = weights->users->after; user != NULL; user = user->after) {
                result.saved_bytes += weights->size;
            }
        }
    }
    unlock(&cache->lock);
    *info = result;
    return LITH_OK;
}

/* ---- which are the same -------------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

/* Constant input `input` of a node; NULL: it is none. */
static const unsigned char *constant(const lith_packed *item, int32_t input, size_t *size) {
    const int32_t tensor = item->model->nodes[item->node].inputs[input];
    const unsigned char *data = tensor >= 0 ? item->model->tensors[tensor].type.data : NULL;
    *size = data != NULL ? lith_type_bytes(&item->model->tensors[tensor].type) : 0;
    return data;
}

static uint64_t sample_of(const lith_packed *item) {
    uint64_t sum = mix(mix((uintptr_t)item->kernel, (uint64_t)item->input), item->size);
    for (int32_t i = 0; i < item->model->nodes[item->node].n_inputs; i++) {
        size_t size;
        const unsigned char *data = constant(item, i, &size);
        sum = mix(sum, size);
        uint64_t word = 0;
        for (size_t j = 0; j < SAMPLE_WORDS && size >= sizeof word; j++) {
            memcpy(&word, data + (size - sizeof word) / (SAMPLE_WORDS - 1) * j, sizeof word);
            sum = mix(sum, word);
        }
    }
    return sum;
}

/* What was read for a comparison need not stay in memory. */
static void release_source(const lith_packed *item) {
    size_t size;
    const unsigned char *data = constant(item, item->input, &size);
    lith_mapping_release(&item->model->mapping, data, size);
}

static bool same_constants(const lith_packed *a, const lith_packed *b) {
    const int32_t count = a->model->nodes[a->node].n_inputs;
    bool same = count == b->model->nodes[b->node].n_inputs;
    for (int32_t i = 0; same && i < count; i++) {
        size_t size, other_size;
        const unsigned char *data = constant(a, i, &size), *other = constant(b, i, &other_size);
        same = size == other_size && (data == NULL) == (other == NULL) &&
               (data == other || memcmp(data, other, size) == 0);
    }
    release_source(a);
    release_source(b);
    return same;
}

/* What is packed depends on the kernel, the attributes and the constants: on shapes only by way of the kernel. So one
 * node of a model has the same in all of its sessions. */
static bool serves(const lith_weights *weights, const lith_packed *item) {
    const lith_packed *user = weights->users;
    const lith_node *a = &user->model->nodes[user->node], *b = &item->model->nodes[item->node];
    return a == b ||
           (a->params_size == b->params_size &&
            (a->params_size == 0 || memcmp(a->params, b->params, a->params_size) == 0) && same_constants(user, item));
}

static lith_weights *find(const lith_weights_cache *cache, const lith_packed *item, uint64_t sample) {
    int32_t compared = 0;
    for (lith_weights *weights = cache->lists[sample & (cache->n_lists - 1)]; weights != NULL;
         weights = weights->next) {
        if (weights->sample == sample && weights->kernel == item->kernel && weights->input == item->input &&
            weights->size == item->size && compared++ < MOST_COMPARED && serves(weights, item)) {
            return weights;
        }
    }
    return NULL;
}

/* ---- taking and giving --------------------------------------------------------------------------------------------
 */

static void add_user(lith_weights *weights, lith_packed *item) {
    item->weights = weights;
    item->before = NULL;
    item->after = weights->users;
    if (weights->users != NULL) {
        weights->users->before = item;
    }
    weights->users = item;
}

static void insert(lith_weights_cache *cache, lith_weights *weights) {
    lith_weights **list = &cache->lists[weights->sample & (cache->n_lists - 1)];
    weights->next = *list;
    *list = weights;
    cache->n_weights++;
}

static void take_out(lith_weights_cache *cache, const lith_weights *weights) {
    lith_weights **place = &cache->lists[weights->sample & (cache->n_lists - 1)];
    while (*place != weights) {
        place = &(*place)->next;
    }
    *place = weights->next;
    cache->n_weights--;
}

/* Keeps lists short. Without memory for that they become longer, which is no failure. */
static void grow(lith_weights_cache *cache, size_t more) {
    size_t wanted = cache->n_lists;
    while (wanted < cache->n_weights + more) {
        wanted *= 2;
    }
    lith_weights **lists =
        wanted > cache->n_lists ? lith_allocate(&cache->allocator, wanted, sizeof(lith_weights *)) : NULL;
    if (lists == NULL) {
        return;
    }
    lith_weights **old = cache->lists;
    const size_t n_old = cache->n_lists;
    cache->lists = lists;
    cache->n_lists = wanted;
    cache->n_weights = 0;
    for (size_t i = 0; i < n_old; i++) {
        for (lith_weights *weights = old[i], *next; weights != NULL; weights = next) {
            next = weights->next;
            insert(cache, weights);
        }
    }
    lith_release(&cache->allocator, (void *)old, n_old, sizeof(lith_weights *));
}

static size_t aligned(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

static lith_weights *tables(const lith_slab *slab) {
    return (lith_weights *)(void *)((unsigned char *)(uintptr_t)slab + aligned(sizeof *slab, LITH_ALIGNMENT));
}

/* Room for the tables of as many weights. */
static lith_slab *allocate_slab(const lith_weights_cache *cache, size_t count) {
    const size_t size = aligned(sizeof(lith_slab), LITH_ALIGNMENT) + count * sizeof(lith_weights);
    lith_slab *slab = lith_allocate(&cache->allocator, size, 1);
    if (slab != NULL) {
        slab->size = size;
    }
    return slab;
}

static void release_slab(const lith_weights_cache *cache, lith_slab *slab) {
    lith_release(&cache->allocator, slab->data, slab->data_size, 1);
    lith_release(&cache->allocator, slab, slab->size, 1);
}

/* Finds weights for every item, or makes some without data, which are first in the tables of the slab: returns how many
 * of these there are. */
static size_t find_all(lith_weights_cache *cache, lith_packed **items, size_t count, lith_slab *slab) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t sample = sample_of(items[i]);
        lith_weights *weights = find(cache, items[i], sample);
        if (weights == NULL) {
            weights = &tables(slab)[slab->weights++];
            weights->sample = sample;
            weights->kernel = items[i]->kernel;
            weights->input = items[i]->input;
            weights->size = items[i]->size;
            weights->slab = slab;
            weights->state = LITH_PENDING;
            insert(cache, weights);
        }
        add_user(weights, items[i]);
    }
    return slab->weights;
}

/* Whether this item is the one that has to pack its weights: the first to use them. */
static bool packs(const lith_packed *item, const lith_slab *slab) {
    return item->weights->slab == slab && item->weights->data == NULL;
}

/* Packs into memory that is zero. */
static void pack(const lith_packed *item, void *memory) {
    const lith_node *node = &item->model->nodes[item->node];
    const void *in[NNACL_MAX_INPUTS];
    for (int32_t i = 0; i < node->n_inputs; i++) {
        in[i] = node->inputs[i] >= 0 ? item->model->tensors[node->inputs[i]].type.data : NULL;
    }
    node->op->pack(item->params, item->kernel, item->input, in, memory);
    release_source(item);
}

/* Packs what was made by find_all. Returns whether there was memory. */
static bool pack_slab(const lith_weights_cache *cache, lith_packed **items, size_t count, lith_slab *slab,
                      size_t fresh) {
    const lith_weights *weights = tables(slab);
    size_t size = 0;
    for (size_t i = 0; i < fresh; i++) {
        if (weights[i].size > SIZE_MAX / 2 - size) {
            return false;
        }
        size += aligned(weights[i].size, LITH_ALIGNMENT);
    }
    unsigned char *memory = lith_allocate(&cache->allocator, size, 1);
    if (memory == NULL) {
        return false;
    }
    slab->data = memory;
    slab->data_size = size;
    for (size_t i = 0; i < count; i++) {
        if (packs(items[i], slab)) {
            pack(items[i], memory);
            items[i]->weights->data = memory;
            memory += aligned(items[i]->size, LITH_ALIGNMENT);
        }
    }
    return true;
}

/* Tells everybody whether the fresh weights can be used. */
static void publish(lith_weights_cache *cache, const lith_slab *slab, size_t fresh, lith_state state) {
    lith_weights *weights = tables(slab);
    for (size_t i = 0; i < fresh; i++) {
        weights[i].state = state;
        if (state == LITH_FAILED) {
            take_out(cache, &weights[i]);
        }
    }
    lock_wake(&cache->lock);
}

lith_status lith_weights_take(lith_weights_cache *cache, lith_packed **items, size_t count, lith_message *message) {
    if (count == 0) {
        return LITH_OK;
    }
    lith_slab *slab = allocate_slab(cache, count);
    if (slab == NULL) {
        return lith_fail_memory(message, "packed weights");
    }
    lock(&cache->lock);
    grow(cache, count);
    const size_t fresh = find_all(cache, items, count, slab);
    unlock(&cache->lock);
    /* Others may wait for these, but not those whom this thread waits for below: they have packed theirs by then. */
    bool complete = fresh == 0 || pack_slab(cache, items, count, slab, fresh);
    lock(&cache->lock);
    publish(cache, slab, fresh, complete ? LITH_READY : LITH_FAILED);
    for (size_t i = 0; i < count; i++) {
        while (items[i]->weights->state == LITH_PENDING) {
            lock_wait(&cache->lock);
        }
        complete = complete && items[i]->weights->state == LITH_READY;
        items[i]->data = items[i]->weights->data;
    }
    unlock(&cache->lock);
    if (fresh == 0) {
        release_slab(cache, slab);
    }
    for (size_t i = 0; !complete && i < count; i++) {
        lith_weights_give(cache, items[i]);
    }
    return complete ? LITH_OK : lith_fail_memory(message, "packed weights");
}

void lith_weights_give(lith_weights_cache *cache, lith_packed *item) {
    lith_weights *weights = item->weights;
    if (weights == NULL) {
        return;
    }
    lith_slab *unused = NULL;
    lock(&cache->lock);
    if (item->before != NULL) {
        item->before->after = item->after;
    } else {
        weights->users = item->after;
    }
    if (item->after != NULL) {
        item->after->before = item->before;
    }
    if (weights->users == NULL) {
        if (weights->state == LITH_READY) {
            take_out(cache, weights);
        }
        unused = --weights->slab->weights == 0 ? weights->slab : NULL;
    }
    unlock(&cache->lock);
    if (unused != NULL) {
        release_slab(cache, unused);
    }
    item->weights = NULL;
    item->data = NULL;
}

/* ---- counting -----------------------------------------------------------------------------------------------------
 */

static size_t count_new(const lith_weights_cache *cache, const lith_packed *items, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].weights != NULL && items[i].weights->counted != cache->clock) {
            items[i].weights->counted = cache->clock;
            sum += items[i].size;
        }
    }
    return sum;
}

size_t lith_weights_bytes(lith_weights_cache *cache, const lith_packed *items, size_t count, const lith_packed *besides,
                          size_t besides_count) {
    lock(&cache->lock);
    cache->clock++;
    count_new(cache, besides, besides_count);
    const size_t sum = count_new(cache, items, count);
    unlock(&cache->lock);
    return sum;
}
