"""What the rows of the ONNX tables work with: one node with checked attributes, and the builder of the graph.

A row is a function ``row(g, node)`` that adds ops to the graph through ``g`` and returns the values of the node's
outputs. It raises ``Reject`` for what cannot be converted; the importer collects all of these. ONNX tensors are
channels-first, so a spatial op stands between two transposes, which the layout pass takes out again.

A size that is known only at run time (a symbolic dimension) is not a tensor of the graph: what a model computes from
``Shape`` lives as a ``Sizes`` while it is imported, and ends in the attributes of the ops that use it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from ...dtypes import DType
from ...ir import Dim, Graph, Quant, TensorType, Value, unique_name
from ...nnacl_kernels import catalogue
from ...ops.shape_rules import within_ranges
from ..passes.edits import carry_decoded
from ..passes.fold_constants import folded_output, folded_outputs
from .onnx_words import texts_of
from .problems import attribute_in

WITHOUT_EFFECT = frozenset(
    (
        *("momentum", "ratio", "seed", "saturate", "stash_type", "storage_order", "is_test", "consumed_inputs"),
        *("epsilon", "nodes_hitrates"),
    )
)
"""Attributes that do not change the result of inference where a row leaves them unread."""


NARROW: Mapping[int, tuple[DType, int, int]] = {
    onnx.TensorProto.INT4: (DType.s8, -8, 7),
    onnx.TensorProto.UINT4: (DType.u8, 0, 15),
    onnx.TensorProto.INT2: (DType.s8, -2, 1),
    onnx.TensorProto.UINT2: (DType.u8, 0, 3),
}
"""Element types of less than a byte: the type that holds them here, the least and the greatest number."""


class Reject(Exception):
    """A node cannot be converted: the reason, and what the user can do about it.

    ``certain``: whatever its inputs are.
    """

    def __init__(self, reason: str, hint: str = "", *, certain: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.hint, self.certain = reason, hint, certain


class Undecided(Reject):
    """The results of a subgraph differ in rank by a question inside of it; the graph around may know what to do."""


FIX_SIZES = "give all input sizes, for example --input x:1,3,224,224"


@dataclass(frozen=True)
class Span:
    """A number that lies between two, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class Sizes:
    """A small tensor made of sizes: each element a number, a symbol, or None for a size that has no name."""

    elements: np.ndarray
    """dtype object; numbers, symbols, Span or None."""
    lower: Callable[[], Value] | None = None
    """Makes the tensor that is read at run time, for whom needs one."""

    @property
    def dims(self) -> tuple[int | str | None, ...]:
        return tuple(None if isinstance(item, Span) else item for item in self.elements.reshape(-1).tolist())

    def known(self) -> np.ndarray | None:
        """As int64 (or float32 after a cast, bool after a comparison) when every element is a number, else None."""
        if not all(isinstance(element, int | float) for element in self.dims):
            return None
        if self.dims and all(isinstance(element, bool) for element in self.dims):
            return self.elements.astype(np.bool_)
        return self.elements.astype(np.float32 if any(isinstance(e, float) for e in self.dims) else np.int64)


class Poison:
    """Stands for an output of a node that was rejected."""


T = TypeVar("T")


