/* A client of the installed library, in the words of microlith.h. */
#include <microlith.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const lith_message *message) {
    printf("%s: %s\n", what, message->text);
    return 1;
}

/* NULL where a model or session must stand: whether all functions say so, or do nothing. */
static int refuses_null(void) {
    lith_message message = {{0}};
    lith_tensor_info info;
    lith_model_info facts;
    lith_node_info node;
    lith_prepacked_info prepacked;
    lith_memory_info memory;
    const char *key = NULL, *value = NULL;
    int32_t low, high;
    size_t length;
    float x = 0;
    lith_session_destroy(NULL);
    lith_session_reset(NULL);
    lith_session_cancel(NULL);
    lith_session_set_profiler(NULL, NULL, NULL);
    lith_model_close(NULL);
    const lith_status statuses[] = {lith_session_run(NULL, &message),
                                    lith_session_resize(NULL, NULL, 0, &message),
                                    lith_session_set_input(NULL, 0, &x, sizeof x, &message),
                                    lith_session_get_output(NULL, 0, &x, sizeof x, &message),
                                    lith_session_bind_input(NULL, 0, &x, sizeof x, &message),
                                    lith_session_bind_output(NULL, 0, &x, sizeof x, &message),
                                    lith_session_input_info(NULL, 0, &info),
                                    lith_session_output_info(NULL, 0, &info),
                                    lith_session_memory(NULL, &memory),
                                    lith_model_input_info(NULL, 0, &info),
                                    lith_model_output_info(NULL, 0, &info),
                                    lith_model_get_info(NULL, &facts),
                                    lith_model_node_info(NULL, 0, &node),
                                    lith_model_prepacked(NULL, &prepacked),
                                    lith_model_metadata(NULL, 0, &key, &value),
                                    lith_model_size_range(NULL, "n", &low, &high),
                                    lith_weights_cache_get_info(NULL, NULL)};
    int refused = strstr(message.text, "session is NULL") != NULL;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        refused = refused && statuses[i] == LITH_ERROR_ARGUMENT;
    }
    return refused && lith_session_input_data(NULL, 0) == NULL && lith_session_output_data(NULL, 0) == NULL &&
           lith_model_input_count(NULL) == 0 && lith_model_output_count(NULL) == 0 &&
           lith_model_input_index(NULL, "x") == -1 && lith_model_output_index(NULL, "x") == -1 &&
           lith_model_metadata_find(NULL, "x") == NULL && lith_model_label(NULL, "x", 0, &length) == NULL;
}

int main(int argc, char **argv) {
    lith_model *model = NULL;
    lith_session *session = NULL;
    lith_message message = {{0}};
    lith_tensor_info info;
    float x[48], y[10];
    if (!refuses_null()) {
        return fail("NULL", &message);
    }
    if (argc != 2 || lith_model_open(argv[1], NULL, &model, &message) != LITH_OK) {
        return fail("open", &message);
    }
    if (lith_session_create(model, NULL, &session, &message) != LITH_OK) {
        return fail("create", &message);
    }
    for (int i = 0; i < 48; i++) {
        x[i] = (float)i / 48;
    }
    /* Wrong calls say so and change nothing. */
    if (lith_session_set_input(session, 0, x, 5, &message) != LITH_ERROR_ARGUMENT ||
        lith_session_set_input(session, 7, x, sizeof x, NULL) != LITH_ERROR_ARGUMENT ||
        lith_session_set_input(session, 0, NULL, sizeof x, &message) != LITH_ERROR_ARGUMENT ||
        lith_session_bind_input(session, 0, (char *)x + 1, sizeof x, &message) != LITH_ERROR_ARGUMENT ||
        lith_session_bind_output(session, 1, y, sizeof y, &message) != LITH_ERROR_ARGUMENT ||
        lith_session_resize(session, NULL, 1, &message) != LITH_ERROR_ARGUMENT ||
        lith_model_input_info(model, 1, &info) != LITH_ERROR_ARGUMENT ||
        lith_model_input_index(model, "scores") != -1 || lith_session_input_data(session, -1) != NULL ||
        lith_model_open(NULL, NULL, &model, &message) != LITH_ERROR_ARGUMENT || session == NULL || model == NULL) {
        return fail("a wrong call", &message);
    }
    if (lith_model_input_info(model, 0, &info) != LITH_OK || strcmp(info.name, "x") != 0 || info.size != sizeof x ||
        lith_model_output_index(model, "scores") != 0) {
        return fail("info", &message);
    }
    if (lith_session_set_input(session, 0, x, sizeof x, &message) != LITH_OK ||
        lith_session_run(session, &message) != LITH_OK ||
        lith_session_get_output(session, 0, y, sizeof y, &message) != LITH_OK) {
        return fail("run", &message);
    }
    /* Inputs that are kept need not be set again. */
    lith_session *keeping = NULL;
    lith_session_options options = LITH_SESSION_OPTIONS_INIT;
    options.keep_inputs = 1;
    if (lith_session_create(model, &options, &keeping, &message) != LITH_OK ||
        lith_session_set_input(keeping, 0, x, sizeof x, &message) != LITH_OK) {
        return fail("create", &message);
    }
    for (int i = 0; i < 3; i++) {
        if (lith_session_run(keeping, &message) != LITH_OK ||
            memcmp(lith_session_output_data(keeping, 0), y, sizeof y) != 0 ||
            memcmp(lith_session_input_data(keeping, 0), x, sizeof x) != 0) {
            return fail("a kept input", &message);
        }
    }
    /* Binding an output leaves what the input was set to. */
    float bound[10] = {0};
    for (int i = 0; i < 2; i++) {
        if (lith_session_bind_output(keeping, 0, i == 0 ? bound : NULL, i == 0 ? sizeof bound : 0, &message) !=
                LITH_OK ||
            lith_session_run(keeping, &message) != LITH_OK || memcmp(bound, y, sizeof y) != 0 ||
            memcmp(lith_session_output_data(keeping, 0), y, sizeof y) != 0) {
            return fail("an output bound after the input was set", &message);
        }
    }
    lith_session_destroy(keeping);
    for (int i = 0; i < 10; i++) {
        printf("%.9g\n", (double)y[i]);
    }
    lith_session_destroy(session);
    lith_model_close(model);
    return 0;
}
