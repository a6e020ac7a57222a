"""Operators of ONNX Runtime's own domain, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import check, make_model, numbers

DOMAIN = "com.microsoft"


def model(
    op: str,
    inputs: Mapping[str, Sequence[int]],
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
    names: Sequence[str] | None = None,
    **attrs: Any,
) -> Any:
    constants = constants or {}
    node = helper.make_node(op, names or [*inputs, *constants], outputs, domain=DOMAIN, **attrs)
    shapes = {name: tuple(shape) for name, shape in inputs.items()}
    return make_model([node], shapes, [name for name in outputs if name], constants, 17, domains=[DOMAIN])


@pytest.mark.parametrize("op", ["Gelu", "FastGelu", "QuickGelu"])
def test_gelu(op: str, tmp_path: Path) -> None:
    check(model(op, {"x": (3, 4, 8)}), tmp_path)


@pytest.mark.parametrize("op", ["BiasGelu", "FastGelu"])
def test_gelu_with_bias(op: str, tmp_path: Path) -> None:
    check(model(op, {"x": (3, 8)}, {"bias": numbers(8)}), tmp_path)


@pytest.mark.parametrize("attrs", [{}, {"alpha": 0.25}, {"transA": 1}, {"transB": 1, "alpha": 2.0}])
def test_fused_matmul(attrs: Mapping[str, Any], tmp_path: Path) -> None:
    shapes = {
        "a": (2, 5, 3) if attrs.get("transA") else (2, 3, 5),
        "b": (2, 4, 5) if attrs.get("transB") else (2, 5, 4),
    }
    check(model("FusedMatMul", shapes, **attrs), tmp_path)


def test_skip_layer_normalization(tmp_path: Path) -> None:
    constants = {"gamma": numbers(8), "beta": numbers(8, seed=2), "bias": numbers(8, seed=3)}
    outputs = ["y", "", "", "total"]
    shapes = {"x": (2, 3, 8), "skip": (2, 3, 8)}
    check(model("SkipLayerNormalization", shapes, constants, outputs, epsilon=1e-5), tmp_path)


def test_skip_simplified_layer_normalization(tmp_path: Path) -> None:
    shapes = {"x": (2, 3, 8), "skip": (2, 3, 8)}
    check(model("SkipSimplifiedLayerNormalization", shapes, {"gamma": numbers(8)}, epsilon=1e-5), tmp_path)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_dynamic_lstm(direction: str, kind: type, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    directions, hidden, size = (2 if direction == "bidirectional" else 1), 6, 5
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    zero = np.full(directions, 0 if kind is np.int8 else 128, kind)
    constants = {
        "w": rng.integers(low, high, (directions, size, 4 * hidden)).astype(kind),
        "r": rng.integers(low, high, (directions, hidden, 4 * hidden)).astype(kind),
        "b": rng.uniform(-0.5, 0.5, (directions, 8 * hidden)).astype(np.float32),
        "w_scale": rng.uniform(0.004, 0.008, directions).astype(np.float32),
        "w_zero": zero,
        "r_scale": rng.uniform(0.004, 0.008, directions).astype(np.float32),
        "r_zero": zero,
    }
    names = ["x", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"]
    outputs = ["y", "y_h", "y_c"]
    attrs = {"direction": direction, "hidden_size": hidden}
    check(
        model("DynamicQuantizeLSTM", {"x": (4, 1, size)}, constants, outputs, names, **attrs), tmp_path, tolerance=1e-4
    )
