/* SPDX-License-Identifier: Apache-2.0 */
#include "fb_reader.h"

#include <stdbool.h>
#include <string.h>

/* Integers are read where they lie; the format is little-endian. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the runtime reads .lith files on little-endian machines only"
#endif

/* As the official verifier: a buffer whose tables are shared many times over must not cost more than its size. */
#define MAX_TABLES 1000000
#define MAX_STRINGS 4000000
#define MAX_SIZE 0x7fffffffu

/* ---- the schema as data -------------------------------------------------------------------------------------------
 */

typedef enum fb_kind {
    SCALAR, /* of `size` bytes */
    STRING,
    SCALARS, /* vector of scalars or structs of `size` bytes, aligned to `align` */
    STRINGS, /* vector of strings */
    TABLE,   /* of `child` */
    TABLES   /* vector of tables of `child` */
} fb_kind;

typedef struct fb_schema fb_schema;

typedef struct fb_field {
    fb_kind kind;
    uint8_t size, align;
    const fb_schema *child;
} fb_field;

struct fb_schema {
    int count;
    const fb_field *fields;
};

#define SCHEMA(name, ...)                                                                                              \
    static const fb_field name##_fields[] = {__VA_ARGS__};                                                             \
    static const fb_schema name = {(int)(sizeof name##_fields / sizeof name##_fields[0]), name##_fields}

/* clang-format off */
SCHEMA(quant_schema,
    [FB_QUANT_SCALE] = {SCALARS, 4, 4, NULL},
    [FB_QUANT_ZERO_POINT] = {SCALARS, 4, 4, NULL},
    [FB_QUANT_AXIS] = {SCALAR, 4, 4, NULL});
SCHEMA(tensor_schema,
    [FB_TENSOR_NAME] = {STRING, 0, 0, NULL},
    [FB_TENSOR_DTYPE] = {SCALAR, 1, 1, NULL},
    [FB_TENSOR_SHAPE] = {SCALARS, 4, 4, NULL},
    [FB_TENSOR_SYMBOLS] = {STRINGS, 0, 0, NULL},
    [FB_TENSOR_BUFFER] = {SCALAR, 4, 4, NULL},
    [FB_TENSOR_QUANT] = {TABLE, 0, 0, &quant_schema},
    [FB_TENSOR_VARIABLE] = {SCALAR, 1, 1, NULL});
SCHEMA(node_schema,
    [FB_NODE_OP] = {SCALAR, 4, 4, NULL},
    [FB_NODE_NAME] = {STRING, 0, 0, NULL},
    [FB_NODE_SOURCE] = {STRING, 0, 0, NULL},
    [FB_NODE_INPUTS] = {SCALARS, 4, 4, NULL},
    [FB_NODE_OUTPUTS] = {SCALARS, 4, 4, NULL},
    [FB_NODE_PARAMS] = {SCALARS, 1, 1, NULL},
    [FB_NODE_SUBGRAPHS] = {SCALARS, 4, 4, NULL});
SCHEMA(graph_schema,
    [FB_GRAPH_NAME] = {STRING, 0, 0, NULL},
    [FB_GRAPH_TENSORS] = {TABLES, 0, 0, &tensor_schema},
    [FB_GRAPH_NODES] = {TABLES, 0, 0, &node_schema},
    [FB_GRAPH_INPUTS] = {SCALARS, 4, 4, NULL},
    [FB_GRAPH_OUTPUTS] = {SCALARS, 4, 4, NULL});
SCHEMA(pair_schema,
    [FB_PAIR_KEY] = {STRING, 0, 0, NULL},
    [FB_PAIR_VALUE] = {STRING, 0, 0, NULL});
SCHEMA(range_schema,
    [FB_RANGE_SYMBOL] = {STRING, 0, 0, NULL},
    [FB_RANGE_LOW] = {SCALAR, 4, 4, NULL},
    [FB_RANGE_HIGH] = {SCALAR, 4, 4, NULL},
    [FB_RANGE_STEP] = {SCALAR, 4, 4, NULL});
SCHEMA(packed_schema,
    [FB_PACKED_KERNEL] = {STRING, 0, 0, NULL},
    [FB_PACKED_NODE] = {SCALAR, 4, 4, NULL},
    [FB_PACKED_INPUT] = {SCALAR, 4, 4, NULL},
    [FB_PACKED_BUFFER] = {SCALAR, 4, 4, NULL});
SCHEMA(model_schema,
    [FB_MODEL_VERSION] = {SCALAR, 4, 4, NULL},
    [FB_MODEL_PRODUCER] = {STRING, 0, 0, NULL},
    [FB_MODEL_CONTRACT] = {SCALAR, 1, 1, NULL},
    [FB_MODEL_OPS] = {STRINGS, 0, 0, NULL},
    [FB_MODEL_GRAPHS] = {TABLES, 0, 0, &graph_schema},
    [FB_MODEL_BUFFERS] = {SCALARS, 16, 8, NULL},
    [FB_MODEL_DATA_OFFSET] = {SCALAR, 8, 8, NULL},
    [FB_MODEL_METADATA] = {TABLES, 0, 0, &pair_schema},
    [FB_MODEL_RANGES] = {TABLES, 0, 0, &range_schema},
    [FB_MODEL_PACKED] = {TABLES, 0, 0, &packed_schema},
    [FB_MODEL_PACKED_TARGET] = {STRING, 0, 0, NULL},
    [FB_MODEL_PACKED_LAYOUT] = {SCALAR, 4, 4, NULL});
/* clang-format on */

/* ---- verification -------------------------------------------------------------------------------------------------
 */

typedef struct fb_verifier {
    const uint8_t *data;
    uint64_t size;
    uint32_t tables, strings;
    const char *error; /* the first */
} fb_verifier;

static bool refuse(fb_verifier *verifier, const char *error) {
    if (verifier->error == NULL) {
        verifier->error = error;
    }
    return false;
}

static uint32_t read_u32(const uint8_t *data) {
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

static uint16_t read_u16(const uint8_t *data) {
    uint16_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* Positions are 64 bits wide and below 2^33, so that no sum here can wrap. */
static bool inside(const fb_verifier *verifier, uint64_t position, uint64_t bytes) {
    return bytes <= verifier->size && position <= verifier->size - bytes;
}

/* Follows the offset that stands at `position`. */
static bool follow(fb_verifier *verifier, uint64_t position, uint64_t *target) {
    if (position % 4 != 0 || !inside(verifier, position, 4)) {
        return refuse(verifier, "an offset is misplaced");
    }
    uint32_t offset = read_u32(verifier->data + position);
    if (offset == 0 || offset > MAX_SIZE || !inside(verifier, position + offset, 1)) {
        return refuse(verifier, "an offset points outside of the file");
    }
    *target = position + offset;
    return true;
}

/* The vector whose length stands at `position`; its elements have `size` bytes. */
static bool verify_vector(fb_verifier *verifier, uint64_t position, uint32_t size, uint32_t align, uint32_t *length) {
    if (position % 4 != 0 || !inside(verifier, position, 4)) {
        return refuse(verifier, "a vector is misplaced");
    }
    uint32_t count = read_u32(verifier->data + position);
    if (count > MAX_SIZE / size || !inside(verifier, position + 4, (uint64_t)count * size)) {
        return refuse(verifier, "a vector passes the end of the file");
    }
    if ((position + 4) % align != 0 && count > 0) {
        return refuse(verifier, "a vector is not aligned");
    }
    *length = count;
    return true;
}

static bool verify_string(fb_verifier *verifier, uint64_t position) {
    uint32_t length;
    if (++verifier->strings > MAX_STRINGS) {
        return refuse(verifier, "there are too many strings");
    }
    if (!verify_vector(verifier, position, 1, 1, &length)) {
        return false;
    }
    uint64_t end = position + 4 + length;
    if (!inside(verifier, end, 1) || verifier->data[end] != 0) {
        return refuse(verifier, "a string has no end");
    }
    return true;
}

/* A table's fields, its vtable found and proved to be in the buffer. */
typedef struct fb_layout {
    uint64_t table, vtable;
    uint32_t vtable_size, table_size;
} fb_layout;

static bool verify_layout(fb_verifier *verifier, uint64_t position, fb_layout *layout) {
    if (++verifier->tables > MAX_TABLES) {
        return refuse(verifier, "there are too many tables");
    }
    if (position % 4 != 0 || !inside(verifier, position, 4)) {
        return refuse(verifier, "a table is misplaced");
    }
    int32_t back = (int32_t)read_u32(verifier->data + position);
    int64_t vtable = (int64_t)position - back;
    if (vtable < 0 || vtable % 2 != 0 || !inside(verifier, (uint64_t)vtable, 4)) {
        return refuse(verifier, "a vtable is misplaced");
    }
    layout->table = position;
    layout->vtable = (uint64_t)vtable;
    layout->vtable_size = read_u16(verifier->data + vtable);
    layout->table_size = read_u16(verifier->data + vtable + 2);
    if (layout->vtable_size < 4 || layout->vtable_size % 2 != 0 ||
        !inside(verifier, (uint64_t)vtable, layout->vtable_size)) {
        return refuse(verifier, "a vtable has an impossible size");
    }
    if (layout->table_size < 4 || !inside(verifier, position, layout->table_size)) {
        return refuse(verifier, "a table passes the end of the file");
    }
    return true;
}

static bool verify_table(fb_verifier *verifier, uint64_t position, const fb_schema *schema);

static bool verify_field(fb_verifier *verifier, uint64_t position, const fb_field *field) {
    uint64_t target;
    uint32_t length;
    if (!follow(verifier, position, &target)) {
        return false;
    }
    switch (field->kind) {
    case SCALAR:
        return true;
    case STRING:
        return verify_string(verifier, target);
    case SCALARS:
        return verify_vector(verifier, target, field->size, field->align, &length);
    case TABLE:
        return verify_table(verifier, target, field->child);
    case STRINGS:
    case TABLES:
        break;
    }
    if (!verify_vector(verifier, target, 4, 4, &length)) {
        return false;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint64_t element;
        if (!follow(verifier, target + 4 + 4 * (uint64_t)i, &element)) {
            return false;
        }
        if (field->kind == STRINGS ? !verify_string(verifier, element)
                                   : !verify_table(verifier, element, field->child)) {
            return false;
        }
    }
    return true;
}

/* Recursion ends with the schema: Model, Graph, Tensor, Quant. */
static bool verify_table(fb_verifier *verifier, uint64_t position, const fb_schema *schema) {
    fb_layout layout;
    if (!verify_layout(verifier, position, &layout)) {
        return false;
    }
    for (int i = 0; i < schema->count; i++) {
        uint32_t entry = 4 + 2 * (uint32_t)i;
        if (entry + 2 > layout.vtable_size) {
            return true; /* an older writer: this field and all after it are absent */
        }
        uint32_t offset = read_u16(verifier->data + layout.vtable + entry);
        if (offset == 0) {
            continue;
        }
        const fb_field *field = &schema->fields[i];
        uint32_t size = field->kind == SCALAR ? field->size : 4;
        uint64_t place = position + offset;
        if (offset < 4 || offset + size > layout.table_size || place % size != 0) {
            return refuse(verifier, "a field is misplaced in its table");
        }
        if (field->kind != SCALAR && !verify_field(verifier, place, field)) {
            return false;
        }
    }
    return true;
}

const char *lith_fb_verify(const uint8_t *data, size_t size) {
    fb_verifier verifier = {data, size, 0, 0, NULL};
    uint64_t root;
    if (verifier.size > MAX_SIZE - 1) {
        verifier.size = MAX_SIZE - 1; /* constants may follow beyond; tables may not */
    }
    if (verifier.size < 12) {
        return "it is too short";
    }
    if (memcmp(data + 4, "LITH", 4) != 0) {
        return "it does not have the mark of a .lith file";
    }
    if (follow(&verifier, 0, &root)) {
        verify_table(&verifier, root, &model_schema);
    }
    return verifier.error;
}

/* ---- access -------------------------------------------------------------------------------------------------------
 */

static const uint8_t *field_at(fb_pointer table, int field) {
    const uint8_t *vtable = table - (int32_t)read_u32(table);
    uint32_t entry = 4 + 2 * (uint32_t)field;
    uint32_t offset = entry + 2 <= read_u16(vtable) ? read_u16(vtable + entry) : 0;
    return offset != 0 ? table + offset : NULL;
}

fb_pointer fb_root(const uint8_t *data) {
    return data + read_u32(data);
}

uint8_t fb_u8(fb_pointer table, int field, uint8_t missing) {
    const uint8_t *place = field_at(table, field);
    return place != NULL ? *place : missing;
}

uint32_t fb_u32(fb_pointer table, int field, uint32_t missing) {
    const uint8_t *place = field_at(table, field);
    return place != NULL ? read_u32(place) : missing;
}

int32_t fb_i32(fb_pointer table, int field, int32_t missing) {
    return (int32_t)fb_u32(table, field, (uint32_t)missing);
}

uint64_t fb_u64(fb_pointer table, int field, uint64_t missing) {
    const uint8_t *place = field_at(table, field);
    uint64_t value = missing;
    if (place != NULL) {
        memcpy(&value, place, sizeof value);
    }
    return value;
}

fb_pointer fb_table(fb_pointer table, int field) {
    const uint8_t *place = field_at(table, field);
    return place != NULL ? place + read_u32(place) : NULL;
}

fb_pointer fb_vector(fb_pointer table, int field) {
    return fb_table(table, field);
}

const char *fb_string(fb_pointer table, int field) {
    fb_pointer string = fb_table(table, field);
    return string != NULL ? (const char *)string + 4 : "";
}

uint32_t fb_length(fb_pointer vector) {
    return vector != NULL ? read_u32(vector) : 0;
}

const void *fb_elements(fb_pointer vector) {
    return vector != NULL ? vector + 4 : NULL;
}

fb_pointer fb_table_at(fb_pointer vector, uint32_t index) {
    const uint8_t *place = vector + 4 + 4 * (size_t)index;
    return place + read_u32(place);
}

const char *fb_string_at(fb_pointer vector, uint32_t index) {
    return (const char *)fb_table_at(vector, index) + 4;
}

fb_extent fb_extent_at(fb_pointer vector, uint32_t index) {
    fb_extent extent;
    memcpy(&extent.offset, vector + 4 + 16 * (size_t)index, 8);
    memcpy(&extent.size, vector + 12 + 16 * (size_t)index, 8);
    return extent;
}
