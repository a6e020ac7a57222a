"""What is computed at conversion is what ONNX Runtime computes when it runs, and no node of it is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model, numbers, run_reference, save

from microlith.converter import convert
from microlith.converter.frontends.onnx import import_onnx
from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

X = numbers(2, 3, 4)
TIES = np.array([[2, 1, 2], [2, 1, 2], [0, 1, 0], [2, 1, 2]], np.float32)
IMAGE = numbers(1, 2, 5, 6)


def ints(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


CASES: dict[str, tuple[str, list[np.ndarray], dict[str, Any], int, tuple[str, ...]]] = {
    "slice-back-to-the-first": ("Slice", [X, ints(-1), ints(-9), ints(1), ints(-1)], {}, 17, ("y",)),
    "slice-back-from-beyond": ("Slice", [X, ints(99), ints(0), ints(2), ints(-2)], {}, 17, ("y",)),
    "slice-back-from-in-front": ("Slice", [X, ints(-9, -7), ints(-1, -8), ints(2, 1), ints(-1, -2)], {}, 17, ("y",)),
    "slice-of-nothing": ("Slice", [X, ints(3, 2), ints(-9, 1), ints(1, 2), ints(2, 3)], {}, 17, ("y",)),
    "softmax-of-opset-11": ("Softmax", [X], {"axis": 1}, 11, ("y",)),
    "log-softmax-of-opset-11": ("LogSoftmax", [X], {"axis": 0}, 11, ("y",)),
    "hardmax-of-opset-11": ("Hardmax", [X], {"axis": 1}, 11, ("y",)),
    "softmax": ("Softmax", [X], {"axis": 1}, 13, ("y",)),
    "unique-as-they-come": ("Unique", [TIES], {"sorted": 0, "axis": 0}, 17, ("y", "n", "n2", "where")),
    "unique-columns": ("Unique", [TIES], {"sorted": 0, "axis": 1}, 17, ("y",)),
    "unique": ("Unique", [TIES], {"sorted": 1}, 17, ("y", "n", "n2", "where")),
    "sum-of-squares-of-int32": ("ReduceSumSquare", [np.arange(6, dtype=np.int32), ints(0)], {}, 18, ("i",)),
    "lp-pool": (
        "LpPool",
        [IMAGE],
        {"kernel_shape": [1, 3], "strides": [1, 2], "ceil_mode": 1, "pads": [0, 0, 0, 2], "dilations": [1, 2]},
        19,
        ("y",),
    ),
    "average-pool": (
        "AveragePool",
        [IMAGE],
        {"kernel_shape": [2, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [1, 0, 0, 1], "count_include_pad": 1},
        19,
        ("y",),
    ),
    "max-pool-with-positions": (
        "MaxPool",
        [IMAGE],
        {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
        12,
        ("y", "n"),
    ),
    "dropout-in-inference": ("Dropout", [X], {}, 13, ("y",)),
    "loss": ("SoftmaxCrossEntropyLoss", [numbers(3, 4) * 100, ints(0, 3, 1)], {"reduction": "none"}, 13, ("y",)),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_onnxruntime(name: str, tmp_path: Path) -> None:
    op, arrays, attrs, opset, outputs = CASES[name]
    names = [f"i{index}" for index in range(len(arrays))]
    kinds = {"i": TensorProto.INT32} | dict.fromkeys(("n", "n2", "where"), TensorProto.INT64)
    types = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in zip(names, arrays, strict=True)} | kinds
    node = helper.make_node(op, names, list(outputs), **attrs)
    feeds = dict(zip(names, arrays, strict=True))
    at_run_time = make_model([node], {n: a.shape for n, a in feeds.items()}, outputs, opset=opset, types=types)
    graph = import_onnx(save(make_model([node], {}, outputs, feeds, opset, types), tmp_path))
    assert {item.op for item in graph.nodes} <= {"reshape"}  # an output that is constant is a copy
    for actual, expected in zip(evaluate(graph, {}).values(), run_reference(at_run_time, feeds), strict=True):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_a_dropout_that_draws_is_no_constant(tmp_path: Path) -> None:
    constants = {"x": X, "ratio": np.array(0.5, np.float32), "training": np.array(True)}
    node = helper.make_node("Dropout", list(constants), ["y"], seed=3)
    with pytest.raises(UnsupportedError, match="training mode"):
        convert(save(make_model([node], {}, ["y"], constants, 13), tmp_path))
