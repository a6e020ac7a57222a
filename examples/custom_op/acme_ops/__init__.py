"""The op Snake, ``x + sin(alpha * x)^2 / alpha`` with one alpha for each channel, which neural vocoders use.

``com.acme.Snake`` in ONNX files, ``AcmeSnake`` in TFLite files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.extensions import Extension
from microlith.ir import Node, TensorType
from microlith.ops import REQUIRED, OpDef, Sample, Tolerance
from microlith.ops.shape_rules import require, require_dtype, require_equal, require_rank


def infer(node: Node) -> list[TensorType]:
    """The type of the output; raises ShapeError for what does not fit."""
    x, alpha = node.input(0), node.input(1)
    require_dtype(node, x, DType.f32)
    require_dtype(node, alpha, DType.f32)
    axis = node.attrs["axis"]
    require(node, 0 <= axis < len(x.shape), f"axis {axis} is no dimension of x")
    require_equal(node, require_rank(node, alpha, 1)[0], x.shape[axis], "alpha has one number for each channel")
    return [x.type]


def reference(inputs: Sequence[np.ndarray | None], attrs: Mapping[str, Any]) -> list[np.ndarray]:
    """The meaning of the op: short, slow, in double precision."""
    x, alpha = inputs
    assert x is not None and alpha is not None
    shape = [1] * x.ndim
    shape[attrs["axis"]] = -1
    a, wide = alpha.reshape(shape).astype(np.float64), x.astype(np.float64)
    return [(wide + np.sin(a * wide) ** 2 / a).astype(np.float32)]


def samples(rng: np.random.Generator) -> Sample:
    """A random valid instance, small and awkward."""
    shape = tuple(int(size) for size in rng.integers(1, 8, int(rng.integers(1, 5))))
    axis = int(rng.integers(len(shape)))
    x = rng.uniform(-4, 4, shape).astype(np.float32)
    alpha = rng.uniform(0.1, 3, shape[axis]).astype(np.float32)
    return Sample([x, alpha], {"axis": axis})


SNAKE = OpDef(
    name="acme.snake",
    inputs=("x", "alpha"),
    infer=infer,
    reference=reference,
    samples=samples,
    attrs={"axis": REQUIRED},
    tolerance=Tolerance(1e-5, 1e-6),
    doc="x + sin(alpha * x)^2 / alpha, with one alpha for each slice along an axis.",
)


def from_onnx(g: Any, node: Any) -> Any:
    """Snake(x, alpha, axis=1)."""
    x = node.value(0)
    axis = node.integer("axis", 1)
    return g.add("acme.snake", [x, node.value(1)], {"axis": axis + len(x.shape) if axis < 0 else axis})


def from_tflite(node: Any) -> Any:
    """AcmeSnake(x, alpha), or with alpha as one number among the options; channels last."""
    x = node.value(0)
    alpha = node.value(1) if node.has(1) else None
    if alpha is None:
        number = node.custom_options().get("alpha", 1.0)
        alpha = node.const(np.full(x.shape[-1], number, np.float32), suffix="alpha")
    return node.add("acme.snake", [x, alpha], {"axis": len(x.shape) - 1})


ACME = Extension(
    name="acme",
    folder=Path(__file__).parent / "acme",
    ops=[SNAKE],
    onnx={("com.acme", "Snake"): from_onnx},
    tflite={"AcmeSnake": from_tflite},
)
