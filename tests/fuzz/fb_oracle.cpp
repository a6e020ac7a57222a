/* Holds the runtime's flatbuffer reader against the official C++ one, on damaged files: what ours accepts, the official
 * verifier has to accept, and both have to read the same.
 *
 *     fb_oracle N SEED FILE...
 *
 * model_generated.h is written by flatc from microlith/model.fbs. */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model_generated.h"

extern "C" {
#include "fb_reader.h"
}
#include "mutate.h"

namespace official = microlith::fb;

using Bytes = std::vector<uint8_t>;

static void require(bool condition, const char *what) {
    if (!condition) {
        std::fprintf(stderr, "fb_oracle: %s\n", what);
        std::abort();
    }
}

static void same(const char *ours, const flatbuffers::String *theirs, const char *what) {
    require(std::strcmp(ours, theirs != nullptr ? theirs->c_str() : "") == 0, what);
}

template <typename T>
static void same(fb_pointer ours, const flatbuffers::Vector<T> *theirs, const char *what) {
    const size_t count = theirs != nullptr ? theirs->size() : 0;
    require(fb_length(ours) == count, what);
    require(count == 0 || std::memcmp(fb_elements(ours), theirs->data(), count * sizeof(T)) == 0, what);
}

static void same_strings(fb_pointer ours, const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *theirs,
                         const char *what) {
    require(fb_length(ours) == (theirs != nullptr ? theirs->size() : 0), what);
    for (uint32_t i = 0; i < fb_length(ours); i++) {
        same(fb_string_at(ours, i), theirs->Get(i), what);
    }
}

static void same_tensor(fb_pointer ours, const official::Tensor &theirs) {
    same(fb_string(ours, FB_TENSOR_NAME), theirs.name(), "tensor name");
    require(fb_u8(ours, FB_TENSOR_DTYPE, 0) == theirs.dtype(), "tensor dtype");
    same(fb_vector(ours, FB_TENSOR_SHAPE), theirs.shape(), "tensor shape");
    same_strings(fb_vector(ours, FB_TENSOR_SYMBOLS), theirs.symbols(), "tensor symbols");
    require(fb_i32(ours, FB_TENSOR_BUFFER, -1) == theirs.buffer(), "tensor buffer");
    require((fb_u8(ours, FB_TENSOR_VARIABLE, 0) != 0) == theirs.variable(), "tensor variable");
    const fb_pointer quant = fb_table(ours, FB_TENSOR_QUANT);
    require((quant != nullptr) == (theirs.quant() != nullptr), "tensor quant");
    if (quant != nullptr) {
        same(fb_vector(quant, FB_QUANT_SCALE), theirs.quant()->scale(), "quant scale");
        same(fb_vector(quant, FB_QUANT_ZERO_POINT), theirs.quant()->zero_point(), "quant zero point");
        require(fb_i32(quant, FB_QUANT_AXIS, -1) == theirs.quant()->axis(), "quant axis");
    }
}

static void same_node(fb_pointer ours, const official::Node &theirs) {
    require(fb_u32(ours, FB_NODE_OP, 0) == theirs.op(), "node op");
    same(fb_string(ours, FB_NODE_NAME), theirs.name(), "node name");
    same(fb_string(ours, FB_NODE_SOURCE), theirs.source(), "node source");
    same(fb_vector(ours, FB_NODE_INPUTS), theirs.inputs(), "node inputs");
    same(fb_vector(ours, FB_NODE_OUTPUTS), theirs.outputs(), "node outputs");
    same(fb_vector(ours, FB_NODE_PARAMS), theirs.params(), "node params");
    same(fb_vector(ours, FB_NODE_SUBGRAPHS), theirs.subgraphs(), "node subgraphs");
}

static void same_graph(fb_pointer ours, const official::Graph &theirs) {
    same(fb_string(ours, FB_GRAPH_NAME), theirs.name(), "graph name");
    same(fb_vector(ours, FB_GRAPH_INPUTS), theirs.inputs(), "graph inputs");
    same(fb_vector(ours, FB_GRAPH_OUTPUTS), theirs.outputs(), "graph outputs");
    const fb_pointer tensors = fb_vector(ours, FB_GRAPH_TENSORS), nodes = fb_vector(ours, FB_GRAPH_NODES);
    require(fb_length(tensors) == (theirs.tensors() != nullptr ? theirs.tensors()->size() : 0), "tensors");
    require(fb_length(nodes) == (theirs.nodes() != nullptr ? theirs.nodes()->size() : 0), "nodes");
    for (uint32_t i = 0; i < fb_length(tensors); i++) {
        same_tensor(fb_table_at(tensors, i), *theirs.tensors()->Get(i));
    }
    for (uint32_t i = 0; i < fb_length(nodes); i++) {
        same_node(fb_table_at(nodes, i), *theirs.nodes()->Get(i));
    }
}

