/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STUB_ZEPHYR_PRINTK_H
#define STUB_ZEPHYR_PRINTK_H

void printk(const char *format, ...);

#endif
