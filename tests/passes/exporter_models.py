"""Small ONNX models in text form, and what they give when converted against ONNX Runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from microlith import modelfile
from microlith.converter import convert
from microlith.evaluate import evaluate
from microlith.ir import Graph
from microlith.runtime import load

Constants = Mapping[str, np.ndarray]


def model(text: str, constants: Constants | None = None, opset: int = 17) -> onnx.ModelProto:
    """A model in ONNX's own text form; ``constants`` are taken out of its inputs."""
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    for name, array in (constants or {}).items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return proto


def inputs_of(
    proto: onnx.ModelProto, low: float, high: float, sizes: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    known = {tensor.name for tensor in proto.graph.initializer}
    rng = np.random.default_rng(3)
    feeds = {}
    for info in proto.graph.input:
        if info.name not in known:
            dims = info.type.tensor_type.shape.dim
            shape = [(sizes or {}).get(dim.dim_param, dim.dim_value or 7) for dim in dims]
            if info.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
                feeds[info.name] = rng.integers(0, 2, shape).astype(bool)
                if "low" in known:
                    feeds[info.name][..., 0] = True
                else:
                    feeds[info.name][..., 0, :] = False  # a row that is hidden as a whole
            else:
                feeds[info.name] = rng.uniform(low, high, shape).astype(np.float32)
    return feeds


def checked(
    proto: onnx.ModelProto,
    tolerance: float,
    low: float = -4.0,
    high: float = 4.0,
    sizes: Mapping[str, int] | None = None,
) -> Graph:
    """The converted graph, whose reference and runtime give what ONNX Runtime gives, relative to the range.

    ``sizes`` are those of the symbols of the inputs in this run, 7 where it does not say.
    """
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime, which gives the expected results, is not installed")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    feeds = inputs_of(proto, low, high, sizes)
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = dict(zip([item.name for item in session.get_outputs()], session.run(None, feeds), strict=True))
    graph = convert(proto, skip_passes=["fuse_elementwise"])  # so that the ops can be seen
    for actual in (evaluate(graph, feeds), load(dumped(graph)).run(feeds)):
        for name, wanted in expected.items():
            limit = tolerance * max(1e-30, float(np.abs(wanted).max()))
            np.testing.assert_allclose(actual[name], wanted, rtol=0, atol=limit, err_msg=name)
    return graph


def dumped(graph: Graph) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        modelfile.save(graph, f"{folder}/model.lith")
        return Path(folder, "model.lith").read_bytes()


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]
