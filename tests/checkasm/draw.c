#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkasm.h"
#include "common/half.h"

/* splitmix64 */
uint32_t check_bits(check_case *c) {
    uint64_t z = c->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

int32_t check_int(check_case *c, int32_t least, int32_t most) {
    const uint64_t span = (uint64_t)((int64_t)most - least + 1);
    return (int32_t)(least + (int64_t)(check_bits(c) * span >> 32));
}

bool check_chance(check_case *c, int32_t percent) {
    return check_int(c, 0, 99) < percent;
}

float check_float(check_case *c, float least, float most) {
    return least + (most - least) * ((float)(check_bits(c) >> 8) * 0x1p-24f);
}

int32_t check_dim(check_case *c, int32_t most, int32_t large) {
    if (c->bench) {
        return large;
    }
    return check_int(c, 1, check_chance(c, 30) && most > 4 ? 4 : most);
}

void check_shape(check_case *c, int32_t rank, int32_t most, int32_t *dims) {
    int32_t rest = most;
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = check_chance(c, 15) ? 1 : check_int(c, 1, rest < 9 ? rest : 9);
        rest /= dims[i];
    }
    /* One dimension may be long. */
    if (rank > 0 && rest > 1 && (c->bench || check_chance(c, 50))) {
        dims[check_int(c, 0, rank - 1)] *= c->bench ? rest : check_int(c, 1, rest);
    }
}

static void fill(check_case *c, int32_t dtype, void *data, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        switch (dtype) {
        case NNACL_F32:
            ((float *)data)[i] = check_float(c, -4.0f, 4.0f);
            break;
        case NNACL_F64:
            ((double *)data)[i] = check_float(c, -4.0f, 4.0f);
            break;
        case NNACL_S8:
        case NNACL_U8:
            ((uint8_t *)data)[i] = (uint8_t)check_bits(c);
            break;
        case NNACL_B8:
            ((uint8_t *)data)[i] = check_bits(c) & 1;
            break;
        case NNACL_F16:
            /* No infinities, no NaN: the largest exponent is left out. */
            ((uint16_t *)data)[i] =
                c->moves ? (uint16_t)(check_bits(c) & 0xbfff) : nnacl_float_to_half(check_float(c, -4.0f, 4.0f));
            break;
        case NNACL_S16:
        case NNACL_U16:
            ((uint16_t *)data)[i] = (uint16_t)check_bits(c);
            break;
        case NNACL_S32:
        case NNACL_U32:
            ((int32_t *)data)[i] = check_int(c, -9999, 9999);
            break;
        default:
            ((int64_t *)data)[i] = check_int(c, -9999, 9999);
            break;
        }
    }
    /* The ends of the range, and runs of one value, are where saturation goes wrong. */
    if (dtype == NNACL_S8 && count > 0 && check_chance(c, 30)) {
        static const int8_t ends[] = {-128, -127, 0, 127};
        const int8_t value = ends[check_int(c, 0, 3)];
        const int64_t start = check_int(c, 0, (int32_t)count - 1);
        memset((char *)data + start, value, (size_t)(count - start));
    }
}

float check_power(check_case *c, int32_t exponent) {
    return ldexpf(check_float(c, 0.5f, 1.0f), exponent);
}

void *check_input(check_case *c, int32_t dtype, int32_t rank, const int32_t *dims) {
    if (c->n_in == NNACL_MAX_INPUTS) {
        fprintf(stderr, "checkasm: too many inputs of %s\n", c->op->name);
        exit(2);
    }
    const int32_t index = c->n_in++;
    nnacl_tensor *tensor = &c->in[index];
    memset(tensor, 0, sizeof *tensor);
    tensor->dtype = dtype;
    tensor->rank = rank;
    for (int32_t i = 0; i < rank; i++) { /* of rank 0 there may be no dims */
        tensor->dims[i] = dims[i];
    }
    const int64_t count = nnacl_element_count(tensor);
    void *data = malloc((size_t)count * nnacl_dtype_size(dtype) + 1);
    if (!data) {
        fprintf(stderr, "checkasm: no memory\n");
        exit(2);
    }
    fill(c, dtype, data, count);
    c->data[index] = data;
    c->constant[index] = false;
    return data;
}

void *check_vector(check_case *c, int32_t dtype, int32_t size) {
    return check_input(c, dtype, 1, &size);
}

