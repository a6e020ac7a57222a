"""Holds a TFLite model, imported and converted, against LiteRT's built-in kernels (no delegate, one thread).

Integers must be equal byte for byte, floats within a part of the largest element. Each comparison is made twice: with
the NumPy reference of the converted graph, and with the C runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microlith
from microlith import modelfile
from microlith.converter.frontends.tflite import import_tflite
from microlith.converter.pipeline import optimize
from microlith.evaluate import evaluate
from microlith.ir import Graph

FLOAT_TOLERANCE = 1e-5


def interpreter(data: bytes, *, all_tensors: bool = False, allocate: bool = True) -> Any:
    """A LiteRT interpreter, by default with its tensors allocated."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    engine = litert.Interpreter(
        model_content=data,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        num_threads=1,
        experimental_preserve_all_tensors=all_tensors,
    )
    if allocate:
        engine.allocate_tensors()
    return engine


def run_interpreter(engine: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs in the model's order."""
    for detail, array in zip(engine.get_input_details(), arrays, strict=True):
        engine.set_tensor(detail["index"], array)
    engine.invoke()
    return [np.array(engine.get_tensor(detail["index"])) for detail in engine.get_output_details()]


def random_input(rng: np.random.Generator, detail: dict[str, Any], kind: int = 0) -> np.ndarray:
    """An array for an input of LiteRT. Integers by ``kind``: anything, small noise, all lowest, all highest, all
    zero points, a ramp; floats: noise of several sizes."""
    shape, dtype = tuple(detail["shape"]), np.dtype(detail["dtype"])
    count = int(np.prod(shape))
    if dtype.kind == "f":
        noise = rng.standard_normal(shape) * (1.0, 0.05, 4.0)[kind % 3]
        return np.asarray(noise, dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), np.bool_)
    if dtype.itemsize > 2:
        return np.asarray(rng.integers(0, 3, shape), dtype)
    info, zero = np.iinfo(dtype), detail["quantization"][1]
    values: Any = {
        0: rng.integers(info.min, info.max + 1, shape),
        1: zero + rng.integers(-4, 5, shape),
        2: np.full(shape, info.min),
        3: np.full(shape, info.max),
        4: np.full(shape, zero),
        5: (np.arange(count) % 256).reshape(shape) + info.min,
    }[kind % 6]
    return np.clip(values, info.min, info.max).astype(dtype)


def converted(data: bytes) -> Graph:
    """The finished graph, with the graph rules checked after every pass."""
    return optimize(import_tflite(data, name="test"), verify=True)


def assert_close(actual: np.ndarray, expected: np.ndarray, what: str, tolerance: float = FLOAT_TOLERANCE) -> None:
    assert actual.shape == expected.shape, what
    assert actual.dtype == expected.dtype, what
    if expected.dtype.kind == "f":
        limit = tolerance * float(np.abs(expected).max(initial=0.0)) + 1e-9
        np.testing.assert_allclose(actual, expected, rtol=0, atol=limit, err_msg=what)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=what)


def compare(
    data: bytes,
    folder: Path,
    rng: np.random.Generator,
    *,
    kinds: Sequence[int] = (0,),
    arrays: Sequence[np.ndarray] | None = None,
    tolerance: float = FLOAT_TOLERANCE,
) -> None:
    """One inference for each kind of input (or one on ``arrays``): reference and runtime against LiteRT."""
    engine = interpreter(data)
    graph = converted(data)
    path = folder / "test.lith"
    modelfile.save(graph, path)
    model = microlith.load(path)
    for kind in kinds:
        feed = arrays or [random_input(rng, detail, kind) for detail in engine.get_input_details()]
        expected = run_interpreter(engine, feed)
        named = {value.name: array for value, array in zip(graph.inputs, feed, strict=True)}
        for source, results in (("reference", evaluate(graph, named)), ("runtime", model.run(named))):
            for value, wanted in zip(graph.outputs, expected, strict=True):
                what = f"{source}, input kind {kind}, output {value.name}"
                assert_close(np.asarray(results[value.name]), wanted, what, tolerance)
