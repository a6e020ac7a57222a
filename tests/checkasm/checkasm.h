/* checkasm compares every kernel of the table with the `c` row of its op, on random data between guard pages.
 *
 * A check_<family>.c says, for each op of its family, how to draw a random instance: it sets the attributes in the
 * parameter struct and adds the inputs. Everything else is the same for all ops and stands in case.c.
 */
#ifndef CHECKASM_H
#define CHECKASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nnacl_kernels.h"

#define CHECK_MAX_OUTPUTS 8

/* One instance of an op: its parameters and inputs. */
typedef struct check_case {
    const nnacl_op *op;
    int32_t dtype; /* of input 0; what the rows under test take */
    bool bench;    /* draw a typical large instance */
    bool moves;    /* the rows move bytes: halves are any bits, else numbers in -4 .. 4 */
    uint64_t random;
    union {
        int32_t words[NNACL_MAX_PARAMS_SIZE / 4];
        char bytes[NNACL_MAX_PARAMS_SIZE];
    } params;
    int32_t n_in;
    nnacl_tensor in[NNACL_MAX_INPUTS];
    void *data[NNACL_MAX_INPUTS]; /* NULL: absent */
    bool constant[NNACL_MAX_INPUTS];
    int32_t n_out; /* 1 unless the draw says otherwise; CHECK_MAX_OUTPUTS at most */
    /* How far a float result may be off: absolute + relative * (largest magnitude in the output). */
    double relative, absolute;
} check_case;

typedef struct check_op {
    const char *op;
    void (*draw)(check_case *c);
} check_op;

typedef struct check_family {
    const char *name;
    const check_op *ops; /* ends with op NULL */
} check_family;

extern const check_family check_attention, check_conv, check_cumulative, check_data, check_dense, check_elementwise,
    check_image, check_index, check_norm, check_ordered, check_pool, check_quant, check_reduce, check_rnn, check_signal,
    check_softmax, check_tree, check_volume;

/* Randomness; all of it comes from the seed of the case. Draw one value in a statement: the order of arguments differs
 * from compiler to compiler. */
uint32_t check_bits(check_case *c);
/* least .. most */
int32_t check_int(check_case *c, int32_t least, int32_t most);
bool check_chance(check_case *c, int32_t percent);
float check_float(check_case *c, float least, float most);
/* 2^(exponent - 1) .. 2^exponent */
float check_power(check_case *c, int32_t exponent);
/* A dimension 1 .. most, small ones and odd ones preferred; `large` in a benchmark. */
int32_t check_dim(check_case *c, int32_t most, int32_t large);
/* A shape of `rank` dimensions with at most `most` elements. */
void check_shape(check_case *c, int32_t rank, int32_t most, int32_t *dims);

/* Adds an input with random values (for floats mostly -4 .. 4, for integers the whole range of s8 and u8, less of wider
 * types, 0 and 1 of b8) and returns them. */
void *check_input(check_case *c, int32_t dtype, int32_t rank, const int32_t *dims);
void *check_vector(check_case *c, int32_t dtype, int32_t size);
/* Strews values into an input of f32 or f16 that arithmetic treats apart: zeros of both signs, very large and small
 * ones, infinities and NaN. */
void check_strew(check_case *c, int32_t index);
/* Adds an absent input. */
void check_absent(check_case *c);
/* The last input is a constant: kernels may want it packed. */
void check_mark_constant(check_case *c);
/* Adds the requant input of convolutions and dense for sums of about `terms` products. */
void check_requant(check_case *c, int32_t channels, int32_t rounding, int32_t terms);

/* Adds zero points of bytes, s32 [count]. */
void check_zeros(check_case *c, int32_t count);

/* Sets the tolerance of a float sum of `terms` products of inputs in -4 .. 4, which the clamp may have hidden. */
void check_sum_tolerance(check_case *c, int32_t terms);

/* Random values of attributes that many ops have. */
void check_clamp(check_case *c, float *low, float *high);
void check_quantized_range(check_case *c, int32_t *low, int32_t *high);
int32_t check_zero(check_case *c);
/* A multiplier and shift of about 2^exponent. */
void check_multiplier(check_case *c, int32_t exponent, int32_t *multiplier, int32_t *shift);

#endif
