/* SPDX-License-Identifier: Apache-2.0 */
/* As much of Zephyr's API as the generated sample uses. */
#ifndef STUB_ZEPHYR_KERNEL_H
#define STUB_ZEPHYR_KERNEL_H

#include <stdint.h>

uint32_t k_cycle_get_32(void);

#endif
