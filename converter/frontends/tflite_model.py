"""A TFLite file as plain Python data: what the importer needs, read once, checked against itself.

Everything here raises ModelFormatError when the file contradicts itself (an index out of range, a buffer of the
wrong size, an impossible scale); whether an operator or type is supported is decided later.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tflite
from flatbuffers import number_types

from microlith.dtypes import DType
from microlith.errors import ModelFormatError
from microlith.ir import Quant

from .tflite_blocks import Blocks, blocks_of, real_weights
from .tflite_sparse import densify
from .tflite_verify import options_table, verify_flatbuffer

_MOST_BYTES = 2**31 - 1
"""Of one tensor in memory."""
_MAX_RANK = 8
_INT4 = 17

_DTYPES = {
    0: DType.f32,
    1: DType.f16,
    2: DType.s32,
    3: DType.u8,
    4: DType.s64,
    6: DType.b8,
    7: DType.s16,
    9: DType.s8,
    10: DType.f64,
    12: DType.u64,
    15: DType.u32,
    16: DType.u16,
    _INT4: DType.s8,
}

_EMPTY_TABLE = b"\x04\x00\x04\x00\x04\x00\x00\x00"
"""A flatbuffer table without fields, at byte 4: every accessor answers with the schema's default."""


def type_names() -> dict[int, str]:
    """Names of the element types by their number in the file."""
    return {number: name for name, number in vars(tflite.TensorType).items() if not name.startswith("_")}


def operator_names() -> dict[int, str]:
    """Names of the builtin operators by their number in the file."""
    return {number: name for name, number in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}


@dataclass
class TfliteTensor:
    """One tensor of a subgraph. ``dtype`` is None for a type that has no row in DType (``type_name`` names it)."""

    index: int
    name: str
    type_name: str
    dtype: DType | None
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    """The shape with -1 where a size may change between runs; equal to ``shape`` when nothing may."""
    quant: Quant | None
    data: np.ndarray | None
    """The value of a constant in ``dtype`` (a view of the file where that is possible)."""
    is_variable: bool
    blocks: Blocks | None = None
    """Where the scales are when each block has one of its own."""

    @property
    def is_complex(self) -> bool:
        return self.type_name == "COMPLEX64"


@dataclass
class TfliteOperator:
    """One operator. Indices of absent optional inputs are -1."""

    index: int
    name: str
    """``"CONV_2D"``, or the custom code of a custom operator."""
    is_custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    """Tensors that hold nothing but the quantization of results inside of the operator."""
    options_name: str | None
    options: Any
    """The accessor object of the tflite package; None when the file holds no options that the importer reads."""
    custom_options: bytes
    """The options of a custom operator, in a form of its own."""
    where: str

    def read_options(self, name: str, *, required: bool = False) -> Any:
        """The options as table ``name``; absent ones read as the schema's defaults unless they are required."""
        if self.options is None:
            if required:
                raise ModelFormatError(f"operator has no {name}", where=self.where)
            empty = getattr(tflite, name)()
            empty.Init(_EMPTY_TABLE, 4)
            return empty
        if self.options_name != name:
            raise ModelFormatError(f"operator has {self.options_name} instead of {name}", where=self.where)
        return self.options


