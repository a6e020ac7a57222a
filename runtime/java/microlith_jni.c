/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of the classes of org.microlith: microlith.h, with exceptions of Java for statuses. What Java
 * passes as a handle is a pointer that these functions gave it; the Java side never uses one after it was closed. */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>

#include "microlith.h"

#define MODEL(name) JNICALL Java_org_microlith_Model_##name
#define CACHE(name) JNICALL Java_org_microlith_WeightsCache_##name
#define SESSION(name) JNICALL Java_org_microlith_Session_##name

static void throw_status(JNIEnv *env, lith_status status, const lith_message *message) {
    const char *text = message && message->text[0] ? message->text : lith_status_text(status);
    jclass class = (*env)->FindClass(env, "org/microlith/MicrolithException");
    jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "(ILjava/lang/String;)V") : NULL;
    jstring string = make ? (*env)->NewStringUTF(env, text) : NULL;
    jobject error = string ? (*env)->NewObject(env, class, make, (jint)status, string) : NULL;
    if (error) {
        (*env)->Throw(env, error);
    }
}

/* Whether all went well; otherwise Java gets the exception. */
static jboolean fine(JNIEnv *env, lith_status status, const lith_message *message) {
    if (status != LITH_OK) {
        throw_status(env, status, message);
    }
    return status == LITH_OK;
}

/* --- models ---------------------------------------------------------------------------------------------------- */

/* The text of a string, or NULL with an exception. */
static const char *text_of(JNIEnv *env, jstring string) {
    return (*env)->GetStringUTFChars(env, string, NULL);
}

static jboolean read_isas(JNIEnv *env, jstring names, uint32_t *mask) {
    const char *text = text_of(env, names);
    lith_message message = {{0}};
    if (!text) {
        return JNI_FALSE;
    }
    const lith_status status = lith_isa_parse(text, mask, &message);
    (*env)->ReleaseStringUTFChars(env, names, text);
    return fine(env, status, &message);
}

/* A file, or without a path the bytes of a direct buffer. */
JNIEXPORT jlong MODEL(open)(JNIEnv *env, jclass class, jstring path, jobject bytes, jlong size, jstring isas,
                            jboolean winograd, jlong cache) {
    (void)class;
    lith_message message = {{0}};
    lith_model_options options = LITH_MODEL_OPTIONS_INIT;
    options.no_winograd = !winograd;
    options.weights_cache = (lith_weights_cache *)(intptr_t)cache;
    lith_model *model = NULL;
    lith_status status = LITH_OK;
    if (isas && !read_isas(env, isas, &options.isa_mask)) {
        return 0;
    }
    if (path) {
        const char *text = text_of(env, path);
        if (!text) {
            return 0;
        }
        status = lith_model_open(text, &options, &model, &message);
        (*env)->ReleaseStringUTFChars(env, path, text);
    } else {
        const void *data = (*env)->GetDirectBufferAddress(env, bytes);
        status = lith_model_open_memory(data, (size_t)size, &options, &model, &message);
    }
    return fine(env, status, &message) ? (jlong)(intptr_t)model : 0;
}

JNIEXPORT jstring MODEL(version)(JNIEnv *env, jclass class) {
    (void)class;
    return (*env)->NewStringUTF(env, lith_version());
}

JNIEXPORT void MODEL(closeModel)(JNIEnv *env, jclass class, jlong handle) {
    (void)env;
    (void)class;
    lith_model_close((lith_model *)(intptr_t)handle);
}

JNIEXPORT jint MODEL(count)(JNIEnv *env, jclass class, jlong handle, jboolean input) {
    (void)env;
    (void)class;
    const lith_model *model = (const lith_model *)(intptr_t)handle;
    return input ? lith_model_input_count(model) : lith_model_output_count(model);
}

/* A TensorInfo of Java, or NULL with an exception. */
static jobject make_info(JNIEnv *env, const lith_tensor_info *info) {
    jclass strings = (*env)->FindClass(env, "java/lang/String");
    jclass class = strings ? (*env)->FindClass(env, "org/microlith/TensorInfo") : NULL;
    jmethodID make =
        class ? (*env)->GetMethodID(env, class, "<init>", "(Ljava/lang/String;I[I[Ljava/lang/String;J[F[II)V") : NULL;
    jstring name = make ? (*env)->NewStringUTF(env, info->name) : NULL;
    jintArray shape = name ? (*env)->NewIntArray(env, info->rank) : NULL;
    jobjectArray symbols = shape ? (*env)->NewObjectArray(env, info->rank, strings, NULL) : NULL;
    jfloatArray scales = symbols ? (*env)->NewFloatArray(env, info->quant_count) : NULL;
    jintArray zeros = scales ? (*env)->NewIntArray(env, info->quant_count) : NULL;
    if (!zeros) {
        return NULL;
    }
    (*env)->SetIntArrayRegion(env, shape, 0, info->rank, info->dims);
    for (int32_t axis = 0; axis < info->rank; axis++) {
        jstring symbol = (*env)->NewStringUTF(env, info->symbols[axis]);
        if (!symbol) {
            return NULL;
        }
        (*env)->SetObjectArrayElement(env, symbols, axis, symbol);
        (*env)->DeleteLocalRef(env, symbol);
    }
    (*env)->SetFloatArrayRegion(env, scales, 0, info->quant_count, info->scales);
    (*env)->SetIntArrayRegion(env, zeros, 0, info->quant_count, info->zero_points);
    return (*env)->NewObject(env, class, make, name, (jint)info->dtype, shape, symbols, (jlong)info->size, scales,
                             zeros, (jint)info->quant_axis);
}

