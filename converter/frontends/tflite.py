"""The TFLite importer: reads a file, converts operator by operator, and reports everything it cannot convert at once.

Only the first subgraph is imported, with the sizes that the file states (a size that the file leaves open is the one
in the tensor's ``shape``, as LiteRT allocates it before any resize) unless the caller gives others. Integer models
follow the contract ``tflite-double``, the arithmetic of LiteRT's built-in kernels.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from microlith import extensions
from microlith.dtypes import DType
from microlith.errors import InputError, ModelFormatError, ShapeError, Unsupported, UnsupportedError
from microlith.ir import Graph, TensorType, Value
from microlith.size_ranges import Size, SizeRange
from microlith.texts import are_positions, set_labels
from microlith.verify import MAX_DEPTH

from . import (
    tflite_complex,
    tflite_composite,
    tflite_control,
    tflite_conv,
    tflite_data,
    tflite_detection,
    tflite_image,
    tflite_index,
    tflite_math,
    tflite_numeric,
    tflite_rnn,
    tflite_svdf,
    tflite_unpool,
)
from .problems import CHANGE_IT, problem
from .tflite_graph import Builder, Reject, Row, TfliteNode, is_shifted
from .tflite_labels import AXIS_LABELS, VALUE_LABELS, labels_of_outputs
from .tflite_lists import SET_ROW, set_row, with_rows_set
from .tflite_model import TfliteModel, TfliteSubgraph, TfliteTensor, read_model
from .tflite_open import own_shape

ROWS: Mapping[str, Row] = {
    **tflite_composite.ROWS,
    **tflite_control.ROWS,
    **tflite_conv.ROWS,
    **tflite_data.ROWS,
    **tflite_image.ROWS,
    **tflite_index.ROWS,
    **tflite_math.ROWS,
    **tflite_numeric.ROWS,
    **tflite_rnn.ROWS,
    **tflite_svdf.ROWS,
}
"""Builtin operator -> its conversion."""

WIDENED = {*tflite_math.ROWS, *tflite_numeric.ROWS} - {
    *("BITCAST", "CAST", "DEQUANTIZE", "QUANTIZE", "SELECT", "SELECT_V2")
}
"""Operators that compute in single precision where a tensor is in half precision."""

COMPLEX_ROWS: Mapping[str, Row] = tflite_complex.ROWS
"""The same for operators that take or give complex numbers."""

CUSTOM_ROWS: Mapping[str, Row] = {
    **tflite_detection.CUSTOM_ROWS,
    **tflite_image.CUSTOM_ROWS,
    **tflite_unpool.CUSTOM_ROWS,
}
"""Custom operator -> its conversion."""


def supported_operators() -> list[str]:
    """Names of the builtin operators that have a conversion, sorted."""
    return sorted({*ROWS, *COMPLEX_ROWS})


def load_tflite(
    path: str | Path,
    *,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
) -> Graph:
    """The graph of a .tflite file; errors as ``import_tflite``, and ModelFormatError when it cannot be read."""
    path = Path(path)
    data: bytes | mmap.mmap
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFormatError(f"cannot be read: {reason}", where=str(path)) from error
    return import_tflite(data, name=path.stem, where=str(path), inputs=inputs, constants=constants)


def import_tflite(
    data: bytes | mmap.mmap,
    *,
    name: str = "model",
    where: str = "",
    inputs: Mapping[str, Sequence[Size]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
) -> Graph:
    """The graph of a TFLite model in memory. ``inputs`` gives some inputs other sizes than the file states, and
    ``constants`` takes some as known.

    Raises ModelFormatError when the bytes are not a sound model, InputError when either does not fit it, and
    UnsupportedError that lists every operator that cannot be converted.
    """
    model = read_model(data, where=where or name)
    graph = Graph(name=name, contract="tflite-double")
    if model.description:
        graph.metadata["description"] = model.description
    subgraph = model.subgraphs[0]
    known = {key: np.asarray(array) for key, array in (constants or {}).items()}
    _resize(subgraph, {**(inputs or {}), **{key: array.shape for key, array in known.items()}}, where or name)
    importer = Importer(graph, model, 0, len(data), where or name, known)
    importer.run()
    for index, (kind, labels) in labels_of_outputs(data).items():
        value = graph.outputs[index] if index < len(graph.outputs) else None
        if value is not None and _fit(value, kind, labels):
            set_labels(graph.metadata, value.name, labels)
    return graph


def _fit(value: Value, kind: int, labels: Sequence[str]) -> bool:
    """Whether a file of labels is about an output as its type has it."""
    if are_positions(value.dtype):
        return kind == VALUE_LABELS
    return kind == AXIS_LABELS and value.shape[-1:] == (len(labels),)


def _resize(subgraph: TfliteSubgraph, inputs: Mapping[str, Sequence[Size]], where: str) -> None:
    """Gives input tensors the sizes that the caller wants."""
    tensors = {subgraph.tensors[index].name: subgraph.tensors[index] for index in subgraph.inputs}
    for name, shape in inputs.items():
        tensor = tensors.get(name)
        if any(isinstance(size, SizeRange) for size in shape):
            raise InputError(
                f"'{name}' cannot have a range of sizes: those of a TFLite model are known at conversion",
                where=where,
                hint="give one shape, or convert the model that it was made from",
            )
        if tensor is None:
            raise InputError(f"the model has no input '{name}'", where=where, hint=f"its inputs: {', '.join(tensors)}")
        sizes = [size for size in shape if isinstance(size, int)]
        if len(sizes) != len(tensor.shape) or min(sizes, default=1) < 1:
            raise InputError(
                f"input '{name}' cannot have sizes {list(shape)}, it has {list(tensor.shape)}", where=where
            )
        tensor.shape = tensor.signature = tuple(sizes)


class Importer:
    def __init__(
        self,
        graph: Graph,
        model: TfliteModel,
        number: int,
        file_size: int,
        where: str,
        constants: Mapping[str, np.ndarray],
        parent: Importer | None = None,
    ) -> None:
        self.graph = graph
        self.model = model
        self.number = number
        self.subgraph = model.subgraphs[number]
        self.file_size = file_size
        self.where = where
        self.constants = constants
        self.parent = parent
        self.builder = Builder(graph, self.subgraph.tensors, file_size, self)
        self.budget = 10_000 + 30 * sum(len(part.operators) for part in model.subgraphs)
        """Operators of subgraphs that may be converted in all; the importer of the whole model counts."""
        self.problems: list[Unsupported] = [] if parent is None else parent.problems
        self.bound: set[int] = set()
        """Values that already have the name of a tensor, by identity."""

    def run(self) -> None:
        for index in dict.fromkeys(self.subgraph.inputs):
            self.add_input(self.subgraph.tensors[index])
        self.convert_operators()
        outputs = [] if self.problems else self.outputs()
        if self.problems:
            items = [self.hinted(item) for item in dict.fromkeys(self.problems)]
            raise UnsupportedError(items, where=self.where)
        self.graph.outputs = outputs
        self.separate_states()
        self.graph.remove_dead()

    def convert_operators(self) -> None:
        for operator in with_rows_set(self.subgraph):
            node = TfliteNode(self.builder, operator)
            self.bound.update(id(value) for value in self.builder.values.values())
            try:
                self.convert(node)
            except Reject as error:
                self.reject(node, error.reason, error.hint, error.attribute)
            except ShapeError as error:
                self.reject(node, error.what, error.hint)

    def separate_states(self) -> None:
        """Copies what is a state's value and goes on as another one's, since states are written one after another."""
        inputs = {state.input for state in self.graph.states}
        for state in self.graph.states:
            if state.output in inputs and state.output is not state.input:
                state.output = self.copied(state.output, f"{state.input.name}/next")

    def copied(self, value: Value, name: str) -> Value:
        node = self.graph.add(
            "reshape",
            [value],
            {"shape": own_shape(value)},
            name=name,
            output_names=[self.builder.unique(name)],
            quant=value.quant,
        )
        return node.output

    # Subgraphs.

    def part(self, number: int, graph: Graph, node: TfliteNode) -> Importer:
        """Who converts a subgraph; ModelFormatError when it contains itself or is not there."""
        if not 0 < number < len(self.model.subgraphs):
            raise ModelFormatError(
                f"it runs subgraph {number} of {len(self.model.subgraphs)}", where=node.operator.where
            )
        chain: list[int] = []
        level: Importer | None = self
        while level is not None:
            chain.append(level.number)
            level = level.parent
        if number in chain:
            raise ModelFormatError(f"subgraph {number} contains itself", where=node.operator.where)
        if len(chain) > MAX_DEPTH:
            raise Reject(f"subgraphs lie deeper than {MAX_DEPTH} levels")
        self.spend(len(self.model.subgraphs[number].operators) + 1, node)
        made = Importer(graph, self.model, number, self.file_size, self.where, {}, self)
        made.builder.may_assign = False
        return made

    def spend(self, operators: int, node: TfliteNode) -> None:
        """Counts operators of subgraphs, each of which may be converted many times where they nest."""
        if self.parent is not None:
            self.parent.spend(operators, node)
            return
        self.budget -= operators
        if self.budget < 0:
            raise Reject("its subgraphs are too large in all")

    def nested(self, node: TfliteNode, number: int, name: str) -> Importer:
        """Converts a subgraph into a graph of its own."""
        return self.part(number, Graph(name, contract=self.graph.contract), node)

    def inline(self, number: int, arguments: Sequence[Value], node: TfliteNode) -> list[Value]:
        """Converts a subgraph into this graph, with values of it as inputs; its outputs."""
        part = self.part(number, self.graph, node)
        part.builder.share_names(self.builder)
        part.match(arguments, node)
        for index, value in zip(part.subgraph.inputs, arguments, strict=True):
            part.builder.values[index] = value
        return part.convert_all()

    def match(self, arguments: Sequence[Value], node: TfliteNode) -> None:
        """Refuses values that are not what the inputs of the subgraph are."""
        inputs = [self.subgraph.tensors[index] for index in self.subgraph.inputs]
        if len(inputs) != len(arguments):
            raise ModelFormatError(
                f"subgraph {self.number} takes {len(inputs)} inputs, not {len(arguments)}", where=node.operator.where
            )
        for tensor, value in zip(inputs, arguments, strict=True):
            if (self.builder.type_of(tensor), self.builder.quant_of(tensor)) != (value.type, value.quant):
                raise Reject(f"subgraph {self.number} takes '{value.name}' with another type or quantization")

    def input(self, name: str, type: TensorType) -> Value:
        """A new input of the graph of a subgraph."""
        return Value(self.builder.unique(name), type)

    def take_inputs(self, arguments: Sequence[Value], node: TfliteNode) -> list[Value]:
        """Inputs for the values that an operator gives to the subgraph."""
        self.match(arguments, node)
        inner = []
        for index, value in zip(self.subgraph.inputs, arguments, strict=True):
            inner.append(Value(self.builder.unique(f"{value.name}/inside"), value.type, quant=value.quant))
            self.builder.values[index] = inner[-1]
        return inner

    def convert_all(self) -> list[Value]:
        """Converts all operators of a subgraph; its outputs."""
        before = len(self.problems)
        self.convert_operators()
        if len(self.problems) > before:
            raise Reject("its subgraph cannot be converted")
        return [self.builder.value(index, self.where) for index in self.subgraph.outputs]

    def finish(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> Graph:
        self.graph.inputs, self.graph.outputs = list(inputs), list(outputs)
        self.graph.remove_dead()
        return self.graph

    # One graph.

    def add_input(self, tensor: TfliteTensor) -> None:
        try:
            type = self.builder.type_of(tensor)
        except Reject as error:
            self.problems.append(problem(self.builder.label(tensor), "input", error.reason, error.hint))
            return
        if tensor.name in self.constants:
            self.builder.values[tensor.index] = self.constant_input(tensor, type)
            return
        name = self.builder.unique(tensor.name or f"input_{len(self.graph.inputs)}")
        if not is_shifted(tensor):
            value = Value(name, type, quant=tensor.quant)
            self.graph.inputs.append(value)
            self.builder.values[tensor.index] = value
            return
        unsigned = Value(name, type.__class__(DType.u8, tensor.shape), quant=tensor.quant)
        self.graph.inputs.append(unsigned)
        self.builder.values[tensor.index] = self.requantize(unsigned, tensor, DType.s8, f"{name}/int8")

    def constant_input(self, tensor: TfliteTensor, type: TensorType) -> Value:
        """An input that the caller knows."""
        array = self.constants[tensor.name]
        dtype = DType.u8 if is_shifted(tensor) else type.dtype
        if array.dtype != dtype.numpy:
            raise InputError(f"input '{tensor.name}' is {dtype.numpy}, the constant is {array.dtype}", where=self.where)
        data = np.ascontiguousarray(array) if dtype is type.dtype else (array.astype(np.int16) - 128).astype(np.int8)
        name = self.builder.unique(tensor.name)
        return Value(name, type, data=data.reshape(type.shape), quant=self.builder.quant_of(tensor))

    def requantize(self, value: Value, tensor: TfliteTensor, to: DType, name: str) -> Value:
        """The same real numbers as uint8 or int8."""
        quant = self.builder.quant_of(tensor) if to is DType.s8 else tensor.quant
        node = self.graph.add(
            "requantize", [value], {"to": to.value}, name=name, output_names=[name], source="QUANTIZE", quant=quant
        )
        return node.output

    def convert(self, node: TfliteNode) -> None:
        tensors = [
            self.subgraph.tensors[index] for index in (*node.operator.inputs, *node.operator.outputs) if index >= 0
        ]
        is_complex = any(tensor.is_complex for tensor in tensors)
        rows = CUSTOM_ROWS if node.operator.is_custom else COMPLEX_ROWS if is_complex else ROWS
        row = set_row if node.name == SET_ROW else rows.get(node.name)
        if row is None and node.operator.is_custom:
            row = extensions.tflite_row(node.name)
        if row is None and node.operator.is_custom:
            raise Reject("there is no conversion for this custom operator", extensions.HOW_TO_ADD)
        if row is None and is_complex and node.name in ROWS:
            raise Reject("there is no conversion for this operator on complex numbers")
        if row is None:
            raise Reject("there is no conversion for this operator")
        node.widens = not node.operator.is_custom and node.name in WIDENED
        result = row(node)
        if result is None:
            return
        values = [result] if isinstance(result, Value) else list(result)
        if len(values) < node.n_outputs:
            raise ModelFormatError(f"{node.n_outputs} outputs instead of {len(values)}", where=node.operator.where)
        for position, value in enumerate(values[: node.n_outputs]):
            self.bind(node, position, value)

    def bind(self, node: TfliteNode, position: int, value: Value) -> None:
        """Makes ``value`` output ``position`` of an operator: name, quantization, and a check of its type."""
        tensor = node.output_tensor(position)
        if tensor.is_complex:
            self.builder.complexes[tensor.index] = value
            return
        type = self.builder.type_of(tensor)
        if node.widens and type.dtype is DType.f16 and value.dtype is DType.f32:
            value = node.add("cast", [value], {"to": DType.f16.value})
        if type.dtype is not value.dtype:
            raise Reject(f"output {position} is {value.dtype.name}, the file says {type.dtype.name}")
        if id(value) not in self.bound:
            value.name = self.builder.unique(self.builder.label(tensor))
            if value.quant is None:
                value.quant = self.builder.quant_of(tensor)
        self.bound.add(id(value))
        self.builder.values[tensor.index] = value

    def reject(self, node: TfliteNode, reason: str, hint: str, attribute: str = "") -> None:
        """Notes a problem; the operators behind it still see outputs of the types that the file states."""
        self.problems.append(problem(node.label, node.name, reason, hint, attribute))
        for index in node.operator.outputs:
            tensor = self.subgraph.tensors[index]
            if tensor.dtype is not None:
                self.builder.values[index] = self.builder.placeholder(tensor)

    def hinted(self, item: Unsupported) -> Unsupported:
        """Where the file leaves a size open, the problem may be the size that stands in for it."""
        for index in self.subgraph.inputs:
            tensor = self.subgraph.tensors[index]
            if item.hint == CHANGE_IT and -1 in tensor.signature and "no conversion" not in item.reason:
                sizes = ",".join("N" if dim == -1 else str(dim) for dim in tensor.signature)
                return replace(item, hint=f"the file leaves sizes open: give them with --input {tensor.name}:{sizes}")
        return item

    def outputs(self) -> list[Value]:
        """The graph's outputs: uint8 where the file says so, each a value of its own with its own name."""
        taken: list[Value] = [*self.graph.inputs, *(state.input for state in self.graph.states)]
        result = []
        for index in self.subgraph.outputs:
            tensor = self.subgraph.tensors[index]
            try:
                value = self.builder.value(index, self.where)
            except Reject as error:
                self.problems.append(problem(self.builder.label(tensor), "output", error.reason, error.hint))
                continue
            name = value.name
            if is_shifted(tensor):
                value.name = self.builder.unique(f"{name}/int8")
                value = self.requantize(value, tensor, DType.u8, name)
            elif value.is_constant or any(value is other for other in taken):
                value = self.copied(value, self.builder.label(tensor))
            taken.append(value)
            result.append(value)
        return result
