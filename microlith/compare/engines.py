# SPDX-License-Identifier: Apache-2.0
"""What can be compared: a model in an engine, with names for the tensors between its layers.

An engine is opened from text: ``PATH`` or ``PATH@ENGINE``. The engines here run a graph of ours; ``peers.py`` has those
that run an original model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import modelfile, targets
from ..errors import InputError, TargetError
from ..evaluate import evaluate_all
from ..float_layers import computes_floats
from ..ir import Graph, Node, Quant, Value
from ..texts import labels_in

ENGINES = {
    "original": "the engine that the model is made for: ONNX Runtime or LiteRT, without optimisations",
    "reference": "the NumPy reference",
    "runtime": "the C runtime",
    "runtime-c": "the C runtime with portable kernels only",
    "c": "generated C on this machine",
}
"""Names behind ``@``; the name of a target means generated C for it, in its emulator."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Port:
    """An input. Sizes that are not numbers are known at run time only."""

    name: str
    shape: tuple[int | str, ...]
    dtype: np.dtype[Any]
    quant: Quant | None = None
    texts: tuple[str, ...] = ()
    """What its integers stand for."""


@dataclass(frozen=True)
class Layer:
    """A tensor that a layer computes."""

    name: str
    op: str
    dtype: np.dtype[Any]
    shape: tuple[int | str, ...] = ()
    quant: Quant | None = None
    origins: tuple[str, ...] = ()
    """Tensors of the original model that it stands for."""
    inputs: tuple[str, ...] = ()
    """The tensors that the layer reads, without constants."""
    is_output: bool = False
    computes_floats: bool = False
    """Whether the layer does arithmetic in floating point."""


class Engine:
    """A model in an engine."""

    label: str
    inputs: Sequence[Port]
    layers: Sequence[Layer]
    graph: Graph | None = None
    """The finished graph, where the engine runs one."""
    batch: int | None = 1
    """How many samples one call of ``run`` should have; None: all that there are."""

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        """For each sample the wanted tensors by name. An engine may leave out what it cannot tell."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives back files and memory."""


class _GraphEngine(Engine):
    def __init__(self, graph: Graph, label: str) -> None:
        self.graph, self.label = graph, label
        texts = labels_in(graph.metadata)
        self.inputs = [
            Port(v.name, v.shape, v.dtype.numpy, v.quant, tuple(texts.get(v.name, ()))) for v in graph.inputs
        ]
        self.layers = [_layer(graph, node, value) for node in graph.nodes for value in node.outputs]
        self.values = {value.name: value for node in graph.nodes for value in node.outputs}

    def tapped(self, wanted: Sequence[str]) -> list[Value]:
        """The outputs of the graph and the wanted tensors behind them."""
        assert self.graph is not None
        known = {id(value) for value in self.graph.outputs}
        more = [self.values[name] for name in wanted if name in self.values]
        return [*self.graph.outputs, *(value for value in more if id(value) not in known)]


def _layer(graph: Graph, node: Node, value: Value) -> Layer:
    operands = [operand for operand in node.inputs if operand is not None and not operand.is_constant]
    return Layer(
        value.name,
        node.op,
        value.dtype.numpy,
        value.shape,
        value.quant,
        value.origins,
        tuple(operand.name for operand in operands),
        any(output is value for output in graph.outputs),
        computes_floats(node),
    )


class ReferenceEngine(_GraphEngine):
    """The NumPy reference of every op."""

    def __init__(self, graph: Graph, label: str) -> None:
        super().__init__(graph, label)
        self.states: dict[str, np.ndarray] = {}

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        assert self.graph is not None
        names = {self.values[name] for name in wanted if name in self.values}
        results = []
        for feed in feeds:
            values = evaluate_all(self.graph, feed, self.states)
            results.append({value.name: array for value, array in values.items() if value in names})
        return results


class RuntimeEngine(_GraphEngine):
    """The C runtime, on a copy of the model in which the wanted tensors are outputs."""

    def __init__(self, graph: Graph, label: str, isa: str | None = None) -> None:
        super().__init__(graph, label)
        self.isa = isa
        self.session: Any = None

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        from .. import load

        if self.session is None:
            assert self.graph is not None
            outputs, self.graph.outputs = self.graph.outputs, self.tapped(wanted)
            try:
                with tempfile.TemporaryDirectory(prefix="microlith-compare-") as folder:
                    path = Path(folder) / "tapped.lith"
                    modelfile.save(self.graph, path)
                    self.session = load(path.read_bytes(), isa=self.isa)
            finally:
                self.graph.outputs = outputs
        keep = set(wanted)
        return [{n: a for n, a in self.session.run(feed).items() if n in keep} for feed in feeds]

    def close(self) -> None:
        if self.session is not None:
            self.session.close()