static void same_model(const Bytes &bytes) {
    const fb_pointer ours = fb_root(bytes.data());
    const official::Model &theirs = *official::GetModel(bytes.data());
    require(fb_u32(ours, FB_MODEL_VERSION, 0) == theirs.version(), "version");
    same(fb_string(ours, FB_MODEL_PRODUCER), theirs.producer(), "producer");
    require(fb_u8(ours, FB_MODEL_CONTRACT, 0) == theirs.contract(), "contract");
    same_strings(fb_vector(ours, FB_MODEL_OPS), theirs.ops(), "ops");
    require(fb_u64(ours, FB_MODEL_DATA_OFFSET, 0) == theirs.data_offset(), "data offset");
    const fb_pointer graphs = fb_vector(ours, FB_MODEL_GRAPHS), buffers = fb_vector(ours, FB_MODEL_BUFFERS);
    const fb_pointer metadata = fb_vector(ours, FB_MODEL_METADATA);
    require(fb_length(graphs) == (theirs.graphs() != nullptr ? theirs.graphs()->size() : 0), "graphs");
    for (uint32_t i = 0; i < fb_length(graphs); i++) {
        same_graph(fb_table_at(graphs, i), *theirs.graphs()->Get(i));
    }
    require(fb_length(buffers) == (theirs.buffers() != nullptr ? theirs.buffers()->size() : 0), "buffers");
    for (uint32_t i = 0; i < fb_length(buffers); i++) {
        const fb_extent extent = fb_extent_at(buffers, i);
        require(extent.offset == theirs.buffers()->Get(i)->offset() && extent.size == theirs.buffers()->Get(i)->size(),
                "buffer");
    }
    require(fb_length(metadata) == (theirs.metadata() != nullptr ? theirs.metadata()->size() : 0), "metadata");
    for (uint32_t i = 0; i < fb_length(metadata); i++) {
        same(fb_string(fb_table_at(metadata, i), FB_PAIR_KEY), theirs.metadata()->Get(i)->key(), "key");
        same(fb_string(fb_table_at(metadata, i), FB_PAIR_VALUE), theirs.metadata()->Get(i)->value(), "value");
    }
}

struct Tally {
    long both = 0, stricter = 0, neither = 0;
};

static void compare(const Bytes &bytes, Tally &tally) {
    const char *error = lith_fb_verify(bytes.data(), bytes.size());
    flatbuffers::Verifier verifier(bytes.data(), bytes.size());
    const bool accepted = official::VerifyModelBuffer(verifier);
    if (error == nullptr) {
        if (!accepted) {
            std::ofstream("fb_oracle_failure.lith", std::ios::binary)
                .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        }
        require(accepted, "our reader accepts what the official verifier refuses (see fb_oracle_failure.lith)");
        same_model(bytes);
        tally.both++;
    } else {
        (accepted ? tally.stricter : tally.neither)++;
    }
}

int main(int argc, char **argv) {
    require(argc > 3, "usage: fb_oracle N SEED FILE...");
    std::vector<Bytes> seeds;
    Tally tally;
    for (int i = 3; i < argc; i++) {
        std::ifstream stream(argv[i], std::ios::binary);
        require(stream.good(), argv[i]);
        Bytes bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        compare(bytes, tally);
        seeds.push_back(bytes);
    }
    require(tally.both == static_cast<long>(seeds.size()), "a file that is whole was refused");
    uint64_t state = std::strtoull(argv[2], nullptr, 10);
    for (long n = std::strtol(argv[1], nullptr, 10); n > 0; n--) {
        const Bytes &seed = seeds[mutate_below(&state, seeds.size())];
        const Bytes &other = seeds[mutate_below(&state, seeds.size())];
        Bytes damaged(seed);
        damaged.resize(seed.size() + 256);
        const size_t head = seed.size() < 2048 ? seed.size() : 2048;
        damaged.resize(mutate(&state, damaged.data(), seed.size(), damaged.size(), head, other.data(), other.size()));
        damaged.shrink_to_fit();
        compare(damaged, tally);
    }
    std::printf("%ld accepted by both, %ld by the official verifier only, %ld by neither\n", tally.both, tally.stricter,
                tally.neither);
    return 0;
}
