/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model that uses the extension `acme`, whose sources are linked into this program:
 *
 *     cc app.c acme.c snake_plan.c snake_f32_c.c -I. $(pkg-config --cflags --libs microlith) -o app
 *     ./app model.lith
 *
 * with those of acme_ops/acme/ and the kernel headers, which are installed as include/microlith/, on the include path.
 * The model has one float32 input and output; the input is 1, 2, 3, ... over 100.
 */
#include <stdio.h>
#include <stdlib.h>

#include "microlith.h"
#include "nnacl_extension.h"

extern const nnacl_extension nnacl_acme_extension;

static int run(lith_session *session) {
    lith_message message;
    lith_tensor_info info;
    float *input = lith_session_input_data(session, 0);
    if (input == NULL || lith_session_input_info(session, 0, &info) != LITH_OK) {
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < info.size / sizeof *input; i++) {
        input[i] = (float)(i + 1) / 100.0f;
    }
    if (lith_session_run(session, &message) != LITH_OK) {
        fprintf(stderr, "%s\n", message.text);
        return EXIT_FAILURE;
    }
    const float *output = lith_session_output_data(session, 0);
    if (output == NULL || lith_session_output_info(session, 0, &info) != LITH_OK) {
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < info.size / sizeof *output; i++) {
        printf("%.9g\n", (double)output[i]);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const lith_extension *const extensions[] = {&nnacl_acme_extension};
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    options.extensions = extensions;
    options.extension_count = 1;
    lith_model *model = NULL;
    lith_session *session = NULL;
    lith_message message;
    int result = EXIT_FAILURE;
    if (argc != 2) {
        fprintf(stderr, "usage: app MODEL.lith\n");
    } else if (lith_model_open(argv[1], &options, &model, &message) != LITH_OK ||
               lith_session_create(model, NULL, &session, &message) != LITH_OK) {
        fprintf(stderr, "%s\n", message.text);
    } else {
        result = run(session);
    }
    lith_session_destroy(session);
    lith_model_close(model);
    return result;
}
