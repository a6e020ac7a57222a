/* SPDX-License-Identifier: Apache-2.0 */
#include "chains.h"

#include <string.h>

#include "clock.h"

/* A result of fewer bytes stays in the caches anyway. */
#define LEAST_RESULT 200000
/* Bytes of the rows that a thread keeps: they are to stay in the second-level cache, with the weights, of which a chain
 * reads all for each stripe. */
#define MOST_KEPT 524288
#define MOST_WEIGHTS 262144
#define MOST_STRIPE 16
/* Rows that threads compute twice, because those of two of them need them, and what one has more to do than others: one
 * of so many. */
#define LEAST_ONCE 6
#define LEAST_EVEN 8
#define PARTS_PER_THREAD 4

typedef union lith_part_params {
    unsigned char bytes[NNACL_MAX_PARAMS_SIZE];
    int64_t aligned;
} lith_part_params;

static size_t aligned(size_t size) {
    return (size + LITH_ALIGNMENT - 1) / LITH_ALIGNMENT * LITH_ALIGNMENT;
}

/* ---- which nodes --------------------------------------------------------------------------------------------------
 */

static int32_t output_of(const lith_binding *binding, int32_t node) {
    return binding->model->nodes[node].outputs[0];
}

static int32_t rows_of(const nnacl_tensor *type) {
    return type->dims[1];
}

static size_t row_size_of(const nnacl_tensor *type) {
    return rows_of(type) > 0 ? lith_type_bytes(type) / (size_t)rows_of(type) : 0;
}

/* Which rows of its input rows begin .. end - 1 of a node's output need. */
static bool needed(const lith_binding *binding, int32_t node, int32_t begin, int32_t end, lith_part_params *params,
                   int32_t rows[2]) {
    const lith_step *step = &binding->steps[node];
    return binding->model->nodes[node].op->stripe(step->params, step->kernel, begin, end, params, rows);
}

static size_t weights_of(const lith_binding *binding, int32_t index) {
    const lith_node *node = &binding->model->nodes[index];
    size_t size = 0;
    for (int32_t i = 1; i < node->n_inputs; i++) {
        size += node->inputs[i] >= 0 ? lith_type_bytes(&binding->types[node->inputs[i]]) : 0;
    }
    return size;
}

/* Whether all inputs but the first are constants: for the memory plan a chain reads nothing but its first input. */
static bool has_constants(const lith_binding *binding, const lith_node *node) {
    for (int32_t i = 1; i < node->n_inputs; i++) {
        if (node->inputs[i] >= 0 && binding->types[node->inputs[i]].data == NULL) {
            return false;
        }
    }
    return true;
}

/* A variable may be what the chain begins with, whose rows are needed after the first ones of the result are there. */
static bool is_link(const lith_binding *binding, int32_t index) {
    const lith_node *node = &binding->model->nodes[index];
    const lith_step *step = &binding->steps[index];
    if (node->extension != NULL || node->control != LITH_CONTROL_NONE || node->op->stripe == NULL || step->early ||
        node->n_outputs != 1 || node->n_inputs > LITH_LINK_INPUTS || node->inputs[0] < 0 ||
        !has_constants(binding, node) || binding->model->tensors[node->outputs[0]].variable) {
        return false;
    }
    const nnacl_tensor *x = &binding->types[node->inputs[0]], *y = &binding->types[node->outputs[0]];
    lith_part_params params;
    int32_t rows[2];
    return x->rank == 4 && y->rank == 4 && x->data == NULL && lith_type_bytes(y) > 0 &&
           needed(binding, index, 0, rows_of(y), &params, rows);
}

/* Whether the node behind `index` may follow it in a chain. */
static bool goes_on(const lith_binding *binding, const int32_t *readers, int32_t index) {
    const lith_model *model = binding->model;
    if (index + 1 >= model->n_nodes || !is_link(binding, index + 1)) {
        return false;
    }
    const int32_t tensor = output_of(binding, index);
    const nnacl_tensor *type = &binding->types[tensor];
    return model->nodes[index + 1].inputs[0] == tensor && readers[tensor] == 1 &&
           lith_type_bytes(type) >= LEAST_RESULT && row_size_of(type) % LITH_ALIGNMENT == 0;
}

/* ---- how many rows ------------------------------------------------------------------------------------------------
 */

