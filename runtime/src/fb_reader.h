/* SPDX-License-Identifier: Apache-2.0 */
/* Flatbuffers of the schema microlith/model.fbs: verification of hostile bytes, and access to verified ones.
 *
 * lith_fb_verify() proves once that every offset, vtable, vector and string that the schema can reach lies inside the
 * buffer, is aligned and ends where it says. Only after that may the accessors be used; they check nothing.
 */
#ifndef LITH_FB_READER_H
#define LITH_FB_READER_H

#include <stddef.h>
#include <stdint.h>

/* The position of each field in its table, in the order of the schema. */
enum { FB_QUANT_SCALE, FB_QUANT_ZERO_POINT, FB_QUANT_AXIS };
enum {
    FB_TENSOR_NAME,
    FB_TENSOR_DTYPE,
    FB_TENSOR_SHAPE,
    FB_TENSOR_SYMBOLS,
    FB_TENSOR_BUFFER,
    FB_TENSOR_QUANT,
    FB_TENSOR_VARIABLE
};
enum { FB_NODE_OP, FB_NODE_NAME, FB_NODE_SOURCE, FB_NODE_INPUTS, FB_NODE_OUTPUTS, FB_NODE_PARAMS, FB_NODE_SUBGRAPHS };
enum { FB_GRAPH_NAME, FB_GRAPH_TENSORS, FB_GRAPH_NODES, FB_GRAPH_INPUTS, FB_GRAPH_OUTPUTS };
enum { FB_PAIR_KEY, FB_PAIR_VALUE };
enum { FB_PACKED_KERNEL, FB_PACKED_NODE, FB_PACKED_INPUT, FB_PACKED_BUFFER };
enum { FB_RANGE_SYMBOL, FB_RANGE_LOW, FB_RANGE_HIGH, FB_RANGE_STEP };
enum {
    FB_MODEL_VERSION,
    FB_MODEL_PRODUCER,
    FB_MODEL_CONTRACT,
    FB_MODEL_OPS,
    FB_MODEL_GRAPHS,
    FB_MODEL_BUFFERS,
    FB_MODEL_DATA_OFFSET,
    FB_MODEL_METADATA,
    FB_MODEL_RANGES,
    FB_MODEL_PACKED,
    FB_MODEL_PACKED_TARGET,
    FB_MODEL_PACKED_LAYOUT
};

/* A table or the length field of a vector, inside the buffer. NULL: an absent field. */
typedef const uint8_t *fb_pointer;

/* Struct Buffer. */
typedef struct fb_extent {
    uint64_t offset, size;
} fb_extent;

/* `data` starts at a multiple of 16. Returns NULL, or what is wrong. */
const char *lith_fb_verify(const uint8_t *data, size_t size);

/* The table Model of a verified buffer. */
fb_pointer fb_root(const uint8_t *data);

/* Scalar fields. */
uint8_t fb_u8(fb_pointer table, int field, uint8_t missing);
uint32_t fb_u32(fb_pointer table, int field, uint32_t missing);
int32_t fb_i32(fb_pointer table, int field, int32_t missing);
uint64_t fb_u64(fb_pointer table, int field, uint64_t missing);

/* "" when the field is absent. */
const char *fb_string(fb_pointer table, int field);
fb_pointer fb_table(fb_pointer table, int field);
/* `vector` may be NULL: no elements. */
fb_pointer fb_vector(fb_pointer table, int field);
uint32_t fb_length(fb_pointer vector);

/* Elements. The index is below the length. */
const void *fb_elements(fb_pointer vector);
fb_pointer fb_table_at(fb_pointer vector, uint32_t index);
const char *fb_string_at(fb_pointer vector, uint32_t index);
fb_extent fb_extent_at(fb_pointer vector, uint32_t index);

#endif
