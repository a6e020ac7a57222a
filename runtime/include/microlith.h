/* SPDX-License-Identifier: Apache-2.0 */
/* Microlith: runs .lith models.
 *
 *     lith_model *model = NULL;
 *     lith_session *session = NULL;
 *     lith_message message;
 *     if (lith_model_open("model.lith", NULL, &model, &message) != LITH_OK) { puts(message.text); ... }
 *     if (lith_session_create(model, NULL, &session, &message) != LITH_OK) { ... }
 *     lith_session_set_input(session, 0, image, sizeof image, &message);
 *     lith_session_run(session, &message);
 *     lith_session_get_output(session, 0, scores, sizeof scores, &message);
 *     lith_session_destroy(session);
 *     lith_model_close(model);
 *
 * Rules that hold for every function:
 *
 * Threads. A lith_model never changes after it was opened: any number of threads may use it at once. A lith_session
 * belongs to one thread at a time (lith_session_cancel alone may come from any thread). A model has to outlive its
 * sessions.
 *
 * Errors. A function that returns lith_status leaves all its arguments untouched unless it returns LITH_OK, except
 * that `message` (may be NULL) then gets one sentence that says what is wrong, and where. A failed session call leaves
 * the session as it was.
 *
 * NULL where a model or session must stand is LITH_ERROR_ARGUMENT too; functions without a status then do nothing, and
 * return 0, NULL, or -1 for an index.
 *
 * Ownership. Strings and pointers in results belong to the model or session and live as long as it does, unless the
 * function says less. lith_model_close and lith_session_destroy accept NULL.
 *
 * Options structs start with their own size, set by LITH_..._OPTIONS_INIT; NULL stands for all defaults.
 */
#ifndef MICROLITH_H
#define MICROLITH_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(microlith_EXPORTS)
#define LITH_API __declspec(dllexport)
#elif defined(__GNUC__)
#define LITH_API __attribute__((visibility("default")))
#else
#define LITH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LITH_MAX_RANK 8
#define LITH_MESSAGE_SIZE 512

/* ---- status ----------------------------------------------------------------------------------------------------- */

typedef enum lith_status {
    LITH_OK = 0,
    LITH_ERROR_ARGUMENT = 1,    /* NULL where something must stand, an index or a size out of range */
    LITH_ERROR_MEMORY = 2,      /* the allocator gave NULL */
    LITH_ERROR_IO = 3,          /* the file cannot be read */
    LITH_ERROR_FORMAT = 4,      /* the bytes are not a sound model */
    LITH_ERROR_VERSION = 5,     /* the model was written by a newer version */
    LITH_ERROR_UNSUPPORTED = 6, /* an op or element type that this build has no kernel for */
    LITH_ERROR_SHAPE = 7,       /* the model cannot take inputs of these shapes, or a shape is not known yet */
    LITH_CANCELLED = 8          /* lith_session_cancel was called */
} lith_status;

typedef struct lith_message {
    char text[LITH_MESSAGE_SIZE]; /* UTF-8 where the model's names are; ends in a zero */
} lith_message;

/* "argument", "memory", ...; never NULL. */
LITH_API const char *lith_status_text(lith_status status);

/* "0.1.0" */
LITH_API const char *lith_version(void);

/* ---- memory, instruction sets, element types -------------------------------------------------------------------- */

/* Where memory comes from. `allocate` returns a multiple of `alignment` (a power of two, at most 64), or NULL when
 * there is no more; `release` gets the size that was asked for, and never NULL. Both may be called by any thread that
 * calls a function of this library. */
typedef struct lith_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} lith_allocator;

/* The instruction sets of this machine, one bit each. */
LITH_API uint32_t lith_isa_detect(void);
/* The name of one bit ("avx2"), or NULL. */
LITH_API const char *lith_isa_name(uint32_t bit);
/* Reads names with commas between them ("c,sse41"; "all"; "0x5"). */
LITH_API lith_status lith_isa_parse(const char *names, uint32_t *mask, lith_message *message);

/* Element types have the numbers of the file format: f32 0, f16 1, s8 2, u8 3, s16 4, s32 5, s64 6, b8 7, f64 8,
 * u16 9, u32 10, u64 11. The name, or NULL; bytes of one element, or 0. */
LITH_API const char *lith_dtype_name(int32_t dtype);
LITH_API size_t lith_dtype_size(int32_t dtype);