JNIEXPORT jobject MODEL(info)(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index) {
    (void)class;
    const lith_model *model = (const lith_model *)(intptr_t)handle;
    lith_tensor_info info;
    const lith_status status =
        input ? lith_model_input_info(model, index, &info) : lith_model_output_info(model, index, &info);
    return fine(env, status, NULL) ? make_info(env, &info) : NULL;
}

JNIEXPORT jstring MODEL(metadata)(JNIEnv *env, jclass class, jlong handle, jstring key) {
    (void)class;
    const char *text = (*env)->GetStringUTFChars(env, key, NULL);
    if (!text) {
        return NULL;
    }
    const char *value = lith_model_metadata_find((const lith_model *)(intptr_t)handle, text);
    (*env)->ReleaseStringUTFChars(env, key, text);
    return value ? (*env)->NewStringUTF(env, value) : NULL;
}

/* --- weights that models share --------------------------------------------------------------------------------- */

JNIEXPORT jlong CACHE(create)(JNIEnv *env, jclass class) {
    (void)class;
    lith_message message = {{0}};
    lith_weights_cache *cache = NULL;
    return fine(env, lith_weights_cache_create(NULL, &cache, &message), &message) ? (jlong)(intptr_t)cache : 0;
}

JNIEXPORT void CACHE(release)(JNIEnv *env, jclass class, jlong handle) {
    (void)env;
    (void)class;
    lith_weights_cache_release((lith_weights_cache *)(intptr_t)handle);
}

JNIEXPORT jlongArray CACHE(info)(JNIEnv *env, jclass class, jlong handle) {
    (void)class;
    lith_weights_info info;
    jlongArray result = NULL;
    if (fine(env, lith_weights_cache_get_info((lith_weights_cache *)(intptr_t)handle, &info), NULL)) {
        const jlong numbers[] = {(jlong)info.bytes, (jlong)info.saved_bytes, info.count};
        result = (*env)->NewLongArray(env, 3);
        if (result) {
            (*env)->SetLongArrayRegion(env, result, 0, 3, numbers);
        }
    }
    return result;
}

/* --- sessions -------------------------------------------------------------------------------------------------- */

static lith_session *session_of(jlong handle) {
    return (lith_session *)(intptr_t)handle;
}

JNIEXPORT jlong SESSION(create)(JNIEnv *env, jclass class, jlong model, jint threads, jboolean keep_inputs,
                                jintArray cores) {
    (void)class;
    lith_message message = {{0}};
    lith_session_options options = LITH_SESSION_OPTIONS_INIT;
    lith_session *session = NULL;
    options.threads = threads;
    options.keep_inputs = keep_inputs;
    jint *numbers = (*env)->GetIntArrayElements(env, cores, NULL);
    if (!numbers) {
        return 0;
    }
    options.cores = numbers;
    options.core_count = (*env)->GetArrayLength(env, cores);
    const lith_status status = lith_session_create((const lith_model *)(intptr_t)model, &options, &session, &message);
    (*env)->ReleaseIntArrayElements(env, cores, numbers, JNI_ABORT);
    return fine(env, status, &message) ? (jlong)(intptr_t)session : 0;
}

JNIEXPORT void SESSION(destroy)(JNIEnv *env, jclass class, jlong handle) {
    (void)env;
    (void)class;
    lith_session_destroy(session_of(handle));
}

JNIEXPORT jobject SESSION(info)(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index) {
    (void)class;
    lith_tensor_info info;
    const lith_status status = input ? lith_session_input_info(session_of(handle), index, &info)
                                     : lith_session_output_info(session_of(handle), index, &info);
    return fine(env, status, NULL) ? make_info(env, &info) : NULL;
}

JNIEXPORT void SESSION(resize)(JNIEnv *env, jclass class, jlong handle, jobjectArray shapes) {
    (void)class;
    lith_message message = {{0}};
    const jsize count = (*env)->GetArrayLength(env, shapes);
    lith_shape *given = calloc(count ? (size_t)count : 1, sizeof *given);
    lith_status status = given ? LITH_OK : LITH_ERROR_MEMORY;
    for (jsize i = 0; i < count && status == LITH_OK; i++) {
        jintArray dims = (*env)->GetObjectArrayElement(env, shapes, i);
        const jsize rank = dims ? (*env)->GetArrayLength(env, dims) : LITH_MAX_RANK + 1;
        if (rank > LITH_MAX_RANK) {
            status = LITH_ERROR_SHAPE;
        } else {
            given[i].rank = rank;
            (*env)->GetIntArrayRegion(env, dims, 0, rank, given[i].dims);
        }
        (*env)->DeleteLocalRef(env, dims);
    }
    if (status == LITH_OK) {
        status = lith_session_resize(session_of(handle), given, count, &message);
    }
    free(given);
    fine(env, status, &message);
}

