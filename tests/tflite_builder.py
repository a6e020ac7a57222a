"""Writes small TFLite models for tests: tensors, constants and builtin operators, as flatbuffer bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES: dict[str, int] = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
    "int4": tflite.TensorType.INT4,
    "complex64": tflite.TensorType.COMPLEX64,
    "resource": tflite.TensorType.RESOURCE,
}

VERSIONS: dict[str, int] = {"BROADCAST_TO": 2, "TRANSPOSE_CONV": 3}
"""Operators whose first version LiteRT no longer has."""


@dataclass
class TensorSpec:
    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: Sequence[float] = ()
    zero_point: Sequence[int] = ()
    axis: int = 0
    data: np.ndarray | None = None
    sparsity: Sparsity | None = None
    signature: tuple[int, ...] = ()
    is_variable: bool = False
    blocks: tuple[int, int, int] | None = None
    """Tensor of scales, tensor of zero points (-1: none), and size, when each block has a scale of its own."""


@dataclass
class Sparsity:
    """How a sparse constant is stored: for each level a dense size, or the (segments, indices) of a sparse level."""

    traversal_order: Sequence[int]
    block_map: Sequence[int]
    levels: Sequence[int | tuple[Sequence[int], Sequence[int]]]


@dataclass
class OperatorSpec:
    name: str
    inputs: list[int]
    outputs: list[int]
    table: str | None
    options: Mapping[str, Any]
    custom_code: str = ""
    intermediates: Sequence[int] = ()
    custom_options: bytes = b""


def _sequence(value: float | Sequence[float] | np.ndarray) -> list[Any]:
    return list(np.atleast_1d(np.asarray(value)))


@dataclass
class TfliteBuilder:
    """Collects tensors and operators; ``build`` writes the file. A tensor is known by its index."""

    tensors: list[TensorSpec] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    description: str = "made by a test"
    metadata: dict[str, bytes] = field(default_factory=dict)
    """Buffers by name."""
    subgraphs: list[TfliteBuilder] = field(default_factory=list)
    """What operators run; the first is subgraph 1 of the file."""

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "float32",
        *,
        scale: float | Sequence[float] | np.ndarray = (),
        zero_point: int | Sequence[int] | np.ndarray = 0,
        axis: int = 0,
        name: str | None = None,
        data: np.ndarray | None = None,
        sparsity: Sparsity | None = None,
    ) -> int:
        """A tensor; ``scale`` (one or many) makes it quantized."""
        scales = _sequence(scale) if np.size(scale) else []
        zeros = [int(z) for z in np.broadcast_to(np.asarray(zero_point), (len(scales),))] if scales else []
        label = f"t{len(self.tensors)}" if name is None else name
        self.tensors.append(TensorSpec(label, tuple(shape), dtype, scales, zeros, axis, data, sparsity))
        return len(self.tensors) - 1

    def input(self, shape: Sequence[int], dtype: str = "float32", **quant: Any) -> int:
        index = self.tensor(shape, dtype, **quant)
        self.inputs.append(index)
        return index

    def output(self, shape: Sequence[int], dtype: str = "float32", **quant: Any) -> int:
        index = self.tensor(shape, dtype, **quant)
        self.outputs.append(index)
        return index

    def constant(self, data: np.ndarray, **quant: Any) -> int:
        array = np.ascontiguousarray(data).reshape(np.shape(data))
        return self.tensor(array.shape, str(array.dtype), data=array, **quant)

    def int4_constant(self, data: np.ndarray, **quant: Any) -> int:
        """Numbers from -8 to 7, stored two to a byte."""
        flat = np.append(data.reshape(-1), np.zeros(data.size % 2, np.int8)).astype(np.uint8) & 15
        return self.tensor(data.shape, "int4", data=flat[0::2] | flat[1::2] << 4, **quant)

    def variable(self, shape: Sequence[int], dtype: str = "float32", **quant: Any) -> int:
        """A tensor that keeps what an operator has written to it."""
        index = self.tensor(shape, dtype, **quant)
        self.tensors[index].is_variable = True
        return index

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], table: str | None = None, **options: Any
    ) -> None:
        """A builtin operator; ``options`` are fields of the options table in the schema's CamelCase."""
        self.operators.append(OperatorSpec(name, list(inputs), list(outputs), table, options))

    def subgraph(self) -> tuple[int, TfliteBuilder]:
        """A new subgraph with its number."""
        self.subgraphs.append(TfliteBuilder())
        return len(self.subgraphs), self.subgraphs[-1]

    def custom(self, code: str, inputs: Sequence[int], outputs: Sequence[int], options: bytes = b"") -> None:
        spec = OperatorSpec("CUSTOM", list(inputs), list(outputs), None, {}, code, custom_options=options)
        self.operators.append(spec)

    def build(self) -> bytes:
        fb = flatbuffers.Builder(1024)
        parts = [self, *self.subgraphs]
        codes = list(dict.fromkeys((op.name, op.custom_code) for part in parts for op in part.operators))
        stored = [spec for part in parts for spec in part.tensors if self._has(spec)]
        buffers = [self._buffer(fb, None), *(self._buffer(fb, spec.data) for spec in stored)]
        entries = [self._metadata(fb, name, len(buffers) + index) for index, name in enumerate(self.metadata)]
        buffers += [self._buffer(fb, np.frombuffer(data, np.uint8)) for data in self.metadata.values()]
        metadata_vector = self._offsets(fb, entries)
        places = {id(spec): number for number, spec in enumerate(stored, start=1)}
        graphs = [part._graph(fb, codes, places, f"graph_{n}" if n else "main") for n, part in enumerate(parts)]
        subgraphs = self._offsets(fb, graphs)
        code_vector = self._offsets(fb, [self._code(fb, *code) for code in codes])
        buffer_vector = self._offsets(fb, buffers)
        description = fb.CreateString(self.description)
        tflite.ModelStart(fb)
        tflite.ModelAddVersion(fb, 3)
        tflite.ModelAddOperatorCodes(fb, code_vector)
        tflite.ModelAddSubgraphs(fb, subgraphs)
        tflite.ModelAddDescription(fb, description)
        tflite.ModelAddBuffers(fb, buffer_vector)
        tflite.ModelAddMetadata(fb, metadata_vector)
        fb.Finish(tflite.ModelEnd(fb), file_identifier=b"TFL3")
        return bytes(fb.Output())

    def _graph(
        self, fb: flatbuffers.Builder, codes: Sequence[tuple[str, str]], places: Mapping[int, int], name: str
    ) -> int:
        tensors = [self._tensor(fb, spec, places.get(id(spec), 0)) for spec in self.tensors]
        operators = [self._operator(fb, op, codes.index((op.name, op.custom_code))) for op in self.operators]
        tensor_vector = self._offsets(fb, tensors)
        operator_vector = self._offsets(fb, operators)
        input_vector, output_vector = self._ints(fb, self.inputs), self._ints(fb, self.outputs)
        label = fb.CreateString(name)
        tflite.SubGraphStart(fb)
        tflite.SubGraphAddTensors(fb, tensor_vector)
        tflite.SubGraphAddInputs(fb, input_vector)
        tflite.SubGraphAddOutputs(fb, output_vector)
        tflite.SubGraphAddOperators(fb, operator_vector)
        tflite.SubGraphAddName(fb, label)
        return int(tflite.SubGraphEnd(fb))

    @staticmethod
    def _metadata(fb: flatbuffers.Builder, name: str, buffer: int) -> int:
        label = fb.CreateString(name)
        tflite.MetadataStart(fb)
        tflite.MetadataAddName(fb, label)
        tflite.MetadataAddBuffer(fb, buffer)
        return int(tflite.MetadataEnd(fb))

    @staticmethod
    def _has(spec: TensorSpec) -> bool:
        return spec.data is not None

    @staticmethod
    def _offsets(fb: flatbuffers.Builder, offsets: Sequence[int]) -> int:
        fb.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            fb.PrependUOffsetTRelative(offset)
        return int(fb.EndVector())

    @staticmethod
    def _ints(fb: flatbuffers.Builder, values: Sequence[int]) -> int:
        return int(fb.CreateNumpyVector(np.asarray(values, np.int32)))

    @staticmethod
    def _buffer(fb: flatbuffers.Builder, data: np.ndarray | None) -> int:
        vector = None
        if data is not None:
            raw = np.frombuffer(data.tobytes(), np.uint8)
            fb.StartVector(1, raw.size, 16)
            fb.head -= raw.size
            fb.Bytes[fb.head : fb.head + raw.size] = raw.tobytes()
            vector = fb.EndVector()
        tflite.BufferStart(fb)
        if vector is not None:
            tflite.BufferAddData(fb, vector)
        return int(tflite.BufferEnd(fb))

    @staticmethod
    def _code(fb: flatbuffers.Builder, name: str, custom_code: str) -> int:
        number = getattr(tflite.BuiltinOperator, name)
        text = fb.CreateString(custom_code) if custom_code else None
        tflite.OperatorCodeStart(fb)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(fb, min(number, 127))
        if text is not None:
            tflite.OperatorCodeAddCustomCode(fb, text)
        tflite.OperatorCodeAddVersion(fb, VERSIONS.get(name, 1))
        tflite.OperatorCodeAddBuiltinCode(fb, number)
        return int(tflite.OperatorCodeEnd(fb))

    def _tensor(self, fb: flatbuffers.Builder, spec: TensorSpec, buffer: int) -> int:
        quantization = None
        if spec.scale:
            scale = fb.CreateNumpyVector(np.asarray(spec.scale, np.float32))
            zero = fb.CreateNumpyVector(np.asarray(spec.zero_point, np.int64))
            tflite.QuantizationParametersStart(fb)
            tflite.QuantizationParametersAddScale(fb, scale)
            tflite.QuantizationParametersAddZeroPoint(fb, zero)
            tflite.QuantizationParametersAddQuantizedDimension(fb, spec.axis)
            quantization = tflite.QuantizationParametersEnd(fb)
        if spec.blocks is not None:
            fb.StartObject(3)
            for slot, number in enumerate(spec.blocks):
                fb.PrependInt32Slot(slot, number, 0)
            details = fb.EndObject()
            tflite.QuantizationParametersStart(fb)
            tflite.QuantizationParametersAddDetailsType(fb, 2)
            tflite.QuantizationParametersAddDetails(fb, details)
            quantization = tflite.QuantizationParametersEnd(fb)
        shape = self._ints(fb, spec.shape)
        sparsity = self._sparsity(fb, spec.sparsity) if spec.sparsity is not None else None
        signature = self._ints(fb, spec.signature) if spec.signature else None
        name = fb.CreateString(spec.name)
        tflite.TensorStart(fb)
        tflite.TensorAddShape(fb, shape)
        tflite.TensorAddType(fb, TYPES[spec.dtype])
        tflite.TensorAddBuffer(fb, buffer)
        tflite.TensorAddName(fb, name)
        if quantization is not None:
            tflite.TensorAddQuantization(fb, quantization)
        if sparsity is not None:
            tflite.TensorAddSparsity(fb, sparsity)
        if signature is not None:
            tflite.TensorAddShapeSignature(fb, signature)
        tflite.TensorAddIsVariable(fb, spec.is_variable)
        return int(tflite.TensorEnd(fb))

    def _sparsity(self, fb: flatbuffers.Builder, sparsity: Sparsity) -> int:
        levels = []
        for level in sparsity.levels:
            vectors = []
            if not isinstance(level, int):
                for values in level:
                    numbers = self._ints(fb, values)
                    tflite.Int32VectorStart(fb)
                    tflite.Int32VectorAddValues(fb, numbers)
                    vectors.append(tflite.Int32VectorEnd(fb))
            tflite.DimensionMetadataStart(fb)
            if isinstance(level, int):
                tflite.DimensionMetadataAddDenseSize(fb, level)
            else:
                tflite.DimensionMetadataAddFormat(fb, tflite.DimensionType.SPARSE_CSR)
                tflite.DimensionMetadataAddArraySegmentsType(fb, tflite.SparseIndexVector.Int32Vector)
                tflite.DimensionMetadataAddArraySegments(fb, vectors[0])
                tflite.DimensionMetadataAddArrayIndicesType(fb, tflite.SparseIndexVector.Int32Vector)
                tflite.DimensionMetadataAddArrayIndices(fb, vectors[1])
            levels.append(int(tflite.DimensionMetadataEnd(fb)))
        order, blocks = self._ints(fb, sparsity.traversal_order), self._ints(fb, sparsity.block_map)
        metadata = self._offsets(fb, levels)
        tflite.SparsityParametersStart(fb)
        tflite.SparsityParametersAddTraversalOrder(fb, order)
        tflite.SparsityParametersAddBlockMap(fb, blocks)
        tflite.SparsityParametersAddDimMetadata(fb, metadata)
        return int(tflite.SparsityParametersEnd(fb))

    def _operator(self, fb: flatbuffers.Builder, op: OperatorSpec, code: int) -> int:
        options = None
        if op.table is not None:
            fields = {
                key: self._ints(fb, value)
                if isinstance(value, (list, tuple))
                else fb.CreateString(value)
                if isinstance(value, str)
                else fb.CreateNumpyVector(value)
                if isinstance(value, np.ndarray)
                else value
                for key, value in op.options.items()
            }
            getattr(tflite, f"{op.table}Start")(fb)
            for key, value in fields.items():
                getattr(tflite, f"{op.table}Add{key}")(fb, value)
            options = getattr(tflite, f"{op.table}End")(fb)
        inputs, outputs = self._ints(fb, op.inputs), self._ints(fb, op.outputs)
        intermediates = self._ints(fb, op.intermediates) if op.intermediates else None
        custom = fb.CreateByteVector(op.custom_options) if op.custom_options else None
        tflite.OperatorStart(fb)
        tflite.OperatorAddOpcodeIndex(fb, code)
        if custom is not None:
            tflite.OperatorAddCustomOptions(fb, custom)
        tflite.OperatorAddInputs(fb, inputs)
        tflite.OperatorAddOutputs(fb, outputs)
        if intermediates is not None:
            tflite.OperatorAddIntermediates(fb, intermediates)
        if options is not None and op.table is not None and hasattr(tflite.BuiltinOptions2, op.table):
            tflite.OperatorAddBuiltinOptions2Type(fb, getattr(tflite.BuiltinOptions2, op.table))
            tflite.OperatorAddBuiltinOptions2(fb, options)
        elif options is not None and op.table is not None:
            tflite.OperatorAddBuiltinOptionsType(fb, getattr(tflite.BuiltinOptions, op.table))
            tflite.OperatorAddBuiltinOptions(fb, options)
        return int(tflite.OperatorEnd(fb))
