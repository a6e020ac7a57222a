#include "checkasm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"
#include "run_case.h"

#define MAX_ROWS 4096
/* Every row that can run is visited so often, however seldom the draws of its op fit it ... */
#define OWED_VISITS 4
/* ... unless after so many draws more than the cases there still was none for it. */
#define MOST_EXTRA_DRAWS 10000

static const char usage[] =
    "usage: checkasm [options]\n"
    "Runs every kernel on random data between guard pages and compares it with the `c` kernel of its op.\n"
    "  --isa LIST   only rows of these instruction sets, as in --isa avx2,vnni\n"
    "  --op NAME    only this op\n"
    "  --seed N     the seed (default: from the clock; it is printed)\n"
    "  --cases N    cases for each op and type (default 40); more are drawn for rows that few of them fit\n"
    "  --case I     only case I, as a failure names it\n"
    "  --bench      also measure, on a typical large case\n"
    "  --verbose    a line for each op and type\n"
    "With the same seed and cases the digest of the results in C is the same on every machine and with every "
    "compiler.\n"
    "Exit code 0: all rows agree; 1: a failure, or a row that no check visits; 2: wrong usage.\n";

static const check_family *const families[] = {
    &check_attention, &check_conv,  &check_cumulative, &check_data,    &check_dense, &check_elementwise,
    &check_image,     &check_index, &check_norm,       &check_ordered, &check_pool,  &check_quant,
    &check_reduce,    &check_rnn,   &check_signal,     &check_softmax, &check_tree,  &check_volume,
};

typedef struct settings {
    run_options run;
    const char *op;
    uint64_t seed;
    int32_t cases;
    int32_t only; /* -1: all */
    bool verbose;
} settings;

static const check_op *find_check(const char *op) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const check_op *entry = families[i]->ops; entry->op; entry++) {
            if (strcmp(entry->op, op) == 0) {
                return entry;
            }
        }
    }
    return NULL;
}

/* The seed of one case depends on nothing but the seed, the op, the type and the index. */
static uint64_t case_seed(uint64_t seed, const char *op, int32_t dtype, int32_t index) {
    uint64_t hash = seed ^ 0xcbf29ce484222325u;
    for (const char *letter = op; *letter; letter++) {
        hash = (hash ^ (unsigned char)*letter) * 0x100000001b3u;
    }
    return (hash ^ (uint64_t)dtype << 32 ^ (uint64_t)index) * 0x9e3779b97f4a7c15u;
}

static int32_t pick_type(check_case *c, int32_t dtype) {
    static const int32_t types[] = {NNACL_F32, NNACL_S8,  NNACL_S16, NNACL_S32, NNACL_S64, NNACL_B8,
                                    NNACL_F16, NNACL_F64, NNACL_U8,  NNACL_U16, NNACL_U32};
    return dtype == NNACL_ANY ? types[check_int(c, 0, (int32_t)(sizeof types / sizeof types[0]) - 1)] : dtype;
}

static void draw(check_case *c, const check_op *check, int32_t dtype, const settings *s, int32_t index, bool bench) {
    memset(c, 0, sizeof *c);
    c->op = nnacl_op_find(check->op);
    c->random = case_seed(s->seed, check->op, dtype, index);
    c->dtype = pick_type(c, dtype);
    c->bench = bench;
    c->moves = dtype == NNACL_ANY;
    c->relative = c->dtype == NNACL_F16 ? 2e-3 : 1e-5;
    c->absolute = c->dtype == NNACL_F16 ? 1e-3 : 1e-6;
    c->n_out = 1;
    check->draw(c);
}

/* A row of this op and type owes visits. */
static bool pair_owes(const check_op *check, int32_t dtype, const run_options *options, const row_result *results) {
    const nnacl_kernel *row;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->op, check->op) == 0 && row->dtype == dtype && run_owes(row, options, &results[i])) {
            return true;
        }
    }
    return false;
}

static void name_case(const check_op *check, const settings *s, int32_t index, char *where, size_t size) {
    snprintf(where, size, "again with: checkasm --op %s --seed %llu --case %" PRId32, check->op,
             (unsigned long long)s->seed, index);
}