JNIEXPORT void SESSION(setInput)(JNIEnv *env, jclass class, jlong handle, jint index, jobject values, jlong bytes) {
    (void)class;
    lith_message message = {{0}};
    const void *data = (*env)->GetDirectBufferAddress(env, values);
    fine(env, lith_session_set_input(session_of(handle), index, data, (size_t)bytes, &message), &message);
}

JNIEXPORT void SESSION(getOutput)(JNIEnv *env, jclass class, jlong handle, jint index, jobject values, jlong bytes) {
    (void)class;
    lith_message message = {{0}};
    void *data = (*env)->GetDirectBufferAddress(env, values);
    fine(env, lith_session_get_output(session_of(handle), index, data, (size_t)bytes, &message), &message);
}

JNIEXPORT void SESSION(bind)(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index, jobject buffer,
                             jlong bytes) {
    (void)class;
    lith_message message = {{0}};
    void *data = buffer ? (*env)->GetDirectBufferAddress(env, buffer) : NULL;
    const lith_status status = input
                                   ? lith_session_bind_input(session_of(handle), index, data, (size_t)bytes, &message)
                                   : lith_session_bind_output(session_of(handle), index, data, (size_t)bytes, &message);
    fine(env, status, &message);
}

JNIEXPORT void SESSION(run)(JNIEnv *env, jclass class, jlong handle) {
    (void)class;
    lith_message message = {{0}};
    fine(env, lith_session_run(session_of(handle), &message), &message);
}

/* What a run told of its nodes. */
typedef struct layers {
    lith_profile_event *events;
    jsize count, room;
    jboolean complete;
} layers;

static void note(void *user, const lith_profile_event *event) {
    layers *self = user;
    if (self->count == self->room) {
        const jsize room = self->room ? 2 * self->room : 64;
        lith_profile_event *events = realloc(self->events, (size_t)room * sizeof *events);
        if (!events) {
            self->complete = JNI_FALSE;
            return;
        }
        self->events = events;
        self->room = room;
    }
    self->events[self->count++] = *event;
}

/* A Layer of Java, or NULL with an exception. */
static jobject make_layer(JNIEnv *env, jclass class, jmethodID make, const lith_profile_event *event) {
    jstring name = (*env)->NewStringUTF(env, event->name);
    jstring op = name ? (*env)->NewStringUTF(env, event->op) : NULL;
    jstring kernel = op ? (*env)->NewStringUTF(env, event->kernel ? event->kernel : "") : NULL;
    return kernel ? (*env)->NewObject(env, class, make, name, op, kernel, (jlong)event->nanoseconds, (jlong)event->macs,
                                      (jint)event->parts)
                  : NULL;
}

static jobjectArray make_layers(JNIEnv *env, const layers *all) {
    jclass class = (*env)->FindClass(env, "org/microlith/Layer");
    const char *signature = "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;JJI)V";
    jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", signature) : NULL;
    jobjectArray result = make ? (*env)->NewObjectArray(env, all->count, class, NULL) : NULL;
    for (jsize i = 0; result && i < all->count; i++) {
        if ((*env)->PushLocalFrame(env, 8) != 0) {
            return NULL;
        }
        jobject layer = (*env)->PopLocalFrame(env, make_layer(env, class, make, &all->events[i]));
        if (!layer) {
            return NULL;
        }
        (*env)->SetObjectArrayElement(env, result, i, layer);
        (*env)->DeleteLocalRef(env, layer);
    }
    return result;
}

JNIEXPORT jobjectArray SESSION(profile)(JNIEnv *env, jclass class, jlong handle) {
    (void)class;
    lith_message message = {{0}};
    layers all = {NULL, 0, 0, JNI_TRUE};
    lith_session_set_profiler(session_of(handle), note, &all);
    lith_status status = lith_session_run(session_of(handle), &message);
    lith_session_set_profiler(session_of(handle), NULL, NULL);
    if (status == LITH_OK && !all.complete) {
        status = LITH_ERROR_MEMORY;
    }
    jobjectArray result = fine(env, status, &message) ? make_layers(env, &all) : NULL;
    free(all.events);
    return result;
}

JNIEXPORT void SESSION(reset)(JNIEnv *env, jclass class, jlong handle) {
    (void)env;
    (void)class;
    lith_session_reset(session_of(handle));
}

JNIEXPORT void SESSION(cancel)(JNIEnv *env, jclass class, jlong handle) {
    (void)env;
    (void)class;
    lith_session_cancel(session_of(handle));
}
