"""What the rows of the TFLite tables work with: one operator at a time, and the graph that is being built.

A row is a function ``row(op)`` that adds ops to the graph through ``op`` and returns the values of the operator's
outputs. It raises ``Reject`` for what cannot be converted; the importer collects all of these.

uint8 tensors with a quantization become int8 ones: data and zero point move by 128, which changes no arithmetic of the
ops that work on ``q - zero_point``. Graph inputs and outputs keep their uint8 type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from flatbuffers import flexbuffers

from microlith import ops
from microlith.converter.passes.fold_constants import folded_output
from microlith.dtypes import DType
from microlith.errors import ModelFormatError
from microlith.ir import Graph, Quant, State, TensorType, Value, unique_name

from .tflite_model import TfliteOperator, TfliteTensor

if TYPE_CHECKING:
    from .tflite import Importer

_FOLD_FACTOR = 64
"""Constants computed at import may be this much larger than the file in all."""


class Reject(Exception):
    """An operator cannot be converted: the reason, what the user can do about it, and the option that it is about."""

    def __init__(self, reason: str, hint: str = "", attribute: str = "") -> None:
        super().__init__(reason)
        self.reason, self.hint, self.attribute = reason, hint, attribute


Row = Callable[["TfliteNode"], "Value | Sequence[Value] | None"]
"""The conversion of one TFLite operator; None when it makes no tensors."""


def is_shifted(tensor: TfliteTensor) -> bool:
    """Whether a tensor is quantized uint8, which the graph holds as int8."""
    return tensor.dtype is DType.u8 and tensor.quant is not None


def shift_quant(quant: Quant) -> Quant:
    """The int8 quantization of the same real numbers as a uint8 one."""
    return Quant(quant.scale, quant.zero_point - 128, quant.axis)


def shift_data(data: np.ndarray) -> np.ndarray:
    """uint8 numbers less 128, as int8."""
    return (data ^ np.uint8(0x80)).view(np.int8)


class Builder:
    """The graph, its values by tensor index, and the names in use."""

    def __init__(self, graph: Graph, tensors: Sequence[TfliteTensor], file_size: int, host: Importer) -> None:
        self.graph = graph
        self.tensors = tensors
        self.values: dict[int, Value] = {}
        self.fold_budget = _FOLD_FACTOR * file_size + (1 << 20)
        self.host = host
        """Who converts the operators; converts subgraphs too."""
        self.states: dict[int, State] = {}
        """The variables that have been used, by tensor index."""
        self.resources: dict[tuple[bytes, bytes], State] = {}
        """The same for resource variables, by container and name."""
        self.complexes: dict[int, Value] = {}
        """Tensors of complex numbers, by index: [..., 2]."""
        self.handles: dict[int, tuple[bytes, bytes]] = {}
        """The resource variables that tensors stand for."""
        self.may_assign = True
        """Whether this graph may have states; a subgraph may not."""
        self._names: set[str] = set()

    def unique(self, base: str) -> str:
        """``base``, or ``base_2``, ... when a value already has the name."""
        name = unique_name(base, self._names)
        self._names.add(name)
        return name

    def share_names(self, other: Builder) -> None:
        """Both build the same graph."""
        self._names = other._names

    def label(self, tensor: TfliteTensor) -> str:
        return tensor.name or f"tensor_{tensor.index}"

    def type_of(self, tensor: TfliteTensor) -> TensorType:
        """The type in the graph. Reject when there is none."""
        if tensor.dtype is None:
            raise Reject(f"tensor '{self.label(tensor)}' has type {tensor.type_name}")
        return TensorType(DType.s8 if is_shifted(tensor) else tensor.dtype, tensor.shape)

    def quant_of(self, tensor: TfliteTensor) -> Quant | None:
        if tensor.quant is None:
            return None
        return shift_quant(tensor.quant) if is_shifted(tensor) else tensor.quant

    def placeholder(self, tensor: TfliteTensor) -> Value:
        """A value of the tensor's type that nothing computes: stands in behind an operator that was rejected."""
        return Value(self.label(tensor), self.type_of(tensor), quant=self.quant_of(tensor))

    def variable(self, index: int, where: str) -> Value:
        """What a variable holds at this point of a run."""
        tensor = self.tensors[index]
        if index not in self.states:
            if not tensor.is_variable:
                raise ModelFormatError(f"tensor {index} '{tensor.name}' is not a variable", where=where)
            value = Value(self.unique(self.label(tensor)), self.type_of(tensor), quant=self.quant_of(tensor))
            self.states[index] = State(value, value)
            self.graph.states.append(self.states[index])
        return self.states[index].output

    def resource(self, name: tuple[bytes, bytes], type: TensorType, quant: Quant | None) -> State:
        """The state that a resource variable is; made with this type when it is used for the first time."""
        if not self.may_assign:
            raise Reject("it uses a variable inside of a subgraph")
        if name not in self.resources:
            label = name[1].decode("utf-8", "replace") or "variable"
            value = Value(self.unique(label), type, quant=quant)
            self.resources[name] = State(value, value)
            self.graph.states.append(self.resources[name])
        state = self.resources[name]
        if (state.input.type, state.input.quant) != (type, quant):
            raise Reject(f"its variable is {state.input.type}, and {type} with another quantization or shape here")
        return state

    def value(self, index: int, where: str) -> Value:
        """The value of a tensor: computed before, or a constant."""
        if index in self.values:
            return self.values[index]
        tensor = self.tensors[index]
        type = self.type_of(tensor)
        if tensor.data is None:
            what = "a variable" if tensor.is_variable else "used before any operator computes it"
            if tensor.is_variable:
                raise Reject(f"tensor '{self.label(tensor)}' is {what}")
            raise ModelFormatError(f"tensor {index} '{tensor.name}' is {what}", where=where)
        data = shift_data(tensor.data) if is_shifted(tensor) else tensor.data
        value = Value(self.unique(self.label(tensor)), type, data=data, quant=self.quant_of(tensor))
        self.values[index] = value
        return value