/* Sets what each node has to keep for stripes of `stripe` rows; returns the bytes. */
static size_t keep(const lith_binding *binding, lith_chain *chain, int32_t stripe) {
    int32_t kept[LITH_CHAIN_MOST] = {0};
    const int32_t last = chain->count - 1;
    for (int32_t begin = 0; begin < chain->links[last].rows; begin++) {
        const int32_t left = chain->links[last].rows - begin;
        int32_t rows[2] = {begin, begin + (left < stripe ? left : stripe)};
        for (int32_t i = last; i > 0; i--) {
            lith_part_params params;
            needed(binding, chain->first + i, rows[0], rows[1], &params, rows);
            const int32_t count = rows[1] - rows[0];
            kept[i - 1] = count > kept[i - 1] ? count : kept[i - 1];
        }
    }
    size_t size = 0;
    for (int32_t i = 0; i < last; i++) {
        chain->links[i].place = size;
        chain->links[i].kept = kept[i];
        size += aligned((size_t)kept[i] * chain->links[i].row_size);
    }
    return size;
}

/* Whether threads with neighbouring rows compute few rows twice, and have as much to do. */
static bool shares_well(const lith_binding *binding, const lith_chain *chain, int32_t threads) {
    const int32_t last = chain->count - 1, all = chain->links[last].rows;
    const int32_t uneven = (all + threads - 1) / threads * threads - all;
    if (uneven * LEAST_EVEN > all) {
        return false;
    }
    for (int32_t thread = 1; thread < threads; thread++) {
        const int32_t border = (int32_t)((int64_t)all * thread / threads);
        if (border == 0 || border >= all) {
            return false;
        }
        int32_t before[2] = {border - 1, border}, after[2] = {border, border + 1};
        for (int32_t i = last; i > 0; i--) {
            lith_part_params params;
            needed(binding, chain->first + i, before[0], before[1], &params, before);
            needed(binding, chain->first + i, after[0], after[1], &params, after);
            if ((before[1] - after[0]) * LEAST_ONCE > chain->links[i - 1].rows / threads) {
                return false;
            }
        }
    }
    return true;
}

/* Chooses the number of rows that come at a time: no more than a thread takes at once, and what the threads keep is
 * less than what exists as a whole without the chain. */
static bool settle(const lith_binding *binding, int32_t threads, lith_chain *chain) {
    const int32_t last = chain->count - 1, most = chain->links[last].rows;
    if (!shares_well(binding, chain, threads)) {
        return false;
    }
    size_t whole = 0;
    for (int32_t i = 0; i < last; i++) {
        whole += (size_t)chain->links[i].rows * chain->links[i].row_size;
    }
    const size_t limit = whole / (size_t)threads < MOST_KEPT ? whole / (size_t)threads : MOST_KEPT;
    const int32_t taken = threads > 1 ? (most + 2 * threads - 1) / (2 * threads) : most;
    for (chain->stripe = MOST_STRIPE; chain->stripe > 0; chain->stripe /= 2) {
        chain->workspace = keep(binding, chain, chain->stripe);
        if (chain->workspace <= limit && chain->stripe <= taken) {
            break;
        }
    }
    size_t workspace = 0;
    for (int32_t i = 0; i <= last; i++) {
        const size_t size = binding->steps[chain->first + i].workspace;
        workspace = size > workspace ? size : workspace;
    }
    const int32_t parts = threads > 1 ? threads * PARTS_PER_THREAD : 1;
    chain->scratch = chain->workspace + aligned(workspace);
    chain->parts = parts < most ? parts : most;
    return chain->stripe > 0;
}

bool lith_chain_find(const lith_binding *binding, const int32_t *readers, int32_t threads, int32_t first,
                     lith_chain *chain) {
    *chain = (lith_chain){.first = first};
    if (!is_link(binding, first)) {
        return false;
    }
    chain->row_size = row_size_of(&binding->types[binding->model->nodes[first].inputs[0]]);
    size_t weights = 0;
    for (int32_t node = first; chain->count < LITH_CHAIN_MOST; node++) {
        const nnacl_tensor *type = &binding->types[output_of(binding, node)];
        weights += weights_of(binding, node);
        if (weights > MOST_WEIGHTS) {
            break;
        }
        chain->links[chain->count++] = (lith_link){.rows = rows_of(type), .row_size = row_size_of(type)};
        if (!goes_on(binding, readers, node)) {
            break;
        }
    }
    for (; chain->count > 1; chain->count--) {
        if (settle(binding, threads, chain)) {
            return true;
        }
    }
    return false;
}

