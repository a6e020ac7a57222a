/* SPDX-License-Identifier: Apache-2.0 */
/* The two tables of the library: ops (the plan half of each) and kernels (the run half, one row per variant).
 *
 * Both hold every row on every machine: a kernel that this build has no code for (a NEON kernel on x86, say) has
 * `run` NULL, but its plan half still answers. So a converter or code generator plans for any target from any host.
 */
#ifndef NNACL_KERNELS_H
#define NNACL_KERNELS_H

#include "nnacl_base.h"
#include "nnacl_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the output of an op may share the memory of its first input. */
#define NNACL_ALIAS_NONE 0
/* Element i of the output depends on element i of the input only: may run in place when the sizes are equal. */
#define NNACL_ALIAS_IN_PLACE 1
/* The output is the same bytes under another shape: no code runs when both share memory. */
#define NNACL_ALIAS_VIEW 2

/* What resize() returns, by this very address, when it lacks the values of an input of `data_inputs`. */
#define NNACL_NEEDS_DATA nnacl_needs_data
extern const char nnacl_needs_data[];

/* From packed_size(): the kernel does not read this constant, because pack() puts what it says into another input. */
#define NNACL_PACKED_ELSEWHERE SIZE_MAX

/* Grows whenever a kernel wants its packed inputs in another layout than before: files may hold them. */
#define NNACL_PACKED_LAYOUT 1

/* How the memory of an input may overlap that of the first output, when the work is done as one part.
 *
 * A kernel that goes forward through both has read everything that it still needs before its writes get there, as long
 * as the input begins far enough behind the output. The input may begin `bytes` bytes behind the beginning of the
 * output (less than 0: before it), or further: NNACL_LEAD_FROM; or there and nowhere else: NNACL_LEAD_AT. */
#define NNACL_LEAD_NONE 0 /* they must be apart */
#define NNACL_LEAD_FROM 1
#define NNACL_LEAD_AT 2

typedef struct nnacl_lead {
    int64_t bytes;
    int32_t kind; /* NNACL_LEAD_* */
} nnacl_lead;

typedef struct nnacl_kernel nnacl_kernel;

/* The plan half of an op: portable, answers for any target. Functions that may be NULL say so. */
typedef struct nnacl_op {
    const char *name;
    const char *params_name; /* C name of the parameter struct, "nnacl_conv2d_params" */
    const char *header;      /* that declares it, "conv/conv.h" */
    size_t params_size;
    int32_t alias; /* NNACL_ALIAS_* */

    /* Derives everything that follows from the shapes: fills the shape fields of `params` (the attribute fields are
     * given) and sets dtype, rank and dims of each output. Refuses attributes or inputs that the kernels could not
     * run safely, the values of constant inputs included. Returns NULL, or a sentence that says what is wrong.
     * An absent optional input has dtype -1.
     *
     * Where a present input stands for attributes (axes, sizes, positions; see `data_inputs`), its values replace those
     * of the attributes in `params`: without the input, the resulting attributes mean the same for the same shapes. */
    const char *(*resize)(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out);

    /* Bytes of scratch memory that one part of the work needs. NULL: none. */
    size_t (*workspace)(const void *params, const nnacl_kernel *kernel);

    /* Bytes of constant input `index` in the layout that `kernel` wants; 0: as it is;
     * NNACL_PACKED_ELSEWHERE: not at all. NULL: no input is packed. A kernel for which this is not 0 for an input that
     * is not constant cannot serve: look for another. */
    size_t (*packed_size)(const void *params, const nnacl_kernel *kernel, int32_t index);

    /* Writes packed_size() bytes to `packed`. `in` holds all inputs; those that are not constant are NULL. */
    void (*pack)(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[], void *packed);

    /* The most parts that the work can be split into. NULL: 1. */
    int32_t (*parts)(const void *params, const nnacl_kernel *kernel);

    /* How input `index` may overlap the first output. NULL: NNACL_LEAD_NONE for every input. */
    nnacl_lead (*lead)(const void *params, const nnacl_kernel *kernel, int32_t index);

    /* The first output holds input `index` as one run of bytes, which begins so many bytes behind its beginning; -1: in
     * several runs. No code runs when all inputs lie there. NULL: never. */
    int64_t (*holds)(const void *params, int32_t index);

    /* The first output is one run of bytes of input 0, which begins so many bytes behind its beginning; -1: several
     * runs. No code runs when the output lies there. NULL: never. */
    int64_t (*held)(const void *params);

    /* Multiply-accumulates of one run (0 for an op that only moves or compares). NULL: 0. */
    int64_t (*macs)(const void *params);

    /* Bit i: resize() reads the values of input i if it is present, and returns NNACL_NEEDS_DATA as long as its data is
     * NULL. An op whose output sizes depend on what it computes from (nonzero) lists that input too, and counts. */
    uint64_t data_inputs;

    /* 1: what the op computes follows from the types of its inputs alone (shape, size). */
    int32_t types_only;

    /* Rows begin .. end - 1 (along axis 1) of the first output by themselves: fills `part` with the parameters of a
     * node whose output they are, and whose input 0 is rows rows[0] .. rows[1] - 1 of this one's. With `kernel`, its
     * other inputs and its workspace they get the same bits as in the whole. false: they would not. NULL: never. */
    bool (*stripe)(const void *params, const nnacl_kernel *kernel, int32_t begin, int32_t end, void *part,
                   int32_t rows[2]);
} nnacl_op;

