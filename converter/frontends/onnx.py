"""Imports an ONNX model: reads the file, walks its nodes through the tables of rows, keeps its names.

Opset 7 and newer. Whatever ONNX can compute at conversion is computed; every node that cannot be converted is
collected, so that one ``UnsupportedError`` lists them all.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx

from ...dtypes import DType
from ...errors import InputError, ModelFormatError, ShapeError, UnsupportedError
from ...ir import Dim, Graph, TensorType, Value
from ...ops.shape_rules import MAX_RANK
from ...size_ranges import Size, SizeRange, split
from ...texts import set_labels
from ..passes.unique_names import make_names_unique
from . import (
    onnx_attention,
    onnx_contrib,
    onnx_control,
    onnx_conv,
    onnx_data,
    onnx_experimental,
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
    onnx_qonnx,
    onnx_quant,
    onnx_reduce,
    onnx_resize,
    onnx_rnn,
    onnx_sequences,
    onnx_shapes,
    onnx_signal,
    onnx_tokens,
)
from .onnx_graph import NARROW, Entry, Guesses, Poison, Reject, Row, Tensors, Text, constant, usable_array
from .onnx_level import OUTSIDE, Level, Tables, in_order
from .onnx_load import LoadedModel, all_nodes, load_model, nodes_of, one_line, opset_of
from .onnx_words import words_of_inputs
from .problems import problem

ROWS: dict[str, Row] = {
    **onnx_attention.ROWS,
    **onnx_conv.ROWS,
    **onnx_data.ROWS,
    **onnx_integer.ROWS,
    **onnx_control.ROWS,
    **onnx_experimental.ROWS,
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
    **onnx_sequences.ROWS,
    **onnx_shapes.ROWS,
    **onnx_signal.ROWS,
    **onnx_tokens.ROWS,
}
"""Every operator of ONNX's own domain that is known."""

FOREIGN_ROWS: dict[tuple[str, str], Row] = {**onnx_contrib.ROWS, **onnx_ml.ROWS, **onnx_qonnx.ROWS}
"""Operators of other domains, by domain and name."""

MAX_SIZE = 2**31 - 1
"""Of a dimension."""

Progress = Callable[[int, int, str], None]
"""Called with the number of steps done, the number of all steps, and what is being done."""