/* Draws on behind the cases until luck has dealt every row its share, and runs what is drawn on those rows alone. */
static bool check_owed(const check_op *check, int32_t dtype, const settings *s, row_result *results) {
    bool fine = true;
    run_options options = s->run;
    options.bench = false;
    options.owed = OWED_VISITS;
    for (int32_t i = 0; i < MOST_EXTRA_DRAWS && fine && pair_owes(check, dtype, &options, results); i++) {
        char where[160];
        name_case(check, s, s->cases + i, where, sizeof where);
        check_case c;
        draw(&c, check, dtype, s, s->cases + i, false);
        fine = run_case(&c, &options, results, where);
        case_free(&c);
    }
    return fine;
}

/* All cases of one op and type. False when something failed that belongs to no row. */
static bool check_pair(const check_op *check, int32_t dtype, const settings *s, row_result *results) {
    bool fine = true;
    run_options plain = s->run;
    plain.bench = false;
    for (int32_t index = 0; index < s->cases && fine; index++) {
        if (s->only >= 0 && index != s->only) {
            continue;
        }
        char where[160];
        name_case(check, s, index, where, sizeof where);
        check_case c;
        draw(&c, check, dtype, s, index, false);
        fine = run_case(&c, &plain, results, where);
        for (int32_t i = 0; i < 4 && fine && host_recovers; i++) {
            fine = run_spoilt(&c, &plain, results, where);
        }
        case_free(&c);
    }
    if (s->only < 0 && fine) {
        fine = check_owed(check, dtype, s, results);
    }
    if (s->run.bench && fine) {
        check_case c;
        draw(&c, check, dtype, s, 0, true);
        fine = run_case(&c, &s->run, results, "the benchmark case");
        case_free(&c);
    }
    return fine;
}

static bool selected(const nnacl_kernel *row, const settings *s) {
    return (!s->op || strcmp(row->op, s->op) == 0) && (row->isa & s->run.isa_mask) != 0;
}

static const char *type_name(int32_t dtype) {
    return dtype == NNACL_ANY ? "any" : nnacl_dtype_name(dtype);
}

/* The rows of one op and type on one line. */
static void print_pair(const nnacl_kernel *first, const settings *s, const row_result *results) {
    const nnacl_kernel *row;
    double slowest = 0.0;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        const bool same = strcmp(row->op, first->op) == 0 && row->dtype == first->dtype;
        slowest = same && results[i].nanoseconds > 0.0 && row->isa == NNACL_ISA_C ? results[i].nanoseconds : slowest;
    }
    printf("  %-20s %-4s", first->op, type_name(first->dtype));
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->op, first->op) == 0 && row->dtype == first->dtype && results[i].digest) {
            printf("  %016llx", (unsigned long long)results[i].digest);
        }
    }
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->op, first->op) != 0 || row->dtype != first->dtype || !selected(row, s)) {
            continue;
        }
        printf("  %s", nnacl_isa_name(row->isa));
        if (!run_possible(row)) {
            printf(" -");
        } else if (results[i].failures) {
            printf(" FAILED");
        } else if (results[i].nanoseconds > 0.0) {
            printf(" %.0f ns", results[i].nanoseconds);
            if (row->isa != NNACL_ISA_C && slowest > 0.0) {
                printf(" (%.1fx)", slowest / results[i].nanoseconds);
            }
        }
    }
    printf("\n");
}

