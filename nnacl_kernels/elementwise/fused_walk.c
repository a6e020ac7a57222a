/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/fused_walk.h"

#include <math.h>
#include <string.h>

#include "common/share.h"

_Static_assert(sizeof(nnacl_binary_params) <= NNACL_FUSED_SCRATCH, "the parameters of a step fit");
_Static_assert(sizeof(nnacl_where_params) <= NNACL_FUSED_SCRATCH, "the parameters of a step fit");

typedef nnacl_fused_operand operand;

typedef struct walk {
    const nnacl_fused_params *p;
    nnacl_fused_layout layout;
    unsigned char *scratch, *registers;
    const void *inputs[NNACL_FUSED_INPUTS]; /* for one block */
    int32_t stepping;                       /* bit i: input i has more than one element for a block */
} walk;

static size_t input_size(const nnacl_fused_params *p, int32_t index) {
    return (p->byte_inputs >> index & 1) != 0 ? 1 : sizeof(float);
}

static unsigned char *register_at(const walk *w, int32_t number) {
    return w->registers + (size_t)number * (size_t)w->layout.block * sizeof(float);
}

/* Where row `row` of y begins in an input, in elements. */
static ptrdiff_t row_offset(const nnacl_fused_params *p, int32_t mask, int32_t row) {
    const int32_t last = p->rank - 1;
    ptrdiff_t offset = 0, stride = (mask >> last & 1) != 0 ? p->dims[last] : 1;
    for (int32_t i = last - 1; i >= 0; i--) {
        if ((mask >> i & 1) != 0) {
            offset += (ptrdiff_t)(row % p->dims[i]) * stride;
            stride *= p->dims[i];
        }
        row /= p->dims[i];
    }
    return offset;
}

static void spread(void *target, const void *element, size_t size, int32_t count) {
    if (size == 1) {
        memset(target, *(const uint8_t *)element, (size_t)count);
        return;
    }
    const float value = *(const float *)element;
    float *y = target;
    for (int32_t i = 0; i < count; i++) {
        y[i] = value;
    }
}

/* Rows `row` .. `row` + `rows` - 1 of an input that does not step along all dimensions, as if it did. */
static void gather(const nnacl_fused_params *p, int32_t index, const char *source, int32_t row, int32_t rows,
                   char *target) {
    const int32_t mask = p->masks[index], width = p->dims[p->rank - 1];
    const bool along = (mask >> (p->rank - 1) & 1) != 0;
    const size_t size = input_size(p, index), bytes = (size_t)width * size;
    for (int32_t i = 0; i < rows; i++, target += bytes) {
        const char *begin = source + row_offset(p, mask, row + i) * (ptrdiff_t)size;
        if (along) {
            memcpy(target, begin, bytes);
        } else {
            spread(target, begin, size, width);
        }
    }
}

/* Sets the inputs for a block that begins in row `row`, `begin` elements behind its beginning. */
static void take_inputs(walk *w, const void *const in[], int32_t row, int32_t rows, int32_t begin, bool first) {
    const nnacl_fused_params *p = w->p;
    const int32_t last = p->rank - 1;
    int32_t number = p->registers;
    w->stepping = 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const int32_t mask = p->masks[i];
        const char *data = in[i];
        const ptrdiff_t size = (ptrdiff_t)input_size(p, i);
        int32_t along = mask >> last & 1;
        if (mask == (1 << p->rank) - 1) {
            data += ((ptrdiff_t)row * w->layout.width + begin) * size;
        } else if ((w->layout.gathered >> i & 1) != 0) {
            char *target = (char *)register_at(w, number++);
            if (first || mask != 1 << last) { /* a vector is the same in every row */
                gather(p, i, data, row, rows, target);
            }
            data = target;
            along = 1;
        } else if (mask != 0) {
            data += (row_offset(p, mask, row) + (along != 0 ? begin : 0)) * size;
        }
        w->inputs[i] = data;
        w->stepping |= along << i;
    }
}

static operand operand_of(const walk *w, int32_t code, unsigned char *y) {
    if (code >= NNACL_FUSED_CONSTANT) {
        return (operand){&w->p->constants[code - NNACL_FUSED_CONSTANT], 0};
    }
    if (code < NNACL_FUSED_STEP) {
        return (operand){w->inputs[code], w->stepping >> code & 1};
    }
    const int32_t place = nnacl_fused_place(w->p, code - NNACL_FUSED_STEP);
    return (operand){place == 0 ? y : register_at(w, place - 1), 1};
}

static void run_unary(const nnacl_fused_function *f, int32_t count, const operand *o, void *y, void *scratch) {
    const nnacl_ctx ctx = {NULL, 0, 0, 1};
    const void *x = o[0].data;
    if (o[0].step == 0) {
        spread(y, x, f->kind == NNACL_FUSED_NOT ? 1 : sizeof(float), count);
        x = y;
    }
    *(nnacl_unary_params *)scratch =
        (nnacl_unary_params){.alpha = *(const float *)o[1].data, .beta = *(const float *)o[2].data, .count = count};
    f->run(&ctx, scratch, &x, &y);
}

