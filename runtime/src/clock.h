/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LITH_CLOCK_H
#define LITH_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment; never goes back. */
int64_t lith_now(void);

#endif
