"""Structural verification of a TFLite flatbuffer before anything reads it.

The generated accessors of the ``tflite`` package trust every offset. ``verify_flatbuffer`` walks the tables that the
importer reads and checks each offset, vtable, vector length and string against the bounds of the file, so that the
accessors cannot fail afterwards. It also bounds the sum of what is reachable: a small file whose offsets all point
to the same large vector is refused instead of being read again and again.
"""

from __future__ import annotations

import functools
import mmap
import struct
from dataclasses import dataclass
from typing import Literal

from microlith.errors import ModelFormatError


@dataclass(frozen=True)
class _Field:
    """One slot of a table. ``size`` is that of a scalar or vector element in bytes; ``of`` names a table or union."""

    kind: Literal["scalar", "string", "vector", "table", "tables", "union"]
    name: str = ""
    size: int = 0
    of: str = ""


def _scalar(name: str, size: int) -> _Field:
    return _Field("scalar", name, size)


def _string(name: str) -> _Field:
    return _Field("string", name, 1)


def _vector(name: str, size: int) -> _Field:
    return _Field("vector", name, size)


def _table(name: str, of: str) -> _Field:
    return _Field("table", name, of=of)


def _tables(name: str, of: str) -> _Field:
    return _Field("tables", name, 4, of)


def _union(name: str, of: str) -> _Field:
    """A union value; the slot before it holds its type (one byte)."""
    return _Field("union", name, of=of)


def _scalars(*sizes: int) -> tuple[_Field, ...]:
    """A table of scalars only: most operator options."""
    return tuple(_scalar(f"field {slot}", size) for slot, size in enumerate(sizes))


BLOCKWISE = 2
"""The type of details of a quantization with a scale for each block."""

