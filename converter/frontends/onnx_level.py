"""One graph of an ONNX model while it is read: names looked up, nodes converted one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ... import extensions
from ...errors import ModelFormatError, ShapeError, Unsupported
from ...ir import Graph, TensorType, Value
from ...size_ranges import SizeRange
from ...verify import MAX_DEPTH
from ..passes.unique_names import make_names_unique
from . import onnx_control, onnx_quant, onnx_text
from .onnx_graph import (
    NARROW,
    Builder,
    Entry,
    Guesses,
    OnnxNode,
    Poison,
    Reject,
    Row,
    Sizes,
    Tensors,
    Text,
    Undecided,
    array_of,
    constant,
    usable_array,
)
from .onnx_load import DEFAULT_DOMAIN, all_nodes, one_line
from .onnx_sizes import compute, compute_sizes, shape_of, size_of
from .onnx_subgraphs import CONTROL
from .problems import attribute_in, problem


@dataclass(frozen=True)
class Tables:
    """The conversion of each operator."""

    own: Mapping[str, Row]
    """Of ONNX's own domain, by name."""
    foreign: Mapping[tuple[str, str], Row]
    """Of others, by domain and name."""


FROM_ELSEWHERE = (
    "an exporter has left an operator of its framework in the model: one of Keras or TensorFlow can come as TFLite in "
    "place of ONNX; or add an op of your own: docs/custom-ops.md"
)


OUTSIDE = (
    "make numbers of texts or files outside of the model, and convert the part behind: onnx.utils.extract_model cuts "
    "it out, from the first tensors of numbers on"
)

FROM_EXTENSIONS = ("ai.onnx.contrib", "com.microsoft.extensions")
"""Domains of onnxruntime-extensions: tokenizers, decoders of pictures and sounds."""


After = Callable[["Level"], "list[Entry]"]
"""What is done in a level when its nodes are converted: it gives the results."""