class TfliteNode:
    """One operator: its inputs as values of the graph, its options, and the way to add ops for it."""

    def __init__(self, builder: Builder, operator: TfliteOperator) -> None:
        self.builder = builder
        self.operator = operator
        self.name = operator.name
        self.widens = False
        """Inputs in half precision are taken in single precision."""
        self.label = (
            builder.label(builder.tensors[operator.outputs[0]]) if operator.outputs else f"operator_{operator.index}"
        )

    # Inputs.

    @property
    def n_inputs(self) -> int:
        return len(self.operator.inputs)

    def has(self, index: int) -> bool:
        """Whether input ``index`` is given."""
        return index < self.n_inputs and self.operator.inputs[index] >= 0

    def value(self, index: int) -> Value:
        """Input ``index``, which must be there."""
        if not self.has(index):
            raise ModelFormatError(f"input {index} is missing", where=self.operator.where)
        value = self.builder.value(self.operator.inputs[index], self.operator.where)
        if self.widens and value.dtype is DType.f16:
            return self.add("cast", [value], {"to": DType.f32.value})
        return value

    def complex_value(self, index: int) -> Value:
        """Input ``index``, a tensor of complex numbers that has been computed: [..., 2]."""
        if not self.has(index):
            raise ModelFormatError(f"input {index} is missing", where=self.operator.where)
        value = self.builder.complexes.get(self.operator.inputs[index])
        if value is None:
            raise Reject(f"input {index} is no tensor of complex numbers that an operator has computed")
        return value

    def optional(self, index: int) -> Value | None:
        return self.value(index) if self.has(index) else None

    def all_values(self) -> list[Value]:
        return [self.value(index) for index in range(self.n_inputs)]

    def array(self, index: int, what: str) -> np.ndarray:
        """The data of input ``index``, which must be constant."""
        data = self.value(index).data
        if data is None:
            raise Reject(f"{what} is computed at run time; it must be constant")
        return data

    def ints(self, index: int, what: str) -> list[int]:
        """The elements of a constant integer input."""
        array = self.array(index, what)
        if array.dtype.kind not in "iu":
            raise Reject(f"{what} has type {array.dtype}")
        return [int(element) for element in array.reshape(-1)]

    def shape(self, index: int) -> tuple[int, ...]:
        """The sizes of input ``index``."""
        return self.value(index).type.static_shape

    def input_tensor(self, index: int) -> TfliteTensor:
        """Input ``index`` as it stands in the file."""
        return self.builder.tensors[self.operator.inputs[index]]

    def options(self, table: str, *, required: bool = False) -> Any:
        return self.operator.read_options(table, required=required)

    def custom_options(self) -> dict[str, Any]:
        """The options of a custom operator, a FlexBuffers map; empty when it has none. Reject when they are damaged."""
        data = self.operator.custom_options
        if not data:
            return {}
        try:
            options = flexbuffers.Loads(data)
        except Exception as error:  # whatever damaged bytes make of the reader
            raise Reject(f"its options are damaged ({type(error).__name__})") from None
        require(isinstance(options, dict), "its options are not a map")
        assert isinstance(options, dict)
        return options

    def variable(self, index: int) -> Value:
        """What the variable that is input ``index`` holds."""
        if not self.has(index):
            raise ModelFormatError(f"input {index} is missing", where=self.operator.where)
        return self.builder.variable(self.operator.inputs[index], self.operator.where)

    def assign(self, index: int, value: Value) -> None:
        """The variable that is input ``index`` holds ``value`` from now on."""
        self.variable(index)
        self.builder.states[self.operator.inputs[index]].output = value

    def intermediate_quant(self, index: int) -> Quant | None:
        """The quantization of intermediate tensor ``index``; None when there is no such tensor."""
        tensors = self.operator.intermediates
        return self.builder.quant_of(self.builder.tensors[tensors[index]]) if index < len(tensors) else None

    # Outputs.

    @property
    def n_outputs(self) -> int:
        return len(self.operator.outputs)

    def output_tensor(self, index: int = 0) -> TfliteTensor:
        """Output ``index`` as it stands in the file."""
        if index >= self.n_outputs:
            raise ModelFormatError(f"output {index} is missing", where=self.operator.where)
        return self.builder.tensors[self.operator.outputs[index]]

    def output_type(self, index: int = 0) -> TensorType:
        return self.builder.type_of(self.output_tensor(index))

    def output_quant(self, index: int = 0) -> Quant | None:
        return self.builder.quant_of(self.output_tensor(index))

    # Building.

    def const(self, data: np.ndarray | Sequence[float], quant: Quant | None = None, suffix: str = "const") -> Value:
        """A new constant of this operator."""
        array = np.ascontiguousarray(data).reshape(np.shape(data))
        type = TensorType(DType.from_numpy(array.dtype), tuple(array.shape))
        return Value(self.builder.unique(f"{self.label}/{suffix}"), type, data=array, quant=quant)

    def add(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Mapping[str, Any] | None = None,
        *,
        quant: Quant | None = None,
    ) -> Value:
        """A new node's only output, or the constant that it is when all its inputs are constant."""
        try:
            ops.get(op)
        except KeyError:
            raise Reject(f"needs the op {op}, which does not exist") from None
        scratch = Graph()
        node = scratch.add(op, inputs, attrs, name=self.label, output_names=[""], source=self.name, quant=quant)
        output = node.output
        output.name = self.builder.unique(f"{self.label}/{op}")
        if all(value is None or value.is_constant for value in inputs) and not _needs_materializing(output, inputs):
            self.builder.fold_budget -= output.type.nbytes
            folded = folded_output(node) if self.builder.fold_budget >= 0 else None
            if folded is not None:
                scratch.remove(node)
                return Value(output.name, output.type, data=folded, quant=quant)
        self.builder.graph.nodes.append(node)
        return output

    def add_all(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Mapping[str, Any] | None = None,
        *,
        quants: Sequence[Quant | None] = (),
        subgraphs: Sequence[Graph] = (),
    ) -> list[Value]:
        """All outputs of a new node; ``quants`` are their quantizations."""
        node = self.builder.graph.add(op, inputs, attrs, name=self.label, source=self.name, subgraphs=subgraphs)
        for index, output in enumerate(node.outputs):
            output.name = self.builder.unique(f"{self.label}/{op}_{index}")
            output.quant = quants[index] if index < len(quants) else None
        return node.outputs

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """``x`` under another static shape; ``x`` itself when it has it."""
        if tuple(shape) == x.shape:
            return x
        return self.add("reshape", [x], {"shape": tuple(shape)}, quant=x.quant)