struct nnacl_kernel {
    const char *op;
    const char *symbol;
    const char *file;                    /* that defines it, "conv/conv2d_s8_c.c" */
    int32_t dtype;                       /* type of input 0, or NNACL_ANY */
    uint32_t isa;                        /* one bit */
    nnacl_kernel_fn run;                 /* NULL: no code in this build */
    bool (*accepts)(const void *params); /* NULL: runs whatever the op allows */
};

/* Ops by position; NULL past the last. */
const nnacl_op *nnacl_op_at(int32_t index);
/* NULL when there is no such op. */
const nnacl_op *nnacl_op_find(const char *name);

/* Kernel rows by position, best first within an op and dtype; NULL past the last. */
const nnacl_kernel *nnacl_kernel_at(int32_t index);

/* In a mask of instruction sets: no kernel that multiplies less and rounds more, which Winograd's convolutions do. */
#define NNACL_MASK_DIRECT 0x80000000u
bool nnacl_kernel_is_winograd(const nnacl_kernel *kernel);
/* `isa_mask` for the next choice, when this kernel cannot serve. */
uint32_t nnacl_kernel_mask_without(const nnacl_kernel *kernel, uint32_t isa_mask);

/* The best row for an op, dtype and params whose instruction set is in `isa_mask`, or NULL. With `runnable` only rows
 * that this build can run are looked at. */
const nnacl_kernel *nnacl_kernel_find(const char *op, int32_t dtype, const void *params, uint32_t isa_mask,
                                      int32_t runnable);

/* The same among the rows of another table. */
const nnacl_kernel *nnacl_kernel_choose(const nnacl_kernel *rows, int32_t n_rows, const char *op, int32_t dtype,
                                        const void *params, uint32_t isa_mask, int32_t runnable);

/* Holds `params` (params_size bytes) and the output types against what resize() derives from the inputs. Returns
 * NULL when both agree exactly, NNACL_NEEDS_DATA when that cannot be told before a run, else a sentence. This is the
 * gate that hostile files have to pass. */
const char *nnacl_check(const nnacl_op *op, const void *params, const nnacl_tensor *in, int32_t n_in,
                        const nnacl_tensor *out, int32_t n_out);

/* Bytes of one element; 0 for an unknown type. */
size_t nnacl_dtype_size(int32_t dtype);
/* "f32", "s8", ...; NULL for an unknown type. */
const char *nnacl_dtype_name(int32_t dtype);
/* Number of elements, or -1 when the rank or a dimension is out of range or the product passes 2^31 - 1. */
int64_t nnacl_element_count(const nnacl_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
