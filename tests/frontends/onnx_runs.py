"""ONNX models held against ONNX Runtime: those of one node with the NumPy reference too, others with the C runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import check, compare, make_model, run_reference, save

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.ir import Graph

ELEMENT_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}


def hold(
    op: str,
    inputs: Mapping[str, np.ndarray | None],
    folder: Path,
    *,
    at_run_time: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    types: Mapping[str, int] | None = None,
    opset: int = 20,
    tolerance: float = 1e-5,
    **attrs: Any,
) -> Graph:
    """Converts and runs one node; inputs that are not ``at_run_time`` are constants, None ones absent."""
    names = [name if array is not None else "" for name, array in inputs.items()]
    given = {name: array for name, array in inputs.items() if array is not None}
    feeds = {name: array for name, array in given.items() if name in at_run_time}
    constants = {name: array for name, array in given.items() if name not in at_run_time}
    model = make_model(
        [helper.make_node(op, names, list(outputs), **attrs)],
        {name: array.shape for name, array in feeds.items()},
        [name for name in outputs if name],
        constants,
        opset,
        {**{name: ELEMENT_TYPES[array.dtype] for name, array in feeds.items()}, **(types or {})},
    )
    graph = check(model, folder, feeds, tolerance)
    path = folder / "model.lith"
    modelfile.save(graph, path)
    results = runtime.load(path.read_bytes()).run(list(feeds.values()))
    for name, expected in zip([name for name in outputs if name], run_reference(model, feeds), strict=True):
        compare(results[name], expected, tolerance, f"{name} of the C runtime")
    return graph


def hold_cases(model: onnx.ModelProto, folder: Path, *cases: Mapping[str, np.ndarray]) -> Graph:
    """Converts a model once, and runs it with several inputs, of several sizes where these are open."""
    graph = convert(save(model, folder))
    modelfile.save(graph, folder / "m.lith")
    session = runtime.load(folder / "m.lith")
    for feeds in cases:
        for actual, expected in zip(session.run(feeds).values(), run_reference(model, feeds), strict=True):
            compare(actual, expected, 1e-5, "the C runtime")
    return graph
