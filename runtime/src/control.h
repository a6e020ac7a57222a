/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that run subgraphs.
 *
 * if: inputs 0 condition (b8, one element), then what the branches read. Both subgraphs (then, else) take exactly
 * these, and have the outputs of the node. loop: inputs 0 number of iterations (s64, one element), 1 condition (b8, one
 * element), then `carried` values that go from one iteration to the next, then what the body reads beside. The body
 * takes the number of the iteration, the condition, and the rest as it is; it gives the next condition, the carried
 * values, and what is collected: each of these, from all iterations, along a new first dimension, is an output of the
 * node behind the carried values. It ends with the iterations or when the condition is false, whichever comes first.
 */
#ifndef LITH_CONTROL_H
#define LITH_CONTROL_H

#include "dynamic.h"

/* NULL when there is no such op. */
const nnacl_op *lith_control_find(const char *name, lith_control *control);

/* Whether a node and its subgraphs, all loaded, fit together. */
lith_status lith_control_check(const lith_model *model, int32_t index, lith_message *message);

/* Runs a node, whose inputs have their places; its outputs get theirs. */
lith_status lith_control_run(lith_dynamic *dynamic, int32_t index, const lith_watch *watch, lith_message *message);

#endif
