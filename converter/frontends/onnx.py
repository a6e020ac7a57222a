"""Imports an ONNX model: reads the file, walks its nodes through the tables of rows, keeps its names.

Opset 7 and newer. Whatever ONNX can compute at conversion is computed; every node that cannot be converted is
collected, so that one ``UnsupportedError`` lists them all.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from ...dtypes import DType
from ...errors import InputError, ModelFormatError, ShapeError, Unsupported, UnsupportedError
from ...ir import Dim, Graph, TensorType, Value
from ...verify import MAX_DEPTH
from ..passes.unique_names import make_names_unique
from . import (
    onnx_attention,
    onnx_contrib,
    onnx_control,
    onnx_conv,
    onnx_data,
    onnx_image,
    onnx_index,
    onnx_integer,
    onnx_linalg,
    onnx_logic,
    onnx_loss,
    onnx_math,
    onnx_ml,
    onnx_norm,
    onnx_pool,
    onnx_quant,
    onnx_reduce,
    onnx_resize,
    onnx_rnn,
    onnx_shapes,
    onnx_signal,
    onnx_tokens,
)
from .onnx_graph import Builder, Entry, Guesses, OnnxNode, Poison, Reject, Row, Sizes, array_of, constant, usable_array
from .onnx_load import DEFAULT_DOMAIN, all_nodes, load_model, nodes_of, one_line, opset_of
from .onnx_sizes import compute, compute_sizes, shape_of, size_of
from .onnx_subgraphs import CONTROL

ROWS: dict[str, Row] = {
    **onnx_attention.ROWS,
    **onnx_conv.ROWS,
    **onnx_data.ROWS,
    **onnx_integer.ROWS,
    **onnx_control.ROWS,
    **onnx_image.ROWS,
    **onnx_index.ROWS,
    **onnx_linalg.ROWS,
    **onnx_logic.ROWS,
    **onnx_loss.ROWS,
    **onnx_math.ROWS,
    **onnx_norm.ROWS,
    **onnx_pool.ROWS,
    **onnx_quant.ROWS,
    **onnx_reduce.ROWS,
    **onnx_resize.ROWS,
    **onnx_rnn.ROWS,
    **onnx_shapes.ROWS,
    **onnx_signal.ROWS,
    **onnx_tokens.ROWS,
}
"""Every operator of ONNX's own domain that is known."""

FOREIGN_ROWS: dict[tuple[str, str], Row] = {**onnx_contrib.ROWS, **onnx_ml.ROWS}
"""Operators of other domains, by domain and name."""

Progress = Callable[[int, int, str], None]
"""Called with the number of steps done, the number of all steps, and what is being done."""


