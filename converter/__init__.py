"""From a model file to a finished graph: a frontend imports, the passes of ``pipeline.py`` rewrite."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import extensions
from ..binding import bind_graph, is_data_dependent
from ..errors import InputError, ModelFormatError, ShapeError
from ..ir import Graph, all_graphs
from ..numerics import CONTRACTS
from ..rewrite import PassRecord, run_passes
from ..size_ranges import Size, checked_shapes
from ..sweep import explained
from .borders import set_head, set_input_layout, set_integer_borders
from .pipeline import AS_WRITTEN_PASSES, FLOAT_PASSES, FUSE_ELEMENTWISE, OPTIONAL_PASSES, PASSES, optimize
from .streaming import stream

if TYPE_CHECKING:
    import onnx

    from .quantize import QuantizeOptions, QuantReport

Progress = Callable[[int, int, str], None]
"""Called with the number of steps done, the number of all steps, and what is being done."""

ONNX_FIRST_BYTE = b"\x08"
"""The protobuf tag of a model's first field, its IR version."""

QDQ = ("integers", "as-written")
"""How models of QuantizeLinear and DequantizeLinear are computed."""

Observer = Callable[[str, bool, int, int], None]
"""Called after each pass with its name, whether it changed the graph, and the number of nodes before and after."""


def convert(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    observer: Observer | None = None,
    contract: str | None = None,
    head: str = "keep",
    integer_borders: bool = False,
    input_layout: str = "keep",
    stream_rows: int | None = None,
    progress: Progress | None = None,
    quantization: QuantizeOptions | None = None,
    report: Callable[[QuantReport], None] | None = None,
    skip_passes: Sequence[str] = (),
    qdq: str = "integers",
) -> Graph:
    """The finished graph of a model: a file, the bytes of one, or an ``onnx.ModelProto``. Inputs and outputs keep
    their names.

    ``inputs`` maps input names to shapes, which fixes symbolic sizes, and names of sizes to one size. In place of a
    number may stand a ``SizeRange``: the size is then chosen at run time, within it. ``constants`` maps input names
    to arrays: they become part of the model, and are no inputs any more. ``contract`` replaces the rounding contract
    of the format (``tflite-double``, ``single`` or ``float-even``). ``head`` "logits" takes the outputs from in front
    of the last softmax, "softmax" adds one where there is none, "argmax" makes them the position of the largest
    element; ``integer_borders`` makes integers of inputs and outputs that the model itself quantizes and dequantizes;
    ``input_layout`` "nhwc" makes images that come with their channels first ones that have them last (all three:
    ``borders.py``). ``stream_rows`` makes a stream of a model of a window that slides: so many rows come with each
    step (``streaming.py``). ``observer`` is called after each pass. ``quantization`` makes an integer model of one of
    real numbers (``quantize/``); ``report`` then gets what was done. ``skip_passes`` names passes of
    ``pipeline.OPTIONAL_PASSES`` to leave out, to see what they are worth or whether an error is theirs. ``qdq`` says
    what becomes of a float op of an ONNX model between DequantizeLinear and QuantizeLinear: "integers", the op on
    integers, or "as-written", all three in the steps of ONNX Runtime (``as_written.py``). Raises a MicrolithError that
    says what is wrong with the file or which of its nodes cannot be converted.
    """
    if contract is not None and contract not in CONTRACTS:
        raise InputError(f"there is no rounding contract '{contract}'", hint=f"one of {', '.join(CONTRACTS)}")
    unknown = sorted(set(skip_passes) - set(OPTIONAL_PASSES))
    if unknown:
        raise InputError(
            f"the pass '{unknown[0]}' cannot be left out", hint=f"possible is only: {', '.join(OPTIONAL_PASSES)}"
        )

    if qdq not in QDQ:
        raise InputError(f"QDQ models cannot be computed '{qdq}'", hint=f"one of {', '.join(QDQ)}")
    as_written = qdq == "as-written"
    if as_written and quantization is not None:
        raise InputError(
            "a model that is quantized here is not computed as it is written", hint="leave out --quantize or --qdq"
        )

    def observe(record: PassRecord, graph: Graph) -> None:
        if observer is not None:
            observer(record.name, record.changed, record.nodes_before, record.nodes_after)

    with np.errstate(all="ignore"):  # a model may well compute infinities from its constants
        graph = import_model(source, inputs=inputs, constants=constants, progress=progress, as_written=as_written)
        set_head(graph, head)
        if integer_borders:
            set_integer_borders(graph)
        set_input_layout(graph, input_layout)
        for part in all_graphs(graph):
            part.contract = contract or part.contract
            for value in part.values():
                value.origins = () if value.is_constant else (value.name,)
        if quantization is None:
            passes = [item for item in (AS_WRITTEN_PASSES if as_written else PASSES) if item.name not in skip_passes]
            optimize(graph, observer=observe, progress=progress, passes=passes)
        else:
            graph = _quantized(graph, quantization, observe, progress, report)
            if FUSE_ELEMENTWISE.name not in skip_passes:
                run_passes(graph, [FUSE_ELEMENTWISE], verify=False, observer=observe, facts=FUSE_ELEMENTWISE.requires)
            if integer_borders:
                set_integer_borders(graph)
        if stream_rows is not None:
            graph = stream(graph, stream_rows)
    _check_ranges(graph)
    return graph