/* ---- weights that models share ---------------------------------------------------------------------------------- */

/* Kernels read large constants in a layout of their own, for which they are packed when a model is opened. All sessions
 * of one model use the same packed weights. Models that are opened with one cache share them too, where constants,
 * attributes and kernel are the same: the same file opened twice, a file and its bytes in memory, models with a common
 * backbone. Bytes are compared, all of them; results do not depend on a cache.
 *
 * Weights are packed by the model that needs them first (others that are being opened wait), and go with the last
 * session or model that uses any of what was packed with them. Any number of threads may use a cache at once. */
typedef struct lith_weights_cache lith_weights_cache;

/* `allocator` (NULL: malloc and free; copied) gives the memory of the packed weights; what its `user` points to
 * outlives the cache and all models that were opened with it. */
LITH_API lith_status lith_weights_cache_create(const lith_allocator *allocator, lith_weights_cache **cache,
                                               lith_message *message);
/* Ends the caller's use; accepts NULL. The cache goes with the last model that was opened with it, which may be later.
 */
LITH_API void lith_weights_cache_release(lith_weights_cache *cache);

typedef struct lith_weights_info {
    size_t bytes;       /* of all packed weights that are in use */
    size_t saved_bytes; /* that these would take more if nobody shared them */
    int32_t count;      /* packed constants */
} lith_weights_info;

LITH_API lith_status lith_weights_cache_get_info(lith_weights_cache *cache, lith_weights_info *info);

/* ---- models ----------------------------------------------------------------------------------------------------- */

typedef struct lith_model lith_model;

/* Ops from outside of this library: the tables that an extension's sources define, `&nnacl_acme_extension` for one that
 * is called acme (nnacl_extension.h; docs/custom-ops.md). */
typedef struct nnacl_extension lith_extension;

typedef struct lith_model_options {
    size_t struct_size;
    const lith_allocator *allocator; /* NULL: malloc and free. Copied; what `user` points to outlives the model. */
    uint32_t isa_mask;               /* instruction sets that kernels may use, 0: all. Portable C is always allowed. */
    int32_t extension_count;
    const lith_extension *const *extensions; /* what nodes may use beside the ops of this library. The array and what
                                                it points to outlive the model. */
    size_t packed_limit; /* A model of more bytes keeps its weights where they are: no kernel that wants a copy of large
                            ones in another layout is used, which is slower. 0: LITH_PACKED_LIMIT. */
    int32_t no_winograd; /* 1: no convolution of f32 by Winograd, which is faster, rounds a little more, and keeps up
                            to four times the bytes of its weights */
    lith_weights_cache *weights_cache; /* with whose models this one shares packed weights, from the cache's allocator;
                                          NULL: with none */
} lith_model_options;

#define LITH_PACKED_LIMIT ((size_t)1 << 30)

#define LITH_MODEL_OPTIONS_INIT                                                                                        \
    { sizeof(lith_model_options), NULL, 0, 0, NULL, 0, 0, NULL }

/* Opens a file. Where the system can, it is mapped: weights are read from it when they are needed, and not copied
 * unless a kernel wants another layout (`packed_limit`). The file must not change while the model is open. */
LITH_API lith_status lith_model_open(const char *path, const lith_model_options *options, lith_model **model,
                                     lith_message *message);

/* Opens a model that stands in memory. The bytes stay the caller's, and must live and not change until the model is
 * closed. They are used where they are if `data` is a multiple of 16, and copied otherwise. */
LITH_API lith_status lith_model_open_memory(const void *data, size_t size, const lith_model_options *options,
                                            lith_model **model, lith_message *message);

LITH_API void lith_model_close(lith_model *model);

typedef struct lith_tensor_info {
    const char *name;
    int32_t dtype;
    int32_t rank;
    int32_t dims[LITH_MAX_RANK];        /* -1: not known yet */
    const char *symbols[LITH_MAX_RANK]; /* the name of a size that is known at run time only; "": a fixed size */
    size_t size;                        /* bytes; 0 as long as a dimension is not known */
    /* real = scale[i] * (q - zero_point[i]); `quant_count` entries: 0 (not quantized), 1, or one for each slice
     * along quant_axis */
    int32_t quant_count;
    int32_t quant_axis; /* -1: per tensor */
    const float *scales;
    const int32_t *zero_points;
} lith_tensor_info;

