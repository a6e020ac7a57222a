/* How a kernel takes its share of `count` units of work: units [first, end) for this part. The shares of all parts
 * cover every unit once; a share may be empty. */
#ifndef NNACL_PARTS_H
#define NNACL_PARTS_H

#include "../nnacl_base.h"

static inline int32_t nnacl_part_first(const nnacl_ctx *ctx, int32_t count) {
    return (int32_t)((int64_t)count * ctx->part / ctx->parts);
}

static inline int32_t nnacl_part_end(const nnacl_ctx *ctx, int32_t count) {
    return (int32_t)((int64_t)count * (ctx->part + 1) / ctx->parts);
}

/* For plan halves: how many parts are worth it when each should hold at least `least` of `count` units. */
static inline int32_t nnacl_parts_of(int64_t count, int64_t least) {
    const int64_t parts = count / least;
    return parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
}

#endif