_SCHEMA: dict[str, tuple[_Field, ...]] = {
    "Model": (
        _scalar("version", 4),
        _tables("operator_codes", "OperatorCode"),
        _tables("subgraphs", "SubGraph"),
        _string("description"),
        _tables("buffers", "Buffer"),
        _vector("metadata_buffer", 4),
        _tables("metadata", "Metadata"),
        _tables("signature_defs", "SignatureDef"),
    ),
    "OperatorCode": (
        _scalar("deprecated_builtin_code", 1),
        _string("custom_code"),
        _scalar("version", 4),
        _scalar("builtin_code", 4),
    ),
    "SubGraph": (
        _tables("tensors", "Tensor"),
        _vector("inputs", 4),
        _vector("outputs", 4),
        _tables("operators", "Operator"),
        _string("name"),
    ),
    "Tensor": (
        _vector("shape", 4),
        _scalar("type", 1),
        _scalar("buffer", 4),
        _string("name"),
        _table("quantization", "QuantizationParameters"),
        _scalar("is_variable", 1),
        _table("sparsity", "SparsityParameters"),
        _vector("shape_signature", 4),
        _scalar("has_rank", 1),
    ),
    "QuantizationParameters": (
        _vector("min", 4),
        _vector("max", 4),
        _vector("scale", 4),
        _vector("zero_point", 8),
        _scalar("details_type", 1),
        _union("details", "QuantizationDetails"),
        _scalar("quantized_dimension", 4),
    ),
    "BlockwiseQuantization": _scalars(4, 4, 4),
    "SparsityParameters": (
        _vector("traversal_order", 4),
        _vector("block_map", 4),
        _tables("dim_metadata", "DimensionMetadata"),
    ),
    "DimensionMetadata": (
        _scalar("format", 1),
        _scalar("dense_size", 4),
        _scalar("array_segments_type", 1),
        _union("array_segments", "SparseIndexVector"),
        _scalar("array_indices_type", 1),
        _union("array_indices", "SparseIndexVector"),
    ),
    "Int32Vector": (_vector("values", 4),),
    "Uint16Vector": (_vector("values", 2),),
    "Uint8Vector": (_vector("values", 1),),
    "Operator": (
        _scalar("opcode_index", 4),
        _vector("inputs", 4),
        _vector("outputs", 4),
        _scalar("builtin_options_type", 1),
        _union("builtin_options", "BuiltinOptions"),
        _vector("custom_options", 1),
        _scalar("custom_options_format", 1),
        _vector("mutating_variable_inputs", 1),
        _vector("intermediates", 4),
        _scalar("large_custom_options_offset", 8),
        _scalar("large_custom_options_size", 8),
        _scalar("builtin_options_2_type", 1),
        _union("builtin_options_2", "BuiltinOptions2"),
    ),
    "Buffer": (_vector("data", 1), _scalar("offset", 8), _scalar("size", 8)),
    "Metadata": (_string("name"), _scalar("buffer", 4)),
    "SignatureDef": (
        _tables("inputs", "TensorMap"),
        _tables("outputs", "TensorMap"),
        _string("signature_key"),
        _scalar("deprecated_tag", 4),
        _scalar("subgraph_index", 4),
    ),
    "TensorMap": (_string("name"), _scalar("tensor_index", 4)),
    # Operator options: the sizes of their scalars in slot order.
    "Conv2DOptions": _scalars(1, 4, 4, 1, 4, 4, 1),
    "DepthwiseConv2DOptions": _scalars(1, 4, 4, 4, 1, 4, 4),
    "Pool2DOptions": _scalars(1, 4, 4, 4, 4, 1),
    "FullyConnectedOptions": _scalars(1, 1, 1, 1, 1),
    "SoftmaxOptions": _scalars(4),
    "ConcatenationOptions": _scalars(4, 1),
    "AddOptions": _scalars(1, 1),
    "SubOptions": _scalars(1, 1),
    "MulOptions": _scalars(1),
    "DivOptions": _scalars(1),
    "ReshapeOptions": (_vector("new_shape", 4),),
    "SqueezeOptions": (_vector("squeeze_dims", 4),),
    "StridedSliceOptions": _scalars(4, 4, 4, 4, 4, 1),
    "SplitOptions": _scalars(4),
    "SplitVOptions": _scalars(4),
    "PackOptions": _scalars(4, 4),
    "UnpackOptions": _scalars(4, 4),
    "GatherOptions": _scalars(4, 4),
    "ReducerOptions": _scalars(1),
    "CastOptions": _scalars(1, 1),
    "LeakyReluOptions": _scalars(4),
    "MirrorPadOptions": _scalars(1),
    "ShapeOptions": _scalars(1),
    "GeluOptions": _scalars(1),
    "BatchMatMulOptions": _scalars(1, 1, 1),
    "TransposeConvOptions": _scalars(1, 4, 4, 1, 1),
    "ResizeBilinearOptions": _scalars(4, 4, 1, 1),
    "ResizeNearestNeighborOptions": _scalars(1, 1),
    "SpaceToDepthOptions": _scalars(4),
    "DepthToSpaceOptions": _scalars(4),
    "ArgMaxOptions": _scalars(1),
    "ArgMinOptions": _scalars(1),
    "OneHotOptions": _scalars(4),
    "ReverseSequenceOptions": _scalars(4, 4),
    "Conv3DOptions": _scalars(1, 4, 4, 4, 1, 4, 4, 4),
    "CumsumOptions": _scalars(1, 1),
    "LocalResponseNormalizationOptions": _scalars(4, 4, 4, 4),
    "UnidirectionalSequenceLSTMOptions": _scalars(1, 4, 4, 1, 1, 1),
    "SequenceRNNOptions": _scalars(1, 1, 1),
    "SVDFOptions": _scalars(4, 1, 1),
    "RNNOptions": _scalars(1, 1),
    "IfOptions": _scalars(4, 4),
    "WhileOptions": _scalars(4, 4),
    "CallOnceOptions": _scalars(4),
    "VarHandleOptions": (_string("container"), _string("shared_name")),
    "BucketizeOptions": (_vector("boundaries", 4),),
    "FakeQuantOptions": _scalars(4, 4, 4, 1),
    "LSTMOptions": _scalars(1, 4, 4, 1, 1),
    "BidirectionalSequenceLSTMOptions": _scalars(1, 4, 4, 1, 1, 1),
    "BidirectionalSequenceRNNOptions": _scalars(1, 1, 1, 1),
    "StableHLOCompositeOptions": (
        _string("name"),
        _scalar("decomposition_subgraph_index", 4),
        _vector("composite_attributes", 1),
        _scalar("composite_attributes_format", 1),
        _scalar("version", 4),
    ),
}

_SPARSE_INDEX_TABLES = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}


@functools.cache
def _builtin_options() -> dict[int, str]:
    import tflite

    return {number: name for name, number in vars(tflite.BuiltinOptions).items() if name in _SCHEMA}


@functools.cache
def _builtin_options_2() -> dict[int, str]:
    import tflite

    return {number: name for name, number in vars(tflite.BuiltinOptions2).items() if name in _SCHEMA}


def options_table(number: int, union: int = 1) -> str | None:
    """The name of the options table with that number in one of the two unions of options, or None when the importer
    does not read it."""
    return (_builtin_options() if union == 1 else _builtin_options_2()).get(number)