def import_onnx(
    source: str | Path | bytes | onnx.ModelProto,
    *,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    progress: Progress | None = None,
    as_written: bool = False,
) -> Graph:
    """The graph of an ONNX model: a file, the bytes of one, or a ``ModelProto``, which stays as it is.

    ``inputs`` maps names of graph inputs to shapes, which fixes symbolic sizes or gives them a range, and names of
    sizes to one size or range. ``constants`` maps names of inputs to what they are. With ``as_written`` sums of float32
    run in the order of ONNX Runtime where that is known (``onnx_ordered.py``). Raises ModelFormatError for what is
    not a sound model, InputError for either when it does not fit, and UnsupportedError with all nodes that cannot be
    converted.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    where = "model" if path is None else str(path)
    try:
        return _import(source, path, where, inputs or {}, constants or {}, progress, as_written)
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"a name is damaged: {one_line(error)}", where=where, hint="export it again") from error


def _import(
    source: str | Path | bytes | onnx.ModelProto,
    path: Path | None,
    where: str,
    inputs: Mapping[str, Sequence[Size]],
    constants: Mapping[str, np.ndarray],
    progress: Progress | None,
    as_written: bool,
) -> Graph:
    loaded = load_model(source, where)
    model = loaded.proto
    shapes = {**inputs, **{name: array.shape for name, array in constants.items()}}
    name = "model" if path is None else path.stem

    def run(guesses: Guesses) -> Graph:
        guesses.whole_lengths = model.producer_name == "pytorch"
        sizes = dict(shapes)
        while True:
            importer = _Importer(loaded, where, name, sizes, constants, guesses, as_written)
            try:
                graph = importer.run(progress or (lambda done, total, text: None))
            except UnsupportedError:
                if not (implied := importer.implied_sizes()):
                    raise
            else:
                if not (implied := importer.implied_sizes()):
                    return graph
            sizes.update(implied)  # of inputs; each is settled once

    attempts: list[Graph] = []

    def attempt(guesses: Guesses) -> UnsupportedError | None:
        """Keeps the graph if all of it can be converted and the outputs have the declared ranks."""
        try:
            graph = run(guesses)
        except UnsupportedError as error:
            return error
        if not guesses.is_certain and not _ranks_fit(graph, model.graph):
            return None
        attempts.append(graph)
        return None

    guesses = Guesses()
    problems = attempt(guesses)
    if guesses.is_certain:
        if problems is not None:
            raise problems
        return attempts[0]
    if guesses.asked:
        attempt(Guesses(branch_squeezes=False))
    if len(attempts) != 1 and (guesses.asked or guesses.differs):
        taken = attempts[:1]
        attempts.clear()
        attempt(Guesses(forks=True))
        attempts += taken
    if attempts:
        return attempts[0]
    if guesses.made:
        attempt(Guesses(open_is_one="first"))
        if attempts:
            return attempts[0]
    return run(Guesses(open_is_one="all" if guesses.made else "", forks=guesses.differs and not guesses.asked))


def _ranks_fit(graph: Graph, proto: onnx.GraphProto) -> bool:
    """Whether the outputs have as many dimensions as the model declares."""
    return all(_rank_fits(info, value) for info, value in zip(proto.output, graph.outputs, strict=True))


def _rank_fits(info: onnx.ValueInfoProto, value: Value) -> bool:
    declared = info.type.tensor_type
    return not declared.HasField("shape") or len(declared.shape.dim) == len(value.shape)


class _Importer(Level):
    """The graph of a whole model."""

    def __init__(
        self,
        loaded: LoadedModel,
        where: str,
        name: str,
        given: Mapping[str, Sequence[Size]],
        constants: Mapping[str, np.ndarray],
        guesses: Guesses,
        as_written: bool,
    ) -> None:
        model = loaded.proto
        graph = Graph(name=model.graph.name or name, contract="float-even")
        super().__init__(
            graph, opset_of(model), where, Tables(ROWS, FOREIGN_ROWS), guesses=guesses, as_written=as_written
        )
        self.proto = model.graph
        self.mapped = loaded.mapped
        self.nodes = nodes_of(model, ROWS)
        self.budget += 30 * sum(1 for _ in all_nodes(model.graph))
        self.given = given
        self.constants = constants

    def run(self, progress: Progress) -> Graph:
        self.builder.reserve(self._all_names())
        self._add_initializers(self.proto)
        self._add_inputs()
        nodes = in_order(self.nodes, set(self.scope))
        self._progress, self._total = progress, len(nodes)
        names = [info.name for info in self.proto.output]
        results = self.walk(nodes, self._results_in)
        self.scope.update({name: entry for name, entry in zip(names, results, strict=False) if name})
        progress(len(nodes), len(nodes), "import")
        if not self.rejected:
            self._add_outputs()
        if self.rejected:
            raise UnsupportedError(list(dict.fromkeys(self.rejected)), where=self.where)
        self.graph.remove_dead()
        make_names_unique(self.graph)
        return self.graph

    def implied_sizes(self) -> dict[str, Sequence[Size]]:
        """Open sizes of inputs that can have one value only, as weights tell the channels, by symbol.

        InputError when a range was asked for one of them.
        """
        if not self.builder.guesses.is_certain:
            return {}
        symbols = {dim for value in self.graph.inputs for dim in value.shape if isinstance(dim, str)}
        implied = {name: item for name, item in self.builder.implied.items() if name in symbols and item[0] > 0}
        for name, (size, node) in implied.items():
            if name in self.graph.ranges:
                raise InputError(
                    f"the size '{name}' is given the range {self.graph.ranges[name]}; by '{node}' it must be {size}",
                    where=self.where,
                    hint=f"leave it out, or give --input {name}:{size}",
                )
        return {name: (size,) for name, (size, _) in implied.items()}

    def convert(self, proto: onnx.NodeProto, index: int) -> None:
        self._progress(index, self._total, "import")
        super().convert(proto, index)

    def _results_in(self, level: Level) -> list[Entry]:
        """The outputs of the model, read in it or in the last of the branches that what follows them was taken into."""
        names = [info.name for info in self.proto.output]
        missing = [name for name in names if not level.knows(name)]
        if missing:
            raise self.fail(f"no node computes the output '{missing[0]}'")
        if level is self:
            return [self.scope[name] for name in names]
        entries = level.entries(names)
        for info, entry in zip(self.proto.output, entries, strict=True):
            if isinstance(entry, Value) and not _rank_fits(info, entry):
                self.rejected.append(problem(info.name, "output", f"its rank is {len(entry.shape)}"))
        return entries

    def stated_type(self, name: str) -> TensorType | None:
        info = self._stated.get(name)
        if info is None or not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
            return None
        try:
            dtype = _dtype(info.type.tensor_type.elem_type)
        except Reject:
            return None
        dims = [
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in info.type.tensor_type.shape.dim
        ]
        known = all((isinstance(dim, str) and dim) or (isinstance(dim, int) and 0 <= dim <= MAX_SIZE) for dim in dims)
        if not known or len(dims) > MAX_RANK:
            return None
        return TensorType(DType.f32 if dtype is DType.f16 else dtype, tuple(dims))

    def stated_rank(self, name: str) -> int | None:
        info = self._stated.get(name)
        if info is None or not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
            return None
        return len(info.type.tensor_type.shape.dim)

    @functools.cached_property
    def _stated(self) -> dict[str, onnx.ValueInfoProto]:
        """What the model says about values inside of it."""
        graphs = [self.proto, *(a.g for node in all_nodes(self.proto) for a in node.attribute if a.HasField("g"))]
        return {info.name: info for graph in graphs for info in (*graph.value_info, *graph.output)}

    def _all_names(self) -> set[str]:
        names = {item.name for item in [*self.proto.input, *self.proto.initializer, *self.proto.output]}
        for node in self.nodes:
            names.update(node.output)
        return names

    def _add_inputs(self) -> None:
        infos = [info for info in self.proto.input if info.name not in self.scope]
        texts = {name: words for name, words in words_of_inputs(self.proto, self.nodes).items() if words}
        types = {info.name: self._input_type(info, info.name in texts) for info in infos}
        numbers = {info.name: info.type.tensor_type.elem_type for info in infos}
        if len(types) != len(infos):
            raise self.fail("two inputs have the same name")
        chosen = self._chosen_sizes(types)
        fixed, self.graph.ranges = split(chosen)
        for name, type in types.items():
            if name in self.scope:
                continue
            if name in texts and name in self.constants:
                raise InputError(f"input '{name}' is text, and cannot be constant", where=self.where)
            if name in self.constants:
                self._add_constant_input(name, type)
                continue
            shape: Sequence[Dim] = [fixed.get(dim, dim) if isinstance(dim, str) else dim for dim in type.shape]
            if name in self.given:
                shape = [
                    size if isinstance(size, int) else dim for dim, size in zip(shape, self.given[name], strict=True)
                ]
            value = Value(name, TensorType(type.dtype, tuple(shape)))
            self.graph.inputs.append(value)
            if numbers[name] in NARROW:
                self.builder.narrow[id(value)] = numbers[name]
            self.builder.begin(name, "input")
            if name in texts:
                self.scope[name] = Text(value, tuple(texts[name]))
                set_labels(self.graph.metadata, name, texts[name])
                continue
            self.scope[name] = value if type.dtype is not DType.f16 else self.builder.cast(value, DType.f32)

    def _add_constant_input(self, name: str, type: TensorType) -> None:
        array = np.asarray(self.constants[name])
        if array.dtype != type.dtype.numpy:
            raise InputError(f"input '{name}' is {type.dtype.numpy}, the constant is {array.dtype}", where=self.where)
        self.scope[name] = constant(usable_array(array, name), name)

    def _input_type(self, info: onnx.ValueInfoProto, is_text: bool) -> TensorType:
        if not info.type.HasField("tensor_type"):
            kind = info.type.WhichOneof("value") or "no type"
            return self._reject_input(info.name, f"it is {kind}, only tensors are supported")
        tensor = info.type.tensor_type
        given = self.given.get(info.name)
        try:
            dtype = _dtype(tensor.elem_type, is_text)
        except Reject as error:
            return self._reject_input(info.name, error.reason, error.hint)
        if not tensor.HasField("shape"):
            if given is None:
                raise ShapeError(
                    f"input '{info.name}' has no shape",
                    where=self.where,
                    hint=f"give one: --input {info.name}:1,3,224,224",
                )
            named = [size if isinstance(size, int) else _dim_name(info.name, axis) for axis, size in enumerate(given)]
            self._check_given(info.name, named, given)
            return TensorType(dtype, tuple(named))
        shape: list[Dim] = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
                shape.append(dim.dim_value)
            else:
                shape.append(dim.dim_param or _dim_name(info.name, axis))
        if len(shape) > MAX_RANK or any(isinstance(dim, int) and dim > MAX_SIZE for dim in shape):
            return self._reject_input(info.name, f"its shape {tuple(shape)} has too many dimensions or elements")
        if given is not None:
            self._check_given(info.name, shape, given)
        return TensorType(dtype, tuple(shape))

    def _reject_input(self, name: str, reason: str, hint: str = "") -> TensorType:
        """Notes that an input cannot be used; the type that stands for it has no meaning."""
        self.rejected.append(problem(name, "input", reason, hint))
        self.scope[name] = Poison()
        return TensorType(DType.f32, (1,) * len(self.given.get(name, ())))

    def _check_given(self, name: str, shape: Sequence[Dim], given: Sequence[Size]) -> None:
        fits = len(given) == len(shape) and all(
            isinstance(dim, str)
            if isinstance(size, SizeRange)
            else 0 <= size <= MAX_SIZE and (isinstance(dim, str) or dim in (0, size))
            for dim, size in zip(shape, given, strict=True)
        )
        if not fits:
            raise InputError(
                f"input '{name}' cannot have the shape {_shape(given)}: the model says {_shape(shape)}",
                where=self.where,
                hint="only sizes that the model names by a symbol can be chosen",
            )

    def _chosen_sizes(self, types: Mapping[str, TensorType]) -> dict[str, Size]:
        """What the given shapes say of symbols, so that it holds for every other input too. A name that is no input may
        be that of a size."""
        symbols = {dim for type in types.values() for dim in type.shape if isinstance(dim, str)}
        chosen: dict[str, Size] = {}
        for name, sizes in self.given.items():
            dims: Sequence[Dim] = types[name].shape if name in types else (name,)
            if name not in types and (name not in symbols or len(sizes) != 1):
                raise self._unknown_name(name, [*types], sorted(symbols))
            for dim, size in zip(dims, sizes, strict=True):
                if isinstance(dim, str) and chosen.setdefault(dim, size) != size:
                    raise InputError(f"the size '{dim}' is both {chosen[dim]} and {size}", where=self.where)
        return chosen

    def _unknown_name(self, name: str, inputs: Sequence[str], symbols: Sequence[str]) -> InputError:
        close = difflib.get_close_matches(name, [*inputs, *symbols], 1)
        known = f"its inputs: {', '.join(inputs)}" + (f"; its sizes: {', '.join(symbols)}" if symbols else "")
        return InputError(
            f"the model has no input{' and no size' if symbols else ''} '{name}'",
            where=self.where,
            hint=f"did you mean '{close[0]}'?" if close else known,
        )

    def _add_outputs(self) -> None:
        for info in self.proto.output:
            self.builder.begin(info.name, "output")
            entry = self.as_value(self.scope[info.name])
            columns: Sequence[str] = self.builder.columns.get(info.name, ())
            if isinstance(entry, Text):
                columns, entry = entry.words, entry.value
            set_labels(self.graph.metadata, info.name, columns)
            if not isinstance(entry, Value):
                is_sequence = isinstance(entry, Tensors)
                what = "it is a sequence of tensors" if is_sequence else "it is a size that is known only at run time"
                self.rejected.append(problem(info.name, "output", what))
                continue
            try:
                # A tensor stands for the list of maps that ZipMap makes.
                is_number = info.type.HasField("tensor_type") and not columns
                declared = _dtype(info.type.tensor_type.elem_type) if is_number else entry.dtype
            except Reject as error:
                self.rejected.append(problem(info.name, "output", error.reason, error.hint))
                continue
            if declared in (DType.f16, DType.f64) and entry.dtype is DType.f32:
                entry = self.builder.cast(entry, declared)
            elif entry.producer is None or any(entry is output for output in self.graph.outputs):
                entry = self.builder.copy(entry)
            entry.name = info.name
            self.graph.outputs.append(entry)


def _dtype(data_type: int, is_text: bool = False) -> DType:
    """The row of an ONNX element type at inputs and outputs; those of texts are positions in a list."""
    if is_text and data_type == onnx.TensorProto.STRING:
        return DType.s64
    if data_type == onnx.TensorProto.BFLOAT16:
        raise Reject("element type BFLOAT16 is not supported at inputs and outputs", "export the model in float32")
    if data_type == onnx.TensorProto.STRING:
        raise Reject("element type STRING is not supported", OUTSIDE)
    return DType.f16 if data_type == onnx.TensorProto.FLOAT16 else onnx_data.held_type(data_type)


def _dim_name(name: str, axis: int) -> str:
    """The symbol for a dimension to which the model gives none."""
    return f"{name}_dim{axis}"


def _shape(dims: Sequence[Dim | SizeRange]) -> str:
    return f"[{','.join(map(str, dims))}]"


__all__ = ["ROWS", "import_onnx"]
