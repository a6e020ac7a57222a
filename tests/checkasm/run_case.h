/* Running one case on rows of the kernel table. */
#ifndef RUN_CASE_H
#define RUN_CASE_H

#include "checkasm.h"

typedef struct run_options {
    uint32_t isa_mask; /* rows outside of it are left alone; the `c` row is the reference all the same */
    bool bench;
    int32_t owed; /* only rows with fewer visits than this, and nothing for the digest; 0: all rows */
} run_options;

/* What is known of a row after some cases. */
typedef struct row_result {
    int32_t visits;
    int32_t failures;
    double nanoseconds; /* of the last benchmark */
    uint64_t digest;    /* of its results, where it was the reference; the same on every machine */
} row_result;

/* The outputs of a case. Their results lie one behind the other in one block. */
typedef struct outputs {
    int32_t count;
    nnacl_tensor at[CHECK_MAX_OUTPUTS];
} outputs;

size_t tensor_bytes(const nnacl_tensor *tensor);

/* Where output `index` begins in a block of results; with the count of outputs: bytes of all. */
size_t output_offset(const outputs *out, int32_t index);

/* Runs a case with these outputs on every row. With `spoilt` floats are not compared. */
bool run_rows(const check_case *c, const run_options *options, row_result *results, const char *where,
              const outputs *out, bool spoilt);

/* Runs the case on every row of its op and type, compares, and counts in results[row index]. `where` names the case in
 * messages. Returns false when something failed that belongs to no row: the plan half refused the case. */
bool run_case(const check_case *c, const run_options *options, row_result *results, const char *where);

/* Spoils the case at random. What the plan half still accepts must run within its memory, and every row must agree. */
bool run_spoilt(check_case *c, const run_options *options, row_result *results, const char *where);

/* The row can be run by this build on this machine. */
bool run_possible(const nnacl_kernel *row);

/* The row is among those that the options name, can be run, and owes visits: it has had fewer than options->owed, and
 * has not failed so often that it is not run again. */
bool run_owes(const nnacl_kernel *row, const run_options *options, const row_result *result);

void case_free(check_case *c);

#endif
