/* checkasm on a bare Cortex-M core in QEMU: start-up, arguments and faults; newlib's semihosting does the rest. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "host.h"

#define COPROCESSORS (*(volatile uint32_t *)0xE000ED88u)
#define TRAPS (*(volatile uint32_t *)0xE000ED14u)
#define TRAP_DIVISION_BY_ZERO 0x10u
#define SEMIHOSTING_WRITE0 0x04
#define SEMIHOSTING_COMMAND_LINE 0x15
#define MAX_ARGUMENTS 16

extern uint32_t link_stack_top[];
void initialise_monitor_handles(void);
int main(int argc, char **argv);
void reset_handler(void);

const bool host_recovers = false;
const char host_never_ends[] = "did not come to an end";

static int semihosting(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void on_fault(void) {
    semihosting(SEMIHOSTING_WRITE0, "FAIL: a fault, in the kernel that --verbose names last or behind it\n");
    exit(1);
}

void reset_handler(void) {
    static char line[512];
    static char *arguments[MAX_ARGUMENTS + 1];
    int count = 0;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    COPROCESSORS |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    TRAPS |= TRAP_DIVISION_BY_ZERO;
    initialise_monitor_handles();
    struct {
        char *text;
        int32_t size;
    } request = {line, sizeof line};
    semihosting(SEMIHOSTING_COMMAND_LINE, &request);
    for (char *letter = line; *letter && count < MAX_ARGUMENTS; count++) {
        arguments[count] = letter;
        while (*letter && *letter != ' ') {
            letter++;
        }
        while (*letter == ' ') {
            *letter++ = '\0';
        }
    }
    exit(main(count, arguments));
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    (vector)(uintptr_t)link_stack_top, reset_handler, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault,
};

void host_start(void) {}

const char *host_run(void (*body)(const void *argument), const void *argument, unsigned seconds) {
    (void)seconds;
    body(argument);
    return NULL;
}

double host_now(void) {
    return 0.0;
}
