#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

const bool host_recovers = true;
const char host_never_ends[] = "did not come to an end";

static sigjmp_buf after_crash;
static volatile sig_atomic_t inside;

static void on_signal(int number) {
    if (inside) {
        inside = 0;
        siglongjmp(after_crash, number);
    }
    signal(number, SIG_DFL);
    raise(number);
}

void host_start(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_NODEFER;
        sigaction(numbers[i], &action, NULL);
    }
}

static const char *crash_name(int number) {
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
        return "touched memory that is not its own, or wrote to an input";
    case SIGILL:
        return "ran an instruction that this machine does not have";
    case SIGFPE:
        return "divided by zero";
    case SIGALRM:
        return host_never_ends;
    default:
        return "aborted";
    }
}

const char *host_run(void (*body)(const void *argument), const void *argument, unsigned seconds) {
    const int crash = sigsetjmp(after_crash, 1);
    if (crash) {
        alarm(0);
        return crash_name(crash);
    }
    inside = 1;
    alarm(seconds);
    body(argument);
    alarm(0);
    inside = 0;
    return NULL;
}

double host_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
