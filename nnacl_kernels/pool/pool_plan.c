/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lead.h"
#include "common/plan_check.h"
#include "nnacl_kernels.h"
#include "pool/pool.h"

static const char *resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                          bool knows_u8) {
    nnacl_pool2d_params *p = params;
    NNACL_REQUIRE(n_in == 1 && n_out == 1, "expected one input and one output");
    const nnacl_tensor *x = &in[0];
    const bool is_float = x->dtype == NNACL_F32 || x->dtype == NNACL_F16;
    NNACL_REQUIRE(x->rank == 4 &&
                      (is_float || x->dtype == NNACL_S8 || x->dtype == NNACL_S16 || (knows_u8 && x->dtype == NNACL_U8)),
                  "x must be f32, f16, s8 or s16 (max_pool2d: or u8) [batch, "
                  "height, width, channels]");
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0, "x has too many elements");
    NNACL_REQUIRE(p->kernel_h >= 0 && p->kernel_w >= 0, "a kernel size is negative");
    NNACL_REQUIRE(p->extra_bottom >= 0 && p->extra_right >= 0, "an extra padding is negative");
    NNACL_REQUIRE(p->count_include_pad == 0 || p->count_include_pad == 1, "count_include_pad must be 0 or 1");
    NNACL_REQUIRE(p->halves_up == 0 || p->halves_up == 1, "halves_up must be 0 or 1");
    p->batch = x->dims[0];
    p->in_h = x->dims[1];
    p->in_w = x->dims[2];
    p->channels = x->dims[3];
    const int32_t kernel_h = p->kernel_h > 0 ? p->kernel_h : p->in_h;
    const int32_t kernel_w = p->kernel_w > 0 ? p->kernel_w : p->in_w;
    const char *message = nnacl_plan_window(p->in_h, p->pad_top, (int64_t)p->pad_bottom + p->extra_bottom, kernel_h,
                                            p->stride_h, p->dilation_h, &p->out_h);
    if (!message) {
        message = nnacl_plan_window(p->in_w, p->pad_left, (int64_t)p->pad_right + p->extra_right, kernel_w, p->stride_w,
                                    p->dilation_w, &p->out_w);
    }
    if (message) {
        return message;
    }
    NNACL_REQUIRE(p->pad_bottom >= 0 && p->pad_right >= 0, "a padding is negative");
    /* The sum of one window of integers fits in 32 bits. */
    NNACL_REQUIRE((int64_t)kernel_h * kernel_w < (x->dtype == NNACL_S16 ? 1 << 14 : 1 << 23),
                  "the kernel is too large");
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->channels};
    NNACL_REQUIRE(nnacl_plan_output(&out[0], x->dtype, 4, dims), "y would have too many elements");
    if (is_float) {
        NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
        return NULL;
    }
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, x->dtype) && nnacl_plan_zero_ok(p->y_zero, x->dtype),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, x->dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    NNACL_REQUIRE(p->rounding != NNACL_ROUND_FLOAT_EVEN || (p->scale > 0.0f && p->scale <= 3.4e38f),
                  "scale must be positive and finite");
    return NULL;
}

static const char *max_pool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    return resize(params, in, n_in, out, n_out, true);
}

static const char *avg_pool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    return resize(params, in, n_in, out, n_out, false);
}

bool nnacl_pool2d_accepts_quads(const void *params) {
    return ((const nnacl_pool2d_params *)params)->channels >= 4;
}

bool nnacl_pool2d_accepts_pairs(const void *params) {
    return ((const nnacl_pool2d_params *)params)->channels >= 2;
}

static int32_t pool_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_pool2d_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

static nnacl_lead pool_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_pool2d_params *p = params;
    const int64_t size = (int64_t)nnacl_dtype_size(kernel->dtype) * p->channels;
    const nnacl_lead_window window = {
        NNACL_LEAD_SAME(p),
        .in_bytes = size,
        .out_bytes = size,
        .ahead = 1,
    };
    return index == 0 ? nnacl_window_lead(&window) : nnacl_lead_none();
}

const nnacl_op nnacl_max_pool2d_op = {
    .name = "max_pool2d",
    .params_name = "nnacl_pool2d_params",
    .header = "pool/pool.h",
    .params_size = sizeof(nnacl_pool2d_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = max_pool_resize,
    .parts = pool_parts,
    .lead = pool_lead,
};

const nnacl_op nnacl_avg_pool2d_op = {
    .name = "avg_pool2d",
    .params_name = "nnacl_pool2d_params",
    .header = "pool/pool.h",
    .params_size = sizeof(nnacl_pool2d_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = avg_pool_resize,
    .parts = pool_parts,
    .lead = pool_lead,
};