class Level:
    """One graph while it is read: the model itself, or a subgraph of a node, which sees the names around it."""

    def __init__(
        self,
        graph: Graph,
        opset: int,
        where: str,
        tables: Tables,
        parent: Level | None = None,
        guesses: Guesses | None = None,
        as_written: bool = False,
    ) -> None:
        self.graph = graph
        self.tables = tables
        self.opset = opset
        self.where = where
        self.parent = parent
        self.mapped: Mapping[str, np.ndarray] = {}
        """Initializers whose data is not in the model itself, by name."""
        self.scope: dict[str, Entry] = {}
        self.builder: Builder = Builder(
            graph,
            guesses if parent is None else parent.builder.guesses,
            as_written if parent is None else parent.builder.all_as_written,
        )
        self.rejected: list[Unsupported] = [] if parent is None else parent.rejected
        self.guesses: dict[int, Entry] = {} if parent is None else parent.guesses
        """What stands in for results of unknown type, and what follows from it, by identity."""
        self._captures: dict[int, tuple[Value, Value]] = {}
        self.ahead: tuple[Sequence[onnx.NodeProto], After] = ((), lambda level: [])
        """The nodes behind the one that is being converted, and what is done then."""
        self.is_inside = False
        """Its nodes stand in the graph of ``parent``."""
        self.taken_over: list[Entry] | None = None
        """The results of this graph, when the node that is being converted has read what comes behind it too."""

    @property
    def ranges(self) -> Mapping[str, SizeRange]:
        """Of the sizes of the whole model."""
        return self.graph.ranges if self.parent is None else self.parent.ranges

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
            outer = self.parent.lookup(name)
            self.scope[name] = self._from_outside(outer)
            if id(outer) in self.guesses:
                self._guess([self.scope[name]])
        return self.scope[name]

    def define(self, name: str, value: Value) -> None:
        """A name for an input."""
        if name:
            self.scope[name] = value

    def _from_outside(self, entry: Entry) -> Entry:
        if self.is_inside:
            return entry
        if isinstance(entry, Value):
            return self.capture(entry)
        if isinstance(entry, Text):
            return replace(entry, value=self.capture(entry.value))
        if isinstance(entry, Tensors):
            return Tensors(tuple(self.capture(item) for item in entry.items))
        if isinstance(entry, Sizes) and entry.lower is not None:
            lower = entry.lower
            return replace(entry, lower=lambda: self.capture(lower()))
        return entry

    # Subgraphs.

    def child(self, name: str) -> Level:
        """A level for a subgraph of a node of this one."""
        if self._depth() >= MAX_DEPTH:
            raise Reject(f"subgraphs lie deeper than {MAX_DEPTH} levels")
        return Level(Graph(name, contract=self.graph.contract), self.opset, self.where, self.tables, self)

    def _depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent._depth()

    def inside(self) -> Level:
        """A level for nodes that become nodes of this graph, with names of their own."""
        level = self.child(self.graph.name)
        level.graph, level.builder, level.is_inside = self.graph, self.builder, True
        return level

    def read_in_place(self, proto: onnx.GraphProto) -> list[Entry]:
        """Converts the nodes of a subgraph in a level that is inside of another one; its results."""
        return self._read(proto, proto.name)

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

    def read(self, proto: onnx.GraphProto, after: After | None = None) -> list[Entry]:
        """Converts the nodes of a subgraph; its outputs, or what ``after`` gives."""
        self.builder.reserve({*(item.name for item in proto.input), *(n for node in proto.node for n in node.output)})
        return self._read(proto, proto.name, after)

    def read_inside(self, proto: onnx.GraphProto, node: OnnxNode, after: After | None = None) -> list[Entry]:
        """Converts the nodes of a subgraph as if they stood in this graph in the place of ``node``."""
        results = self._read(proto, node.name, after)
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

    def _read(self, proto: onnx.GraphProto, label: str, after: After | None = None) -> list[Entry]:
        self._spend(len(proto.node) + 1)
        self._add_initializers(proto)
        computed = {name for node in proto.node for name in node.output}
        missing = [info.name for info in proto.output if info.name not in computed and not self.knows(info.name)]
        if missing:
            raise self.fail(f"no node computes '{missing[0]}', an output of a subgraph of '{label}'")
        nodes = in_order(proto.node, self.visible())
        return self.walk(nodes, after or (lambda level: level.entries([info.name for info in proto.output])))

    def walk(self, nodes: Sequence[onnx.NodeProto], after: After) -> list[Entry]:
        """Converts nodes one after another; then what ``after`` gives. A node may take over what comes behind it."""
        for index, node in enumerate(nodes):
            self.ahead = (nodes[index + 1 :], after)
            self.convert(node, index)
            if self.taken_over is not None:
                results, self.taken_over = self.taken_over, None
                return results
        return after(self)

    def entries(self, names: Iterable[str]) -> list[Entry]:
        """What the names of results stand for; sizes as the tensors that they are at run time."""
        return [self.as_value(self.lookup(name)) for name in names]

    def as_value(self, entry: Entry) -> Entry:
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
                if tensor.data_type == onnx.TensorProto.STRING:
                    self.scope[tensor.name] = onnx_text.text_constant(tensor)
                    continue
                mapped = self.mapped.get(tensor.name)
                array = array_of(tensor) if mapped is None else usable_array(mapped, tensor.name)
                self.scope[tensor.name] = made = constant(array, tensor.name)
                self.builder.stored.add(id(made))
                if tensor.data_type in NARROW:
                    self.builder.narrow[id(made)] = tensor.data_type
            except Reject as error:
                self.scope[tensor.name] = Poison()
                self.rejected.append(problem(tensor.name, "initializer", error.reason, error.hint))
            except (ValueError, TypeError) as error:
                raise self.fail(f"the data of initializer '{tensor.name}' is damaged: {one_line(error)}") from error
        for sparse in graph.sparse_initializer:
            self.scope[sparse.values.name] = Poison()
            self.rejected.append(problem(sparse.values.name, "initializer", "it is a sparse tensor"))

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
        node = OnnxNode(proto, entries, self.opset, label, [self.stated_rank(name) for name in proto.output])
        implied = dict(self.builder.implied)
        try:
            results = self._results(node)
        except Undecided:
            raise
        except Reject as error:
            self._reject(node, error.reason, error.hint, error.certain or node.names_a_mode(error.reason))
            results = self._stand_ins(node)
        except ShapeError as error:
            self._reject(node, error.what, error.hint)
            results = self._stand_ins(node)
        except (ValueError, TypeError, IndexError, OverflowError, ArithmeticError) as error:
            self._reject(node, f"it is malformed: {one_line(error)}", "check the model with onnx.checker")
            results = self._stand_ins(node)
        if self._is_guessed(node):
            self.builder.implied = implied
            self._guess(results)
        created = self.builder.created
        for position, name in enumerate(proto.output):
            if not name:
                continue
            result = results[position] if position < len(results) else Poison()
            value = result.value if isinstance(result, Text) else result
            if isinstance(value, Value) and id(value) in created:
                created.remove(id(value))
                value.name = name
            self.scope[name] = result

    def _results(self, node: OnnxNode) -> Sequence[Entry]:
        self.builder.begin(node.name, node.op)
        domain = node.proto.domain
        row = self.tables.own.get(node.op) if domain in DEFAULT_DOMAIN else self.tables.foreign.get((domain, node.op))
        if row is None and node.op not in CONTROL:
            row = extensions.onnx_row("" if domain in DEFAULT_DOMAIN else domain, node.op)
        if row is None and domain not in DEFAULT_DOMAIN:
            raise Reject(*why_foreign(node), certain=True)
        if any(isinstance(entry, Poison) for entry in node.entries):
            return self._poisoned(node, row)
        if row is None and node.op not in CONTROL and domain in DEFAULT_DOMAIN and self._is_guessed(node):
            raise Reject(*why_unknown(node), certain=True)
        if onnx_text.is_about_text(node):
            return onnx_text.convert(self.builder, node, lambda numbers: self._of_numbers(numbers, row))
        return self._of_numbers(node, row)

    def _of_numbers(self, node: OnnxNode, row: Row | None) -> Sequence[Entry]:
        domain = node.proto.domain
        if node.op == "Shape":
            return self._sizes(node, [shape_of(node)])
        if node.op == "Size":
            return self._sizes(node, [size_of(node)])
        if node.op in CONTROL:
            return CONTROL[node.op](self, node)
        if domain in DEFAULT_DOMAIN and (arrays := compute(node)) is not None:
            results = [self.builder.computed(array) for array in arrays]
            if len(results) == 1:
                results[0].decoded_from = onnx_quant.origin_of_computed(node, arrays[0])
            return results
        if (sizes := compute_sizes(node, self.ranges)) is not None:
            return self._sizes(node, sizes)
        if row is None:
            raise Reject(*why_unknown(node), certain=True)
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
                row = self.tables.own[node.op]
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
            raise Reject(*why_unknown(node), certain=True)
        for attribute in node.proto.attribute:
            if attribute.HasField("g"):
                self._unknown_inside(attribute.g)
        return []

    def _unknown_inside(self, graph: onnx.GraphProto) -> None:
        """Notes the operators that are not known at all in a subgraph that cannot be read."""
        for index, proto in enumerate(all_nodes(graph)):
            label = proto.name or next((name for name in proto.output if name), f"{proto.op_type}_{index}")
            node = OnnxNode(proto, [Poison() for _ in proto.input], self.opset, label)
            own = proto.domain in DEFAULT_DOMAIN
            row = self.tables.own.get(node.op) if own else self.tables.foreign.get((proto.domain, node.op))
            if row is None and not (own and (node.op in CONTROL or node.op in ("Shape", "Size"))):
                row = extensions.onnx_row("" if own else proto.domain, node.op)
                if row is None:
                    self._reject(node, *(why_unknown(node) if own else why_foreign(node)))

    def _reject(self, node: OnnxNode, reason: str, hint: str, certain: bool = False) -> None:
        """Notes a problem; behind a guess only one that does not depend on it."""
        if self._is_guessed(node) and not certain:
            return
        domain = node.proto.domain
        op = f"{domain}.{node.op}" if domain not in DEFAULT_DOMAIN else node.op
        attribute = attribute_in(reason, (attribute.name for attribute in node.proto.attribute))
        self.rejected.append(problem(node.name, op, reason, hint, attribute))

    # What stands in for the outputs of a node that was rejected, so that those behind it are looked at too.

    def _stand_ins(self, node: OnnxNode) -> Sequence[Entry]:
        """Values of the types that the model states for the outputs; failing that, for a guess, of the first input."""
        tensors = [entry for entry in node.entries if isinstance(entry, Value)]
        if all(value.is_constant for value in tensors):
            return []  # it would have been a constant
        results: list[Entry] = []
        for name in node.output_names:
            type = self.stated_type(name)
            value = Value(name, type or tensors[0].type)
            if type is None:
                self._guess([value])
            results.append(value)
        return results

    def stated_type(self, name: str) -> TensorType | None:
        """The type that the model states for a value; None when it states none, or leaves it open."""
        return self.parent.stated_type(name) if self.parent is not None else None

    def stated_rank(self, name: str) -> int | None:
        """The rank that the model states for a value; None when it states none."""
        return self.parent.stated_rank(name) if self.parent is not None else None

    def _guess(self, entries: Iterable[Entry]) -> None:
        self.guesses.update({id(entry): entry for entry in entries})

    def _is_guessed(self, node: OnnxNode) -> bool:
        return any(entry is not None and id(entry) in self.guesses for entry in node.entries)


def in_order(nodes: Iterable[onnx.NodeProto], available: set[str]) -> list[onnx.NodeProto]:
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


def why_foreign(node: OnnxNode) -> tuple[str, str]:
    """Reason and hint for an operator of another domain without a row."""
    outside = node.proto.domain in FROM_EXTENSIONS
    return f"operators of domain '{node.proto.domain}' are not supported", OUTSIDE if outside else extensions.HOW_TO_ADD


def why_unknown(node: OnnxNode) -> tuple[str, str]:
    """Reason and hint for an operator without a row."""
    if node.op in onnx_control.REASONS:
        return onnx_control.REASONS[node.op]
    try:
        onnx.defs.get_schema(node.op, node.opset, "")
    except Exception:  # onnx.defs.SchemaError, which is a C++ exception
        return f"ONNX opset {node.opset} has no such operator", FROM_ELSEWHERE
    return "this operator is not supported", ""
