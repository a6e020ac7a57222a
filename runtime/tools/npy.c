/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <string.h>

/* By the number of an element type. */
static const char *const descriptions[] = {"<f4", "<f2", "|i1", "|u1", "<i2", "<i4",
                                           "<i8", "|b1", "<f8", "<u2", "<u4", "<u8"};

/* A header starts with the mark, the version, and the length of the text that follows. */
#define FIXED 10
#define MAX_HEADER 512

bool npy_is(const unsigned char *bytes, size_t size) {
    return size >= FIXED && memcmp(bytes, "\x93NUMPY", 6) == 0;
}

/* "(1, 3, 224, 224)", as Python prints it. */
static void print_shape(char *text, size_t size, const lith_tensor_info *info) {
    size_t used = (size_t)snprintf(text, size, "(");
    for (int32_t i = 0; i < info->rank; i++) {
        const char *end = i + 1 < info->rank ? ", " : info->rank == 1 ? "," : "";
        used += (size_t)snprintf(text + used, size - used, "%d%s", (int)info->dims[i], end);
    }
    snprintf(text + used, size - used, ")");
}

size_t npy_find(const unsigned char *bytes, size_t size, const lith_tensor_info *info, lith_message *message) {
    char shape[160], wanted[192], header[MAX_HEADER + 1];
    print_shape(shape, sizeof shape, info);
    size_t length = npy_is(bytes, size) ? (size_t)bytes[8] | (size_t)bytes[9] << 8 : 0;
    if (length == 0 || bytes[6] != 1 || length > MAX_HEADER || FIXED + length > size) {
        snprintf(message->text, sizeof message->text, "this is not a .npy file of version 1");
        return 0;
    }
    memcpy(header, bytes + FIXED, length);
    header[length] = '\0';
    snprintf(wanted, sizeof wanted, "'shape': %s", shape);
    if (strstr(header, "'fortran_order': False") == NULL || strstr(header, descriptions[info->dtype]) == NULL ||
        strstr(header, wanted) == NULL || size - FIXED - length != info->size) {
        snprintf(message->text, sizeof message->text,
                 "the input wants %s in C order with shape %s, the file says %.200s", descriptions[info->dtype], shape,
                 header);
        return 0;
    }
    return FIXED + length;
}

bool npy_write(FILE *file, const lith_tensor_info *info, const void *data) {
    char shape[160], header[MAX_HEADER];
    print_shape(shape, sizeof shape, info);
    int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        descriptions[info->dtype], shape);
    /* Spaces and a line end fill up to a multiple of 64. */
    size_t length = ((size_t)used + 1 + FIXED + 63) / 64 * 64 - FIXED;
    memset(header + used, ' ', length - (size_t)used);
    header[length - 1] = '\n';
    unsigned char fixed[FIXED] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 0xff), (unsigned char)(length >> 8)};
    return fwrite(fixed, 1, FIXED, file) == FIXED && fwrite(header, 1, length, file) == length &&
           fwrite(data, 1, info->size, file) == info->size;
}
