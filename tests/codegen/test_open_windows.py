"""Generated C of ONNX windows and blocks over sizes with a range, against ONNX Runtime."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated_projects import built
from onnx import TensorProto, helper, numpy_helper

from microlith.codegen import execute
from microlith.converter import convert
from microlith.size_ranges import SizeRange

CASES: dict[str, tuple[str, tuple[int | str, ...], dict[str, Any], tuple[int, ...] | None]] = {
    "depth to space": ("DepthToSpace", (1, 8, "h", "w"), {"blocksize": 2}, None),
    "same": ("Conv", (1, 2, "h", "w"), {"auto_pad": "SAME_UPPER"}, (3, 2, 3, 4)),
    "same by two": ("Conv", (1, 2, "h", "w"), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (3, 2, 3, 3)),
    "max": ("MaxPool", (1, 2, "h", "w"), {"ceil_mode": 1, "kernel_shape": [3, 3], "strides": [2, 2]}, None),
    "mean": ("AveragePool", (1, 4, "t"), {"ceil_mode": 1, "kernel_shape": [3], "strides": [2]}, None),
}


@pytest.mark.parametrize("name", CASES)
def test_every_size_equals_onnxruntime(name: str, tmp_path: Path) -> None:
    import onnxruntime

    op, shape, attrs, weights = CASES[name]
    rng = np.random.default_rng(1)
    constants = [] if weights is None else [rng.standard_normal(weights).astype(np.float32)]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *("w" for _ in constants)], ["y"], **attrs)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, "w") for array in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    symbols = [dim for dim in shape if isinstance(dim, str)]
    result = built(convert(model, inputs={dim: (SizeRange(3, 6),) for dim in symbols}), "host", tmp_path / "a")
    samples = []
    for sizes in itertools.product(range(3, 7), repeat=len(symbols)):
        chosen = dict(zip(symbols, sizes, strict=True))
        dims = [dim if isinstance(dim, int) else chosen[dim] for dim in shape]
        samples.append({"x": rng.standard_normal(dims).astype(np.float32)})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for sample, results in zip(samples, execute.run(result, samples).samples, strict=True):
        np.testing.assert_allclose(results["y"], session.run(None, sample)[0], rtol=1e-5, atol=1e-5)
