/* SPDX-License-Identifier: Apache-2.0 */
/* The plan half of fused_elementwise: a program is verified here, so that its kernels can trust it. */
#include <string.h>

#include "common/lead.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "elementwise/fused_walk.h"

#define LEAST_ELEMENTS_PER_PART 16384

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop) [number] = NNACL_FUSED_##kind,
static const uint8_t kinds[] = {
#include "elementwise/fused_functions.def"
};
#undef NNACL_FUNCTION

/* What an operand has to be. */
enum { NOTHING, REAL, TRUTH, CONSTANT };

typedef struct signature {
    uint8_t operands[3];
    uint8_t result;
} signature;

static const signature signatures[] = {
    [NNACL_FUSED_UNARY] = {{REAL, CONSTANT, CONSTANT}, REAL},
    [NNACL_FUSED_BINARY] = {{REAL, REAL}, REAL},
    [NNACL_FUSED_COMPARE] = {{REAL, REAL}, TRUTH},
    [NNACL_FUSED_CLASSIFY] = {{REAL, CONSTANT, CONSTANT}, TRUTH},
    [NNACL_FUSED_LOGIC] = {{TRUTH, TRUTH}, TRUTH},
    [NNACL_FUSED_NOT] = {{TRUTH, CONSTANT, CONSTANT}, TRUTH},
    [NNACL_FUSED_WHERE] = {{TRUTH, REAL, REAL}, REAL},
};

static const signature *signature_of(int32_t step) {
    const int32_t function = step & 255;
    const int32_t kind = function < (int32_t)sizeof kinds ? kinds[function] : NNACL_FUSED_NONE;
    return kind == NNACL_FUSED_NONE ? NULL : &signatures[kind];
}

static int32_t operand_at(int32_t step, int32_t index) {
    return step >> (8 * (index + 1)) & 255;
}

/* NULL, or why an operand of step `number` is none. */
static const char *check_operand(const nnacl_fused_params *p, int32_t number, int32_t code, int32_t wanted) {
    if (wanted == NOTHING) {
        NNACL_REQUIRE(code == 0, "a step has more operands than its function");
        return NULL;
    }
    if (code >= NNACL_FUSED_CONSTANT) {
        NNACL_REQUIRE(code < NNACL_FUSED_CONSTANT + p->constant_count, "an operand is no constant of the program");
        NNACL_REQUIRE(wanted != TRUTH, "an operand of a step has the wrong type");
        return NULL;
    }
    NNACL_REQUIRE(wanted != CONSTANT, "alpha or beta of a step is not a constant");
    int32_t type;
    if (code >= NNACL_FUSED_STEP) {
        NNACL_REQUIRE(code - NNACL_FUSED_STEP < number, "an operand is the result of a step that is not before");
        type = signature_of(p->steps[code - NNACL_FUSED_STEP])->result;
    } else {
        NNACL_REQUIRE(code < p->n_inputs, "an operand is an input that the node does not have");
        type = (p->byte_inputs >> code & 1) != 0 ? TRUTH : REAL;
    }
    NNACL_REQUIRE(type == wanted, "an operand of a step has the wrong type");
    return NULL;
}

/* Checks all steps, and says which step is the last to use the result of each. */
static const char *check_steps(const nnacl_fused_params *p, int32_t *last_use) {
    NNACL_REQUIRE(p->step_count >= 1 && p->step_count <= NNACL_FUSED_STEPS, "step_count is outside 1 .. 16");
    NNACL_REQUIRE(p->constant_count >= 0 && p->constant_count <= NNACL_FUSED_CONSTANTS,
                  "constant_count is outside 0 .. 16");
    for (int32_t k = 0; k < NNACL_FUSED_STEPS; k++) {
        last_use[k] = -1;
        if (k >= p->step_count) {
            NNACL_REQUIRE(p->steps[k] == 0, "there is something behind the last step");
            continue;
        }
        const signature *s = p->steps[k] >= 0 ? signature_of(p->steps[k]) : NULL;
        NNACL_REQUIRE(s, "a step has no known function");
        for (int32_t i = 0; i < 3; i++) {
            const int32_t code = operand_at(p->steps[k], i);
            const char *message = check_operand(p, k, code, s->operands[i]);
            NNACL_REQUIRE(!message, message);
            if (code >= NNACL_FUSED_STEP && code < NNACL_FUSED_CONSTANT) {
                last_use[code - NNACL_FUSED_STEP] = k;
            }
        }
    }
    for (int32_t k = 0; k + 1 < p->step_count; k++) {
        NNACL_REQUIRE(last_use[k] > k, "nobody uses the result of a step");
    }
    NNACL_REQUIRE(signature_of(p->steps[p->step_count - 1])->result == REAL, "the result of the program is not f32");
    return NULL;
}

/* The last step that reads an input which may lie in the memory of y. From there on results may be written to y. */
static int32_t last_flat_read(const nnacl_fused_params *p) {
    for (int32_t k = p->step_count - 1; k >= 0; k--) {
        for (int32_t i = 0; i < 3; i++) {
            const signature *s = signature_of(p->steps[k]);
            const int32_t code = operand_at(p->steps[k], i);
            if ((s->operands[i] == REAL || s->operands[i] == TRUTH) && code < NNACL_FUSED_STEP &&
                p->masks[code] == (1 << p->rank) - 1) {
                return k;
            }
        }
    }
    return 0;
}

/* Gives each step the lowest register that is free. A step may write over what it reads, except that floats must not
 * be written over the bytes of a condition; so these never lie in y. */
