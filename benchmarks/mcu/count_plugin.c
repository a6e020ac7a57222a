/* A plugin for QEMU's emulation (TCG): counts the instructions that a program executes in an interval.
 *
 *     -plugin libcount.so,out=FILE[,begin=ADDR,end=ADDR][,skip=FIRST-LAST]...[,mark=ADDR]...[,profile=on]
 *
 * An interval begins when the instruction at `begin` is about to be executed and ends when the one at `end` is; without
 * both it is the whole run. What lies from FIRST up to but without LAST is not counted. FILE gets a line "run COUNT"
 * for each interval; before it a line "mark ADDR COUNT" whenever a marked instruction was about to be executed, with
 * the count so far; and with profile=on, behind the last interval, a line "at ADDR COUNT" for each instruction that was
 * executed in it.
 *
 * The counting itself is done by QEMU's inline counters, so that it is exact and quick. Debian's QEMU is built with
 * plugins but comes without their header; what is needed of that interface stands here. It is version 1 of it, which
 * QEMU 4.2 to 8.x understand.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*callback)(plugin_id id, struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*callback)(unsigned int cpu, void *user), int flags, void *user);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *counter, uint64_t value);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*callback)(plugin_id id, void *user), void *user);

VISIBLE int qemu_plugin_version = 1;
VISIBLE int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

#define MAX_SKIPS 16
#define MAX_MARKS 1024
#define BUCKETS 65536

/* An instruction: how often it was executed since the interval began. */
typedef struct site {
    uint64_t address, count;
    struct site *next;
} site;

static uint64_t begin, end;
static struct { uint64_t first, last; } skips[MAX_SKIPS];
static size_t n_skips;
static uint64_t marks[MAX_MARKS];
static size_t n_marks;
static int profile;
static FILE *out;

static uint64_t executed, at_begin;
static int counting;
static site *buckets[BUCKETS];

static site *site_at(uint64_t address) {
    site **bucket = &buckets[(address >> 1) % BUCKETS];
    for (site *known = *bucket; known; known = known->next) {
        if (known->address == address) {
            return known;
        }
    }
    site *added = calloc(1, sizeof *added);
    if (!added) {
        abort();
    }
    added->address = address;
    added->next = *bucket;
    *bucket = added;
    return added;
}

/* QEMU calls these before it counts the instruction that they stand at. */
static void on_begin(unsigned int cpu, void *user) {
    (void)cpu;
    (void)user;
    at_begin = executed;
    counting = 1;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (site *known = buckets[i]; known; known = known->next) {
            known->count = 0;
        }
    }
}

static void on_end(unsigned int cpu, void *user) {
    (void)cpu;
    (void)user;
    if (counting) {
        counting = 0;
        fprintf(out, "run %" PRIu64 "\n", executed - at_begin);
        for (size_t i = 0; profile && i < BUCKETS; i++) {
            for (const site *known = buckets[i]; known; known = known->next) {
                if (known->count) {
                    fprintf(out, "at %#" PRIx64 " %" PRIu64 "\n", known->address, known->count);
                }
            }
        }
        fflush(out);
    }
}

static void on_mark(unsigned int cpu, void *user) {
    (void)cpu;
    if (counting) {
        fprintf(out, "mark %#" PRIx64 " %" PRIu64 "\n", *(const uint64_t *)user, executed - at_begin);
    }
}

static int is_skipped(uint64_t address) {
    for (size_t i = 0; i < n_skips; i++) {
        if (address >= skips[i].first && address < skips[i].last) {
            return 1;
        }
    }
    return 0;
}

/* A block of code is translated: says what is to be done at each of its instructions. */
static void on_translation(plugin_id id, struct qemu_plugin_tb *tb) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        if (address == begin) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, NO_REGISTERS, NULL);
        }
        if (address == end) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, NO_REGISTERS, NULL);
        }
        for (size_t j = 0; j < n_marks; j++) {
            if (address == marks[j]) {
                qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, NO_REGISTERS, &marks[j]);
            }
        }
        if (is_skipped(address)) {
            continue;
        }
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &executed, 1);
        if (profile) {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &site_at(address)->count, 1);
        }
    }
}

static void at_end_of_run(plugin_id id, void *user) {
    (void)id;
    (void)user;
    if (!begin) {
        on_end(0, NULL);
    }
    fclose(out);
}

/* Takes one argument; 0 when it makes no sense. */
static int take(const char *name, const char *value) {
    char *rest = NULL;
    if (strcmp(name, "out") == 0) {
        out = fopen(value, "w");
        return out != NULL;
    }
    if (strcmp(name, "profile") == 0) {
        profile = strcmp(value, "on") == 0;
        return 1;
    }
    const uint64_t address = strtoull(value, &rest, 0);
    if (strcmp(name, "begin") == 0) {
        begin = address;
    } else if (strcmp(name, "end") == 0) {
        end = address;
    } else if (strcmp(name, "mark") == 0 && n_marks < MAX_MARKS) {
        marks[n_marks++] = address;
    } else if (strcmp(name, "skip") == 0 && n_skips < MAX_SKIPS && *rest == '-') {
        skips[n_skips].first = address;
        skips[n_skips++].last = strtoull(rest + 1, &rest, 0);
    } else {
        return 0;
    }
    return *rest == '\0';
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) {
            fprintf(stderr, "count: '%s' has no value\n", argv[i]);
            return -1;
        }
        *value++ = '\0';
        if (!take(argv[i], value)) {
            fprintf(stderr, "count: cannot make sense of %s=%s\n", argv[i], value);
            return -1;
        }
    }
    if (!out || !begin != !end) {
        fprintf(stderr, "count: out is needed, and begin and end together or not at all\n");
        return -1;
    }
    counting = !begin;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_end_of_run, NULL);
    return 0;
}
