#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/half.h"
#include "guarded.h"
#include "host.h"
#include "run_case.h"

#define SECONDS_PER_RUN 10
/* After so many a row is not run again. */
#define MAX_FAILURES_PER_ROW 3

/* --- one run ---------------------------------------------------------------------------------------------------- */

/* How a row is run. */
typedef struct run_style {
    int32_t parts;
    bool at_end;      /* where the blocks lie between their guards */
    int32_t over;     /* an input that overlaps output 0, or -1 */
    int64_t distance; /* at which it begins behind it; may be less than 0 */
    unsigned char junk;
    const char *name;
    unsigned seconds; /* at most; 0: SECONDS_PER_RUN */
    int32_t stripe;   /* rows of the output that are computed at a time, each as a node of its own; 0: all */
} run_style;

typedef struct buffers {
    guarded params, pointers, workspace;
    guarded in[NNACL_MAX_INPUTS];
    guarded out[CHECK_MAX_OUTPUTS];
    guarded shared;        /* what an input and output 0 lie in together */
    unsigned char *before; /* its bytes at first */
    unsigned char *y[CHECK_MAX_OUTPUTS];
} buffers;

size_t tensor_bytes(const nnacl_tensor *tensor) {
    return (size_t)nnacl_element_count(tensor) * nnacl_dtype_size(tensor->dtype);
}

size_t output_offset(const outputs *out, int32_t index) {
    size_t offset = 0;
    for (int32_t i = 0; i < index; i++) {
        offset += (tensor_bytes(&out->at[i]) + 15) / 16 * 16;
    }
    return offset;
}

bool run_possible(const nnacl_kernel *row) {
    return row->run != NULL && (row->isa & nnacl_isa_detect()) != 0;
}

bool run_owes(const nnacl_kernel *row, const run_options *options, const row_result *result) {
    return (row->isa & options->isa_mask) != 0 && result->visits < options->owed &&
           result->failures < MAX_FAILURES_PER_ROW && run_possible(row);
}

/* Bytes of an element of the wider one of two tensors; a power of two. */
static size_t wider_element(const nnacl_tensor *a, const nnacl_tensor *b) {
    const size_t size_a = nnacl_dtype_size(a->dtype), size_b = nnacl_dtype_size(b->dtype);
    return size_a > size_b ? size_a : size_b;
}

/* The block in which an input and output 0 overlap, aligned for both wherever it lies between its guards. Returns where
 * in it the input begins. */
static unsigned char *share_block(buffers *b, const check_case *c, const outputs *out, const run_style *style) {
    const size_t ahead = style->distance < 0 ? (size_t)-style->distance : 0;
    const size_t behind = style->distance > 0 ? (size_t)style->distance : 0;
    const size_t in = tensor_bytes(&c->in[style->over]), result = tensor_bytes(&out->at[0]);
    const size_t most = behind + in > ahead + result ? behind + in : ahead + result;
    const size_t element = wider_element(&c->in[style->over], &out->at[0]);
    const size_t size = (most + element - 1) & ~(element - 1);
    b->shared = guarded_alloc(size, style->at_end);
    memset(b->shared.data, style->junk, size);
    memcpy(b->shared.data + behind, c->data[style->over], in);
    b->before = malloc(size + 1);
    if (b->before) {
        memcpy(b->before, b->shared.data, size);
    }
    b->y[0] = b->shared.data + ahead;
    return b->shared.data + behind;
}

