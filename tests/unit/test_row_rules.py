"""Which nodes run row by row: whatever is taken gives the same numbers in stripes, and nothing else is taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microlith import ops
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.row_rules import _OPERANDS, row_prefix
from microlith.stripes import can_arrive, stripe, stripe_arriving

Make = Callable[[Graph, Value], Value]
HEIGHT = 12


def of_ones(graph: Graph, *shape: int) -> Value:
    return graph.constant("factors", np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(np.float32))


def node(op: str, *shapes: tuple[int, ...], **attrs: object) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        return graph.add(op, [x, *(of_ones(graph, *shape) for shape in shapes)], attrs, name=op).output

    return make


def concat(axis: int) -> Make:
    return lambda graph, x: graph.add("concat", [x, x], {"axis": axis}, name="concat").output


def quantized(axis: int, count: int) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        scales = graph.constant("scales", np.linspace(0.5, 1, count).astype(np.float32))
        zeros = graph.constant("zeros", np.zeros(count, np.int32))
        return graph.add("quantize", [x, scales, zeros], {"axis": axis, "to": DType.s8.value}, name="quantize").output

    return make


def sliced(start: int, size: int, step: int) -> Make:
    return node("slice", start=(0, start, 1, 0), size=(1, size, 4, 3), step=(1, step, 1, 1))


ROWWISE: dict[str, Make] = {
    "factor of each channel": node("mul", (3,)),
    "factor of each column": node("sub", (1, 6, 1)),
    "slope of each channel": node("prelu", (1, 1, 3)),
    "channels twice": concat(3),
    "columns and channels padded": node("pad", before=(0, 0, 1, 0), after=(0, 0, 2, 5)),
    "every second row": sliced(0, 6, 2),
    "rows in the middle": sliced(3, 5, 1),
    "a third from the second one on": sliced(1, 3, 3),
    "sum of channels is one": node("softmax", axis=3),
    "scale of each channel": quantized(3, 3),
    "function": node("hard_swish"),
}
AS_A_WHOLE: dict[str, Make] = {
    "factor of each row": node("mul", (HEIGHT, 1, 1)),
    "factor of each element": node("add", (1, HEIGHT, 6, 3)),
    "rows twice": concat(1),
    "rows padded": node("pad", before=(0, 1, 0, 0), after=(0, 0, 0, 0)),
    "rows backwards": node("slice", start=(0, HEIGHT - 1, 0, 0), size=(1, HEIGHT, 6, 3), step=(1, -1, 1, 1)),
    "sum of rows is one": node("softmax", axis=1),
    "scale of each row": quantized(1, HEIGHT),
    "rows and columns in one": node("reshape", shape=(1, HEIGHT * 6, 3), rank=3),
    "rows halved": node("reshape", shape=(1, HEIGHT // 2, 12, 3), rank=4),
}


def graph_of(make: Make, *, layout: tuple[int, ...] = (0, 1, 2, 3), last: bool = True) -> tuple[Graph, np.ndarray]:
    """The node between convolutions. ``layout``: where the axes of the input lie."""
    rng = np.random.default_rng(6)
    shape = (1, HEIGHT, 6, 3)
    graph = Graph("rows")
    x = Value("x", TensorType(DType.f32, tuple(shape[axis] for axis in layout)))
    graph.inputs.append(x)
    y = x
    if layout != (0, 1, 2, 3):
        perm = tuple(layout.index(axis) for axis in range(4))
        y = graph.add("transpose", [x], {"perm": perm}, name="turned").output
    same = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    kernel = graph.constant("kernel", rng.integers(-2, 3, (3, 3, 3, 3)).astype(np.float32))
    y = graph.add("conv2d", [y, kernel], same, name="first").output
    y = make(graph, y)
    if last and y.dtype is DType.f32 and len(y.shape) == 4:
        kernel = graph.constant("kernel", rng.integers(-2, 3, (2, 3, 3, y.shape[3])).astype(np.float32))
        y = graph.add("conv2d", [y, kernel], same, name="second").output
    graph.outputs = [y]
    return graph, rng.integers(-4, 5, x.type.static_shape).astype(np.float32)


def test_all_ops_exist() -> None:
    for op in _OPERANDS:
        assert ops.is_known(op) and len(ops.get(op).inputs) >= min(_OPERANDS[op], 3) - 2


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1)])
@pytest.mark.parametrize("what", ROWWISE)
def test_rowwise(what: str, layout: tuple[int, ...]) -> None:
    graph, image = graph_of(ROWWISE[what], layout=layout)
    prefix = row_prefix(graph)
    if layout == (0, 2, 3, 1):  # rows last, where no exporter has them
        assert [item.op for item in prefix.nodes] in ([], ["transpose"])
        return
    assert prefix.nodes == tuple(graph.nodes)
    wanted = next(iter(evaluate(graph, {"x": image}).values()))
    for length in range(1, len(graph.nodes) + 1):
        for count in (2, 3, 7):
            (got,) = evaluate(stripe(graph, length, count), {"x": image}).values()
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
            if not can_arrive(graph):
                striped, pieces = stripe_arriving(graph, length, count)
                (got,) = evaluate(striped, {p.piece.name: image[:, p.begin : p.end] for p in pieces}).values()
                np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("what", AS_A_WHOLE)
def test_what_needs_all_rows_ends_the_prefix(what: str) -> None:
    graph, image = graph_of(AS_A_WHOLE[what], last=False)
    prefix = row_prefix(graph)
    assert prefix.nodes == tuple(graph.nodes[:1]) and prefix.end is graph.nodes[1]
    (wanted,) = evaluate(graph, {"x": image}).values()
    (got,) = evaluate(stripe(graph, 1, 3), {"x": image}).values()
    np.testing.assert_array_equal(got, wanted)


def test_layers_beside_one_that_needs_all_rows() -> None:
    """What does not depend on it runs in stripes, wherever it stands."""
    graph, image = graph_of(node("relu"), last=False)
    mean = graph.add("reduce_mean", [graph.nodes[0].output], {"axes": 6, "keep_dims": 1}, name="mean")
    late = graph.add("max_pool2d", [graph.nodes[1].output], {"kernel_h": 2, "kernel_w": 2, "stride_h": 2}, name="late")
    graph.outputs = [mean.output, late.output]
    assert [item.name for item in row_prefix(graph).nodes] == ["first", "relu", "late"]
    wanted = evaluate(graph, {"x": image})
    got = evaluate(stripe(graph, 3, 4), {"x": image})
    assert list(got) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-6)