static void place_steps(nnacl_fused_params *p, const int32_t *last_use) {
    const int32_t flat = last_flat_read(p);
    int32_t owner[NNACL_FUSED_STEPS]; /* the step whose result a register holds, or -1 */
    for (int32_t r = 0; r < NNACL_FUSED_STEPS; r++) {
        owner[r] = -1;
    }
    p->registers = 0;
    memset(p->places, 0, sizeof p->places);
    for (int32_t k = 0; k < p->step_count; k++) {
        const bool real = signature_of(p->steps[k])->result == REAL;
        int32_t place = k >= flat && real ? 0 : 1;
        for (;; place++) {
            const int32_t old = owner[place];
            if (old < 0 || last_use[old] < k) {
                break;
            }
            const bool same_size = signature_of(p->steps[old])->result == REAL || !real;
            if (last_use[old] == k && same_size) {
                break;
            }
        }
        owner[place] = k;
        p->registers = place > p->registers ? place : p->registers;
        p->places[k / 8] = (int32_t)((uint32_t)p->places[k / 8] | (uint32_t)place << (k % 8 * 4));
    }
}

/* Merges the dimensions along which every input steps alike. */
static void merge(nnacl_fused_params *p, const nnacl_tensor *in, int32_t rank, const int32_t *dims) {
    memset(p->masks, 0, sizeof p->masks);
    memset(p->dims, 0, sizeof p->dims);
    p->rank = 0;
    for (int32_t d = 0; d < rank; d++) {
        if (dims[d] == 1) {
            continue;
        }
        int32_t steps = 0; /* bit i: input i steps along this dimension */
        bool even = p->rank > 0;
        for (int32_t i = 0; i < p->n_inputs; i++) {
            const int32_t axis = d - (rank - in[i].rank);
            const int32_t along = axis >= 0 && in[i].dims[axis] != 1;
            steps |= along << i;
            even = even && (p->masks[i] >> (p->rank - 1) & 1) == along;
        }
        if (even) {
            p->dims[p->rank - 1] *= dims[d];
            continue;
        }
        for (int32_t i = 0; i < p->n_inputs; i++) {
            p->masks[i] |= (steps >> i & 1) << p->rank;
        }
        p->dims[p->rank++] = dims[d];
    }
    if (p->count == 0 || p->rank == 0) {
        memset(p->dims, 0, sizeof p->dims);
        p->rank = 1;
        p->dims[0] = p->count;
        for (int32_t i = 0; i < p->n_inputs; i++) {
            p->masks[i] = 1;
        }
    }
}

static const char *resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_fused_params *p = params;
    const nnacl_tensor *operands[NNACL_FUSED_INPUTS] = {NULL};
    int32_t dims[NNACL_MAX_RANK] = {0}, last_use[NNACL_FUSED_STEPS];
    const char *message = nnacl_shape_check(in, n_in, 1, NNACL_FUSED_INPUTS, n_out);
    NNACL_REQUIRE(!message, message);
    p->n_inputs = n_in;
    p->byte_inputs = 0;
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "the first input is not f32");
    for (int32_t i = 0; i < n_in; i++) {
        NNACL_REQUIRE(in[i].dtype == NNACL_F32 || in[i].dtype == NNACL_B8, "an input is neither f32 nor b8");
        p->byte_inputs |= (in[i].dtype == NNACL_B8) << i;
        operands[i] = &in[i];
    }
    message = check_steps(p, last_use);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = nnacl_shape_broadcast(operands, n_in, dims);
    NNACL_REQUIRE(rank >= 0, "the shapes of the inputs cannot be broadcast together");
    message = nnacl_shape_set(&out[0], NNACL_F32, rank, dims);
    NNACL_REQUIRE(!message, message);
    p->count = (int32_t)nnacl_element_count(&out[0]);
    merge(p, in, rank, dims);
    place_steps(p, last_use);
    return NULL;
}

static int32_t block_of(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_C | NNACL_ISA_NEON)) != 0 ? NNACL_FUSED_BLOCK_C : NNACL_FUSED_BLOCK_AVX2;
}

static size_t workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_fused_params *p = params;
    const nnacl_fused_layout layout = nnacl_fused_lay_out(p, block_of(kernel));
    int32_t registers = p->registers;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        registers += layout.gathered >> i & 1;
    }
    return NNACL_FUSED_SCRATCH + (size_t)registers * (size_t)layout.block * sizeof(float);
}

static int32_t parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_fused_params *p = params;
    (void)kernel;
    const int32_t width = p->dims[p->rank - 1], rows = width > 0 ? p->count / width : 0;
    const int32_t most = nnacl_shape_parts(p->count, LEAST_ELEMENTS_PER_PART);
    return rows <= 1 || most < rows ? most : rows;
}

/* All steps go forward, and none writes to y before the last one that reads such an input. */
static nnacl_lead lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_fused_params *p = params;
    (void)kernel;
    const bool flat = p->masks[index] == (1 << p->rank) - 1 && (p->byte_inputs >> index & 1) == 0;
    return flat ? nnacl_lead_from(0) : nnacl_lead_none();
}

const nnacl_op nnacl_fused_elementwise_op = {
    .name = "fused_elementwise",
    .params_name = "nnacl_fused_params",
    .header = "elementwise/elementwise.h",
    .params_size = sizeof(nnacl_fused_params),
    .alias = NNACL_ALIAS_IN_PLACE,
    .resize = resize,
    .workspace = workspace,
    .parts = parts,
    .lead = lead,
};
