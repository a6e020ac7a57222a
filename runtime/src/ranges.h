/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes that symbols of a model's inputs may have, as its file says. */
#ifndef LITH_RANGES_H
#define LITH_RANGES_H

#include "model.h"

/* Whether the ranges of a file make sense. */
lith_status lith_ranges_check(const lith_model *model, lith_message *message);

/* Whether shapes, one for each input of as many dimensions as it has, keep to the ranges. */
lith_status lith_ranges_admit(const lith_model *model, const lith_shape *shapes, lith_message *message);

#endif
