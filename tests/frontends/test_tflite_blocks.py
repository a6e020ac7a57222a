# SPDX-License-Identifier: Apache-2.0
"""Weights with a scale for each block, against LiteRT with XNNPACK, which alone knows them, and double precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import converted
from tflite_builder import TfliteBuilder

import microlith
from microlith import modelfile
from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import ModelFormatError


def layer(rng: np.random.Generator, units: int, depth: int, size: int) -> tuple[TfliteBuilder, np.ndarray]:
    """A fully connected layer of int4, and its weights in double precision."""
    b = TfliteBuilder()
    data = rng.integers(-8, 8, (units, depth)).astype(np.int8)
    scales = rng.uniform(0.01, 0.1, (units, depth // size)).astype(np.float16)
    x, stored = b.input((3, depth)), b.constant(scales)
    weights = b.int4_constant(data)
    b.tensors[weights].blocks = (stored, -1, size)
    bias = b.constant(rng.normal(size=units).astype(np.float32))
    b.operator("FULLY_CONNECTED", [x, weights, bias], [b.output((3, units))], "FullyConnectedOptions")
    return b, data.astype(np.float64) * np.repeat(scales.astype(np.float64), size, axis=1)


@pytest.mark.parametrize("size", [32, 64])
def test_fully_connected(size: int, tmp_path: Path) -> None:
    """LiteRT also rounds the input to 8 bits: within a percent of it, and of double precision as any float layer."""
    litert: Any = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    rng = np.random.default_rng(size)
    b, weights = layer(rng, 16, 128, size)
    x = rng.normal(size=(3, 128)).astype(np.float32)
    graph = converted(b.build())
    modelfile.save(graph, tmp_path / "test.lith")
    (result,) = microlith.load(tmp_path / "test.lith").run({graph.inputs[0].name: x}).values()
    bias = b.tensors[b.operators[0].inputs[2]].data
    exact = x.astype(np.float64) @ weights.T + bias
    np.testing.assert_allclose(result, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    engine = litert.Interpreter(model_content=b.build(), num_threads=1)
    engine.allocate_tensors()
    engine.set_tensor(engine.get_input_details()[0]["index"], x)
    engine.invoke()
    theirs = engine.get_tensor(engine.get_output_details()[0]["index"])
    np.testing.assert_allclose(result, theirs, rtol=0, atol=0.02 * np.abs(exact).max())


def test_zero_points() -> None:
    b = TfliteBuilder()
    table = b.constant(np.arange(-8, 8, dtype=np.int8).reshape(2, 8))
    scales = b.constant(np.array([[1, 2], [3, 4]], np.float32))
    b.tensors[table].blocks = (scales, b.constant(np.array([[0, 1], [2, 3]], np.int32)), 4)
    b.operator("EMBEDDING_LOOKUP", [b.input((1,), "int32"), table], [b.output((1, 8))])
    (node,) = import_tflite(b.build()).nodes
    wanted = [[-8, -7, -6, -5, -10, -8, -6, -4], [-6, -3, 0, 3, 4, 8, 12, 16]]
    np.testing.assert_array_equal(node.input(0).data, wanted)


@pytest.mark.parametrize("blocks", [(99, -1, 32), (0, -1, 32), (1, -1, 0), (1, -1, 48), (1, -1, 64), (1, 99, 32)])
def test_blocks_that_do_not_fit(blocks: tuple[int, int, int]) -> None:
    b, _ = layer(np.random.default_rng(1), 4, 64, 32)
    b.tensors[2].blocks = blocks
    with pytest.raises(ModelFormatError, match="scales"):
        import_tflite(b.build())