def _quantized(
    graph: Graph,
    quantization: QuantizeOptions,
    observe: Callable[[PassRecord, Graph], None],
    progress: Progress | None,
    report: Callable[[QuantReport], None] | None,
) -> Graph:
    """The passes for real numbers, then quantization. Where activations become integers attention stays in parts, which
    have forms on them."""
    from .quantize import quantize

    for part in all_graphs(graph):
        part.contract = quantization.contract
    apart = quantization.scheme in ("int8", "16x8")
    passes = [item for item in FLOAT_PASSES if not (apart and item.name.startswith("fuse_attention"))]
    optimize(graph, observer=observe, progress=progress, passes=passes)

    def advance(what: str, done: int, total: int | None) -> None:
        if progress is not None:
            progress(done, total or 0, what)

    finished, summary = quantize(graph, quantization, advance)
    if report is not None:
        report(summary)
    return finished


def _check_ranges(graph: Graph) -> None:
    """Raises ShapeError when the model cannot run with the smallest, the second, or the largest sizes of its ranges:
    one that takes only multiples tells by the second."""
    symbols = {dim for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    if not graph.ranges or symbols - set(graph.ranges) or is_data_dependent(graph):
        return
    ranges = graph.ranges.values()
    for sizes in ([item.sizes[index] for item in ranges] for index in (0, 1, -1)):
        try:
            bind_graph(graph, dict(zip(graph.ranges, sizes, strict=True)))
        except ShapeError as error:
            raise explained(graph, {}, graph.ranges, sizes, error) from error


def import_model(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    inputs: Mapping[str, Sequence[Size]] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    progress: Progress | None = None,
    as_written: bool = False,
) -> Graph:
    """The graph as the model's own frontend imports it, before any pass. ``as_written`` is for ONNX."""
    inputs = checked_shapes(inputs)
    if isinstance(source, bytes):
        kind = _kind(source[:8], "", "model")
    elif isinstance(source, str | os.PathLike):
        source = Path(source)
        kind = _kind(_head(source), source.suffix, str(source))
    else:
        kind = "onnx"
    if kind == "tflite":
        from .frontends.tflite import import_tflite, load_tflite

        if as_written:
            raise InputError(
                "--qdq as-written is for ONNX models",
                where=str(source) if isinstance(source, Path) else "model",
                hint="a TFLite model of integers gives the bytes of LiteRT as it is",
            )
        if isinstance(source, bytes):
            return import_tflite(source, inputs=inputs, constants=constants)
        assert isinstance(source, Path)
        return load_tflite(source, inputs=inputs, constants=constants)
    if kind == "onnx":
        from .frontends.onnx import import_onnx

        return import_onnx(source, inputs=inputs, constants=constants, progress=progress, as_written=as_written)
    where = str(source) if isinstance(source, Path) else "model"
    raise ModelFormatError("neither an ONNX nor a TFLite model", where=where, hint="files end in .onnx or .tflite")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def _kind(head: bytes, suffix: str, where: str) -> str | None:
    """The format of a model, by its first bytes where they are clear, else by the name of its file."""
    if head[4:8] == b"TFL3":
        return "tflite"
    if head[4:8] == b"LITH":
        raise ModelFormatError("it is converted already", where=where, hint="use it with run, codegen or inspect")
    known = {".onnx": "onnx", ".tflite": "tflite", ".pb": "onnx"}.get(suffix.lower())
    return known or ("onnx" if head[:1] == ONNX_FIRST_BYTE else None)


def supported_operators() -> dict[str, list[str]]:
    """The operators that each frontend knows, by format, in alphabetical order; ONNX's own before other domains."""
    from .frontends import onnx, onnx_subgraphs, tflite

    added = [row for extension in extensions.active() for row in extension.onnx]
    foreign = sorted(".".join(filter(None, row)) for row in (*onnx.FOREIGN_ROWS, *added))
    custom = [row for extension in extensions.active() for row in extension.tflite]
    return {
        "ONNX": [*sorted({*onnx.ROWS, *onnx_subgraphs.CONTROL}), *foreign],
        "TFLite": [*sorted(tflite.ROWS), *sorted(custom)],
    }
