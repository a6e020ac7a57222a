/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, as far as tensors need them: C order, little-endian. */
#ifndef LITH_NPY_H
#define LITH_NPY_H

#include <stdbool.h>
#include <stdio.h>

#include "microlith.h"

/* Whether the bytes are a .npy file (of any type). */
bool npy_is(const unsigned char *bytes, size_t size);

/* Where the elements of a .npy file start, when it holds exactly the type and shape of `info`; else 0, with the reason
 * in `message`. */
size_t npy_find(const unsigned char *bytes, size_t size, const lith_tensor_info *info, lith_message *message);

/* Writes a .npy file; false when the system refuses. */
bool npy_write(FILE *file, const lith_tensor_info *info, const void *data);

#endif
