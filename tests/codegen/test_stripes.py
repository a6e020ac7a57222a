"""Graphs in stripes: the same bytes as the whole, with less memory."""

from __future__ import annotations

import numpy as np
import pytest
from small_models import residual

from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.lower import lower
from microlith.stripes import counts, prefix_length, stripe


@pytest.mark.parametrize("height", [9, 16, 23])
def test_every_division_gives_the_same_numbers(height: int) -> None:
    graph = residual(height)
    image = np.random.default_rng(4).integers(-3, 4, (1, height, 8, 2)).astype(np.float32)
    wanted = evaluate(graph, {"image": image})
    assert prefix_length(graph) == len(graph.nodes)
    for length in range(1, len(graph.nodes) + 1):
        for count in (2, 3, 5):
            got = evaluate(stripe(graph, length, count), {"image": image})
            assert list(got) == list(wanted)
            for name, array in wanted.items():
                np.testing.assert_array_equal(got[name], array)


def test_stripes_need_less_memory_and_compute_nothing_twice() -> None:
    graph = residual(64)
    whole = lower(graph, ["c"], overlap=True)
    length = len(graph.nodes)
    programs = [lower(stripe(graph, length, count), ["c"], overlap=True) for count in counts(graph, length)]
    assert min(program.arena_size for program in programs) < whole.arena_size / 2
    assert max(program.macs for program in programs) <= whole.macs


def test_what_looks_at_whole_images_ends_the_prefix() -> None:
    graph = Graph("global")
    x = Value("x", TensorType(DType.f32, (1, 8, 8, 2)))
    graph.inputs.append(x)
    relu = graph.add("relu", [x], name="relu")
    pool = graph.add("avg_pool2d", [relu.output], {"kernel_h": 0, "kernel_w": 0}, name="pool")
    graph.outputs = [pool.output]
    assert prefix_length(graph) == 1
