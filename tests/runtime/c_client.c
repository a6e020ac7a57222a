/* A client of the installed library, in the words of microlith.h. */
#include <microlith.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const lith_message *message) {
    printf("%s: %s\n", what, message->text);
    return 1;
}

int main(int argc, char **argv) {
    lith_model *model = NULL;
    lith_session *session = NULL;
    lith_message message = {{0}};
    lith_tensor_info info;
    float x[48], y[10];
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
    lith_session_destroy(keeping);
    for (int i = 0; i < 10; i++) {
        printf("%.9g\n", (double)y[i]);
    }
    lith_session_destroy(session);
    lith_model_close(model);
    return 0;
}
