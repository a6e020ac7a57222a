"""From a model file to a finished graph: a frontend imports, the passes of ``pipeline.py`` rewrite."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError, ModelFormatError
from ..ir import Graph
from ..numerics import CONTRACTS
from ..rewrite import PassRecord
from .pipeline import optimize

Progress = Callable[[int, int, str], None]
"""Called with the number of steps done, the number of all steps, and what is being done."""

ONNX_FIRST_BYTE = b"\x08"
"""The protobuf tag of a model's first field, its IR version."""

Observer = Callable[[str, bool, int, int], None]
"""Called after each pass with its name, whether it changed the graph, and the number of nodes before and after."""


def convert(
    path: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Sequence[int]] | None = None,
    observer: Observer | None = None,
    contract: str | None = None,
    progress: Progress | None = None,
) -> Graph:
    """The finished graph of a model file, with the model's own names for inputs and outputs.

    ``inputs`` maps input names to shapes, which fixes symbolic sizes. ``contract`` replaces the rounding contract of
    the format (``tflite-double``, ``single`` or ``float-even``). ``observer`` is called after each pass. Raises a
    MicrolithError that says what is wrong with the file or which of its nodes cannot be converted.
    """
    if contract is not None and contract not in CONTRACTS:
        raise InputError(f"there is no rounding contract '{contract}'", hint=f"one of {', '.join(CONTRACTS)}")

    def observe(record: PassRecord, graph: Graph) -> None:
        if observer is not None:
            observer(record.name, record.changed, record.nodes_before, record.nodes_after)

    with np.errstate(all="ignore"):  # a model may well compute infinities from its constants
        graph = import_model(path, inputs=inputs, progress=progress)
        graph.contract = contract or graph.contract
        return optimize(graph, observer=observe, progress=progress)


def import_model(
    path: str | os.PathLike[str], *, inputs: Mapping[str, Sequence[int]] | None = None, progress: Progress | None = None
) -> Graph:
    """The graph as the model's own frontend imports it, before any pass."""
    path = Path(path)
    kind = _kind(path)
    if kind == "tflite":
        from .frontends.tflite import load_tflite

        return load_tflite(path, inputs=inputs)
    if kind == "onnx":
        from .frontends.onnx import import_onnx

        return import_onnx(path, inputs=inputs, progress=progress)
    raise ModelFormatError("neither an ONNX nor a TFLite model", where=str(path), hint="files end in .onnx or .tflite")


def _kind(path: Path) -> str | None:
    """The format of a file, by its content where that is clear, else by its name."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    if head[4:8] == b"TFL3":
        return "tflite"
    if head[4:8] == b"LITH":
        raise ModelFormatError("it is converted already", where=str(path), hint="use it with run, codegen or inspect")
    known = {".onnx": "onnx", ".tflite": "tflite", ".pb": "onnx"}.get(path.suffix.lower())
    return known or ("onnx" if head[:1] == ONNX_FIRST_BYTE else None)


def supported_operators() -> dict[str, list[str]]:
    """The operators that each frontend knows, by format, in alphabetical order."""
    from .frontends import onnx, tflite

    return {"ONNX": sorted(onnx.ROWS), "TFLite": sorted(tflite.ROWS)}
