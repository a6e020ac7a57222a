/* Cases with something wrong in them. */
#include <stdio.h>
#include <string.h>

#include "run_case.h"

static int32_t spoilt_value(check_case *c, int32_t old) {
    static const int32_t values[] = {0,   1,   -1,    2,         3,         4,          7,          8,
                                     9,   16,  31,    32,        127,       128,        -128,       -129,
                                     255, 256, 65535, 65536,     1 << 20,   1 << 30,    -2,         62,
                                     63,  -62, -63,   INT32_MAX, INT32_MIN, 0x7f800000, 0x7fc00000, 46341};
    const int32_t count = (int32_t)(sizeof values / sizeof values[0]);
    switch (check_int(c, 0, 3)) {
    case 0:
        return (int32_t)((uint32_t)old + 1u);
    case 1:
        return (int32_t)((uint32_t)old - 1u);
    case 2:
        return (int32_t)check_bits(c);
    default:
        return values[check_int(c, 0, count - 1)];
    }
}

/* Changes one thing. Inputs keep their old data; redraw() makes new data for changed types. */
static void spoil(check_case *c) {
    const int32_t words = (int32_t)(c->op->params_size / 4);
    const int32_t i = check_int(c, 0, c->n_in - 1);
    nnacl_tensor *tensor = &c->in[i];
    switch (check_int(c, 0, 10)) {
    case 0:
    case 1: {
        const int32_t last = tensor->rank > 0 && tensor->rank <= NNACL_MAX_RANK ? tensor->rank - 1 : 0;
        const int32_t axis = check_int(c, 0, last);
        tensor->dims[axis] = spoilt_value(c, tensor->dims[axis]);
        break;
    }
    case 2:
        tensor->rank = check_int(c, -1, NNACL_MAX_RANK + 1);
        break;
    case 3:
        tensor->dtype = check_int(c, -1, 12);
        break;
    case 4:
        c->n_in = check_int(c, 0, c->n_in);
        break;
    default: {
        const int32_t word = check_int(c, 0, words - 1);
        c->params.words[word] = spoilt_value(c, c->params.words[word]);
        break;
    }
    }
}

/* Gives every input data of its own: that of the drawn case where they still fit, sometimes with a value changed, else
 * new ones. Returns false when an input is impossible or too large. */
static bool redraw(check_case *c, const check_case *drawn) {
    check_case fresh = *c;
    fresh.n_in = 0;
    size_t total = 0;
    for (int32_t i = 0; i < c->n_in; i++) {
        const nnacl_tensor *tensor = &c->in[i];
        if (tensor->dtype == -1) {
            check_absent(&fresh);
            continue;
        }
        /* nnacl_check() sends impossible tensors back before it asks the op. */
        const int64_t count = nnacl_element_count(tensor);
        if (nnacl_dtype_size(tensor->dtype) == 0 || count < 0 || count > 1 << 20) {
            break;
        }
        const size_t bytes = tensor_bytes(tensor);
        total += bytes;
        if (total > 1 << 20) {
            break;
        }
        unsigned char *data = check_input(&fresh, tensor->dtype, tensor->rank, tensor->dims);
        if (drawn->data[i] && tensor->dtype == drawn->in[i].dtype && bytes == tensor_bytes(&drawn->in[i])) {
            memcpy(data, drawn->data[i], bytes);
            if (bytes >= 4 && check_chance(&fresh, 20)) {
                const int32_t value = spoilt_value(&fresh, 0);
                memcpy(data + (size_t)check_int(&fresh, 0, (int32_t)(bytes / 4) - 1) * 4, &value, 4);
            }
        }
        if (drawn->constant[i]) {
            check_mark_constant(&fresh);
        }
    }
    const bool complete = fresh.n_in == c->n_in;
    *c = fresh;
    return complete;
}

bool run_spoilt(check_case *drawn, const run_options *options, row_result *results, const char *where) {
    check_case c = *drawn;
    const int32_t changes = check_int(&c, 1, 3);
    for (int32_t i = 0; i < changes; i++) {
        if (c.n_in > 0) {
            spoil(&c);
        }
    }
    drawn->random = c.random;
    bool fine = true;
    if (redraw(&c, drawn)) {
        outputs out;
        memset(&out, 0, sizeof out);
        out.count = c.n_out;
        const char *message = c.op->resize(c.params.bytes, c.in, c.n_in, out.at, out.count);
        if (!message) {
            message = nnacl_check(c.op, c.params.bytes, c.in, c.n_in, out.at, out.count);
            if (message) {
                fprintf(stderr, "FAIL %s: nnacl_check refuses what resize made: %s\n     %s\n", c.op->name, message,
                        where);
                fine = false;
            } else if (output_offset(&out, out.count) < 1 << 22 &&
                       (!c.op->macs || c.op->macs(c.params.bytes) < 1 << 26)) {
                fine = run_rows(&c, options, results, where, &out, true);
            }
        }
    }
    case_free(&c);
    return fine;
}
