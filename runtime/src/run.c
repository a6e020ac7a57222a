/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a session. */
#include <string.h>

#include "clock.h"
#include "session.h"
#include "status.h"

/* What a worker reads here does not change from run to run, so it lies in the cache of each. */
static void run_part(void *user, int32_t worker, int32_t part, int32_t parts) {
    const lith_call *call = user;
    nnacl_ctx ctx = {call->workspace + (size_t)worker * call->workspace_stride, call->step->workspace, part, parts};
    call->step->kernel->run(&ctx, call->step->params, call->in, call->out);
}

static void run_node(lith_session *session, int32_t index) {
    lith_call *call = &session->layout->calls[index];
    if (!call->skipped) {
        lith_pool_run(session->pool, run_part, call, call->parts);
    }
}

static void profile_node(lith_session *session, int32_t index) {
    const lith_node *node = &session->model->nodes[index];
    const lith_step *step = &session->binding->steps[index];
    const lith_call *call = &session->layout->calls[index];
    int64_t start = lith_now();
    run_node(session, index);
    int64_t end = lith_now();
    lith_profile_event event = {
        index,      node->name, node->op->name, step->kernel->symbol, call->skipped ? 0 : end - start,
        step->macs, call->parts};
    session->profiler(session->profiler_user, &event);
}

/* ---- chains -------------------------------------------------------------------------------------------------------
 */

static void run_chain_part(void *user, int32_t worker, int32_t part, int32_t parts) {
    lith_chain_part(user, worker, part, parts);
}

static void run_chain(lith_session *session, const lith_chain *chain) {
    const lith_layout *layout = session->layout;
    const void **in[LITH_CHAIN_MOST];
    for (int32_t i = 0; i < chain->count; i++) {
        in[i] = layout->calls[chain->first + i].in;
    }
    lith_chain_run run = {chain,
                          layout->binding,
                          in,
                          layout->calls[chain->first + chain->count - 1].out[0],
                          layout->calls[chain->first].workspace,
                          layout->states,
                          ++session->rounds,
                          session->profiler != NULL};
    lith_pool_run(session->pool, run_chain_part, &run, chain->parts);
}

/* The nodes of a chain run in turn, on each thread: its time is divided as theirs are. */
static void profile_chain(lith_session *session, const lith_chain *chain) {
    int64_t start = lith_now();
    run_chain(session, chain);
    const double whole = (double)(lith_now() - start);
    double times[LITH_CHAIN_MOST] = {0}, sum = 1;
    for (int32_t worker = 0; worker < session->layout->n_states; worker++) {
        const lith_chain_state *state = &session->layout->states[worker];
        for (int32_t i = 0; i < chain->count && state->round == session->rounds; i++) {
            times[i] += (double)state->nanoseconds[i];
            sum += (double)state->nanoseconds[i];
        }
    }
    for (int32_t i = 0; i < chain->count; i++) {
        const lith_node *node = &session->model->nodes[chain->first + i];
        const lith_step *step = &session->binding->steps[chain->first + i];
        lith_profile_event event = {
            chain->first + i, node->name,  node->op->name, step->kernel->symbol, (int64_t)(whole * times[i] / sum),
            step->macs,       chain->parts};
        session->profiler(session->profiler_user, &event);
    }
}

/* ---- dynamic models -----------------------------------------------------------------------------------------------
 */

static bool is_cancelled(void *user) {
    const lith_session *session = user;
    return atomic_load_explicit(&session->cancelled, memory_order_relaxed);
}

static void note_node(void *user, int32_t index, const lith_step *step, int32_t parts, int64_t start) {
    const lith_session *session = user;
    int64_t end = lith_now();
    const lith_node *node = &session->model->nodes[index];
    const char *kernel = node->control != LITH_CONTROL_NONE ? node->op->name : step->kernel->symbol;
    lith_profile_event event = {index,      node->name, node->op->name, kernel, parts > 0 ? end - start : 0,
                                step->macs, parts};
    session->profiler(session->profiler_user, &event);
}

static lith_status copy_dynamic_outputs(const lith_session *session, lith_message *message) {
    const lith_model *model = session->model;
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < model->n_outputs; i++) {
            size_t size = lith_type_bytes(&session->dynamic->binding->types[model->outputs[i]]);
            if (session->ports.outputs[i] == NULL || size == 0) {
                continue;
            }
            if (size > session->output_sizes[i]) {
                return lith_fail(message, LITH_ERROR_SHAPE, "output '%.60s' has %llu bytes, its bound buffer %llu",
                                 model->tensors[model->outputs[i]].name, (unsigned long long)size,
                                 (unsigned long long)session->output_sizes[i]);
            }
            if (pass == 1) {
                memmove(session->ports.outputs[i], session->dynamic->slots[model->outputs[i]].place, size);
            }
        }
    }
    return LITH_OK;
}

static lith_status run_dynamic(lith_session *session, lith_message *message) {
    if (!session->dynamic->shaped) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the shapes of the inputs are not known: call lith_session_resize");
    }
    lith_watch watch = {is_cancelled, session->profiler != NULL ? note_node : NULL, session};
    lith_blocks_begin(&session->blocks);
    lith_status status = lith_dynamic_run(session->dynamic, &watch, message);
    if (status == LITH_OK && is_cancelled(session)) {
        status = lith_fail(message, LITH_CANCELLED, "the run was cancelled");
    }
    atomic_store(&session->cancelled, false);
    if (status == LITH_OK) {
        status = copy_dynamic_outputs(session, message);
    }
    lith_blocks_end(&session->blocks);
    return status;
}

/* ---- static models ------------------------------------------------------------------------------------------------
 */

/* Bound outputs that no node could write to: a constant, an input, state, or a tensor that is an output twice. */
static void copy_outputs(const lith_session *session) {
    const lith_model *model = session->model;
    for (int32_t i = 0; i < model->n_outputs; i++) {
        int32_t tensor = model->outputs[i];
        void *data = session->ports.outputs[i];
        size_t size = lith_type_bytes(&session->binding->types[tensor]);
        if (data != NULL && data != session->layout->places[tensor] && size > 0) {
            memmove(data, session->layout->places[tensor], size);
        }
    }
}

lith_status lith_session_run(lith_session *session, lith_message *message) {
    if (session == NULL) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "session is NULL");
    }
    if (session->dynamic != NULL) {
        return run_dynamic(session, message);
    }
    if (session->layout == NULL) {
        return lith_fail(message, LITH_ERROR_SHAPE, "the shapes of the inputs are not known: call lith_session_resize");
    }
    for (int32_t i = 0; i < session->model->n_nodes; i++) {
        if (atomic_load_explicit(&session->cancelled, memory_order_relaxed)) {
            break;
        }
        const lith_chain *chain = session->layout->calls[i].chain;
        if (chain != NULL) {
            if (session->profiler != NULL) {
                profile_chain(session, chain);
            } else {
                run_chain(session, chain);
            }
            i += chain->count - 1;
        } else if (session->profiler != NULL) {
            profile_node(session, i);
        } else {
            run_node(session, i);
        }
    }
    if (atomic_exchange(&session->cancelled, false)) {
        return lith_fail(message, LITH_CANCELLED, "the run was cancelled");
    }
    copy_outputs(session);
    return LITH_OK;
}

void lith_session_cancel(lith_session *session) {
    if (session != NULL) {
        atomic_store(&session->cancelled, true);
    }
}

void lith_session_set_profiler(lith_session *session, lith_profile_fn function, void *user) {
    if (session != NULL) {
        session->profiler = function;
        session->profiler_user = user;
    }
}