/* ---- a run --------------------------------------------------------------------------------------------------------
 */

/* Makes room behind the rows that are kept from `begin` on, for those up to `end`. */
static void make_room(const lith_link *link, unsigned char *place, int32_t begin, int32_t end, int32_t *first,
                      int32_t *behind) {
    if (begin >= *behind) {
        *first = *behind = begin;
    } else if (end - *first > link->kept) {
        memmove(place, place + (size_t)(begin - *first) * link->row_size, (size_t)(*behind - begin) * link->row_size);
        *first = begin;
    }
}

/* What a node has to compute for a stripe: rows begin .. end - 1 of its output from rows in[0] .. in[1] - 1. */
typedef struct lith_link_work {
    int32_t begin, end, wanted, in[2];
    lith_part_params params;
} lith_link_work;

static void run_link(const lith_chain_run *run, lith_chain_state *state, int32_t index, const lith_link_work *work,
                     unsigned char *scratch) {
    const lith_chain *chain = run->chain;
    const lith_link *link = &chain->links[index];
    const lith_step *step = &run->binding->steps[chain->first + index];
    const int32_t n_inputs = run->binding->model->nodes[chain->first + index].n_inputs;
    const void *in[LITH_LINK_INPUTS];
    void *out[1];
    memcpy(in, run->in[index], (size_t)n_inputs * sizeof in[0]);
    if (index == 0) {
        in[0] = (const unsigned char *)in[0] + (size_t)work->in[0] * chain->row_size;
    } else {
        const lith_link *before = link - 1;
        in[0] = scratch + before->place + (size_t)(work->in[0] - state->begin[index - 1]) * before->row_size;
    }
    if (index + 1 == chain->count) {
        out[0] = (unsigned char *)run->out + (size_t)work->begin * link->row_size;
    } else {
        make_room(link, scratch + link->place, work->wanted, work->end, &state->begin[index], &state->end[index]);
        out[0] = scratch + link->place + (size_t)(work->begin - state->begin[index]) * link->row_size;
        state->end[index] = work->end;
    }
    const nnacl_ctx ctx = {scratch + chain->workspace, chain->scratch - chain->workspace, 0, 1};
    const int64_t start = run->timed ? lith_now() : 0;
    step->kernel->run(&ctx, &work->params, in, out);
    state->nanoseconds[index] += run->timed ? lith_now() - start : 0;
}

/* Rows begin .. end - 1 of the last output. */
static void run_stripe(const lith_chain_run *run, lith_chain_state *state, int32_t begin, int32_t end,
                       unsigned char *scratch) {
    const lith_chain *chain = run->chain;
    lith_link_work work[LITH_CHAIN_MOST];
    int32_t rows[2] = {begin, end}, index = chain->count - 1;
    for (;; index--) {
        lith_link_work *link = &work[index];
        const bool is_last = index + 1 == chain->count;
        link->wanted = rows[0];
        link->begin = is_last || state->end[index] < rows[0] ? rows[0] : state->end[index];
        link->end = rows[1];
        if (link->begin >= link->end) { /* all there */
            index++;
            break;
        }
        needed(run->binding, chain->first + index, link->begin, link->end, &link->params, link->in);
        rows[0] = link->in[0];
        rows[1] = link->in[1];
        if (index == 0) {
            break;
        }
    }
    for (; index < chain->count; index++) {
        run_link(run, state, index, &work[index], scratch);
    }
}

void lith_chain_part(const lith_chain_run *run, int32_t worker, int32_t part, int32_t parts) {
    const lith_chain *chain = run->chain;
    lith_chain_state *state = &run->states[worker];
    const int32_t all = chain->links[chain->count - 1].rows;
    const int32_t begin = (int32_t)((int64_t)all * part / parts), end = (int32_t)((int64_t)all * (part + 1) / parts);
    if (state->round != run->round) {
        memset(state, 0, sizeof *state);
        state->round = run->round;
    } else if (state->next != begin) {
        memset(state->begin, 0, sizeof state->begin);
        memset(state->end, 0, sizeof state->end);
    }
    const int32_t stripes = (end - begin + chain->stripe - 1) / chain->stripe;
    for (int32_t i = 0; i < stripes; i++) {
        run_stripe(run, state, begin + (int32_t)((int64_t)(end - begin) * i / stripes),
                   begin + (int32_t)((int64_t)(end - begin) * (i + 1) / stripes),
                   run->scratch + (size_t)worker * chain->scratch);
    }
    state->next = end;
}