/* Counts rows by outcome and names those that no case reached. Returns true when every row that can run was visited. */
static bool summarize(const settings *s, const row_result *results) {
    int32_t visited = 0;
    int32_t failed = 0;
    int32_t foreign = 0;
    bool complete = true;
    uint64_t digest = 0;
    const nnacl_kernel *row;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL; i++) {
        if (!selected(row, s)) {
            continue;
        }
        visited += results[i].visits > 0;
        digest = (digest ^ results[i].digest) * 0x100000001b3u;
        failed += results[i].failures > 0;
        if (!run_possible(row)) {
            foreign++;
        } else if (results[i].visits == 0 && results[i].failures == 0 && s->only < 0) {
            fprintf(stderr, "FAIL %s: no case visited this row of %s\n", row->symbol, row->op);
            complete = false;
        }
    }
    printf("checkasm: %" PRId32 " kernels visited, %" PRId32 " failed", visited, failed);
    if (foreign) {
        printf("; %" PRId32 " not run, because this build or machine does not have their instruction set", foreign);
    }
    printf("\n");
    if (s->run.isa_mask & NNACL_ISA_C) {
        printf("checkasm: the results in C have the digest %016llx\n", (unsigned long long)digest);
    }
    if (visited == 0) {
        fprintf(stderr, "FAIL: no kernel matches\n");
    }
    return complete && failed == 0 && visited > 0;
}

static uint32_t parse_isas(const char *list) {
    uint32_t mask = 0;
    while (*list) {
        char name[16] = {0};
        const size_t length = strcspn(list, ",");
        if (length < sizeof name) {
            memcpy(name, list, length);
        }
        const uint32_t bit = nnacl_isa_bit(name);
        if (!bit) {
            fprintf(stderr, "checkasm: unknown instruction set in --isa: %.*s\n", (int)length, list);
            exit(2);
        }
        mask |= bit;
        list += length + (list[length] == ',');
    }
    return mask;
}

static long long parse_number(const char *option, const char *text) {
    char *end;
    const long long value = strtoll(text, &end, 0);
    if (*text == '\0' || *end != '\0' || value < 0) {
        fprintf(stderr, "checkasm: %s needs a number, not '%s'\n", option, text);
        exit(2);
    }
    return value;
}

static settings parse(int argc, char **argv) {
    settings s = {.run = {.isa_mask = UINT32_MAX}, .seed = (uint64_t)time(NULL), .cases = 40, .only = -1};
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--bench") == 0) {
            s.run.bench = true;
            continue;
        }
        if (strcmp(option, "--verbose") == 0) {
            s.verbose = true;
            continue;
        }
        if (strcmp(option, "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        const char *value = i + 1 < argc ? argv[++i] : NULL;
        if (value && strcmp(option, "--isa") == 0) {
            s.run.isa_mask = parse_isas(value);
        } else if (value && strcmp(option, "--op") == 0) {
            s.op = value;
        } else if (value && strcmp(option, "--seed") == 0) {
            s.seed = (uint64_t)parse_number(option, value);
        } else if (value && strcmp(option, "--cases") == 0) {
            s.cases = (int32_t)parse_number(option, value);
        } else if (value && strcmp(option, "--case") == 0) {
            s.only = (int32_t)parse_number(option, value);
        } else {
            fprintf(stderr, "checkasm: cannot make sense of '%s'\n%s", option, usage);
            exit(2);
        }
    }
    if (s.only >= s.cases) {
        s.cases = s.only + 1;
    }
    return s;
}

int main(int argc, char **argv) {
    static row_result results[MAX_ROWS];
    const settings s = parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    host_start();
    printf("checkasm: seed %llu\n", (unsigned long long)s.seed);
    bool fine = true;
    const nnacl_kernel *row;
    for (int32_t i = 0; (row = nnacl_kernel_at(i)) != NULL && i < MAX_ROWS; i++) {
        /* One visit for each op and type: at the first of its rows that is selected. */
        bool first = selected(row, &s);
        for (int32_t j = 0; j < i && first; j++) {
            const nnacl_kernel *earlier = nnacl_kernel_at(j);
            first = !(selected(earlier, &s) && strcmp(earlier->op, row->op) == 0 && earlier->dtype == row->dtype);
        }
        const check_op *check = first ? find_check(row->op) : NULL;
        if (check) {
            fine = check_pair(check, row->dtype, &s, results) && fine;
            if (s.verbose || s.run.bench) {
                print_pair(row, &s, results);
            }
        }
    }
    return summarize(&s, results) && fine ? 0 : 1;
}