def import_onnx(
    source: str | Path | bytes | onnx.ModelProto,
    *,
    inputs: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    progress: Progress | None = None,
) -> Graph:
    """The graph of an ONNX model: a file, the bytes of one, or a ``ModelProto``, which stays as it is.

    ``inputs`` maps names of graph inputs to shapes, which fixes symbolic sizes, and ``constants`` to what they are.
    Raises ModelFormatError for what is not a sound model, InputError for either when it does not fit, and
    UnsupportedError with all nodes that cannot be converted.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    where = "model" if path is None else str(path)
    model = load_model(source, where)
    shapes = {**(inputs or {}), **{name: array.shape for name, array in (constants or {}).items()}}
    name = "model" if path is None else path.stem

    def run(guesses: Guesses) -> Graph:
        importer = _Importer(model, where, name, shapes, constants or {}, guesses)
        return importer.run(progress or (lambda done, total, text: None))

    guesses = Guesses()
    try:
        graph = run(guesses)
        if not guesses.made or _ranks_fit(graph, model.graph):
            return graph
    except UnsupportedError:
        if not guesses.made:
            raise
    return run(Guesses(open_is_one=True))


def _ranks_fit(graph: Graph, proto: onnx.GraphProto) -> bool:
    """Whether the outputs have as many dimensions as the model declares."""
    return all(
        not info.type.tensor_type.HasField("shape") or len(info.type.tensor_type.shape.dim) == len(value.shape)
        for info, value in zip(proto.output, graph.outputs, strict=True)
    )


class Level:
    """One graph while it is read: the model itself, or a subgraph of a node, which sees the names around it."""

    def __init__(
        self, graph: Graph, opset: int, where: str, parent: Level | None = None, guesses: Guesses | None = None
    ) -> None:
        self.graph = graph
        self.opset = opset
        self.where = where
        self.parent = parent
        self.scope: dict[str, Entry] = {}
        self.builder: Builder = Builder(graph, guesses if parent is None else parent.builder.guesses)
        self.rejected: list[Unsupported] = [] if parent is None else parent.rejected
        self._captures: dict[int, tuple[Value, Value]] = {}

    def fail(self, what: str, hint: str = "") -> ModelFormatError:
        return ModelFormatError(what, where=self.where, hint=hint)

    # Names.

    def knows(self, name: str) -> bool:
        return name in self.scope or (self.parent is not None and self.parent.knows(name))

    def visible(self) -> set[str]:
        """All names that a node may read."""
        return set(self.scope) | (self.parent.visible() if self.parent is not None else set())

    def lookup(self, name: str) -> Entry:
        """What a name stands for; one from around a subgraph is captured."""
        if name not in self.scope:
            assert self.parent is not None
            self.scope[name] = self._from_outside(self.parent.lookup(name))
        return self.scope[name]

    def define(self, name: str, value: Value) -> None:
        """A name for an input."""
        if name:
            self.scope[name] = value

    def _from_outside(self, entry: Entry) -> Entry:
        if isinstance(entry, Value):
            return self.capture(entry)
        if isinstance(entry, Sizes) and entry.lower is not None:
            lower = entry.lower
            return replace(entry, lower=lambda: self.capture(lower()))
        return entry

    # Subgraphs.

    def child(self, name: str) -> Level:
        """A level for a subgraph of a node of this one."""
        if self._depth() >= MAX_DEPTH:
            raise Reject(f"subgraphs lie deeper than {MAX_DEPTH} levels")
        return Level(Graph(name, contract=self.graph.contract), self.opset, self.where, self)

    def _depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent._depth()

    def input(self, name: str, type: TensorType) -> Value:
        """A new input of a subgraph."""
        return Value(self.builder.unique(name), type)

    def capture(self, outer: Value) -> Value:
        """What a value of the level around is here: an input, or the same constant."""
        if outer.data is not None:
            value = Value(outer.name, outer.type, data=outer.data, quant=outer.quant)
            value.decoded_from = outer.decoded_from
            return value
        if id(outer) not in self._captures:
            inner = Value(self.builder.unique(f"{outer.name}_outside"), outer.type, quant=outer.quant)
            self._captures[id(outer)] = (outer, inner)
        return self._captures[id(outer)][1]

    @property
    def captured(self) -> list[Value]:
        """The values of the level around that are inputs here."""
        return [outer for outer, _ in self._captures.values()]

    def outer_of(self, inner: Value) -> Value | None:
        """The value of the level around that an input stands for."""
        return next((outer for outer, value in self._captures.values() if value is inner), None)

    def read(self, proto: onnx.GraphProto) -> list[Entry]:
        """Converts the nodes of a subgraph; its outputs."""
        self.builder.reserve({*(item.name for item in proto.input), *(n for node in proto.node for n in node.output)})
        return self._read(proto, proto.name)

    def read_inside(self, proto: onnx.GraphProto, node: OnnxNode) -> list[Entry]:
        """Converts the nodes of a subgraph as if they stood in this graph in the place of ``node``."""
        results = self._read(proto, node.name)
        self.builder.begin(node.name, node.op)
        return results

    def _spend(self, nodes: int) -> None:
        """Counts nodes of subgraphs: a body is read several times until its types settle, and bodies nest."""
        if self.parent is not None:
            self.parent._spend(nodes)
            return
        self.budget -= nodes
        if self.budget < 0:
            raise Reject("its subgraphs are too large in all")

    budget = 10_000
    """Nodes of subgraphs that may be read in all; see ``_Importer``."""

    def _read(self, proto: onnx.GraphProto, label: str) -> list[Entry]:
        self._spend(len(proto.node) + 1)
        self._add_initializers(proto)
        for index, node in enumerate(_sorted(proto.node, self.visible())):
            self.convert(node, index)
        missing = [info.name for info in proto.output if not self.knows(info.name)]
        if missing:
            raise self.fail(f"no node computes '{missing[0]}', an output of a subgraph of '{label}'")
        return [self._as_value(self.lookup(info.name)) for info in proto.output]

    def _as_value(self, entry: Entry) -> Entry:
        """Sizes as the tensor that they are at run time."""
        if not isinstance(entry, Sizes):
            return entry
        known = entry.known()
        if known is not None:
            return self.builder.computed(known)
        return entry.lower() if entry.lower is not None else entry

    def finish(self, outputs: Sequence[Value], inputs: Sequence[Value], outer: Mapping[int, Value]) -> Graph:
        """The graph of a subgraph, with ``inputs`` and then one input for each value of ``outer``."""
        taken = [
            self._captures[key][1] if key in self._captures else self.input(value.name, value.type)
            for key, value in outer.items()
        ]
        self.graph.inputs, self.graph.outputs = [*inputs, *taken], list(outputs)
        self.graph.remove_dead()
        make_names_unique(self.graph)
        return self.graph

    # Nodes.

    def _add_initializers(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            try:
                self.scope[tensor.name] = constant(array_of(tensor), tensor.name)
            except Reject as error:
                self.scope[tensor.name] = Poison()
                self.rejected.append(Unsupported(tensor.name, "initializer", error.reason, error.hint))
            except (ValueError, TypeError) as error:
                raise self.fail(f"the data of initializer '{tensor.name}' is damaged: {one_line(error)}") from error
        for sparse in graph.sparse_initializer:
            self.scope[sparse.values.name] = Poison()
            self.rejected.append(Unsupported(sparse.values.name, "initializer", "it is a sparse tensor"))

    def convert(self, proto: onnx.NodeProto, index: int) -> None:
        """Converts one node; what cannot be converted is noted, and its outputs are poisoned."""
        label = proto.name or next((name for name in proto.output if name), f"{proto.op_type}_{index}")
        for name in proto.input:
            if name and not self.knows(name):
                raise self.fail(f"node '{label}' uses '{name}', which no node before it computes")
        for name in proto.output:
            if name and name in self.scope:
                raise self.fail(f"node '{label}' computes '{name}' a second time")
        entries = [self.lookup(name) if name else None for name in proto.input]
        node = OnnxNode(proto, entries, self.opset, label)
        try:
            results = self._results(node)
        except (Reject, ShapeError) as error:
            reason, hint = (error.reason, error.hint) if isinstance(error, Reject) else (error.what, error.hint)
            self._reject(node, reason, hint)
            results = []
        except (ValueError, TypeError, IndexError, OverflowError, ArithmeticError) as error:
            self._reject(node, f"it is malformed: {one_line(error)}", "check the model with onnx.checker")
            results = []
        created = self.builder.created
        for position, name in enumerate(proto.output):
            if not name:
                continue
            result = results[position] if position < len(results) else Poison()
            if isinstance(result, Value) and id(result) in created:
                created.remove(id(result))
                result.name = name
            self.scope[name] = result

    def _results(self, node: OnnxNode) -> Sequence[Entry]:
        self.builder.begin(node.name, node.op)
        domain = node.proto.domain
        row = ROWS.get(node.op) if domain in DEFAULT_DOMAIN else FOREIGN_ROWS.get((domain, node.op))
        if row is None and domain not in DEFAULT_DOMAIN:
            raise Reject(f"operators of domain '{domain}' are not supported")
        if any(isinstance(entry, Poison) for entry in node.entries):
            return self._poisoned(node, row)
        if node.op == "Shape":
            return self._sizes(node, [shape_of(node)])
        if node.op == "Size":
            return self._sizes(node, [size_of(node)])
        if node.op in CONTROL:
            return CONTROL[node.op](self, node)
        if domain in DEFAULT_DOMAIN and (arrays := compute(node)) is not None:
            return [self.builder.computed(array) for array in arrays]
        if (sizes := compute_sizes(node)) is not None:
            return self._sizes(node, sizes)
        if row is None:
            raise Reject(*_why_unknown(node))
        result = row(self.builder, node)
        node.check_all_read()
        results = [result] if isinstance(result, Value) else list(result)
        for index in range(len(results), len(node.output_names)):
            if node.wants(index):
                raise Reject(f"output {index} is not supported")
        return results

    def _sizes(self, node: OnnxNode, results: Sequence[Sizes]) -> Sequence[Entry]:
        """Sizes that are all known are constants like any other; the others can be read at run time."""
        lowered: list[Value] = []

        def lower() -> Value:
            if not lowered:
                row = ROWS[node.op]
                result = self.builder.elsewhere(node.name, node.op, lambda: row(self.builder, node))
                lowered.extend([result] if isinstance(result, Value) else result)
            return lowered[0]

        return [
            replace(item, lower=lower) if (known := item.known()) is None else self.builder.computed(known)
            for item in results
        ]

    def _poisoned(self, node: OnnxNode, row: Row | None) -> Sequence[Entry]:
        """A node behind a rejected one: it is reported too when its operator is not known at all."""
        if row is None and node.op not in CONTROL:
            raise Reject(*_why_unknown(node))
        return []

    def _reject(self, node: OnnxNode, reason: str, hint: str) -> None:
        domain = node.proto.domain
        op = f"{domain}.{node.op}" if domain not in DEFAULT_DOMAIN else node.op
        self.rejected.append(Unsupported(node.name, op, reason, hint))


class _Importer(Level):
    """The graph of a whole model."""

    def __init__(
        self,
        model: onnx.ModelProto,
        where: str,
        name: str,
        given: Mapping[str, Sequence[int]],
        constants: Mapping[str, np.ndarray],
        guesses: Guesses,
    ) -> None:
        graph = Graph(name=model.graph.name or name, contract="float-even")
        super().__init__(graph, opset_of(model), where, guesses=guesses)
        self.proto = model.graph
        self.nodes = nodes_of(model, ROWS)
        self.budget += 30 * sum(1 for _ in all_nodes(model.graph))
        self.given = given
        self.constants = constants

    def run(self, progress: Progress) -> Graph:
        self.builder.reserve(self._all_names())
        self._add_initializers(self.proto)
        self._add_inputs()
        nodes = _sorted(self.nodes, set(self.scope))
        total = len(nodes)
        for index, proto in enumerate(nodes):
            progress(index, total, "import")
            self.convert(proto, index)
        progress(total, total, "import")
        if not self.rejected:
            self._add_outputs()
        if self.rejected:
            raise UnsupportedError(self.rejected, where=self.where)
        self.graph.remove_dead()
        make_names_unique(self.graph)
        return self.graph

    def _all_names(self) -> set[str]:
        names = {item.name for item in [*self.proto.input, *self.proto.initializer, *self.proto.output]}
        for node in self.nodes:
            names.update(node.output)
        return names

    def _add_inputs(self) -> None:
        infos = [info for info in self.proto.input if info.name not in self.scope]
        names = [info.name for info in infos]
        for name in self.given:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                raise InputError(
                    f"the model has no input '{name}'",
                    where=self.where,
                    hint=f"did you mean '{close[0]}'?" if close else f"its inputs: {', '.join(names)}",
                )
        types = {info.name: self._input_type(info) for info in infos}
        if len(types) != len(infos):
            raise self.fail("two inputs have the same name")
        fixed = self._fixed_symbols(types)
        for name, type in types.items():
            if name in self.scope:
                continue
            if name in self.constants:
                self._add_constant_input(name, type)
                continue
            shape: Sequence[Dim] = [fixed.get(dim, dim) if isinstance(dim, str) else dim for dim in type.shape]
            value = Value(name, TensorType(type.dtype, tuple(self.given.get(name, shape))))
            self.graph.inputs.append(value)
            self.builder.begin(name, "input")
            self.scope[name] = value if type.dtype is not DType.f16 else self.builder.cast(value, DType.f32)

    def _add_constant_input(self, name: str, type: TensorType) -> None:
        array = np.asarray(self.constants[name])
        if array.dtype != type.dtype.numpy:
            raise InputError(f"input '{name}' is {type.dtype.numpy}, the constant is {array.dtype}", where=self.where)
        self.scope[name] = constant(usable_array(array, name), name)

    def _input_type(self, info: onnx.ValueInfoProto) -> TensorType:
        if not info.type.HasField("tensor_type"):
            kind = info.type.WhichOneof("value") or "no type"
            return self._reject_input(info.name, f"it is {kind}, only tensors are supported")
        tensor = info.type.tensor_type
        given = self.given.get(info.name)
        try:
            dtype = _dtype(tensor.elem_type)
        except Reject as error:
            return self._reject_input(info.name, error.reason, error.hint)
        if not tensor.HasField("shape"):
            if given is None:
                raise ShapeError(
                    f"input '{info.name}' has no shape",
                    where=self.where,
                    hint=f"give one: --input {info.name}:1,3,224,224",
                )
            self._check_given(info.name, given, given)
            return TensorType(dtype, tuple(given))
        shape: list[Dim] = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
                shape.append(dim.dim_value)
            else:
                shape.append(dim.dim_param or f"{info.name}_dim{axis}")
        if given is not None:
            self._check_given(info.name, shape, given)
        return TensorType(dtype, tuple(shape))

    def _reject_input(self, name: str, reason: str, hint: str = "") -> TensorType:
        """Notes that an input cannot be used; the type that stands for it has no meaning."""
        self.rejected.append(Unsupported(name, "input", reason, hint))
        self.scope[name] = Poison()
        return TensorType(DType.f32, (1,) * len(self.given.get(name, ())))

    def _check_given(self, name: str, shape: Sequence[Dim], given: Sequence[int]) -> None:
        fits = len(given) == len(shape) and all(
            size >= 0 and (isinstance(dim, str) or dim in (0, size)) for dim, size in zip(shape, given, strict=True)
        )
        if not fits:
            raise InputError(
                f"input '{name}' cannot have the shape {_shape(given)}: the model says {_shape(shape)}",
                where=self.where,
                hint="only sizes that the model names by a symbol can be chosen",
            )

    def _fixed_symbols(self, types: Mapping[str, TensorType]) -> dict[str, int]:
        """Sizes of symbols that the given shapes fix, so that they hold for every other input too."""
        fixed: dict[str, int] = {}
        for name, sizes in self.given.items():
            for dim, size in zip(types[name].shape, sizes, strict=True):
                if isinstance(dim, str) and fixed.setdefault(dim, size) != size:
                    raise InputError(f"the size '{dim}' is both {fixed[dim]} and {size}", where=self.where)
        return fixed

    def _add_outputs(self) -> None:
        for info in self.proto.output:
            if info.name not in self.scope:
                raise self.fail(f"no node computes the output '{info.name}'")
            entry = self.scope[info.name]
            self.builder.begin(info.name, "output")
            entry = self._as_value(entry)
            if not isinstance(entry, Value):
                self.rejected.append(Unsupported(info.name, "output", "it is a size that is known only at run time"))
                continue
            try:
                # A tensor stands for the list of maps that ZipMap makes.
                is_tensor = info.type.HasField("tensor_type")
                declared = _dtype(info.type.tensor_type.elem_type) if is_tensor else entry.dtype
            except Reject as error:
                self.rejected.append(Unsupported(info.name, "output", error.reason, error.hint))
                continue
            if declared in (DType.f16, DType.f64) and entry.dtype is DType.f32:
                entry = self.builder.cast(entry, declared)
            elif entry.producer is None or any(entry is output for output in self.graph.outputs):
                entry = self.builder.copy(entry)
            entry.name = info.name
            self.graph.outputs.append(entry)


def _dtype(data_type: int) -> DType:
    if data_type == onnx.TensorProto.BFLOAT16:
        raise Reject("element type BFLOAT16 is not supported at inputs and outputs", "export the model in float32")
    return DType.f16 if data_type == onnx.TensorProto.FLOAT16 else onnx_data.dtype_of(data_type)


def _sorted(nodes: Iterable[onnx.NodeProto], available: set[str]) -> list[onnx.NodeProto]:
    """The nodes in an order in which each comes after those it reads from, as far as there is one."""
    waiting, ordered = list(nodes), []
    known = {*available, ""}
    while waiting:
        rest = []
        for node in waiting:
            if all(name in known for name in node.input):
                ordered.append(node)
                known.update(node.output)
            else:
                rest.append(node)
        if len(rest) == len(waiting):
            return ordered + rest
        waiting = rest
    return ordered


def _shape(dims: Sequence[Dim]) -> str:
    return f"[{','.join(map(str, dims))}]"


def _why_unknown(node: OnnxNode) -> tuple[str, str]:
    """Reason and hint for an operator without a row."""
    if node.op in onnx_control.REASONS:
        return onnx_control.REASONS[node.op]
    try:
        onnx.defs.get_schema(node.op, node.opset, "")
    except Exception:  # onnx.defs.SchemaError, which is a C++ exception
        return f"ONNX opset {node.opset} has no such operator", ""
    return "this operator is not supported", ""


__all__ = ["ROWS", "import_onnx"]
