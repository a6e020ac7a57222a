/* Reductions over any set of axes: reduce_mean reduce_sum reduce_max reduce_min reduce_prod (f32), reduce_mean s8.
 * Inputs: 0 x. s8 mean: y = clamp(requant(sum(x - x_zero), mult, shift) + y_zero), the divisor folded into mult.
 */
#ifndef NNACL_REDUCE_H
#define NNACL_REDUCE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_reduce_params {
    /* attributes */
    int32_t axes; /* bit i: axis i is reduced */
    int32_t keep_dims;
    int32_t x_zero, y_zero, mult, shift, q_min, q_max, rounding;
    float scale; /* float-even: x_scale / y_scale / count */
    /* shapes, derived; neighbours of one kind are merged */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t reduced; /* bit i: merged dimension i is reduced */
} nnacl_reduce_params;

#ifdef __cplusplus
}
#endif

#endif