static void run_pair(const nnacl_fused_function *f, int32_t count, const operand *o, void *y, void *scratch) {
    const nnacl_ctx ctx = {NULL, 0, 0, 1};
    const void *in[] = {o[0].data, o[1].data};
    int32_t a_step = o[0].step;
    if (a_step == 0 && o[1].step == 0) {
        spread(y, in[0], f->kind == NNACL_FUSED_LOGIC ? 1 : sizeof(float), count);
        in[0] = y;
        a_step = 1;
    }
    if (f->kind == NNACL_FUSED_BINARY) {
        *(nnacl_binary_params *)scratch = (nnacl_binary_params){.clamp_min = -INFINITY,
                                                                .clamp_max = INFINITY,
                                                                .rank = 1,
                                                                .dims = {count},
                                                                .a_strides = {a_step},
                                                                .b_strides = {o[1].step}};
    } else {
        *(nnacl_compare_params *)scratch =
            (nnacl_compare_params){.rank = 1, .dims = {count}, .a_strides = {a_step}, .b_strides = {o[1].step}};
    }
    f->run(&ctx, scratch, in, &y);
}

static void run_where(const nnacl_fused_function *f, int32_t count, const operand *o, void *y, void *scratch) {
    const nnacl_ctx ctx = {NULL, 0, 0, 1};
    const void *const in[] = {o[0].data, o[1].data, o[2].data};
    *(nnacl_where_params *)scratch = (nnacl_where_params){.element_size = sizeof(float),
                                                          .rank = 1,
                                                          .dims = {count},
                                                          .condition_strides = {o[0].step},
                                                          .a_strides = {o[1].step},
                                                          .b_strides = {o[2].step}};
    f->run(&ctx, scratch, in, &y);
}

static void run_kernel(const nnacl_fused_function *f, int32_t count, const operand *operands, void *y, void *scratch) {
    if (f->kind == NNACL_FUSED_WHERE) {
        run_where(f, count, operands, y, scratch);
    } else if (f->kind == NNACL_FUSED_BINARY || f->kind == NNACL_FUSED_COMPARE || f->kind == NNACL_FUSED_LOGIC) {
        run_pair(f, count, operands, y, scratch);
    } else {
        run_unary(f, count, operands, y, scratch);
    }
}

static void run_steps(const nnacl_fused_function *functions, const walk *w, int32_t count, unsigned char *y) {
    const nnacl_fused_params *p = w->p;
    for (int32_t k = 0; k < p->step_count; k++) {
        const int32_t step = p->steps[k], place = nnacl_fused_place(p, k);
        const nnacl_fused_function *f = &functions[step & 255];
        const operand operands[] = {operand_of(w, step >> 8 & 255, y), operand_of(w, step >> 16 & 255, y),
                                    operand_of(w, step >> 24 & 255, y)};
        void *result = place == 0 ? y : register_at(w, place - 1);
        const bool single = operands[0].step == 0 && (f->kind == NNACL_FUSED_UNARY || operands[1].step == 0);
        if (f->loop && !single) {
            f->loop(count, operands, result);
        } else {
            run_kernel(f, count, operands, result, w->scratch);
        }
    }
}

void nnacl_fused_walk(const nnacl_fused_function *functions, int32_t block, const nnacl_ctx *ctx,
                      const nnacl_fused_params *p, const void *const in[], void *const out[]) {
    walk w = {.p = p, .layout = nnacl_fused_lay_out(p, block), .scratch = ctx->workspace};
    w.registers = w.scratch + NNACL_FUSED_SCRATCH;
    float *y = out[0];
    const int32_t all_rows = w.layout.all_rows, width = w.layout.width, rows = w.layout.rows;
    const nnacl_range share = nnacl_share(ctx, all_rows == 1 ? width : all_rows);
    const int32_t last_row = all_rows == 1 ? 1 : share.end;
    const int32_t begin = all_rows == 1 ? share.begin : 0, end = all_rows == 1 ? share.end : width;
    bool first = true;
    for (int32_t row = all_rows == 1 ? 0 : share.begin; row < last_row; row += rows) {
        const int32_t some = last_row - row < rows ? last_row - row : rows;
        if (rows > 1) {
            take_inputs(&w, in, row, some, 0, first);
            run_steps(functions, &w, some * width, (unsigned char *)(y + (ptrdiff_t)row * width));
            first = false;
            continue;
        }
        for (int32_t i = begin; i < end; i += block) {
            take_inputs(&w, in, row, 1, i, false);
            run_steps(functions, &w, end - i < block ? end - i : block,
                      (unsigned char *)(y + (ptrdiff_t)row * width + i));
        }
    }
}