/* Inputs as the row wants them: constants packed where it asks for it. Sealed, but for one that overlaps the output. */
static void set_up(buffers *b, const check_case *c, const nnacl_kernel *row, const outputs *out,
                   const run_style *style) {
    const nnacl_op *op = c->op;
    memset(b, 0, sizeof *b);
    b->params = guarded_alloc(op->params_size, style->at_end);
    memcpy(b->params.data, c->params.bytes, op->params_size);
    guarded_seal(&b->params);
    const void *plain[NNACL_MAX_INPUTS] = {NULL};
    for (int32_t i = 0; i < c->n_in; i++) {
        plain[i] = c->constant[i] ? c->data[i] : NULL;
    }
    b->pointers = guarded_alloc((size_t)c->n_in * sizeof(void *), true);
    const void **pointers = (const void **)(void *)b->pointers.data;
    for (int32_t i = 0; i < c->n_in; i++) {
        pointers[i] = NULL;
        if (!c->data[i]) {
            continue;
        }
        if (i == style->over) {
            pointers[i] = share_block(b, c, out, style);
            continue;
        }
        const size_t packed = c->constant[i] && op->packed_size ? op->packed_size(b->params.data, row, i) : 0;
        if (packed == NNACL_PACKED_ELSEWHERE) {
            continue;
        }
        b->in[i] = guarded_alloc(packed ? packed : tensor_bytes(&c->in[i]), style->at_end);
        pointers[i] = b->in[i].data;
        if (packed) {
            op->pack(b->params.data, row, i, plain, b->in[i].data);
        } else {
            memcpy(b->in[i].data, c->data[i], b->in[i].size);
        }
        guarded_seal(&b->in[i]);
    }
    guarded_seal(&b->pointers);
    for (int32_t i = style->over >= 0 ? 1 : 0; i < out->count; i++) {
        b->out[i] = guarded_alloc(tensor_bytes(&out->at[i]), style->at_end);
        memset(b->out[i].data, style->junk, b->out[i].size);
        b->y[i] = b->out[i].data;
    }
    const size_t size = op->workspace ? op->workspace(b->params.data, row) : 0;
    if (size > 0) {
        b->workspace = guarded_alloc((size + 15) / 16 * 16, style->at_end);
    }
}

static void tear_down(buffers *b, int32_t n_in) {
    guarded_free(&b->params);
    guarded_free(&b->pointers);
    guarded_free(&b->workspace);
    guarded_free(&b->shared);
    free(b->before);
    for (int32_t i = 0; i < CHECK_MAX_OUTPUTS; i++) {
        guarded_free(&b->out[i]);
    }
    for (int32_t i = 0; i < n_in; i++) {
        guarded_free(&b->in[i]);
    }
}

static void call(const nnacl_kernel *row, const buffers *b, int32_t part, int32_t parts) {
    const nnacl_ctx ctx = {b->workspace.data, b->workspace.size, part, parts};
    void *y[CHECK_MAX_OUTPUTS];
    for (int32_t i = 0; i < CHECK_MAX_OUTPUTS; i++) {
        y[i] = b->y[i];
    }
    row->run(&ctx, b->params.data, (const void *const *)(const void *)b->pointers.data, y);
}

/* Rows begin .. end - 1 of the output. */
static void call_stripe(const check_case *c, const nnacl_kernel *row, const nnacl_tensor *out, const buffers *b,
                        int32_t begin, int32_t end) {
    check_case part = *c; /* for its parameters */
    const void *in[NNACL_MAX_INPUTS];
    int32_t rows[2];
    memcpy(in, b->pointers.data, (size_t)c->n_in * sizeof in[0]);
    c->op->stripe(b->params.data, row, begin, end, part.params.bytes, rows);
    in[0] = (const char *)in[0] + tensor_bytes(&c->in[0]) / (size_t)c->in[0].dims[1] * (size_t)rows[0];
    void *y[1] = {b->y[0] + tensor_bytes(out) / (size_t)out->dims[1] * (size_t)begin};
    const nnacl_ctx ctx = {b->workspace.data, b->workspace.size, 0, 1};
    row->run(&ctx, part.params.bytes, in, y);
}

typedef struct run_job {
    const check_case *c;
    const nnacl_tensor *out;
    const nnacl_kernel *row;
    const buffers *buffers;
    const run_style *style;
} run_job;

/* All parts, the last one first, so that none can lean on another. */
static void run_parts(const void *argument) {
    const run_job *job = argument;
    const run_style *style = job->style;
    for (int32_t end = job->out->dims[1]; style->stripe > 0 && end > 0; end -= style->stripe) {
        call_stripe(job->c, job->row, job->out, job->buffers, end > style->stripe ? end - style->stripe : 0, end);
    }
    for (int32_t part = style->parts - 1; part >= 0; part--) {
        if (job->buffers->workspace.data) {
            memset(job->buffers->workspace.data, style->junk ^ part, job->buffers->workspace.size);
        }
        call(job->row, job->buffers, part, style->parts);
    }
}

