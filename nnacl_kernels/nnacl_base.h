/* SPDX-License-Identifier: Apache-2.0 */
/* The types that every kernel and every plan half share.
 *
 * A kernel is one function with one uniform signature (nnacl_kernel_fn). Everything that it needs to know
 * stands in its parameter struct, which holds only 4-byte integers, floats and fixed arrays of them: the same
 * bytes are the wire format of a .lith file and the initialiser that the code generator prints.
 *
 * Trust: bytes of a file are hostile until nnacl_check() has accepted them. After that a kernel cannot fail; it
 * never allocates and never reads or writes outside the tensors that its parameters describe.
 */
#ifndef NNACL_BASE_H
#define NNACL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nnacl_names.h"
#include "nnacl_needs.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NNACL_NOINLINE __attribute__((noinline))
/* Inlined whatever its size: where constant arguments make another loop of the same lines. */
#define NNACL_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define NNACL_NOINLINE
#define NNACL_ALWAYS_INLINE static inline
#endif

#define NNACL_MAX_RANK 8
#define NNACL_MAX_INPUTS 64
#define NNACL_MAX_OUTPUTS 64
#define NNACL_MAX_PARAMS_SIZE 512

/* Element types. The numbers are part of the file format: append only. */
#define NNACL_F32 0
#define NNACL_F16 1
#define NNACL_S8 2
#define NNACL_U8 3
#define NNACL_S16 4
#define NNACL_S32 5
#define NNACL_S64 6
#define NNACL_B8 7
#define NNACL_F64 8
#define NNACL_U16 9
#define NNACL_U32 10
#define NNACL_U64 11
/* In a kernel row only: the kernel moves bytes and serves every element type. */
#define NNACL_ANY 255

/* Rounding contracts: how an int32 accumulator becomes a narrow integer. Part of the file format. */
#define NNACL_ROUND_TFLITE_DOUBLE 0
#define NNACL_ROUND_SINGLE 1
#define NNACL_ROUND_FLOAT_EVEN 2
/* In parameter structs only, under the contract tflite-double: where LiteRT's last rounding shift takes halves up
 * instead of away from zero. In its matrix products everywhere; in its depthwise convolution in all whole groups of 8
 * channels. */
#define NNACL_ROUND_TFLITE_UP 3
#define NNACL_ROUND_TFLITE_UP_BY_8 4
/* In add: the right shifts of the operands round down, the last one as in tflite-double. In reduce_sum: the exact
 * product, halves away from zero. */
#define NNACL_ROUND_TFLITE_DOWN 5
/* Whether a rounding is this one; known to the compiler where no layer needs it. */
#define NNACL_ROUNDS(rounding, contract) ((NNACL_NEEDS_ROUNDINGS >> (contract)&1) && (rounding) == (contract))
/* Whether weights have `count` bits, where a project may know that none have. */
#define NNACL_HAS_BITS(bits, count) ((NNACL_NEEDS_BITS >> (count)&1) && (bits) == (count))

/* What the plan half knows of a tensor. `data` is NULL unless the tensor is a constant. */
typedef struct nnacl_tensor {
    int32_t dtype;
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    const void *data;
} nnacl_tensor;

/* What a kernel gets beside its tensors: scratch memory of the size that the plan half asked for, and which share
 * of the work to do (part of parts; 0 of 1 is all of it). */
typedef struct nnacl_ctx {
    void *workspace;
    size_t workspace_size;
    int32_t part;
    int32_t parts;
} nnacl_ctx;

/* `in` has one entry for each input of the node; an absent optional input before the last is NULL. A kernel looks no
 * further than its parameters tell it to, so absent optional inputs at the end need no entry. */
typedef void (*nnacl_kernel_fn)(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]);

/* Declares a kernel; stands above each definition and in generated code. */
#define NNACL_DECLARE(symbol) void symbol(const nnacl_ctx *, const void *, const void *const[], void *const[])

#ifdef __cplusplus
}
#endif

#endif
