"""From a model to a folder of C."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import modelfile, targets
from ..binding import sized
from ..dtypes import DType
from ..errors import InputError, ShapeError, TargetError, UnsupportedError
from ..evaluate import evaluate
from ..ir import Graph, Value
from ..lower import Ordering, Program, lower
from ..nnacl_kernels import needs
from ..regions import MemoryRegion, check_regions
from ..size_ranges import Size, SizeRange, split
from ..texts import labels_in
from ..version import __version__
from . import closure, cmsis_nn, compact_exp, emit, projects, ramlimit, variants
from .code_size import Measured
from .fused_layers import arrange, is_printed, lower_for
from .names import identifier
from .samples import sample_view
from .trim import trim
from .view import LayerView, ModelView, build_view

REPORT = "report.json"
_OPTIMIZE = {
    ("speed", "hosted"): "-O3",
    ("speed", "bare-metal"): "-O2",  # -O3 was measured to gain 1 % there and to cost kilobytes
    ("balanced", "hosted"): "-O2",
    ("balanced", "bare-metal"): "-O2",  # and files that take little of the time smaller: variants.py
    ("size", "hosted"): "-Os",
    ("size", "bare-metal"): "-Os",
}
_MOST_SOURCE_BYTES = 16 * 1024 * 1024
_PLAIN_PROJECTS = ("standalone", "make", "cmake")
_SAMPLE_SCALES = (1.0, 0.1, 4.0, 0.02)
_MOST_SAMPLE_BYTES = 1024 * 1024
_MOST_BOARD_SAMPLE_BYTES = 64 * 1024
_MOST_SAMPLE_MACS = 50_000_000


@dataclass(frozen=True)
class Report:
    """What a generated project costs, in bytes."""

    name: str
    target: str
    project: str
    """A name of ``projects.EMITTERS``."""
    layers: int
    macs: int
    arena_bytes: int
    arena_lower_bound: int
    workspace_bytes: int
    """The largest workspace of a layer; part of the arena."""
    stack_bytes: int
    """On the safe side, or exact for ``stack_compiler``."""
    weight_bytes: int
    params_bytes: int
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    sizes: tuple[Mapping[str, Any], ...]
    """Sizes that are chosen at run time: ``name`` in the model, ``symbol`` in C and in shapes, ``low``, ``high``."""
    layer_table: tuple[Mapping[str, Any], ...]
    files: tuple[str, ...]
    stripes: ramlimit.Stripes | None = None
    """How the first layers are divided to keep to a limit of RAM."""
    stack_compiler: str | None = None
    """Whose code the stack was measured in, and the code counted."""
    code_bytes: int | None = None
    """Of the model's code (``code_size.py``); None where no compiler was asked."""
    ordering: Ordering | None = None
    """What the order of the layers is worth; None when it is that of the stripes."""
    regions: tuple[Mapping[str, Any], ...] = ()
    """The memories of the chip, and what lies in which."""
    input_rows: Mapping[str, Any] | None = None
    """How the input arrives by rows: its name, how many rows it has, and for each piece its first row and how many."""

    @property
    def flash_bytes(self) -> int:
        """Of flash: with the code, where that is known."""
        return self.weight_bytes + self.params_bytes + (self.code_bytes or 0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        figures = {"flash_bytes": self.flash_bytes, "flash_has_code": self.code_bytes is not None}
        return {"generator": f"microlith {__version__}", **dataclasses.asdict(self), **figures}


def generate(
    model: str | os.PathLike[str] | Graph,
    target: str,
    output: str | os.PathLike[str],
    *,
    name: str | None = None,
    samples: Sequence[Mapping[str, np.ndarray]] | None = None,
    sizes: Mapping[str, Size] | None = None,
    optimize: Literal["speed", "balanced", "size"] = "speed",
    weights: Literal["auto", "source", "binary"] = "auto",
    project: str = "standalone",
    kernels: Literal["own", "cmsis-nn"] = "own",
    ram_limit: int | None = None,
    input_by_rows: bool = False,
    regions: Sequence[MemoryRegion] = (),
    measured: Measured | None = None,
    without: Collection[str] = (),
    force: bool = False,
    progress: Callable[[int, int | None, str], None] | None = None,
) -> Report:
    """Writes a standalone C project that runs a model on a target.

    ``model`` is a finished graph or the path of a .lith file, ``target`` a name of ``targets.py``. ``name`` becomes the
    prefix of files and C names (default: the name of the file or graph). ``samples`` are inputs for the self-test, each
    by name; without them some are drawn. ``sizes`` gives the sizes of symbolic dimensions, or a range for each: the
    project then has a function that chooses them, and an arena for the largest. ``force`` replaces a folder whatever it
    holds. ``optimize`` chooses the compiler's level that the build files name and, for microcontrollers, the kernels
    among those that could compute a layer (``variants.py``); ``without`` are symbols of kernels that are not taken.
    ``weights`` puts the constants into C source, or into a binary file that the assembler includes; ``auto`` takes
    source up to 16 MiB, beyond which compilers become slow. ``project`` names the build system or ecosystem that the
    folder is laid out for, one of ``projects.EMITTERS``. ``kernels`` "cmsis-nn" calls Arm's library, which the user
    brings, for the layers that it serves. ``ram_limit`` is the most bytes of arena and stack: if need be, the first
    layers run in stripes (``stripes.py``). ``measured`` is what a compiler has made of this project: the stack in
    place of an estimate, and the code (``measured.py``). ``progress`` is told, while layers are put into stripes, how
    many divisions have been tried, of how many at most, and what is known of them.

    The folder is written at once or not at all. The same model gives the same bytes. Raises TargetError (unknown, or
    too small, or an input cannot arrive by rows), UnsupportedError (ops without kernel), ShapeError (a dimension is
    open), OutputError (not writable).
    """
    row = targets.get(target)
    projects.get(project)
    graph = model if isinstance(model, Graph) else modelfile.load(os.fspath(model))
    title = name or (graph.name if isinstance(model, Graph) else Path(model).stem)
    chosen_sizes = {**graph.ranges, **(sizes or {})}
    _check_shapes(graph, chosen_sizes, title)
    in_stripes = ram_limit is not None or input_by_rows
    check_regions(regions, 1 << (32 if row.is_bare_metal else 48))
    _check_regions(regions, graph, chosen_sizes, project, title)
    if ram_limit is not None and ram_limit < 1:
        raise InputError(f"a limit of {ram_limit} bytes of RAM is none that a model could keep to")
    if in_stripes:
        fixed, ranges = split(chosen_sizes)
        graph = graph if ranges else sized(graph, fixed)
    foreign = None
    if kernels == cmsis_nn.NAME:
        core = cmsis_nn.core_of(row)
        fixed, ranges = split(chosen_sizes)
        if ranges:
            hint = "leave out --kernels, or fix the sizes"
            raise ShapeError("CMSIS-NN is called for fixed sizes, and the model has ranges", where=title, hint=hint)
        graph = cmsis_nn.prepared(graph, core, fixed)
        foreign = cmsis_nn.substitute(core)
    if row.is_bare_metal:
        foreign = compact_exp.substitute(graph, foreign, row.isa, without)
    options: dict[str, Any] = {"substitute": foreign, "printed": is_printed}
    limit = 0 if input_by_rows else ram_limit
    try:
        bound = _Bound(row, {"sizes": sizes, "substitute": foreign}, regions, in_stripes)
        graph, program, without = _roomy(graph, bound, without, limit)
    except UnsupportedError as error:
        raise UnsupportedError(error.items, where=f"{title} on {target}") from error
    where = f"{title} on {target}"
    again = functools.partial(
        lower, graph, row.isa, sizes=sizes, alignment=row.alignment, overlap=True, regions=regions, **options
    )
    fitted = ramlimit.Fitted(program, lambda others: again(without={*without, *others}))
    machine = ramlimit.Machine(row, regions, options, without, progress)
    if input_by_rows:
        fitted = ramlimit.fit_by_rows(graph, machine, program, ram_limit, where)
    elif ram_limit is not None:
        fitted = ramlimit.fit(graph, machine, program, ram_limit, where)
    program = fitted.program
    if kernels != cmsis_nn.NAME:
        program = ramlimit.chosen(fitted, row, optimize, ram_limit)
    weights = "source" if regions else weights
    arranged = arrange(program, small=row.is_bare_metal)
    program = arranged.program
    binary = weights == "binary" or (weights == "auto" and program.constant_bytes > _MOST_SOURCE_BYTES)
    view = build_view(
        program,
        row,
        name=identifier(title),
        title=title,
        contract=graph.contract,
        binary_weights=binary,
        arrivals=fitted.arrivals,
        regions=regions,
        labels=labels_in(graph.metadata),
    )
    if measured is not None:
        figures: dict[str, Any] = {"stack_size": measured.stack.total, "stack_compiler": measured.compiler}
        view = dataclasses.replace(view, **figures, code_size=measured.code.total)
    sources = [name for name in (*view.sources, *arranged.sources) if name not in arranged.texts]
    texts = {**closure.kernel_files(sources, view.headers), **arranged.texts}
    if row.is_bare_metal:
        view, texts = trim(view, program, texts)
    if optimize == "balanced":
        texts = variants.shorten(program, row, texts)
    fixed, _ = split(chosen_sizes)
    chosen = list(samples or _draw_samples(graph, fixed, view))
    stored = []
    states: dict[str, np.ndarray] = {}
    for sample in chosen:
        inputs = _checked(graph, sample)
        outputs = evaluate(graph, inputs, states)
        stored.append(sample_view(view, program, graph, inputs, outputs, sizes_of(graph, program.ranges, inputs)))
    view = dataclasses.replace(view, samples=tuple(stored))

    files = emit.render(view, texts, opt=_OPTIMIZE[optimize, row.system], project=project)
    report = dataclasses.replace(
        _report(view, project, [*files, REPORT], measured),
        stripes=fitted.stripes,
        ordering=program.ordering,
        regions=view.placement,
        input_rows=None if view.rows is None else view.rows.as_dict(view.inputs[0].key),
    )
    files[REPORT] = (json.dumps(report.as_dict(), indent=2) + "\n").encode()
    emit.write_project(files, Path(output), force=force)
    return report


@dataclass(frozen=True)
class _Bound:
    """What a graph is lowered for at first."""

    row: targets.Target
    options: Mapping[str, Any]
    regions: Sequence[MemoryRegion]
    in_stripes: bool
    """Perhaps, later; among the regions then too."""

    def lowered(self, graph: Graph, without: Collection[str], *, divided: bool) -> tuple[Graph, Program]:
        regions = self.regions if divided else ()
        return lower_for(graph, self.row, regions=regions, without=without, **self.options)


def _roomy(
    graph: Graph, bound: _Bound, without: Collection[str], limit: int | None
) -> tuple[Graph, Program, Collection[str]]:
    """The graph as it was lowered, its program, and the symbols of kernels that it is without: those of compact lines
    too where they miss the limit of RAM, or the regions have no room for them. (In stripes each call would unpack
    lines.)"""
    try:
        if limit is None or limit > 0:
            lowered, program = bound.lowered(graph, without, divided=not bound.in_stripes)
            if limit is None or ramlimit.ram_bytes(program) <= limit:
                if bound.in_stripes and bound.regions:
                    bound.lowered(graph, without, divided=True)
                return lowered, program, without
    except TargetError:
        pass
    without = {*without, *needs.COMPACT}
    return *bound.lowered(graph, without, divided=not bound.in_stripes), without


def _check_regions(
    regions: Sequence[MemoryRegion],
    graph: Graph,
    sizes: Mapping[str, Size],
    project: str,
    where: str,
) -> None:
    """Raises TargetError for what cannot be divided among memories."""
    if not regions:
        return
    reason = ""
    if project not in _PLAIN_PROJECTS:
        reason = f"a project for {project} has no linker script of ours; take --project {' or '.join(_PLAIN_PROJECTS)}"
    elif any(isinstance(size, SizeRange) for size in sizes.values()):
        reason = "its sizes have a range; fix them"
    elif any(node.subgraphs for node in graph.nodes):
        reason = "it has branches or loops; leave out the regions"
    if reason:
        what, _, hint = reason.partition("; ")
        raise TargetError(f"the model cannot be divided among regions: {what}", where=where, hint=hint)


def next_step(report: Report, folder: str) -> str:
    """What a user does next with a project: one line."""
    return projects.get(report.project).next_step(folder)


def _check_shapes(graph: Graph, sizes: Mapping[str, Size], where: str) -> None:
    known = {dim for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    for name in sizes:
        if name not in known:
            names = ", ".join(sorted(known))
            hint = f"its sizes: {names}" if names else "all of its sizes are fixed"
            raise ShapeError(f"the model has no size '{name}'", where=where, hint=hint)
    for value in graph.inputs:
        missing = [dim for dim in value.shape if isinstance(dim, str) and dim not in sizes]
        if missing:
            raise ShapeError(
                f"dimension '{missing[0]}' of input '{value.name}' {value.type} has no size",
                where=where,
                hint="generated code wants to know the largest; give a range, e.g. "
                f"--input {missing[0]}:1..128, or one size for all, --input {missing[0]}:1",
            )


def sizes_of(graph: Graph, ranges: Mapping[str, SizeRange], arrays: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """The sizes that some inputs have, in the order of the ranges. InputError when they contradict each other."""
    found: dict[str, int] = {}
    for value in graph.inputs:
        for dim, size in zip(value.shape, arrays[value.name].shape, strict=False):
            if isinstance(dim, str) and found.setdefault(dim, size) != size:
                raise InputError(f"the size '{dim}' is both {found[dim]} and {size}")
    for name, item in ranges.items():
        if found[name] not in item:
            raise InputError(f"the size {found[name]} of '{name}' is outside of its range {item}")
    return tuple(found[name] for name in ranges)


def _checked(graph: Graph, sample: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    missing = [value.name for value in graph.inputs if value.name not in sample]
    if missing:
        raise InputError(f"the sample has no input '{missing[0]}'", hint=f"given: {', '.join(sample) or 'none'}")
    return {value.name: np.asarray(sample[value.name]) for value in graph.inputs}


def _draw_samples(graph: Graph, sizes: Mapping[str, int], view: ModelView) -> list[dict[str, np.ndarray]]:
    """The samples of a self-test: noise, small noise (which saturates less), noise of large values, small noise again;
    fewer when they would take much memory or their outputs much time. A model with state has at least two, so that the
    second run sees what the first one has left; one with ranges of sizes has the largest and the smallest.
    """
    size = sum(tensor.nbytes for tensor in (*view.inputs, *view.outputs))
    room = _MOST_BOARD_SAMPLE_BYTES if view.target.is_bare_metal else _MOST_SAMPLE_BYTES
    count = len(_SAMPLE_SCALES) if view.macs <= _MOST_SAMPLE_MACS else 1
    count = max(2 if graph.states or view.sizes else 1, min(count, room // max(size, 1)))
    if not graph.inputs and not graph.states:
        count = 1
    chosen = [
        {**sizes, **{item.key: SizeRange(item.low, item.high, item.step).between(1 - part / 4) for item in view.sizes}}
        for part in (0, 4, 1, 3)
    ]
    return [draw_sample(graph, chosen[seed], seed, scale=scale) for seed, scale in enumerate(_SAMPLE_SCALES[:count])]


def draw_sample(graph: Graph, sizes: Mapping[str, int], seed: int = 0, *, scale: float = 1.0) -> dict[str, np.ndarray]:
    """A random input: narrow integers over their whole range, wide ones from 0 to 9 (they are mostly indices), floats
    normally distributed. ``scale`` 1 leaves it at that; another factor multiplies floats, and narrow integers around
    their zero point, as far as they go."""
    generator = np.random.default_rng(seed)
    return {value.name: _scaled(value, _draw(value, sizes, generator), scale) for value in graph.inputs}


def _scaled(value: Value, array: np.ndarray, scale: float) -> np.ndarray:
    dtype = value.dtype
    if scale == 1.0 or dtype is DType.b8 or (not dtype.is_float and dtype.size > 2):
        return array
    if dtype.is_float:
        return (array * scale).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    quant = value.quant
    zero = int(quant.zero_point[0]) if quant is not None and quant.is_per_tensor else 0
    return np.clip(np.rint((array.astype(np.float64) - zero) * scale) + zero, info.min, info.max).astype(dtype.numpy)


def _draw(value: Value, sizes: Mapping[str, int], generator: np.random.Generator) -> np.ndarray:
    shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in value.shape)
    dtype = value.dtype
    if dtype.is_float:
        return generator.standard_normal(shape).astype(dtype.numpy)
    if dtype is DType.b8:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.size <= 2:
        info = np.iinfo(dtype.numpy)
        return generator.integers(info.min, info.max + 1, shape).astype(dtype.numpy)
    return generator.integers(0, 10, shape).astype(dtype.numpy)


def _compiled(layer: LayerView, measured: Measured | None) -> dict[str, int | None]:
    """For the report: what a compiler has made of the kernel of a layer. Layers with the same kernel share its code."""
    if measured is None or layer.elided:
        return {"stack_bytes": None, "code_bytes": None}
    return {
        "stack_bytes": measured.stack.layers.get(layer.kernel),
        "code_bytes": measured.code.files.get(layer.kernel_file),
    }


def _report(view: ModelView, project: str, files: list[str], measured: Measured | None) -> Report:
    def tensors(views: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
        return tuple(
            {
                "name": tensor.key,
                "dtype": tensor.dtype.name,
                "shape": [int(dim) if dim.isdigit() else dim for dim in tensor.dims],
            }
            for tensor in views
        )

    return Report(
        name=view.name,
        target=view.target.name,
        project=project,
        layers=len(view.layers),
        macs=view.macs,
        arena_bytes=view.arena_size,
        arena_lower_bound=view.arena_lower_bound,
        workspace_bytes=view.largest_workspace,
        stack_bytes=view.stack_size,
        stack_compiler=view.stack_compiler or None,
        code_bytes=view.code_size,
        weight_bytes=view.weights_size,
        params_bytes=view.params_size,
        inputs=tensors(view.inputs),
        outputs=tensors(view.outputs),
        sizes=tuple(
            {"name": size.key, "symbol": size.name, "low": size.low, "high": size.high, "step": size.step}
            for size in view.sizes
        ),
        layer_table=tuple(
            {
                "index": layer.label if layer.label != str(layer.index) else layer.index,
                "op": layer.op,
                "name": layer.key,
                "kernel": None if layer.elided else layer.kernel or None,
                "isa": None if layer.elided else layer.isa or None,
                "outputs": list(layer.output_types),
                "macs": layer.macs,
                "constant_bytes": layer.constant_bytes,
                "weight_bits": layer.weight_bits,
                "arena_bytes": layer.arena_used,
                "workspace_bytes": 0 if layer.elided else layer.workspace,
                **_compiled(layer, measured),
            }
            for layer in view.all_layers
        ),
        files=tuple(sorted(files)),
    )