/* In a block that is shared, only the output was written. */
static bool spares_rest(const buffers *b, size_t out) {
    const size_t begin = (size_t)(b->y[0] - b->shared.data), end = begin + out;
    return b->before && memcmp(b->before, b->shared.data, begin) == 0 &&
           memcmp(b->before + end, b->shared.data + end, b->shared.size - end) == 0;
}

/* NULL, or what went wrong; the result goes to `result`. */
static const char *execute(const check_case *c, const nnacl_kernel *row, const outputs *out, const run_style *style,
                           void *result) {
    buffers b;
    set_up(&b, c, row, out, style);
    const run_job job = {c, &out->at[0], row, &b, style};
    const char *message = host_run(run_parts, &job, style->seconds ? style->seconds : SECONDS_PER_RUN);
    if (message) {
        tear_down(&b, c->n_in);
        return message;
    }
    bool intact = (!b.workspace.data || guarded_intact(&b.workspace)) &&
                  (style->over < 0 || (guarded_intact(&b.shared) && spares_rest(&b, tensor_bytes(&out->at[0]))));
    for (int32_t i = 0; i < out->count; i++) {
        intact = intact && (i == 0 && style->over >= 0 ? true : guarded_intact(&b.out[i]));
        memcpy((unsigned char *)result + output_offset(out, i), b.y[i], tensor_bytes(&out->at[i]));
    }
    tear_down(&b, c->n_in);
    return intact ? NULL : "wrote outside of its output or workspace";
}

/* --- comparison -------------------------------------------------------------------------------------------------- */