void check_strew(check_case *c, int32_t index) {
    static const float special[] = {0.0f, -0.0f, 1e-40f, -1e-40f, 1e-20f, 3e38f, -3e38f, 1.0f, -1.0f, 0.5f};
    const int64_t count = nnacl_element_count(&c->in[index]);
    for (int64_t i = 0; i < count; i += check_int(c, 1, 9)) {
        const int32_t choice = check_int(c, 0, 12);
        const float value = choice < 10 ? special[choice] : choice == 10 ? INFINITY : choice == 11 ? -INFINITY : NAN;
        if (c->in[index].dtype == NNACL_F16) {
            ((uint16_t *)c->data[index])[i] = nnacl_float_to_half(value);
        } else {
            ((float *)c->data[index])[i] = value;
        }
    }
}

void check_absent(check_case *c) {
    const int32_t index = c->n_in++;
    memset(&c->in[index], 0, sizeof c->in[index]);
    c->in[index].dtype = -1;
    c->data[index] = NULL;
    c->constant[index] = false;
}

void check_mark_constant(check_case *c) {
    c->constant[c->n_in - 1] = true;
    c->in[c->n_in - 1].data = c->data[c->n_in - 1];
}

void check_multiplier(check_case *c, int32_t exponent, int32_t *multiplier, int32_t *shift) {
    *multiplier = check_chance(c, 10) ? 1 << 30 : check_int(c, 1 << 30, INT32_MAX);
    *shift = exponent + check_int(c, -1, 1);
}

/* Makes inputs, weights and bias multiples of powers of two, so that many sums end in halves when they are scaled. */
static void coarsen(check_case *c) {
    for (int32_t input = 0; input < c->n_in; input++) {
        const int64_t count = nnacl_element_count(&c->in[input]);
        for (int64_t i = 0; c->data[input] && i < count; i++) {
            if (c->in[input].dtype == NNACL_S8) {
                ((uint8_t *)c->data[input])[i] &= 0xf0;
            } else if (c->in[input].dtype == NNACL_S32) {
                ((uint32_t *)c->data[input])[i] &= 0xffffff00u;
            }
        }
    }
}

void check_requant(check_case *c, int32_t channels, int32_t rounding, int32_t terms) {
    /* The sums are about 2^12 * sqrt(terms); they should fill s8 and sometimes pass it. */
    const int32_t exponent = -6 - (int32_t)(0.5 * log2((double)terms));
    if (rounding == NNACL_ROUND_FLOAT_EVEN) {
        float *scales = check_vector(c, NNACL_F32, channels);
        for (int32_t i = 0; i < channels; i++) {
            scales[i] = check_power(c, exponent + check_int(c, -2, 2));
        }
        return;
    }
    const bool coarse = check_chance(c, 20);
    if (coarse) {
        coarsen(c);
    }
    const int32_t dims[2] = {2, channels};
    int32_t *rows = check_input(c, NNACL_S32, 2, dims);
    for (int32_t i = 0; i < channels; i++) {
        check_multiplier(c, check_chance(c, 3) ? 3 : exponent + check_int(c, -2, 2), &rows[i], &rows[channels + i]);
        rows[i] = coarse ? 1 << 30 : rows[i];
    }
}

void check_sum_tolerance(check_case *c, int32_t terms) {
    /* Halves: what rounding the sums of short blocks adds up to, six times over. */
    c->absolute = c->dtype == NNACL_F16 ? 0.02 + 0.02 * sqrt((double)terms) : 4e-6 * sqrt((double)terms);
}

void check_clamp(check_case *c, float *low, float *high) {
    *low = check_chance(c, 50) ? -INFINITY : check_float(c, -2.0f, 0.0f);
    *high = check_chance(c, 50) ? INFINITY : check_float(c, 0.0f, 6.0f);
}

void check_quantized_range(check_case *c, int32_t *low, int32_t *high) {
    *low = check_chance(c, 60) ? -128 : check_int(c, -128, 0);
    *high = check_chance(c, 60) ? 127 : check_int(c, 0, 127);
}

int32_t check_zero(check_case *c) {
    static const int32_t common[] = {-128, 0, 127};
    return check_chance(c, 40) ? common[check_int(c, 0, 2)] : check_int(c, -128, 127);
}

void check_zeros(check_case *c, int32_t count) {
    int32_t *zeros = check_vector(c, NNACL_S32, count);
    for (int32_t i = 0; i < count; i++) {
        zeros[i] = check_zero(c);
    }
}