@dataclass(frozen=True)
class Tensors:
    """A sequence of tensors whose length is known."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Text:
    """A tensor of texts: for each its position in a list of words, -1 when it is none of them."""

    value: Value
    words: tuple[str, ...]


Entry = Value | Sizes | Tensors | Text | Poison | None


class OnnxNode:
    """One node: inputs looked up, attributes by type."""

    def __init__(
        self, proto: onnx.NodeProto, inputs: Sequence[Entry], opset: int, label: str, ranks: Sequence[int | None] = ()
    ) -> None:
        self.proto = proto
        self.op = proto.op_type
        self.name = label
        self.opset = opset
        self.entries = list(inputs)
        self.output_names = list(proto.output)
        self.ranks = ranks
        """Those that the model states for the outputs."""
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._read: set[str] = set()

    def has(self, index: int) -> bool:
        """Whether input ``index`` is given."""
        return index < len(self.entries) and self.entries[index] is not None

    def wants(self, index: int) -> bool:
        """Whether output ``index`` is named."""
        return index < len(self.output_names) and self.output_names[index] != ""

    def value(self, index: int) -> Value:
        """Input ``index``, which must be there and be a tensor."""
        entry = self.entries[index] if index < len(self.entries) else None
        if entry is None:
            raise Reject(f"input {index} is missing")
        if isinstance(entry, Value):
            return entry
        if isinstance(entry, Sizes) and (known := entry.known()) is not None:
            return constant(known, f"{self.name}_sizes")
        if isinstance(entry, Sizes) and entry.lower is not None:
            return entry.lower()
        if isinstance(entry, Tensors):
            raise Reject(f"input {index} is a sequence of tensors", "export with tensors only")
        if isinstance(entry, Text):
            raise Reject(f"input {index} is text", "use numbers in place of texts")
        raise Reject(f"input {index} holds sizes that are known only at run time", FIX_SIZES)

    @property
    def stated_rank(self) -> int | None:
        """The rank that the model states for its first output; None when it states none."""
        return self.ranks[0] if self.ranks else None

    def real_value(self, index: int) -> Value:
        """Input ``index``, which must be there and be a tensor of real numbers."""
        x = self.value(index)
        if x.dtype not in (DType.f32, DType.f64):
            raise Reject(f"input {index} is {x.dtype.name}, expected real numbers")
        return x

    def optional(self, index: int) -> Value | None:
        return self.value(index) if self.has(index) else None

    def values(self) -> list[Value]:
        """All inputs, which must be there."""
        return [self.value(index) for index in range(len(self.entries))]

    def array(self, index: int, what: str) -> np.ndarray:
        """The data of input ``index``, which must be constant."""
        data = self.value(index).data
        if data is None:
            raise Reject(f"{what} is computed at run time; it must be constant")
        return data

    def optional_array(self, index: int, what: str) -> np.ndarray | None:
        return self.array(index, what) if self.has(index) else None

    def vector(self, index: int, what: str) -> list[int]:
        """The elements of a constant integer input."""
        array = self.array(index, what)
        if array.dtype.kind not in "iu":
            raise Reject(f"{what} has type {array.dtype}, expected int64")
        return [int(element) for element in array.reshape(-1)]

    def sizes(self, index: int, what: str) -> tuple[int | str | None, ...]:
        """The elements of an integer input that may be sizes known only at run time."""
        entry = self.entries[index] if index < len(self.entries) else None
        return entry.dims if isinstance(entry, Sizes) else tuple(self.vector(index, what))

    def _attribute(self, name: str, kind: int) -> AttributeProto | None:
        self._read.add(name)
        attribute = self._attributes.get(name)
        if attribute is not None and attribute.type != kind:
            wanted = AttributeProto.AttributeType.Name(kind)
            raise Reject(f"attribute '{name}' has the wrong type, expected {wanted}", certain=True)
        return attribute

    def integer(self, name: str, default: int) -> int:
        attribute = self._attribute(name, AttributeProto.INT)
        return default if attribute is None else int(attribute.i)

    def real(self, name: str, default: float) -> float:
        attribute = self._attribute(name, AttributeProto.FLOAT)
        return default if attribute is None else float(attribute.f)

    def text(self, name: str, default: str) -> str:
        attribute = self._attribute(name, AttributeProto.STRING)
        return default if attribute is None else attribute.s.decode("utf-8", "replace")

    def texts(self, name: str) -> list[str] | None:
        attribute = self._attribute(name, AttributeProto.STRINGS)
        return None if attribute is None else [item.decode("utf-8", "replace") for item in attribute.strings]

    def integers(self, name: str) -> list[int] | None:
        attribute = self._attribute(name, AttributeProto.INTS)
        return None if attribute is None else [int(item) for item in attribute.ints]

    def reals(self, name: str) -> list[float] | None:
        attribute = self._attribute(name, AttributeProto.FLOATS)
        return None if attribute is None else [float(item) for item in attribute.floats]

    def tensor_type(self, name: str) -> int:
        """The element type of an attribute that is a tensor, 0 when it is absent."""
        return int(self._attributes[name].t.data_type) if name in self._attributes else 0

    def tensor(self, name: str) -> np.ndarray | None:
        attribute = self._attribute(name, AttributeProto.TENSOR)
        return None if attribute is None else array_of(attribute.t)

    def text_tensor(self, name: str) -> list[str] | None:
        """The elements of an attribute that is a tensor of texts."""
        attribute = self._attribute(name, AttributeProto.TENSOR)
        return None if attribute is None else texts_of(attribute.t)

    def subgraph(self, name: str) -> onnx.GraphProto:
        attribute = self._attribute(name, AttributeProto.GRAPH)
        if attribute is None:
            raise Reject(f"attribute '{name}' is missing")
        return attribute.g

    def names_a_mode(self, reason: str) -> bool:
        """Whether a reason names an attribute of this node that is a text, which never depends on inputs."""
        texts = [a.name for a in self.proto.attribute if a.type == AttributeProto.STRING]
        return bool(attribute_in(reason, texts))

    def attribute_names(self) -> list[str]:
        """Names of all attributes that are given; they count as read."""
        self._read.update(self._attributes)
        return list(self._attributes)

    def ignore(self, *names: str) -> None:
        """Attributes that have no say here count as read."""
        self._read.update(names)

    def check_all_read(self) -> None:
        """``Reject`` when the row has left out an attribute that has a say in the result."""
        for name in self._attributes.keys() - self._read - WITHOUT_EFFECT:
            try:
                default = onnx.defs.get_schema(self.op, self.opset, "").attributes[name].default_value
            except (KeyError, onnx.defs.SchemaError):
                default = None
            given = self._attributes[name]
            if default is None or helper.get_attribute_value(given) != helper.get_attribute_value(default):
                raise Reject(f"attribute '{name}' is not supported", certain=True)


def array_of(tensor: onnx.TensorProto) -> np.ndarray:
    """The data of a tensor, with half precision as float32. ``Reject`` for types that have no row."""
    name = onnx.TensorProto.DataType.Name(tensor.data_type) if tensor.data_type in _known_types() else "an unknown type"
    if name in ("STRING", "UNDEFINED", "an unknown type", "COMPLEX64", "COMPLEX128"):
        raise Reject(f"tensor '{tensor.name}' is {name}")
    return usable_array(numpy_helper.to_array(tensor), tensor.name)


def usable_array(array: np.ndarray, name: str) -> np.ndarray:
    """The array in an element type that the graph knows: half precision becomes float32, 4 and 2 bits become 8."""
    if array.dtype == np.float16 or array.dtype.name == "bfloat16":
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype.name in ("int4", "int2", "uint4", "uint2"):
        return array.astype(np.int8 if array.dtype.name.startswith("int") else np.uint8)
    try:
        DType.from_numpy(array.dtype)
    except KeyError:
        raise Reject(f"tensor '{name}' has element type {array.dtype}") from None
    return np.ascontiguousarray(array).reshape(array.shape)


@functools.cache
def _double_ops(rows: int) -> frozenset[str]:
    """The ops that have kernels for double precision, or that move elements of any type, among this many rows."""
    any_or_double = (catalogue.ANY_DTYPE, DType.f64.value)
    return frozenset({kernel.op for kernel in catalogue.kernels() if kernel.dtype in any_or_double} | {"where"})


def _known_types() -> Sequence[int]:
    return onnx.TensorProto.DataType.values()


def constant(data: np.ndarray, name: str) -> Value:
    """A constant that belongs to the graph once a node uses it."""
    array = np.asarray(data)
    array = np.ascontiguousarray(array).reshape(array.shape)
    return Value(name, TensorType(DType.from_numpy(array.dtype), tuple(array.shape)), data=array)


@dataclass
class Guesses:
    """What a model leaves open and has to be taken for granted."""

    open_is_one: Literal["", "first", "all"] = ""
    """Which sizes that are known only at run time count as 1 for a Squeeze that does not name its axes: none, that of
    the first dimension (exporters leave the batch open in models that are for one), or all."""
    made: bool = False
    """Whether such a Squeeze has been met."""
    branch_squeezes: bool = True
    """Of an If whose one branch only squeezes what the other one passes on, that branch counts as taken."""
    asked: bool = False
    """Whether such an If has been met."""
    forks: bool = False
    """An If whose branches differ in rank takes all that follows into its branches; none is taken for granted."""
    differs: bool = False
    """Whether such an If has been met."""
    whole_lengths: bool = False
    """Resize with align_corners goes by the whole length of its result, not by size times scale: PyTorch means that."""

    @property
    def is_certain(self) -> bool:
        """Nothing had to be taken for granted, so that other guesses would change nothing."""
        return not (self.made or self.asked or self.differs)


class Builder:
    """Adds ops to a graph on behalf of one ONNX node; a node whose inputs are all constant is computed at once."""

    def __init__(self, graph: Graph, guesses: Guesses | None = None, as_written: bool = False) -> None:
        self.graph = graph
        self.all_as_written = as_written
        self.stored: set[int] = set()
        """Identities of the constants that the model itself stores, which are not computed from others."""
        self.guesses = guesses or Guesses()
        self.label = ""
        self.source = ""
        self.created: set[int] = set()
        """Identities of the values that the current node has made."""
        self.narrow: dict[int, int] = {}
        """The ONNX element type of inputs and constants of less than a byte, by identity."""
        self.columns: dict[str, list[str]] = {}
        """What the positions along the last dimension of some results stand for, by their names in the model."""
        self.implied: dict[str, tuple[int, str]] = {}
        """Open sizes that can have one value only, and the node that says so."""
        self._names: set[str] = set()
        self._kept: list[Value] = []

    @property
    def as_written(self) -> bool:
        """Whether the floats of the current node are to be those of ONNX Runtime to the last bit, where its steps are
        known. Operators that are defined on integers only pass through floats here."""
        return self.all_as_written and not self.source.startswith("QLinear")

    def reserve(self, names: Iterable[str]) -> None:
        """Keeps the model's own names free."""
        self._names.update(names)

    def begin(self, label: str, source: str) -> None:
        """What follows belongs to another node of the model."""
        self.label, self.source = label, source
        self.created.clear()
        self._kept.clear()

    def elsewhere(self, label: str, source: str, make: Callable[[], T]) -> T:
        """What ``make`` builds on behalf of another node, while the current one is being converted."""
        label, self.label = self.label, label
        source, self.source = self.source, source
        created, self.created = self.created, set()
        try:
            return make()
        finally:
            self.label, self.source, self.created = label, source, created

    def _note(self, value: Value) -> Value:
        self.created.add(id(value))
        self._kept.append(value)
        return value

    def unique(self, base: str) -> str:
        """``base``, or ``base_2``, ... when a value already has the name."""
        name = unique_name(base, self._names)
        self._names.add(name)
        return name

    def const(self, data: np.ndarray | Sequence[float], suffix: str = "const") -> Value:
        """A new constant of the current node."""
        return self._note(constant(np.asarray(data), self.unique(f"{self.label}_{suffix}")))

    def computed(self, data: np.ndarray) -> Value:
        """The result of the current node as a constant."""
        return self.const(usable_array(data, self.label), "value")

    def add(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Mapping[str, object] | None = None,
        quant: Quant | None = None,
    ) -> Value:
        """A new node; its only output, or the folded constant. Without a kernel in double precision it is computed in
        single precision."""
        fitting = self._fitting(op, inputs)
        result = self._add(op, fitting, attrs, quant)
        narrowed = any(
            a is not None and a is not b and a.dtype is DType.f64 for a, b in zip(inputs, fitting, strict=True)
        )
        return self.cast(result, DType.f64) if narrowed and result.dtype is DType.f32 else result

    def _fitting(self, op: str, inputs: Sequence[Value | None]) -> Sequence[Value | None]:
        """The inputs as the kernels of ``op`` take them, when some are in double precision."""
        if op == "cast" or not any(value is not None and value.dtype is DType.f64 for value in inputs):
            return inputs
        source, target = (
            (DType.f32, DType.f64) if op in _double_ops(len(catalogue.kernels())) else (DType.f64, DType.f32)
        )
        return [
            value if value is None or value.dtype is not source else self._add("cast", [value], {"to": target.value})
            for value in inputs
        ]

    def _add(
        self, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, object] | None, quant: Quant | None = None
    ) -> Value:
        node = self.graph.add(op, inputs, attrs, name=self.label, output_names=[""], source=self.source, quant=quant)
        self._imply(node.implied)
        output = node.output
        output.name = self.unique(f"{self.label}_{op}")
        output.type = TensorType(output.dtype, within_ranges(output.shape, self.graph.ranges))
        folded = folded_output(node)
        if folded is None:
            return self._note(output)
        value = self._note(constant(folded, output.name))
        carry_decoded(node, value)
        self.graph.remove(node)
        return value

    def add_all(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Mapping[str, object] | None = None,
        subgraphs: Sequence[Graph] = (),
    ) -> list[Value]:
        """A new node; all its outputs, in double precision where the inputs are."""
        fitting = inputs if subgraphs else self._fitting(op, inputs)
        node = self.graph.add(op, fitting, attrs, name=self.label, source=self.source, subgraphs=subgraphs)
        self._imply(node.implied)
        for value in node.outputs:
            value.name = self.unique(f"{self.label}_{op}")
        results = list(node.outputs)
        if (folded := folded_outputs(node)) is not None:
            results = [constant(array, value.name) for array, value in zip(folded, results, strict=True)]
            self.graph.remove(node)
        for value in results:
            self._note(value)
        if not any(a is not None and a is not b and a.dtype is DType.f64 for a, b in zip(inputs, fitting, strict=True)):
            return results
        return [self.cast(value, DType.f64) if value.dtype is DType.f32 else value for value in results]

    def _imply(self, sizes: Mapping[str, int]) -> None:
        for symbol, size in sizes.items():
            self.implied.setdefault(symbol, (size, self.label))

    def implies(self, x: Value, axis: int, size: Dim) -> None:
        """A size of ``x`` must be what something else of the current node is, for example weights."""
        dim = x.shape[axis]
        if isinstance(dim, str) and isinstance(size, int):
            self._imply({dim: size})

    def of_length(self, vector: Value, length: int | None) -> Value:
        """A vector whose length is open, but can only be this one; what is not that, or None, changes nothing."""
        if length is None or len(vector.shape) != 1 or isinstance(vector.shape[0], int):
            return vector
        self.implies(vector, 0, length)
        return self.add("reshape", [vector], {"shape": (length,)})

    def cast(self, x: Value, dtype: DType) -> Value:
        return x if x.dtype is dtype else self.add("cast", [x], {"to": dtype.value})

    def known(self, x: Value, dims: Sequence[Dim | None]) -> Value:
        """``x``, of which more sizes are known than follow from its node."""
        x.type = TensorType(x.dtype, tuple(old if new is None else new for old, new in zip(x.shape, dims, strict=True)))
        return x

    def copy(self, x: Value) -> Value:
        """A value of its own with the same elements, never folded."""
        node = self.graph.add("reshape", [x], {"shape": (0,) * len(x.shape)}, name=self.label, source=self.source)
        return self._note(node.output)

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        return self.add("transpose", [x], {"perm": tuple(perm)}) if list(perm) != sorted(perm) else x

    def reshape(self, x: Value, shape: Sequence[Dim | None]) -> Value:
        """``x`` with the given sizes, of which symbols and at most one None are settled from the sizes of ``x``."""
        if tuple(shape) == x.shape:
            return x
        if 0 in shape:
            sizes = [dim if isinstance(dim, int) else -1 for dim in shape]
            if sizes.count(-1) > 1 or (x.type.is_static and -1 in sizes):
                raise Reject(f"the new shape {tuple(shape)} is empty, and not all of its sizes are known", FIX_SIZES)
            return self.add("reshape", [x], {"shape": tuple(sizes), "allow_zero": 1})
        wanted: list[int] = []
        for index, dim in enumerate(shape):
            if isinstance(dim, int):
                wanted.append(dim)
            elif dim is not None and index < len(x.shape) and x.shape[index] == dim:
                wanted.append(0)
            else:
                wanted.append(-1)
        if wanted.count(-1) <= 1:
            return self.add("reshape", [x], {"shape": tuple(wanted)})
        given, kept = ([dim for dim in dims if dim != 1] for dims in (shape, x.shape))
        same = len(given) == len(kept) and all(dim in (None, size) for dim, size in zip(given, kept, strict=True))
        if same and given.count(None) <= 1:
            return self._with_ones(x, shape)
        if list(shape).count(None) > 1 or any(isinstance(dim, str) and dim not in x.shape for dim in shape):
            raise Reject(f"the new shape {tuple(shape)} has more than one size known only at run time", FIX_SIZES)
        parts = [
            self.sizes_of(x, x.shape.index(dim), x.shape.index(dim) + 1)
            if isinstance(dim, str)
            else self.const(np.array([-1 if dim is None else dim], np.int64), "size")
            for dim in shape
        ]
        return self.add("reshape", [x, self.add("concat", parts, {"axis": 0})])

    def _with_ones(self, x: Value, shape: Sequence[Dim | None]) -> Value:
        """``x`` with dimensions of size 1 in other places."""
        ones = sum(1 << axis for axis, dim in enumerate(x.shape) if dim == 1)
        x = self.add("squeeze", [x], {"axes": ones}) if ones else x
        ones = sum(1 << axis for axis, dim in enumerate(shape) if dim == 1)
        return self.add("unsqueeze", [x], {"axes": ones}) if ones else x

    def flattened(self, x: Value, axis: int) -> Value:
        """[product of the sizes in front of an axis, product of the others]."""
        rows, columns = merged(x.shape[:axis]), merged(x.shape[axis:])
        if rows is not None or isinstance(columns, int):
            return self.reshape(x, (rows, columns))
        count = self.add("reduce_prod", [self.sizes_of(x, 0, axis)], {"axes": 1, "keep_dims": 1})
        rest = self.const(np.array([-1], np.int64), "rest")
        return self.add("reshape", [x, self.add("concat", [count, rest], {"axis": 0})])

    def counting(self, x: Value, axis: int) -> Value:
        """s64[size]: the positions along a dimension of ``x``."""
        size = x.shape[axis]
        if isinstance(size, int):
            return self.const(np.arange(size, dtype=np.int64), "positions")
        end = self.add("squeeze", [self.sizes_of(x, axis, axis + 1)], {"axes": 1})
        zero, one = (self.const(np.asarray(number, np.int64), "step") for number in (0, 1))
        return self.add("range", [zero, end, one])

    def sizes_of(self, x: Value, start: int, end: int) -> Value:
        """s64[end - start]: sizes of ``x``, read at run time."""
        return self.add("shape", [x], {"start": start, "end": end, "to": DType.s64.value})

    def to_nhwc(self, x: Value) -> Value:
        return self.transpose(x, (0, 2, 3, 1))

    def to_nchw(self, x: Value) -> Value:
        return self.transpose(x, (0, 3, 1, 2))


def merged(dims: Sequence[Dim]) -> Dim | None:
    """The product of sizes: a number, a single symbol, or None."""
    number = int(np.prod([dim for dim in dims if isinstance(dim, int)], dtype=np.int64))
    symbols = [dim for dim in dims if isinstance(dim, str)]
    if not symbols:
        return number
    return symbols[0] if len(symbols) == 1 and number == 1 else None


Row = Callable[[Builder, OnnxNode], "Value | Sequence[Value]"]
"""The conversion of one ONNX operator."""