def verify_flatbuffer(data: bytes | mmap.mmap, *, where: str) -> None:
    """Checks the file identifier and the bounds of everything that the importer reads.

    Raises ModelFormatError that names the table and the byte where the first fault is.
    """
    if len(data) < 8:
        raise ModelFormatError(f"the file has {len(data)} bytes, too few for a TFLite model", where=where)
    if data[4:8] != b"TFL3":
        found = data[4:8]
        raise ModelFormatError(
            f"not a TFLite model: bytes 4 to 7 are {found!r} instead of b'TFL3'",
            where=where,
            hint="is the file complete, and is it a .tflite file?",
        )
    verifier = _Verifier(data, where)
    verifier.table(verifier.follow(0, "root"), "Model", "Model")


class _Verifier:
    def __init__(self, data: bytes | mmap.mmap, where: str) -> None:
        self.data = data
        self.where = where
        # Every byte may be reached a few times (equal strings and vectors are shared), not without bound.
        self.budget = 8 * len(data) + 65536
        self.unions = {
            "BuiltinOptions": _builtin_options(),
            "BuiltinOptions2": _builtin_options_2(),
            "SparseIndexVector": _SPARSE_INDEX_TABLES,
            "QuantizationDetails": {BLOCKWISE: "BlockwiseQuantization"},
        }

    def fail(self, position: int, path: str, reason: str) -> ModelFormatError:
        return ModelFormatError(
            f"{path} at byte {position}: {reason}", where=self.where, hint="the file is truncated or corrupt"
        )

    def spend(self, amount: int, position: int, path: str) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise self.fail(position, path, "the tables refer to the same bytes too often")

    def need(self, position: int, size: int, path: str) -> None:
        if position < 0 or position + size > len(self.data):
            raise self.fail(position, path, f"needs {size} bytes there, but the file has {len(self.data)} bytes")

    def u32(self, position: int, path: str) -> int:
        self.need(position, 4, path)
        return int(struct.unpack_from("<I", self.data, position)[0])

    def follow(self, position: int, path: str) -> int:
        """The target of the offset that stands at ``position``."""
        offset = self.u32(position, path)
        if offset < 4:
            raise self.fail(position, path, f"offset {offset} points into itself")
        return position + offset

    def vector(self, position: int, size: int, path: str) -> tuple[int, int]:
        """Position of the first element and number of elements of the vector at ``position``."""
        count = self.u32(position, path)
        self.need(position + 4, count * size, path)
        return position + 4, count

    def table(self, position: int, name: str, path: str) -> None:
        self.need(position, 4, path)
        vtable = position - int(struct.unpack_from("<i", self.data, position)[0])
        self.need(vtable, 4, f"{path} (vtable)")
        vtable_size, table_size = struct.unpack_from("<HH", self.data, vtable)
        if vtable_size < 4 or vtable_size % 2 or table_size < 4:
            raise self.fail(vtable, f"{path} (vtable)", f"sizes {vtable_size} and {table_size} are impossible")
        self.need(vtable, vtable_size, f"{path} (vtable)")
        self.need(position, table_size, path)
        self.spend(8 + table_size, position, path)
        slots = (vtable_size - 4) // 2
        offsets = struct.unpack_from(f"<{slots}H", self.data, vtable + 4)
        for slot, field in enumerate(_SCHEMA[name][:slots]):
            offset = offsets[slot]
            if not offset:
                continue
            here = f"{path}.{field.name}"
            width = field.size if field.kind == "scalar" else 4
            if offset < 4 or offset + width > table_size:
                raise self.fail(vtable + 4 + 2 * slot, here, f"lies outside its table (offset {offset})")
            if field.kind == "union":
                self.union(position, offsets[slot - 1], offset, field.of, here)
            elif field.kind != "scalar":
                self.reference(self.follow(position + offset, here), field, here)

    def reference(self, target: int, field: _Field, path: str) -> None:
        if field.kind == "table":
            self.table(target, field.of, path)
            return
        first, count = self.vector(target, field.size, path)
        self.spend(4 + count * field.size, target, path)
        if field.kind == "tables":
            for index in range(count):
                item = f"{path}[{index}]"
                self.table(self.follow(first + 4 * index, item), field.of, item)

    def union(self, position: int, type_offset: int, offset: int, of: str, path: str) -> None:
        number = self.data[position + type_offset] if type_offset else 0
        name = self.unions[of].get(number)
        if name is not None:
            self.table(self.follow(position + offset, path), name, f"{path} ({name})")