LITH_API int32_t lith_model_input_count(const lith_model *model);
LITH_API int32_t lith_model_output_count(const lith_model *model);
/* The inputs and outputs as the file declares them. */
LITH_API lith_status lith_model_input_info(const lith_model *model, int32_t index, lith_tensor_info *info);
LITH_API lith_status lith_model_output_info(const lith_model *model, int32_t index, lith_tensor_info *info);
/* -1: there is none of that name. */
LITH_API int32_t lith_model_input_index(const lith_model *model, const char *name);
LITH_API int32_t lith_model_output_index(const lith_model *model, const char *name);

/* The sizes, both included, that the inputs' dimensions of a name (lith_tensor_info.symbols) may have: any, unless the
 * model was converted with a range. */
LITH_API lith_status lith_model_size_range(const lith_model *model, const char *symbol, int32_t *low, int32_t *high);
/* Between the smallest and the largest only every so many: low, low + step, ... high. 1 where all are possible. */
LITH_API lith_status lith_model_size_step(const lith_model *model, const char *symbol, int32_t *step);

typedef struct lith_model_info {
    const char *name;
    const char *producer;
    int32_t format_version;
    int32_t contract; /* rounding of integer ops: 0 tflite-double, 1 single, 2 float-even */
    int32_t node_count;
    int32_t metadata_count;
    int32_t is_static;  /* 0: an input has a dimension that is known at run time only, or is_dynamic */
    int32_t is_dynamic; /* 1: sizes depend on the values of inputs; those of outputs are known only after a run */
    uint32_t isa_mask;  /* the instruction sets that kernels are chosen from */
    int64_t macs;       /* multiply-accumulates of one run; 0 unless is_static */
    size_t file_bytes;
    size_t constant_bytes; /* weights and tables in the file */
    size_t packed_bytes;   /* copies of weights in the layout of a kernel; other models may share them */
} lith_model_info;

LITH_API lith_status lith_model_get_info(const lith_model *model, lith_model_info *info);

typedef struct lith_prepacked_info {
    const char *target; /* the machine that `microlith convert --prepack` was given; "": none */
    int32_t count;      /* constants that the file holds in the layout of a kernel */
    int32_t used; /* of these, those that the kernels chosen here read from the file. The others are for kernels that
                     this machine or build has not, or of another version, and what they stand for was packed anew. */
} lith_prepacked_info;

LITH_API lith_status lith_model_prepacked(const lith_model *model, lith_prepacked_info *info);

/* Pair `index` of what the converter noted. */
LITH_API lith_status lith_model_metadata(const lith_model *model, int32_t index, const char **key, const char **value);
/* The value for a key, or NULL. */
LITH_API const char *lith_model_metadata_find(const lith_model *model, const char *key);
/* A model that takes or gives texts has integers in their place, -1 for a text that it does not know: the text for the
 * integer `index` of an input or output. Of an output of real or quantized numbers: what position `index` of its last
 * dimension stands for. `*length` bytes in UTF-8, without a NUL behind them; NULL: there is none. */
LITH_API const char *lith_model_label(const lith_model *model, const char *tensor, int64_t index, size_t *length);

typedef struct lith_node_info {
    const char *name;
    const char *op;
    const char *source; /* the operator of the original model */
    const char *kernel; /* the C function that runs it; NULL as long as shapes are not known */
    int64_t macs;
} lith_node_info;

LITH_API lith_status lith_model_node_info(const lith_model *model, int32_t index, lith_node_info *info);

/* ---- sessions --------------------------------------------------------------------------------------------------- */

typedef struct lith_session lith_session;

typedef struct lith_session_options {
    size_t struct_size;
    const lith_allocator *allocator; /* NULL: that of the model. Packed weights are always the model's. */
    int32_t threads;                 /* 0 and 1: the calling thread only. Results do not depend on it. */
    int32_t keep_inputs;  /* 1: inputs keep their values after a run (needs more memory); 0: a run may reuse their
                             memory, so set every input before each run */
    const int32_t *cores; /* Numbers of the cores that threads stay on: the library's first thread on cores[1], the next
                             on cores[2], and so on from the start again; cores[0] is that of the thread that calls run,
                             which the caller binds himself if he wants. Linux and Android. NULL: the system chooses. */
    int32_t core_count;
} lith_session_options;

