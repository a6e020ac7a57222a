"""ONNX models made in memory, and their results from ONNX Runtime and from ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from microlith.converter import convert, pipeline
from microlith.converter.frontends.onnx import import_onnx
from microlith.converter.passes import materialize_quantization
from microlith.evaluate import evaluate
from microlith.ir import Graph

Arrays = Mapping[str, np.ndarray]


HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
INTEGERS = ("n", "n2", "where")
"""Outputs of models in ONNX's own text that are int64; the others are float."""


def ort() -> Any:
    """ONNX Runtime; outside of CI a test without it is skipped."""
    if os.environ.get("CI"):
        import onnxruntime

        return onnxruntime
    return pytest.importorskip("onnxruntime", reason="onnxruntime, which gives the expected results, is not installed")


def numbers(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """float32, seeded."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[Any, ...]],
    outputs: Sequence[str],
    constants: Arrays | None = None,
    opset: int = 17,
    types: Mapping[str, int] | None = None,
    domains: Sequence[str] = (),
) -> onnx.ModelProto:
    """A model; inputs are float32 where ``types`` does not say otherwise, outputs have no declared shape."""
    types = types or {}
    infos = [helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), shape) for n, shape in inputs.items()]
    results = [helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), None) for n in outputs]
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "test", infos, results, tensors)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = min(model.ir_version, 10)
    return model


def parsed(text: str) -> onnx.ModelProto:
    """A model in ONNX's own text. Its outputs have no declared shape."""
    model = onnx.parser.parse_model(HEAD + text)
    for info in model.graph.output:
        kind = TensorProto.INT64 if info.name in INTEGERS else TensorProto.FLOAT
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, None))
    return model


def save(model: onnx.ModelProto, folder: Path, name: str = "model.onnx") -> Path:
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def feeds_for(model: onnx.ModelProto, seed: int = 1, low: float = -2.0, high: float = 2.0, symbol: int = 2) -> Arrays:
    """Random values for every input that is not an initializer."""
    rng = np.random.default_rng(seed)
    constant = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for info in model.graph.input:
        if info.name in constant:
            continue
        shape = [dim.dim_value or symbol for dim in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        if dtype.kind == "b":
            feeds[info.name] = rng.integers(0, 2, shape).astype(dtype)
        elif dtype.kind in "iu":
            feeds[info.name] = rng.integers(max(int(low), 0) if dtype.kind == "u" else int(low), int(high) + 1, shape)
            feeds[info.name] = feeds[info.name].astype(dtype)
        else:
            feeds[info.name] = rng.uniform(low, high, shape).astype(dtype)
    return feeds


def run_reference(model: onnx.ModelProto, feeds: Arrays, threads: int = 0) -> list[np.ndarray]:
    """The outputs as ONNX Runtime computes them, with its own optimizations off; ``threads`` 0: as many as it likes."""
    runtime = ort()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results: list[np.ndarray] = session.run(None, dict(feeds))
    return results


def check(
    model: onnx.ModelProto,
    folder: Path,
    feeds: Arrays | None = None,
    tolerance: float = 1e-5,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """Imports and converts a model; both graphs must give what ONNX Runtime gives. Returns the finished graph.

    ``tolerance`` is relative to the largest number of an output, or to 1.
    """
    path = save(model, folder)
    feeds = feeds_for(model) if feeds is None else feeds
    expected = run_reference(model, feeds)
    imported = import_onnx(path, inputs=shapes)
    finished = pipeline.optimize(import_onnx(path, inputs=shapes), verify=True)
    assert [value.name for value in finished.inputs] == list(feeds)
    assert [value.name for value in finished.outputs] == [info.name for info in model.graph.output]
    materialize_quantization.run(imported)
    for graph in (imported, finished):
        results = evaluate(graph, feeds)
        for info, array in zip(model.graph.output, expected, strict=True):
            compare(results[info.name], array, tolerance, info.name)
    return finished


def compare(actual: np.ndarray, expected: np.ndarray, tolerance: float, name: str) -> None:
    assert actual.dtype == expected.dtype, name
    assert actual.shape == expected.shape, name
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, err_msg=name)
        return
    finite = expected[np.isfinite(expected)]
    limit = tolerance * max(1.0, float(np.abs(finite).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=limit, err_msg=name)


def converted(model: onnx.ModelProto, folder: Path, **options: Any) -> Graph:
    return convert(save(model, folder), **options)
