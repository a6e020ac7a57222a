/* SPDX-License-Identifier: Apache-2.0 */
/* Which items of the work a kernel has to do: ctx->part of ctx->parts. */
#ifndef NNACL_SHARE_H
#define NNACL_SHARE_H

#include "nnacl_base.h"

typedef struct nnacl_range {
    int32_t begin, end;
} nnacl_range;

/* The items of 0 .. total - 1 that belong to this part; the parts differ by one item at most. */
static inline nnacl_range nnacl_share(const nnacl_ctx *ctx, int32_t total) {
    if (!NNACL_NEEDS_PARTS) {
        return (nnacl_range){0, total};
    }
    const nnacl_range range = {(int32_t)((int64_t)total * ctx->part / ctx->parts),
                               (int32_t)((int64_t)total * (ctx->part + 1) / ctx->parts)};
    return range;
}

#endif
