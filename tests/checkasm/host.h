/* What checkasm needs of the machine that it runs on, beside memory (guarded.h): crashes caught, and time. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>

/* Comes before everything else. */
void host_start(void);

/* Whether the machine can come back from a crash and from an endless loop. One that cannot ends the program. */
extern const bool host_recovers;

/* Calls body(argument). NULL, or what became of it: a crash, or host_never_ends when it took longer. */
const char *host_run(void (*body)(const void *argument), const void *argument, unsigned seconds);

extern const char host_never_ends[];

/* Nanoseconds since some time. */
double host_now(void);

#endif
