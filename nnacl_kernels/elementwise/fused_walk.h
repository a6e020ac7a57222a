/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernels of fused_elementwise go over their tensors: block by block of y, and for each block step by step. */
#ifndef NNACL_FUSED_WALK_H
#define NNACL_FUSED_WALK_H

#include "elementwise/elementwise.h"

/* What a function takes and gives. */
#define NNACL_FUSED_NONE 0     /* there is no such function */
#define NNACL_FUSED_UNARY 1    /* f32 -> f32 */
#define NNACL_FUSED_BINARY 2   /* f32, f32 -> f32 */
#define NNACL_FUSED_COMPARE 3  /* f32, f32 -> b8 */
#define NNACL_FUSED_CLASSIFY 4 /* f32 -> b8 */
#define NNACL_FUSED_LOGIC 5    /* b8, b8 -> b8 */
#define NNACL_FUSED_NOT 6      /* b8 -> b8 */
#define NNACL_FUSED_WHERE 7    /* b8, f32, f32 -> f32 */

/* An operand of a step for one block. */
typedef struct nnacl_fused_operand {
    const void *data;
    int32_t step; /* 0: one element for all of the block */
} nnacl_fused_operand;

/* A simple function as a loop of its own, for which a kernel call would be more work than the block. At most one
 * operand is a single element; of a unary function operands 1 and 2 are alpha and beta. */
typedef void (*nnacl_fused_loop)(int32_t count, const nnacl_fused_operand *operands, float *y);

typedef struct nnacl_fused_function {
    nnacl_kernel_fn run;
    int32_t kind;
    nnacl_fused_loop loop; /* NULL: call the kernel */
} nnacl_fused_function;

/* Elements of y in a block: few enough that all registers stay in the nearest cache, and that they take little memory
 * on a small machine. */
#define NNACL_FUSED_BLOCK_C 256
#define NNACL_FUSED_BLOCK_AVX2 1024

/* Bytes at the start of the workspace for the parameters of a step. */
#define NNACL_FUSED_SCRATCH 256

/* How a call is divided: blocks of `rows` whole rows of y or, when `rows` is 1, of at most `block` elements of a row.
 */
typedef struct nnacl_fused_layout {
    int32_t block, rows, width;
    int32_t all_rows;
    int32_t gathered; /* bit i: the block of input i is put together in the workspace */
} nnacl_fused_layout;

static inline nnacl_fused_layout nnacl_fused_lay_out(const nnacl_fused_params *p, int32_t block) {
    const int32_t width = p->dims[p->rank - 1];
    const int32_t all_rows = width > 0 ? p->count / width : 0;
    const int32_t fit = width > 0 && width <= block ? block / width : 1;
    nnacl_fused_layout layout = {block, fit < all_rows ? fit : all_rows, width, all_rows, 0};
    for (int32_t i = 0; i < p->n_inputs && layout.rows > 1; i++) {
        if (p->masks[i] != 0 && p->masks[i] != (1 << p->rank) - 1) {
            layout.gathered |= 1 << i;
        }
    }
    layout.block = p->count < block ? p->count : block;
    return layout;
}

static inline int32_t nnacl_fused_place(const nnacl_fused_params *p, int32_t step) {
    return (int32_t)((uint32_t)p->places[step / 8] >> (step % 8 * 4)) & 15;
}

/* Computes one part. `functions` are those of fused_functions.def by number. */
void nnacl_fused_walk(const nnacl_fused_function *functions, int32_t block, const nnacl_ctx *ctx,
                      const nnacl_fused_params *p, const void *const in[], void *const out[]);

#endif
