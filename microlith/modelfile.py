"""Reading and writing .lith files (``model.fbs``, described in ``docs/model-format.md``).

A file holds the finished graph: integer ops materialized, every op with kernels. The flatbuffer stands at the start,
the bytes of the constants behind it, so that a model may be larger than the 2 GiB that a flatbuffer can address and
that a runtime can map the weights.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import flatbuffers
import numpy as np

from . import model_generated as fb
from . import ops, version
from .binding import stored_params
from .dtypes import DType
from .errors import MicrolithError, ModelFormatError, ShapeError, Unsupported, UnsupportedError
from .files import write_atomically
from .ir import Dim, Graph, Node, Quant, State, TensorType, Value, all_graphs
from .nnacl_kernels import catalogue
from .numerics import CONTRACTS
from .prepack import PackedInput, PackedWeights
from .size_ranges import SizeRange
from .verify import MAX_DEPTH, MAX_RANK

FORMAT_VERSION = 1
IDENTIFIER = b"LITH"
ALIGNMENT = 64
"""Constants start at multiples of this many bytes."""


def save(graph: Graph, path: str | os.PathLike[str], packed: PackedWeights | None = None) -> int:
    """Writes a graph, and with it ``packed`` weights for one machine; returns the bytes written.

    Writes to a temporary name and renames, so that no partial file is left behind. Raises ShapeError when a node's
    plan half refuses it and OutputError when the file cannot be written.
    """
    writer = _Writer(graph, packed)
    return write_atomically(path, writer.write)


STATE = "state"
"""Source of the nodes at the end of a graph that write its states."""


class _Writer:
    def __init__(self, graph: Graph, packed: PackedWeights | None) -> None:
        self.graph, self.packed = graph, packed
        self.parts = list(all_graphs(graph))
        self.params = [stored_params(part) for part in self.parts]
        names = {node.op for part in self.parts for node in part.nodes}
        self.op_names = sorted(names | ({"reshape"} if graph.states else set()))
        self.constants: list[np.ndarray] = []
        self.buffers: list[fb.BufferT] = []
        self.known: dict[int, int] = {}
        self.data_size = 0

    def write(self, file: IO[bytes]) -> None:
        model = self._model()
        # The offset of the data section is a fixed-size field: a first pass tells how large the table part is.
        table = self._packed(model, 1)
        start = _aligned(len(table))
        table = self._packed(model, start)
        file.write(table)
        file.write(bytes(start - len(table)))
        position = 0
        for buffer, array in zip(self.buffers, self.constants, strict=True):
            file.write(bytes(buffer.offset - position))
            file.write(array.reshape(-1).view(np.uint8).data)
            position = buffer.offset + buffer.size

    def _packed(self, model: fb.ModelT, data_offset: int) -> bytes:
        model.dataOffset = data_offset
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
        return bytes(builder.Output())

    def _model(self) -> fb.ModelT:
        number = {id(part): index for index, part in enumerate(self.parts)}
        graphs = [self._graph(part, params, number) for part, params in zip(self.parts, self.params, strict=True)]
        return fb.ModelT(
            version=FORMAT_VERSION,
            producer=f"microlith {version.__version__}",
            contract=CONTRACTS[self.graph.contract],
            ops=list(self.op_names),
            graphs=graphs,
            buffers=self.buffers,
            metadata=[fb.PairT(key=key, value=value) for key, value in sorted(self.graph.metadata.items())],
            ranges=[
                fb.RangeT(symbol=name, low=item.low, high=item.high, step=item.step)
                for name, item in sorted(self.graph.ranges.items())
            ]
            or None,
            packed=[self._packed_input(item) for item in self.packed.inputs] if self.packed else None,
            packedTarget=self.packed.target if self.packed else None,
            packedLayout=catalogue.PACKED_LAYOUT if self.packed else 0,
        )

    def _packed_input(self, item: PackedInput) -> fb.PackedInputT:
        return fb.PackedInputT(kernel=item.kernel, node=item.node, input=item.input, buffer=self._buffer(item.data))

    def _graph(self, graph: Graph, params: Sequence[bytes], number: Mapping[int, int]) -> fb.GraphT:
        values = list(graph.values())
        states = {state.input: state for state in graph.states}
        index = {value: position for position, value in enumerate(values)}
        tensors = [self._tensor(value, states.get(value)) for value in values]
        nodes = [
            fb.NodeT(
                op=self.op_names.index(node.op),
                name=node.name,
                source=node.source,
                inputs=[-1 if value is None else index[value] for value in node.inputs],
                outputs=[index[value] for value in node.outputs],
                params=np.frombuffer(blob, np.uint8),
                subgraphs=[number[id(part)] for part in node.subgraphs] or None,
            )
            for node, blob in zip(graph.nodes, params, strict=True)
        ]
        nodes += [self._assignment(state, index) for state in graph.states if state.output is not state.input]
        return fb.GraphT(
            name=graph.name,
            tensors=tensors,
            nodes=nodes,
            inputs=[index[value] for value in graph.inputs],
            outputs=[index[value] for value in graph.outputs],
        )

    def _assignment(self, state: State, index: Mapping[Value, int]) -> fb.NodeT:
        """The node that writes a state when everything else has run."""
        type = state.input.type
        attrs = {"shape": type.static_shape, "rank": len(type.shape), "allow_zero": 1}
        params, _ = catalogue.make_params("reshape", attrs, [catalogue.Tensor(type.dtype.value, type.static_shape)])
        return fb.NodeT(
            op=self.op_names.index("reshape"),
            name=state.input.name,
            source=STATE,
            inputs=[index[state.output]],
            outputs=[index[state.input]],
            params=np.frombuffer(params, np.uint8),
        )

    def _tensor(self, value: Value, state: State | None) -> fb.TensorT:
        symbols = [dim if isinstance(dim, str) else "" for dim in value.shape]
        quant = None
        if value.quant is not None:
            quant = fb.QuantT(
                scale=value.quant.scale.astype(np.float32),
                zeroPoint=value.quant.zero_point.astype(np.int32),
                axis=-1 if value.quant.axis is None else value.quant.axis,
            )
        return fb.TensorT(
            name=value.name,
            dtype=value.dtype.value,
            shape=[-1 if isinstance(dim, str) else dim for dim in value.shape],
            symbols=symbols if any(symbols) else None,
            buffer=self._buffer(value.data if state is None else state.initial),
            quant=quant,
            variable=state is not None,
            origins=list(value.origins) if value.origins not in ((), (value.name,)) else None,
        )

    def _buffer(self, data: np.ndarray | None) -> int:
        if data is None:
            return -1
        if id(data) in self.known:
            return self.known[id(data)]
        array = np.ascontiguousarray(data)
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        offset = _aligned(self.data_size)
        self.buffers.append(fb.BufferT(offset=offset, size=array.nbytes))
        self.constants.append(array)
        self.data_size = offset + array.nbytes
        self.known[id(data)] = len(self.buffers) - 1
        return self.known[id(data)]


def _aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def load(path: str | os.PathLike[str]) -> Graph:
    """Reads a file back into a graph. Raises ModelFormatError, naming what is wrong, for anything but a valid file."""
    where = str(path)
    try:
        data = np.memmap(path, np.uint8, "r") if Path(path).stat().st_size else np.zeros(0, np.uint8)
    except OSError as error:
        raise ModelFormatError(f"cannot read: {error.strerror or error}", where=where) from error
    return loads(data, where=where)


def loads(data: bytes | np.ndarray, *, where: str = "model") -> Graph:
    """As ``load``, from bytes."""
    raw = np.frombuffer(data, np.uint8) if isinstance(data, (bytes, bytearray)) else data
    if raw.size < 12 or bytes(raw[4:8]) != IDENTIFIER:
        raise ModelFormatError(
            "not a .lith file (no LITH identifier)", where=where, hint="make one with `microlith convert`"
        )
    try:
        return _Reader(raw).graph()
    except MicrolithError as error:
        error.where = (error.where and f"{where}: {error.where}") or where
        raise
    except (struct.error, IndexError, KeyError, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ModelFormatError(f"damaged: {error}", where=where, hint="convert the model again") from error


class _Reader:
    def __init__(self, raw: np.ndarray) -> None:
        self.raw = raw
        model = fb.Model.GetRootAs(raw[: min(raw.size, 2**31 - 1)], 0)
        if model.Version() != FORMAT_VERSION:
            raise ModelFormatError(
                f"format version {model.Version()}, this reader knows {FORMAT_VERSION}", hint="use a newer microlith"
            )
        _require(model.GraphsLength() >= 1, "it has no graph")
        self.model = fb.ModelT.InitFromObj(model)
        _require(self.model.contract < len(CONTRACTS), f"rounding contract {self.model.contract}")

        self.op_names = [_text(name) for name in self.model.ops or []]
        self._require_extensions()
        self.taken: set[int] = {0}

    def _require_extensions(self) -> None:
        """Refuses a file with ops of extensions that are not there, all of them at once."""
        missing = {number: name for number, name in enumerate(self.op_names) if "." in name and not ops.is_known(name)}
        items = [
            Unsupported(
                _text(node.name),
                missing[node.op],
                "this op is not part of microlith",
                ops.missing_hint(missing[node.op]),
            )
            for graph in self.model.graphs or []
            for node in graph.nodes or []
            if node.op in missing
        ]
        if items:
            raise UnsupportedError(items)

    def graph(self, number: int = 0, depth: int = 0) -> Graph:
        """Graph ``number`` with its subgraphs. Each belongs to one node of a graph with a lower number."""
        _require(depth <= MAX_DEPTH, f"subgraphs lie deeper than {MAX_DEPTH} levels")
        stored = _pick(self.model.graphs, number)
        values = [self._value(tensor, index) for index, tensor in enumerate(stored.tensors or [])]
        graph = Graph(name=_text(stored.name), contract=list(CONTRACTS)[self.model.contract])
        if number == 0:
            graph.metadata = {_text(pair.key): _text(pair.value) for pair in self.model.metadata or []}
            graph.ranges = {_text(item.symbol): _range(item) for item in self.model.ranges or []}
        graph.states = [
            _state(value) for value, tensor in zip(values, stored.tensors or [], strict=True) if tensor.variable
        ]
        _require(not graph.states or number == 0, "a subgraph has a variable")
        graph.inputs = [_pick(values, index) for index in _list(stored.inputs)]
        for value in graph.inputs:
            _require(not value.is_constant, f"graph input '{value.name}' is a constant")
        known = {*graph.inputs, *(state.input for state in graph.states)}
        for position, item in enumerate(stored.nodes or []):
            node = self._node(item, position, values, known, {state.input: state for state in graph.states})
            for index in _list(item.subgraphs):
                _require(number < index and index not in self.taken, f"node {position} refers to graph {index}")
                self.taken.add(index)
                node.subgraphs.append(self.graph(index, depth + 1))
            graph.nodes.append(node)
        graph.outputs = [_pick(values, index) for index in _list(stored.outputs)]
        for value in graph.outputs:
            _require(value.is_constant or value in known, f"graph output '{value.name}' is never computed")
        _end_states(graph)
        self._check(graph)
        return graph

    def _value(self, tensor: Any, index: int) -> Value:
        name = _text(tensor.name) or f"tensor_{index}"
        shape = _list(tensor.shape)
        symbols = [_text(symbol) for symbol in tensor.symbols or []]
        dims: list[Dim] = []
        for axis, dim in enumerate(shape):
            symbol = symbols[axis] if axis < len(symbols) else ""
            _require(dim >= -1, f"tensor '{name}' has a dimension of {dim}")
            dims.append(dim if dim >= 0 else symbol or f"{name}_{axis}")
        type = TensorType(DType(tensor.dtype), tuple(dims))
        quant = None
        if tensor.quant is not None:
            scale = np.asarray(_list(tensor.quant.scale), np.float32)
            zero_point = np.asarray(_list(tensor.quant.zeroPoint), np.int64)
            _require(scale.size == zero_point.size >= 1, f"quantization of tensor '{name}'")
            quant = Quant(scale, zero_point, None if tensor.quant.axis < 0 else tensor.quant.axis)
        value = Value(name, type, quant=quant, data=self._data(tensor.buffer, type, name))
        value.origins = tuple(_text(origin) for origin in tensor.origins or [name])
        return value

    def _data(self, buffer: int, type: TensorType, name: str) -> np.ndarray | None:
        if buffer < 0:
            return None
        item = _pick(self.model.buffers or [], buffer)
        _require(type.is_static, f"constant '{name}' has no static shape")
        start = self.model.dataOffset + item.offset
        _require(item.size == type.nbytes, f"constant '{name}' has {item.size} bytes, its shape needs {type.nbytes}")
        _require(
            item.offset % ALIGNMENT == 0 and self.model.dataOffset % ALIGNMENT == 0, f"constant '{name}' is not aligned"
        )
        _require(start + item.size <= self.raw.size, f"the bytes of constant '{name}' pass the end of the file")
        return self.raw[start : start + item.size].view(type.dtype.numpy).reshape(type.static_shape)

    def _node(
        self, item: Any, position: int, values: list[Value], known: set[Value], states: Mapping[Value, State]
    ) -> Node:
        op_name = _pick(self.op_names, item.op)
        try:
            opdef = ops.get(op_name)
        except KeyError:
            raise ModelFormatError(f"node {position} has the unknown op '{op_name}'") from None
        inputs = [None if index < 0 else _pick(values, index) for index in _list(item.inputs)]
        params = bytes(bytearray(_list(item.params)))
        size = 4 * len(opdef.attrs) if opdef.subgraphs else catalogue.ops()[op_name].params_size
        _require(len(params) <= size, f"node {position} ({op_name}) has {len(params)} bytes of parameters, not {size}")
        _require(
            len(_list(item.subgraphs)) == len(opdef.subgraphs),
            f"node {position} ({op_name}) has {len(_list(item.subgraphs))} subgraphs",
        )
        if opdef.subgraphs:
            attrs = dict(zip(opdef.attrs, np.frombuffer(params.ljust(size, b"\0"), np.int32).tolist(), strict=True))
        else:
            rank = len(inputs[0].shape) if inputs and inputs[0] is not None else 0
            attrs = _attrs(opdef, catalogue.read_params(op_name, params), rank)
        node = Node(op_name, _text(item.name), attrs, _text(item.source) or op_name)
        for index, value in enumerate(inputs):
            _require(
                value is None or value.is_constant or value in known,
                f"node {position} ({op_name}) uses '{value.name if value else ''}' before it is computed",
            )
            node.set_input(index, value)
        for index in _list(item.outputs):
            value = _pick(values, index)
            if any(state.output is value for state in states.values()):
                value = _next_value(values, index, states)
            _require(not value.is_constant and value not in known, f"tensor '{value.name}' is written twice")
            value.producer = node
            known.add(value)
            node.outputs.append(value)
        return node

    def _check(self, graph: Graph) -> None:
        """Holds the stored shapes against what the plan halves derive, as far as shapes are known."""
        try:
            stored_params(graph)
        except ShapeError as error:
            raise ModelFormatError(f"damaged: {error.what}", where=error.where) from error


def _range(item: Any) -> SizeRange:
    fits = 1 <= item.low <= item.high and item.step >= 1 and (item.high - item.low) % item.step == 0
    _require(fits, f"the range {item.low}..{item.high}:{item.step} of a size")
    return SizeRange(item.low, item.high, item.step)


def _state(value: Value) -> State:
    """The state that a variable tensor stands for; its buffer is what it starts with."""
    initial, value.data = value.data, None
    return State(value, value, initial)


def _next_value(values: list[Value], index: int, states: Mapping[Value, State]) -> Value:
    """A new value for a variable that a node writes; who comes behind the node reads this one."""
    old = values[index]
    state = next(state for state in states.values() if state.output is old)
    values[index] = Value(f"{state.input.name}_next", old.type, quant=old.quant)
    state.output = values[index]
    return values[index]


def _end_states(graph: Graph) -> None:
    """Takes out the nodes that only write a state."""
    for state in graph.states:
        node = state.output.producer
        if node is not None and node.source == STATE and node.op == "reshape" and not state.output.uses:
            state.output = node.input(0)
            node.set_input(0, None)
            graph.nodes.remove(node)


def _attrs(opdef: ops.OpDef, fields: Mapping[str, Any], input_rank: int) -> dict[str, Any]:
    """The attributes of a node from its parameter struct. An array is cut to the length that ``opdef.lengths`` names;
    one of ``MAX_RANK`` numbers else has one for each dimension of input 0, and any other is whole."""
    lengths = {of: int(fields[name]) for name, of in opdef.lengths.items()}

    def attribute(name: str) -> Any:
        field = fields[name]
        if not isinstance(field, list):
            return field
        return field[: lengths.get(name, input_rank if len(field) == MAX_RANK else len(field))]

    return {name: attribute(name) for name in opdef.attrs}


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ModelFormatError(f"damaged: {what}", hint="convert the model again")


def _text(value: bytes | str | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def _list(vector: Any) -> list[Any]:
    return [] if vector is None else vector.tolist() if isinstance(vector, np.ndarray) else list(vector)


def _pick(items: Sequence[Any], index: int) -> Any:
    _require(0 <= index < len(items), f"index {index} of {len(items)}")
    return items[index]
