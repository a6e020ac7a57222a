"""The test vectors of the ONNX project, for every operator that has a row: right, or refused with a reason.

A node test feeds everything at run time, also what has to be constant here (axes, shapes, pads); where an input is
refused for that, it is tried again with its value stored in the model.
"""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx_models import save

from microlith.converter import convert
from microlith.converter.frontends.onnx import ROWS
from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

ACCEPTED_REASONS = (
    r"element type \S+ is (not supported|unknown)",
    r"is computed at run time; it must be constant",
    r"is known only at run time",
    r"one or two spatial dimensions are supported",
    r"tensor '\S*' (is|has element type) \S+",
    r"has no kernel yet",
    r"training mode is not supported",
    r"output 'mask' is not supported",
    r"output Indices is not supported",
    r"the (result|new shape \S.*) is empty",
    r"attribute 'mode' is 'wrap'",
    r"attribute 'coordinate_transformation_mode' is 'tf_crop_and_resize'",
    r"attribute 'keep_aspect_ratio_policy' is not 'stretch'",
    r"attribute 'antialias' is not supported",
    r"quantization in blocks is not supported",
    r"a scale per channel is supported for constants only",
    r"floating point needs attribute 'fmod' 1",
    r"a constant of the form .* is not supported",
    r"integers of type \S+ are not supported",
    r"must be known",
    r"is \S+; .* needed",
    r"this operator is not supported",
    r"it is (sequence|optional|map)_type, only tensors are supported",
)
"""Limits that a message may name. Everything else is a fault."""

ALWAYS_REFUSED = ("ConvTranspose",)
"""Operators whose row only says why they cannot be converted."""

DISPUTED = (
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
)
"""Vectors that use the length before it is rounded down, against the text of the operator and ONNX Runtime."""


@functools.cache
def vectors() -> dict[str, list[Any]]:
    """Test cases by the operator that they are about."""
    loader = pytest.importorskip("onnx.backend.test.loader", reason="this build of onnx has no backend tests")
    cases: dict[str, list[Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = loader.load_model_tests(kind="node")
    for case in tests:
        if case.name in DISPUTED:
            continue
        if case.model is not None and all(node.op_type in (*ROWS, "Shape", "Size") for node in case.model.graph.node):
            cases.setdefault(case.model.graph.node[0].op_type, []).append(case)
    return cases


def arrays_of(items: Any) -> list[Any]:
    plain = [numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item for item in items]
    return [np.asarray(item) if isinstance(item, np.generic) else item for item in plain]


def with_constants(model: onnx.ModelProto, inputs: list[Any]) -> onnx.ModelProto:
    """The model with every input but the first operand of its node stored."""
    stored = onnx.ModelProto()
    stored.CopyFrom(model)
    first = {node.input[0] for node in model.graph.node if node.input and node.op_type != "ConstantOfShape"}
    for info, array in zip(model.graph.input, inputs, strict=False):
        if info.name not in first and isinstance(array, np.ndarray):
            stored.graph.initializer.append(numpy_helper.from_array(array, info.name))
    return stored


def refusal(model: onnx.ModelProto, inputs: list[Any], expected: list[Any], folder: Path) -> list[str]:
    """Why a model is refused; empty when it gives the expected outputs."""
    try:
        graph = convert(save(model, folder))
    except UnsupportedError as error:
        return [item.reason for item in error.items]
    wanted = {value.name for value in graph.inputs}
    names = [info.name for info in model.graph.input]
    feeds = {name: array for name, array in zip(names, inputs, strict=False) if name in wanted}
    with np.errstate(all="ignore"):
        results = evaluate(graph, feeds)
    for info, array in zip(model.graph.output, expected, strict=True):
        actual = results[info.name]
        assert (actual.dtype, actual.shape) == (array.dtype, array.shape)
        loose = 1e-2 if array.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(
            actual.astype(np.float64), array.astype(np.float64), rtol=max(1e-3, loose), atol=loose, equal_nan=True
        )
    return []


@pytest.mark.parametrize("op", sorted(ROWS))
def test_node_vectors(op: str, tmp_path: Path) -> None:
    if not vectors().get(op):
        pytest.skip(f"the ONNX project has no test of {op} alone")
    passed = 0
    for case in vectors()[op]:
        for inputs, outputs in case.data_sets:
            given, expected = arrays_of(inputs), arrays_of(outputs)
            if any(not isinstance(array, np.ndarray) for array in (*given, *expected)):
                continue
            if any(0 in array.shape for array in (*given[:1], *expected)):
                continue
            reasons = refusal(case.model, given, expected, tmp_path)
            if any("must be constant" in reason or "only at run time" in reason for reason in reasons):
                reasons = refusal(with_constants(case.model, given), given, expected, tmp_path)
            for reason in reasons:
                known = any(re.search(pattern, reason) for pattern in ACCEPTED_REASONS)
                assert known, f"{case.name}: {reason}"
            passed += not reasons
    assert passed or op in ALWAYS_REFUSED
