"""Shapes with symbols: what ``infer`` says of them must hold for every size that they may stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microlith import ops
from microlith.dtypes import DType
from microlith.errors import ShapeError
from microlith.ir import Dim, Graph, TensorType, Value
from microlith.ops.shape_rules import FRESH

OPS = {opdef.name: opdef for opdef in ops.all_ops()}
KNOWN_INPUTS = {"weights", "bias", "requant", "table", "w_scales", "scales", "zeros", "value"}
"""Inputs whose shape is always known."""


def inputs_with_symbols(
    opdef: ops.OpDef, sample: ops.Sample, rng: np.random.Generator
) -> tuple[list[Value | None], dict[str, int]]:
    """The inputs of a sample with some sizes replaced by symbols, and the sizes of these."""
    sizes: dict[str, int] = {}
    values: list[Value | None] = []
    for index, array in enumerate(sample.inputs):
        if array is None:
            values.append(None)
            continue
        name = opdef.inputs[min(index, len(opdef.inputs) - 1)].rstrip("?*")
        if name in opdef.data_inputs and rng.integers(2):
            values.append(Graph().constant(f"i{index}", array))
            continue
        shape: list[Dim] = list(array.shape)
        for axis, size in enumerate(array.shape):
            if name not in KNOWN_INPUTS and rng.integers(2):
                symbol = f"s{index}_{axis}"
                sizes[symbol] = size
                shape[axis] = symbol
        values.append(Value(f"i{index}", TensorType(DType.from_numpy(array.dtype), tuple(shape))))
    return values, sizes


@pytest.mark.parametrize("name", sorted(OPS))
def test_symbols_hold_for_their_sizes(name: str) -> None:
    opdef = OPS[name]

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 2**32 - 1))
    def check(seed: int) -> None:
        rng = np.random.default_rng(seed)
        sample = opdef.samples(rng)
        values, sizes = inputs_with_symbols(opdef, sample, rng)
        try:
            inferred = [output.type for output in Graph().add(name, values, sample.attrs).outputs]
        except ShapeError:
            assert sizes, "a sample with known sizes is valid"
            return
        results = opdef.reference(sample.inputs, opdef.complete_attrs(sample.attrs))
        for type, result in zip(inferred, results, strict=True):
            assert type.dtype.numpy == result.dtype
            assert len(type.shape) == result.ndim
            for dim, size in zip(type.shape, result.shape, strict=True):
                if isinstance(dim, str) and FRESH in dim:
                    continue  # known only after a run
                actual = dim if isinstance(dim, int) else eval(dim, {"max": max}, dict(sizes))
                assert actual == size, f"{dim} is {actual}, not {size} (seed {seed})"

    check()


def test_equal_branches_get_equal_symbols() -> None:
    graph = Graph()
    x = Value("x", TensorType(DType.f32, (1, "h", 8, 3)))
    weights = graph.constant("w", np.zeros((4, 3, 3, 3), np.float32))
    left = graph.add("conv2d", [x, weights], {"stride_h": 2, "pad_top": 1, "pad_bottom": 1})
    right = graph.add("max_pool2d", [x], {"kernel_h": 3, "kernel_w": 3, "stride_h": 2, "pad_top": 1, "pad_bottom": 1})
    assert left.output.shape == (1, "(h-1)//2+1", 6, 4)
    assert right.output.shape[1] == left.output.shape[1]


def test_a_convolution_that_keeps_the_size_keeps_the_symbol() -> None:
    graph = Graph()
    x = Value("x", TensorType(DType.f32, ("n", "h", "w", 3)))
    weights = graph.constant("w", np.zeros((4, 3, 3, 3), np.float32))
    pads = dict.fromkeys(("pad_top", "pad_bottom", "pad_left", "pad_right"), 1)
    assert graph.add("conv2d", [x, weights], pads).output.shape == ("n", "h", "w", 4)


def test_expressions_nest() -> None:
    graph = Graph()
    value = Value("x", TensorType(DType.f32, ("n", "h", "w", 3)))
    value = graph.add("max_pool2d", [value], {"kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2}).output
    value = graph.add("concat", [value, value], {"axis": 1}).output
    value = graph.add("max_pool2d", [value], {"kernel_h": 1, "kernel_w": 3, "stride_h": 3, "stride_w": 1}).output
    value = graph.add("reshape", [value], {"shape": (0, -1)}).output
    sizes = {"h": 11, "w": 14}
    dim = value.shape[1]
    assert isinstance(dim, str)
    x = np.zeros((1, (2 * (11 // 2) - 1) // 3 + 1, 14 // 2 - 2, 3))
    assert eval(dim, {}, dict(sizes)) == x.size


@pytest.mark.parametrize(
    ("shape", "wanted", "expected"),
    [
        (("n", 4, 5), (-1, 20), ("n", 20)),
        (("n", 4, 5), (0, -1), ("n", 20)),
        (("n", "t", 8), (0, 0, 2, 4), ("n", "t", 2, 4)),
        (("n", "t", 8), (-1, 8), ("n*t", 8)),
        (("n", 6), (-1, 4), ("(n*6)//4", 4)),
        ((2, 3, 4), (-1,), (24,)),
    ],
)
def test_reshape(shape: tuple[Dim, ...], wanted: tuple[int, ...], expected: tuple[Dim, ...]) -> None:
    x = Value("x", TensorType(DType.f32, shape))
    assert Graph().add("reshape", [x], {"shape": wanted}).output.shape == expected


def test_a_shape_error_names_the_node() -> None:
    graph = Graph()
    a, b = (Value(name, TensorType(DType.f32, shape)) for name, shape in (("a", (2, 3)), ("b", (4,))))
    with pytest.raises(ShapeError, match=r"add 'sum': sizes 3 and 4 do not broadcast"):
        graph.add("add", [a, b], name="sum")


def test_attributes_are_completed_and_checked() -> None:
    x = Value("x", TensorType(DType.f32, (2, 3)))
    assert Graph().add("reshape", [x], {"shape": (6,)}).attrs == {"shape": (6,), "rank": 1, "allow_zero": 0}
    with pytest.raises(KeyError, match="no attribute"):
        Graph().add("relu", [x], {"slope": 1})
    with pytest.raises(KeyError, match="needs attribute"):
        Graph().add("transpose", [x])
