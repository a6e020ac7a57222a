"""Layers that run together by rows (runtime/src/chains.h): the bits of layers one after the other, in less memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lith_models import Build, inputs_for

import microlith
from microlith import modelfile
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Value

BETWEEN = ("expanded", "deep")


def _bottleneck(b: Build, x: Value, stride: int) -> Value:
    y = b.op("conv2d", x, b.noise(64, 1, 1, 16), b.noise(64), output="expanded", clamp_min=0.0, clamp_max=6.0)
    pads = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    y = b.op(
        "depthwise_conv2d", y, b.noise(1, 3, 3, 64), b.noise(64), output="deep", groups=64, stride_h=stride, **pads
    )
    return b.op("conv2d", y, b.noise(24, 1, 1, 64), b.noise(24), output="y")


def floats(stride: int) -> Graph:
    b = Build("floats")
    return b.outputs(_bottleneck(b, b.input("x", (1, 61, 50, 16)), stride))


def dilated() -> Graph:
    """Windows that reach far, uneven padding, and a first layer of three channels."""
    b = Build("dilated")
    y = b.op(
        "conv2d", b.input("x", (1, 128, 64, 3)), b.noise(32, 5, 3, 3), None, output="expanded", pad_top=4, stride_h=2
    )
    y = b.op("conv2d", y, b.noise(16, 2, 3, 32), b.noise(16), output="deep", pad_bottom=2, dilation_h=3)
    return b.outputs(b.op("conv2d", y, b.noise(8, 1, 1, 16), b.noise(8), output="y"))


def integers() -> Graph:
    b = Build("integers")
    quant = {"x_zero": 3, "y_zero": -5, "q_min": -128, "q_max": 127}
    y = b.op("conv2d", b.input("x", (1, 64, 64, 16), DType.s8), *b.integers(64, 1, 1, 16), output="expanded", **quant)
    weights, bias, requant = b.integers(64, 3, 3, 1)
    weights = b.graph.constant("w", b.rng.integers(-127, 128, (1, 3, 3, 64)).astype(np.int8))
    y = b.op("depthwise_conv2d", y, weights, bias, requant, output="deep", groups=64, pad_top=1, pad_left=1, **quant)
    return b.outputs(b.op("conv2d", y, *b.integers(24, 1, 1, 64), output="y", **quant))


GRAPHS = {"stride 1": floats(1), "stride 2": floats(2), "dilated": dilated(), "integers": integers()}


@pytest.fixture(params=list(GRAPHS), name="graph")
def _graph(request: pytest.FixtureRequest) -> Graph:
    return GRAPHS[request.param]


def _save(graph: Graph, path: Path, apart: bool) -> Path:
    """With ``apart`` what is between the layers is wanted too, so they cannot run together."""
    last = graph.outputs[0]
    between = [node.outputs[0] for node in graph.nodes if node.outputs[0].name in BETWEEN]
    graph.outputs = [last, *(between if apart else [])]
    modelfile.save(graph, path)
    graph.outputs = [last]
    return path


def test_bits_are_those_of_layers_one_after_the_other(graph: Graph, tmp_path: Path) -> None:
    together, apart = _save(graph, tmp_path / "a.lith", False), _save(graph, tmp_path / "b.lith", True)
    inputs = inputs_for(graph)
    for isa in microlith.load(together).isa:
        wanted = microlith.load(apart, isa=isa).run(inputs)["y"]
        for threads in (1, 2, 3, 5, 8):
            model = microlith.load(together, isa=isa, threads=threads)
            for _ in range(3):
                assert model.run(inputs)["y"].tobytes() == wanted.tobytes(), f"{isa}, {threads} threads"


def test_results_are_right(graph: Graph, tmp_path: Path) -> None:
    model = microlith.load(_save(graph, tmp_path / "a.lith", False), threads=2)
    inputs = inputs_for(graph)
    wanted = evaluate(graph, inputs)["y"]
    got = model.run(inputs)["y"]
    if wanted.dtype == np.int8:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_what_is_between_is_never_whole(graph: Graph, tmp_path: Path) -> None:
    together, apart = _save(graph, tmp_path / "a.lith", False), _save(graph, tmp_path / "b.lith", True)
    assert microlith.load(together).memory.arena < 0.8 * microlith.load(apart).memory.arena


def test_each_layer_is_timed(graph: Graph, tmp_path: Path) -> None:
    model = microlith.load(_save(graph, tmp_path / "a.lith", False), threads=2)
    layers = model.profile(inputs_for(graph))
    assert [layer.op for layer in layers] == [node.op for node in graph.nodes]
    assert all(layer.ns > 0 and layer.parts > 1 for layer in layers)


@pytest.mark.parametrize("computed", ["weights", "bias"])
def test_constants_that_are_none(computed: str, tmp_path: Path) -> None:
    """What a run computes for a later layer lives until that has run."""
    b = Build("computed")
    x = b.input("x", (1, 64, 64, 16))
    shape = (32, 1, 1, 64) if computed == "weights" else (32,)
    late = b.op("tanh", b.input("late", shape))
    y = b.op("conv2d", x, b.noise(64, 1, 1, 16), b.noise(64), output="expanded")
    weights, bias = (late, b.noise(32)) if computed == "weights" else (b.noise(32, 1, 1, 64), late)
    graph = b.outputs(b.op("relu", b.op("conv2d", y, weights, bias), output="y"))
    modelfile.save(graph, tmp_path / "m.lith")
    inputs = inputs_for(graph)
    wanted = evaluate(graph, inputs)["y"]
    for threads in (1, 2, 4):
        got = microlith.load(tmp_path / "m.lith", threads=threads).run(inputs)["y"]
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())