def _needs_materializing(output: Value, inputs: Sequence[Value | None]) -> bool:
    """Whether an op on quantized integers still lacks its multipliers, so that it cannot be computed yet."""
    return output.quant is not None or any(value is not None and value.quant is not None for value in inputs)


NO_CLAMP: dict[str, float] = {"clamp_min": -math.inf, "clamp_max": math.inf}

_ACTIVATIONS: dict[int, tuple[str, dict[str, float]]] = {
    0: ("NONE", NO_CLAMP),
    1: ("RELU", {"clamp_min": 0.0, "clamp_max": math.inf}),
    2: ("RELU_N1_TO_1", {"clamp_min": -1.0, "clamp_max": 1.0}),
    3: ("RELU6", {"clamp_min": 0.0, "clamp_max": 6.0}),
}


def fused_clamp(number: int) -> dict[str, float]:
    """Attributes for a fused activation, in real units. Reject when it is not a clamp."""
    if number not in _ACTIVATIONS:
        name = {4: "TANH", 5: "SIGN_BIT"}.get(number, str(number))
        raise Reject(f"fused activation {name} is not supported", attribute="fused_activation_function")
    return dict(_ACTIVATIONS[number][1])


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the start. Reject when it is out of range."""
    if not -rank <= axis < rank:
        raise Reject(f"{what} {axis} is out of range for rank {rank}")
    return axis % rank


def require(condition: bool, reason: str, hint: str = "", attribute: str = "") -> None:
    """Reject with ``reason`` unless ``condition`` holds."""
    if not condition:
        raise Reject(reason, hint, attribute)