static double value_at(const void *data, int32_t dtype, int64_t i) {
    switch (dtype) {
    case NNACL_F32:
        return ((const float *)data)[i];
    case NNACL_F64:
        return ((const double *)data)[i];
    case NNACL_S8:
        return ((const int8_t *)data)[i];
    case NNACL_S16:
        return ((const int16_t *)data)[i];
    case NNACL_S32:
        return ((const int32_t *)data)[i];
    case NNACL_S64:
        return (double)((const int64_t *)data)[i];
    case NNACL_F16:
        return nnacl_half_to_float(((const uint16_t *)data)[i]);
    case NNACL_U16:
        return ((const uint16_t *)data)[i];
    case NNACL_U32:
        return ((const uint32_t *)data)[i];
    case NNACL_U64:
        return (double)((const uint64_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

static bool is_real(int32_t dtype) {
    return dtype == NNACL_F32 || dtype == NNACL_F64 || dtype == NNACL_F16;
}

/* Index of the first element that differs, or -1. `exact`: bit for bit; else floats may differ by the tolerance. */
static int64_t first_difference(const check_case *c, const nnacl_tensor *out, const void *a, const void *b,
                                bool exact) {
    const int64_t count = nnacl_element_count(out);
    const size_t size = nnacl_dtype_size(out->dtype);
    const bool is_float = is_real(out->dtype);
    double largest = 0.0;
    for (int64_t i = 0; is_float && i < count; i++) {
        const double magnitude = fabs(value_at(b, out->dtype, i));
        largest = isfinite(magnitude) && magnitude > largest ? magnitude : largest;
    }
    for (int64_t i = 0; i < count; i++) {
        if (memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) == 0) {
            continue;
        }
        const double x = value_at(a, out->dtype, i);
        const double y = value_at(b, out->dtype, i);
        const bool both_nan = isnan(x) && isnan(y);
        if (!is_float || (exact && !both_nan) || !(both_nan || fabs(x - y) <= c->absolute + c->relative * largest)) {
            return i;
        }
    }
    return -1;
}

/* Adds a result to a digest (FNV-1a). All NaN count as the same. */
static uint64_t add_digest(uint64_t digest, const nnacl_tensor *out, const void *data) {
    const int64_t count = nnacl_element_count(out);
    const size_t size = nnacl_dtype_size(out->dtype);
    for (int64_t i = 0; i < count; i++) {
        const unsigned char *bytes = (const unsigned char *)data + (size_t)i * size;
        const bool nan = isnan(value_at(data, out->dtype, i));
        for (size_t j = 0; j < size; j++) {
            digest = (digest ^ (nan ? 0u : bytes[j])) * 0x100000001b3u;
        }
    }
    return digest;
}

static void report(const nnacl_kernel *row, const run_style *style, const char *where, const char *what) {
    fprintf(stderr, "FAIL %s (%s, %" PRId32 " part%s): %s\n     %s\n", row->symbol, style->name, style->parts,
            style->parts == 1 ? "" : "s", what, where);
}

static void report_difference(const nnacl_kernel *row, const run_style *style, const char *where,
                              const nnacl_tensor *out, const void *got, const void *expected, int64_t i) {
    char text[160];
    snprintf(text, sizeof text, "element %lld of %lld is %.9g, expected %.9g", (long long)i,
             (long long)nnacl_element_count(out), value_at(got, out->dtype, i), value_at(expected, out->dtype, i));
    report(row, style, where, text);
}

/* --- benchmark --------------------------------------------------------------------------------------------------- */

/* Nanoseconds of one run: the best of several rounds. */
static double measure(const check_case *c, const nnacl_kernel *row, const outputs *out) {
    const run_style style = {.parts = 1, .over = -1};
    buffers b;
    set_up(&b, c, row, out, &style);
    double best = INFINITY;
    int32_t repeats = 1;
    for (int32_t round = 0; round < 8; round++) {
        const double start = host_now();
        for (int32_t i = 0; i < repeats; i++) {
            call(row, &b, 0, 1);
        }
        const double each = (host_now() - start) / repeats;
        best = each < best ? each : best;
        repeats = each * repeats < 4e6 ? repeats * 4 : repeats;
    }
    tear_down(&b, c->n_in);
    return best;
}

/* --- a case ------------------------------------------------------------------------------------------------------ */

static bool row_fits(const nnacl_kernel *row, const check_case *c) {
    return strcmp(row->op, c->op->name) == 0 && (row->dtype == c->in[0].dtype || row->dtype == NNACL_ANY) &&
           (!row->accepts || row->accepts(c->params.bytes));
}

/* The plainest row: the last one in C. */
static const nnacl_kernel *reference_row(const check_case *c) {
    const nnacl_kernel *found = NULL;
    const nnacl_kernel *row;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (row->isa == NNACL_ISA_C && row_fits(row, c)) {
            found = row;
        }
    }
    return found;
}

static int32_t row_index(const nnacl_kernel *row) {
    int32_t i = 0;
    while (nnacl_kernel_at(i) != row) {
        i++;
    }
    return i;
}

/* A plan half answers for rows of other machines too. */
static void plan_foreign(const check_case *c, const nnacl_kernel *row) {
    const void *plain[NNACL_MAX_INPUTS] = {NULL};
    for (int32_t i = 0; i < c->n_in; i++) {
        plain[i] = c->constant[i] ? c->data[i] : NULL;
    }
    if (c->op->workspace) {
        (void)c->op->workspace(c->params.bytes, row);
    }
    for (int32_t i = 0; i < c->n_in && c->op->packed_size; i++) {
        const size_t size = c->constant[i] ? c->op->packed_size(c->params.bytes, row, i) : 0;
        if (size > 0 && size != NNACL_PACKED_ELSEWHERE) {
            guarded block = guarded_alloc(size, true);
            c->op->pack(c->params.bytes, row, i, plain, block.data);
            guarded_free(&block);
        }
    }
}

/* Runs a row in one style against the expected output. `loose`: the case is spoilt; floats are not compared, and it may
 * take too long, as a file may ask for much work without being wrong. */
static bool try_style(const check_case *c, const nnacl_kernel *row, const nnacl_kernel *reference, const outputs *out,
                      const void *expected, void *result, const char *where, bool loose, const run_style *style) {
    const char *message = execute(c, row, out, style, result);
    if (message && loose && message == host_never_ends) {
        return true;
    }
    if (message) {
        report(row, style, where, message);
        return false;
    }
    for (int32_t o = 0; o < out->count; o++) {
        const nnacl_tensor *tensor = &out->at[o];
        const unsigned char *got = (const unsigned char *)result + output_offset(out, o);
        const unsigned char *wanted = (const unsigned char *)expected + output_offset(out, o);
        const bool skipped = loose && is_real(tensor->dtype);
        const int64_t i = skipped ? -1 : first_difference(c, tensor, got, wanted, row == reference);
        if (i >= 0) {
            report_difference(row, style, where, tensor, got, wanted, i);
            return false;
        }
    }
    return true;
}

/* The nearest distance that the plan half allows between the output and an input that overlaps it, as the types must be
 * aligned, or a greater one. Returns false when they must be apart. */
static bool draw_overlap(check_case *dice, const nnacl_kernel *row, const outputs *out, int32_t input,
                         run_style *style) {
    const nnacl_op *op = dice->op;
    const nnacl_tensor *x = &dice->in[input];
    if (!op->lead || dice->constant[input] || !dice->data[input]) {
        return false;
    }
    const nnacl_lead lead = op->lead(dice->params.bytes, row, input);
    const int64_t result = (int64_t)tensor_bytes(&out->at[0]);
    if (lead.kind == NNACL_LEAD_NONE) {
        return false;
    }
    const int64_t size = (int64_t)wider_element(x, &out->at[0]);
    const int64_t nearest = (lead.bytes + size - 1) & ~(size - 1);
    style->over = input;
    style->distance = nearest;
    style->name = "over an input";
    if (lead.kind == NNACL_LEAD_FROM && nearest < result && check_chance(dice, 30)) {
        const int64_t steps = (result - nearest) / size;
        style->distance += size * check_int(dice, 0, steps < INT32_MAX ? (int32_t)steps : INT32_MAX);
        style->name = "over an input that begins later";
    }
    return true;
}

/* Rows of the output by themselves are, bit for bit, those of the whole, which is left in `result`. */
static bool try_stripes(check_case *dice, const nnacl_kernel *row, const outputs *out, void *result,
                        const char *where) {
    check_case part = *dice; /* for its parameters */
    int32_t rows[2];
    const int32_t all = out->at[0].rank > 1 ? out->at[0].dims[1] : 0;
    if (!dice->op->stripe || all < 1 || !dice->op->stripe(dice->params.bytes, row, 0, all, part.params.bytes, rows)) {
        return true;
    }
    const int32_t stripe = check_chance(dice, 50) ? 1 : check_int(dice, 1, all);
    const run_style whole = {1, true, -1, 0, 0x5a, "whole", 0, 0};
    const run_style stripes = {0, true, -1, 0, 0x69, "stripes", 0, stripe};
    void *expected = malloc(output_offset(out, 1) + 1);
    const char *message = expected ? execute(dice, row, out, &whole, expected) : "no memory";
    message = message ? message : execute(dice, row, out, &stripes, result);
    const int64_t i = message ? -1 : first_difference(dice, &out->at[0], result, expected, true);
    if (message) {
        report(row, &stripes, where, message);
    } else if (i >= 0) {
        report_difference(row, &stripes, where, &out->at[0], result, expected, i);
    }
    free(expected);
    return !message && i < 0;
}

/* Runs a row in several styles. */
static bool try_row(const check_case *c, const nnacl_kernel *row, const nnacl_kernel *reference, const outputs *out,
                    const void *expected, void *result, const char *where, bool loose) {
    const int32_t most = c->op->parts ? c->op->parts(c->params.bytes, row) : 1;
    check_case dice = *c;
    const bool may_alias = c->op->alias != NNACL_ALIAS_NONE && tensor_bytes(&c->in[0]) == tensor_bytes(&out->at[0]);
    const bool at_end = check_chance(&dice, 50);
    const unsigned seconds = loose ? 1 : 0;
    const run_style styles[] = {
        {1, at_end, -1, 0, 0x5a, "whole", seconds, 0},
        {most < 2 ? 1 : check_int(&dice, 2, most < 7 ? most : 7), !at_end, -1, 0, 0xc3, "split", seconds, 0},
        {1, at_end, 0, 0, 0x3c, "in place", seconds, 0},
    };
    for (int32_t s = 0; s < (may_alias ? 3 : 2); s++) {
        if (!try_style(c, row, reference, out, expected, result, where, loose, &styles[s])) {
            return false;
        }
    }
    for (int32_t i = 0; i < c->n_in; i++) {
        run_style style = {1, at_end, -1, 0, 0xa6, "", seconds, 0};
        if (draw_overlap(&dice, row, out, i, &style) &&
            !try_style(c, row, reference, out, expected, result, where, loose, &style)) {
            return false;
        }
    }
    return loose || try_stripes(&dice, row, out, result, where);
}

bool run_rows(const check_case *c, const run_options *options, row_result *results, const char *where,
              const outputs *out, bool spoilt) {
    const nnacl_kernel *reference = reference_row(c);
    if (!reference) {
        if (!spoilt) {
            fprintf(stderr, "FAIL %s: no row in C accepts the case\n     %s\n", c->op->name, where);
        }
        return spoilt;
    }
    if (results[row_index(reference)].failures >= MAX_FAILURES_PER_ROW) {
        return true;
    }
    void *expected = malloc(output_offset(out, out->count) + 1);
    void *result = malloc(output_offset(out, out->count) + 1);
    const run_style plain = {1, true, -1, 0, 0xff, "reference", spoilt ? 1 : 0, 0};
    const char *message = expected && result ? execute(c, reference, out, &plain, expected) : "no memory";
    if (message && !(spoilt && message == host_never_ends)) {
        report(reference, &plain, where, message);
        results[row_index(reference)].failures++;
    }
    if (!message && !spoilt && !options->bench && options->owed == 0) {
        row_result *r = &results[row_index(reference)];
        for (int32_t i = 0; i < out->count; i++) {
            r->digest = add_digest(r->digest, &out->at[i], (unsigned char *)expected + output_offset(out, i));
        }
    }
    const nnacl_kernel *row;
    for (int32_t i = 0; !message && (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (!row_fits(row, c) || !(row->isa & options->isa_mask) || results[i].failures >= MAX_FAILURES_PER_ROW) {
            continue;
        }
        if (options->owed > 0 && !run_owes(row, options, &results[i])) {
            continue;
        }
        if (!run_possible(row)) {
            plan_foreign(c, row);
            continue;
        }
        results[i].visits += !spoilt;
        if (!try_row(c, row, reference, out, expected, result, where, spoilt)) {
            results[i].failures++;
        } else if (options->bench && !spoilt) {
            results[i].nanoseconds = measure(c, row, out);
        }
    }
    free(expected);
    free(result);
    return true;
}

/* A row that owes visits can run the case. */
static bool pays(const check_case *c, const run_options *options, const row_result *results) {
    const nnacl_kernel *row;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (row_fits(row, c) && run_owes(row, options, &results[i])) {
            return true;
        }
    }
    return false;
}

bool run_case(const check_case *drawn, const run_options *options, row_result *results, const char *where) {
    check_case c = *drawn;
    outputs out;
    memset(&out, 0, sizeof out);
    out.count = c.n_out;
    const char *message = c.op->resize(c.params.bytes, c.in, c.n_in, out.at, out.count);
    if (!message) {
        message = nnacl_check(c.op, c.params.bytes, c.in, c.n_in, out.at, out.count);
    }
    if (message) {
        fprintf(stderr, "FAIL %s: the plan half refuses the case: %s\n     %s\n", c.op->name, message, where);
        return false;
    }
    if (options->owed > 0 && !pays(&c, options, results)) {
        return true;
    }
    return run_rows(&c, options, results, where, &out, false);
}

void case_free(check_case *c) {
    for (int32_t i = 0; i < c->n_in; i++) {
        free(c->data[i]);
        c->data[i] = NULL;
    }
}