class GeneratedEngine(_GraphEngine):
    """Generated C, here or in an emulator. Where RAM is short, several programs tell a part of the tensors each."""

    def __init__(self, graph: Graph, label: str, target: str) -> None:
        from ..binding import needs_sizes
        from ..codegen.execute import require_tools

        super().__init__(graph, label)
        self.target = target
        self.batch = None if graph.states else 16
        require_tools(targets.get(target))
        if needs_sizes(graph):
            raise InputError(
                "has sizes that are known at run time only, which generated C cannot have",
                where=label,
                hint="convert the original model with --input NAME:DIMS",
            )
        self.folder = tempfile.TemporaryDirectory(prefix="microlith-compare-")
        self.programs: list[Any] = []

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        from ..codegen import execute

        if not self.programs:
            for group in self._groups(wanted):
                self._build(group)
        results: list[Arrays] = [{} for _ in feeds]
        keep = set(wanted)
        for project in self.programs:
            for name, stacked in execute.run(project, feeds).outputs.items():
                for position, result in enumerate(results):
                    if name in keep:
                        result[name] = stacked[position]
        return results

    def _groups(self, wanted: Sequence[str]) -> list[list[str]]:
        """The tensors by program: on a board at most a quarter of its RAM for those that are kept to the end."""
        ram = targets.get(self.target).ram_bytes
        groups: list[list[str]] = [[]]
        used = 0
        for name in wanted:
            size = self.values[name].type.nbytes
            if ram and groups[-1] and used + size > ram // 4:
                groups.append([])
                used = 0
            groups[-1].append(name)
            used += size
        return groups

    def _build(self, group: Sequence[str]) -> None:
        """One program for these tensors; two for half of them each when they do not fit."""
        from .. import generate
        from ..codegen import execute
        from ..errors import ToolError

        assert self.graph is not None
        folder = Path(self.folder.name) / f"part{len(self.programs)}_{len(group)}"
        outputs, self.graph.outputs = self.graph.outputs, self.tapped(group)
        try:
            generate(self.graph, self.target, folder, name="model")
            project = execute.Project.open(folder)
            execute.build(project)
        except (TargetError, ToolError):
            if len(group) < 2:
                raise
            self.graph.outputs = outputs
            half = len(group) // 2
            self._build(group[:half])
            self._build(group[half:])
            return
        finally:
            self.graph.outputs = outputs
        self.programs.append(project)

    def close(self) -> None:
        self.folder.cleanup()


def parse_subject(text: str) -> tuple[Path, str]:
    """``PATH@ENGINE`` as a path and an engine; the one that fits the file when none is named. Raises InputError."""
    path, sign, engine = text.rpartition("@")
    known = [*ENGINES, *(target.name for target in targets.all_targets())]
    if not sign or engine not in known:
        if sign and not Path(text).exists() and Path(path).exists():
            raise InputError(f"'{engine}' is no engine", where=text, hint=f"one of {', '.join(known)}")
        path, engine = text, ""
    place = Path(path)
    return place, engine or ("runtime" if modelfile_at(place) else "original")


def modelfile_at(path: Path) -> bool:
    """Whether a .lith file stands there; InputError when nothing readable does."""
    if path.is_dir():
        raise InputError("is a folder, not a file", where=str(path))
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), hint="check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return head[4:] == modelfile.IDENTIFIER or path.suffix == ".lith"


def open_engine(text: str, *, shapes: Mapping[str, Sequence[int]] | None = None) -> Engine:
    """Opens ``PATH`` or ``PATH@ENGINE``. ``shapes`` fixes open sizes of an original model. Raises MicrolithError."""
    from .peers import open_original

    path, engine = parse_subject(text)
    label = f"{path.name}@{engine}"
    is_lith = modelfile_at(path)
    if engine == "original":
        if is_lith:
            raise InputError(
                "a .lith file has no original engine", where=text, hint="name the .onnx or .tflite model, or @runtime"
            )
        peer = open_original(path, label, shapes)
        if peer is not None:
            return peer
        engine, label = "reference", f"{path.name}@reference (its own engine is not installed)"
    if is_lith:
        graph = modelfile.load(path)
    else:
        from .. import convert

        graph = convert(path, inputs=shapes)
    if engine == "reference":
        return ReferenceEngine(graph, label)
    if engine in ("runtime", "runtime-c"):
        return RuntimeEngine(graph, label, "c" if engine == "runtime-c" else None)
    return GeneratedEngine(graph, label, "host" if engine == "c" else engine)