#define LITH_SESSION_OPTIONS_INIT                                                                                      \
    { sizeof(lith_session_options), NULL, 1, 0, NULL, 0 }

/* Makes the memory that runs of a model need. If the model is not static, nothing but lith_session_resize works until
 * that has been called. */
LITH_API lith_status lith_session_create(const lith_model *model, const lith_session_options *options,
                                         lith_session **session, lith_message *message);
LITH_API void lith_session_destroy(lith_session *session);

typedef struct lith_shape {
    int32_t rank;
    int32_t dims[LITH_MAX_RANK];
} lith_shape;

/* Sets the shapes of all inputs at once, one entry for each. Buffers bound before are unbound, values of inputs are
 * lost; state (see lith_session_reset) is kept if its size stays the same. */
LITH_API lith_status lith_session_resize(lith_session *session, const lith_shape *shapes, int32_t count,
                                         lith_message *message);

/* The inputs and outputs as they are in this session. A dynamic model's outputs have their declared shape before a run,
 * with -1 where that is open, and the one that came out after it. */
LITH_API lith_status lith_session_input_info(const lith_session *session, int32_t index, lith_tensor_info *info);
LITH_API lith_status lith_session_output_info(const lith_session *session, int32_t index, lith_tensor_info *info);

/* Copies a whole tensor in or out; `size` is that of the tensor. */
LITH_API lith_status lith_session_set_input(lith_session *session, int32_t index, const void *data, size_t size,
                                            lith_message *message);
LITH_API lith_status lith_session_get_output(const lith_session *session, int32_t index, void *data, size_t size,
                                             lith_message *message);

/* Where a tensor lies, to write an input or read an output in place: valid until the next resize or bind; an output of
 * a dynamic model also only until the next run. NULL: no such index, shapes not known yet, (inputs) a buffer of the
 * caller is bound, or (outputs of a dynamic model) there was no run. */
LITH_API void *lith_session_input_data(lith_session *session, int32_t index);
LITH_API const void *lith_session_output_data(const lith_session *session, int32_t index);

/* Lets runs read an input from, or write an output to, memory of the caller without a copy, from now on, until it is
 * bound again (NULL: back to memory of the session). Inputs are never written to. `data` is a multiple of the element
 * size and lives as long as it is bound; `size` is that of the tensor. Where that is known only after a run, `size` is
 * that of the buffer: it gets a copy, and a run whose output is larger fails. What other inputs were set to stays;
 * values of outputs that are not bound are lost until the next run. No two bound buffers overlap. */
LITH_API lith_status lith_session_bind_input(lith_session *session, int32_t index, const void *data, size_t size,
                                             lith_message *message);
LITH_API lith_status lith_session_bind_output(lith_session *session, int32_t index, void *data, size_t size,
                                              lith_message *message);

/* Runs the model once. */
LITH_API lith_status lith_session_run(lith_session *session, lith_message *message);

/* Sets the state of a streaming model back to its start. */
LITH_API void lith_session_reset(lith_session *session);

/* Makes the run in progress, or else the next one, return LITH_CANCELLED after the node that it is in. From any thread,
 * or from a profile function. Layers that run together by rows are one node here. */
LITH_API void lith_session_cancel(lith_session *session);

typedef struct lith_profile_event {
    int32_t node; /* index */
    const char *name;
    const char *op;
    const char *kernel;
    int64_t nanoseconds; /* 0: no code ran, the result is a view of the input. Of layers that run together by rows: its
                            share of their time */
    int64_t macs;
    int32_t parts; /* that the work was split into */
} lith_profile_event;

/* Called after each node by the thread that called run. It must not call the session, lith_session_cancel excepted. */
typedef void (*lith_profile_fn)(void *user, const lith_profile_event *event);

/* NULL: no more. */
LITH_API void lith_session_set_profiler(lith_session *session, lith_profile_fn function, void *user);

typedef struct lith_memory_info {
    size_t arena_bytes;       /* activations and scratch */
    size_t lower_bound_bytes; /* the largest set that lives at once: no plan needs less */
    size_t packed_bytes;      /* packed weights that the model itself does not use: for other shapes */
    size_t overhead_bytes;    /* tables of the session */
    int32_t threads;
} lith_memory_info;

LITH_API lith_status lith_session_memory(const lith_session *session, lith_memory_info *info);

#ifdef __cplusplus
}
#endif

#endif