@dataclass
class TfliteSubgraph:
    name: str
    tensors: list[TfliteTensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: list[TfliteOperator]


@dataclass
class TfliteModel:
    version: int
    description: str
    subgraphs: list[TfliteSubgraph]
    metadata: dict[str, str] = field(default_factory=dict)


def read_model(data: bytes | mmap.mmap, *, where: str) -> TfliteModel:
    """Verifies and reads a whole file. Raises ModelFormatError that names the table or tensor at fault."""
    verify_flatbuffer(data, where=where)
    model = tflite.Model.GetRootAs(data, 0)
    if model.Version() != 3:
        raise ModelFormatError(f"schema version {model.Version()} instead of 3", where=where)
    if not model.SubgraphsLength():
        raise ModelFormatError("the model has no subgraph", where=where)
    reader = _Reader(data, model, where)
    subgraphs = [reader.subgraph(index) for index in range(model.SubgraphsLength())]
    return TfliteModel(model.Version(), _text(model.Description()), subgraphs)


def _builtin_code(code: Any) -> int:
    """The field ``builtin_code`` of an operator code; 0 when it is not there.

    The accessor of the package ``tflite`` ignores numbers that the older field of one byte could hold as well.
    """
    field = code._tab.Offset(10)
    return int(code._tab.Get(number_types.Int32Flags, field + code._tab.Pos)) if field else 0


def _text(raw: bytes | None) -> str:
    return raw.decode("utf-8", "replace") if raw else ""


class _Reader:
    def __init__(self, data: bytes | mmap.mmap, model: Any, where: str) -> None:
        self.data = data
        self.model = model
        self.where = where
        self.codes = [self._code(index) for index in range(model.OperatorCodesLength())]
        self.types = type_names()
        # Sparse tensors may be this much larger than the file, so that a tiny file cannot ask for all memory.
        self.dense_budget = 256 * len(data)

    def fail(self, place: str, reason: str) -> ModelFormatError:
        return ModelFormatError(f"{place}: {reason}", where=self.where)

    def _code(self, index: int) -> tuple[str, bool]:
        code = self.model.OperatorCodes(index)
        number = max(_builtin_code(code), code.DeprecatedBuiltinCode())
        if number == tflite.BuiltinOperator.CUSTOM:
            return _text(code.CustomCode()) or "CUSTOM", True
        return operator_names().get(number, f"builtin operator {number}"), False

    def subgraph(self, index: int) -> TfliteSubgraph:
        table = self.model.Subgraphs(index)
        place = f"subgraph {index}"
        tensors = [self.tensor(table.Tensors(i), i, place) for i in range(table.TensorsLength())]
        for tensor in tensors:
            self.decode_blocks(tensor, tensors, place)
        operators = [self.operator(table.Operators(i), i, place, tensors) for i in range(table.OperatorsLength())]
        return TfliteSubgraph(
            _text(table.Name()),
            tensors,
            self.indices(table, "Inputs", len(tensors), place, optional=False),
            self.indices(table, "Outputs", len(tensors), place, optional=False),
            operators,
        )

    def indices(self, table: Any, which: str, count: int, place: str, *, optional: bool) -> tuple[int, ...]:
        if not getattr(table, f"{which}Length")():
            return ()
        values = tuple(int(index) for index in getattr(table, f"{which}AsNumpy")())
        for index in values:
            if not (0 <= index < count or (optional and index == -1)):
                raise self.fail(place, f"{which.lower()} name tensor {index}, but there are {count} tensors")
        return values

    def operator(self, table: Any, index: int, place: str, tensors: list[TfliteTensor]) -> TfliteOperator:
        place = f"{place}, operator {index}"
        if table.OpcodeIndex() >= len(self.codes):
            raise self.fail(place, f"operator code {table.OpcodeIndex()} of {len(self.codes)}")
        name, is_custom = self.codes[table.OpcodeIndex()]
        place += f" ({name})"
        options_name, raw = options_table(table.BuiltinOptionsType()), table.BuiltinOptions()
        if options_name is None:
            options_name, raw = options_table(table.BuiltinOptions2Type(), 2), table.BuiltinOptions2()
        options = None
        if options_name is not None and raw is not None:
            options = getattr(tflite, options_name)()
            options.Init(raw.Bytes, raw.Pos)
        return TfliteOperator(
            index,
            name,
            is_custom,
            self.indices(table, "Inputs", len(tensors), place, optional=True),
            self.indices(table, "Outputs", len(tensors), place, optional=False),
            self.indices(table, "Intermediates", len(tensors), place, optional=False),
            options_name,
            options,
            bytes(table.CustomOptionsAsNumpy()) if is_custom and table.CustomOptionsLength() else b"",
            f"{self.where}: {place}",
        )

    def tensor(self, table: Any, index: int, place: str) -> TfliteTensor:
        name = _text(table.Name())
        place = f"{place}, tensor {index}" + (f" '{name}'" if name else "")
        shape = self.dims(table, "Shape", place)
        if any(dim < 0 for dim in shape):
            raise self.fail(place, f"shape {list(shape)} has a negative size")
        signature = self.dims(table, "ShapeSignature", place)
        if len(signature) != len(shape):
            signature = shape
        number = table.Type()
        dtype = _DTYPES.get(number)
        quant = self.quant(table.Quantization(), shape, dtype, place)
        data = None
        if dtype is not None:
            raw = self.buffer(table.Buffer(), place)
            if raw.size or (0 in shape and table.Buffer()):
                data = self.constant(raw, dtype, number == _INT4, shape, table.Sparsity(), place)
        return TfliteTensor(
            index,
            name,
            self.types.get(number, f"type {number}"),
            dtype,
            shape,
            signature,
            quant,
            data,
            bool(table.IsVariable()),
            blocks_of(table.Quantization()),
        )

    def decode_blocks(self, tensor: TfliteTensor, tensors: list[TfliteTensor], place: str) -> None:
        """Constant integers with a scale for each block become real numbers."""
        if tensor.blocks is None or tensor.data is None or tensor.dtype is not DType.s8:
            return
        place = f"{place}, tensor {tensor.index}" + (f" '{tensor.name}'" if tensor.name else "")
        if 4 * tensor.data.size > _MOST_BYTES:
            raise self.fail(place, f"its shape {list(tensor.shape)} is too large")
        arrays: list[np.ndarray | None] = [None, None]
        for number, index in enumerate((tensor.blocks.scales, tensor.blocks.zero_points)):
            if not (0 <= index < len(tensors) or (number and index == -1)):
                raise self.fail(place, f"its scales or zero points are tensor {index} of {len(tensors)}")
            arrays[number] = tensors[index].data if index >= 0 else None
        decoded = real_weights(tensor.data, tensor.blocks.size, *arrays)
        if decoded is None:
            raise self.fail(
                place, f"its scales do not fit shape {list(tensor.shape)} in blocks of {tensor.blocks.size}"
            )
        tensor.data, tensor.dtype, tensor.quant = decoded, DType.f32, None

    def dims(self, table: Any, which: str, place: str) -> tuple[int, ...]:
        rank = getattr(table, f"{which}Length")()
        if rank > _MAX_RANK:
            raise self.fail(place, f"rank {rank} is above {_MAX_RANK}")
        return tuple(int(dim) for dim in getattr(table, f"{which}AsNumpy")()) if rank else ()

    def buffer(self, index: int, place: str) -> np.ndarray:
        if index >= self.model.BuffersLength():
            raise self.fail(place, f"buffer {index} of {self.model.BuffersLength()}")
        buffer = self.model.Buffers(index)
        if buffer.DataLength():
            return np.asarray(buffer.DataAsNumpy())
        offset, size = buffer.Offset(), buffer.Size()
        if offset > 1 and size:
            # Data behind the flatbuffer, used by files near or above 2 GiB.
            if offset + size > len(self.data):
                raise self.fail(place, f"buffer {index} ends at byte {offset + size}, behind the end of the file")
            return np.frombuffer(self.data, np.uint8, size, offset)
        return np.zeros(0, np.uint8)

    def constant(
        self, raw: np.ndarray, dtype: DType, is_int4: bool, shape: tuple[int, ...], sparsity: Any, place: str
    ) -> np.ndarray:
        count = 1
        for dim in shape:
            count *= dim
        width = 4 if dtype is DType.f16 else dtype.size  # f16 becomes float32
        if count * width > _MOST_BYTES:
            raise self.fail(place, f"its shape {list(shape)} takes {count * width:,} bytes, more than {_MOST_BYTES:,}")
        if sparsity is not None:
            if is_int4:
                raise self.fail(place, "4-bit data cannot be sparse")
            self.dense_budget -= count * dtype.size
            if self.dense_budget < 0:
                raise self.fail(place, f"shape {list(shape)} is out of proportion to the size of the file")
            return densify(raw, dtype.numpy, shape, sparsity, lambda reason: self.fail(place, reason))
        expected = (count + 1) // 2 if is_int4 else count * dtype.size
        if raw.size != expected:
            raise self.fail(place, f"its buffer has {raw.size} bytes, {dtype.name}{list(shape)} needs {expected}")
        if is_int4:
            low = (raw << 4).view(np.int8) >> 4
            high = raw.view(np.int8) >> 4
            return np.stack([low, high], axis=-1).reshape(-1)[:count].reshape(shape)
        if dtype is DType.b8 and raw.size and raw.max() > 1:
            return (raw != 0).reshape(shape)
        return np.frombuffer(raw.tobytes() if raw.ctypes.data % dtype.size else raw, dtype.numpy).reshape(shape)

    def quant(self, table: Any, shape: tuple[int, ...], dtype: DType | None, place: str) -> Quant | None:
        """The quantization of an integer tensor; None for floats and plain integers."""
        if table is None or not table.ScaleLength() or dtype is None or not dtype.is_integer:
            return None
        count = table.ScaleLength()
        axis = table.QuantizedDimension() if count > 1 else None
        if axis is not None and not (0 <= axis < len(shape) and shape[axis] == count):
            # Some exporters give a bias the dimension of its weights.
            if shape.count(count) != 1 or int(np.prod(shape)) != count:
                raise self.fail(place, f"{count} scales along dimension {axis} of shape {list(shape)}")
            axis = shape.index(count)
        scale = np.array(table.ScaleAsNumpy(), np.float32)
        if not np.all(np.isfinite(scale)) or np.any(scale < 0):
            raise self.fail(place, "a scale is negative, infinite or not a number")
        zero_point = np.zeros(count, np.int64)
        if table.ZeroPointLength() in (1, count):
            zero_point[:] = table.ZeroPointAsNumpy()
        elif table.ZeroPointLength():
            raise self.fail(place, f"{table.ZeroPointLength()} zero points for {count} scales")
        limits = np.iinfo(dtype.numpy)
        if np.any(zero_point < limits.min) or np.any(zero_point > limits.max):
            raise self.fail(place, f"a zero point is outside of {dtype.name}")
        return Quant(scale, zero_point, axis)
