"""Sizes that a model takes from the shape of a tensor keep their names and numbers; results against ONNX Runtime."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import numbers, run_reference

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.size_ranges import SizeRange

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
node = helper.make_node
Constants = dict[str, np.ndarray]
Shape = Sequence[int | str]


def vector(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


def model_of(nodes: list[onnx.NodeProto], shapes: dict[str, Shape], constants: Constants) -> onnx.ModelProto:
    """A model of float inputs whose output is y."""
    graph = helper.make_graph(
        nodes,
        "named",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def hold(
    model: onnx.ModelProto, folder: Path, ranges: dict[str, SizeRange] | None, choices: Sequence[dict[str, int]]
) -> tuple[int | str, ...]:
    """One conversion; the runtime for several sizes against ONNX Runtime. The shape of the output."""
    graph = convert(model, inputs={name: (item,) for name, item in (ranges or {}).items()})
    modelfile.save(graph, folder / "model.lith")
    with microlith.load(folder / "model.lith") as runtime:
        for sizes in choices:
            feeds = {
                info.name: numbers(*(dim.dim_value or sizes[dim.dim_param] for dim in info.type.tensor_type.shape.dim))
                for info in model.graph.input
            }
            (expected,) = run_reference(model, feeds)
            (actual,) = runtime.run(feeds).values()
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    return graph.outputs[0].shape


# Resize to the height and width of another tensor


HEADS: dict[str, tuple[onnx.NodeProto, Constants]] = {
    "pool": (node("MaxPool", ["x"], ["u"], kernel_shape=[2, 2], strides=[2, 2]), {}),
    "conv": (node("Conv", ["x", "w0"], ["u"], strides=[2, 2]), {"w0": numbers(3, 3, 3, 3)}),
    "transposed": (node("ConvTranspose", ["x", "w0"], ["u"], strides=[2, 2]), {"w0": numbers(3, 3, 2, 2)}),
}
HEIGHT_WIDTH = [node("Shape", ["x"], ["sx"]), node("Slice", ["sx", "two", "four"], ["hw"])]
TARGETS: dict[str, list[onnx.NodeProto]] = {
    "sliced": [
        *HEIGHT_WIDTH,
        node("Shape", ["u"], ["su"]),
        node("Slice", ["su", "zero", "two"], ["nc"]),
        node("Concat", ["nc", "hw"], ["target"], axis=0),
    ],
    "constant channels": [*HEIGHT_WIDTH, node("Concat", ["one_three", "hw"], ["target"], axis=0)],
    "gathered": [
        node("Shape", ["x"], ["sx"]),
        node("Gather", ["sx", "second"], ["h0"]),
        node("Gather", ["sx", "third"], ["w0s"]),
        node("Unsqueeze", ["h0", "zero"], ["h1"]),
        node("Unsqueeze", ["w0s", "zero"], ["w1"]),
        node("Concat", ["h1", "w1"], ["hw0"], axis=0),
        node("Cast", ["hw0"], ["hw"], to=INT64),
        node("Shape", ["u"], ["su"]),
        node("Slice", ["su", "zero", "two", "zero"], ["nc"]),
        node("Concat", ["nc", "hw"], ["target"], axis=0),
    ],
}
INTEGERS: Constants = {
    "zero": vector(0),
    "two": vector(2),
    "four": vector(4),
    "one_three": vector(1, 3),
    "second": np.array(2),
    "third": np.array(3),
}
IMAGES = [{"h": 9, "w": 12}, {"h": 16, "w": 8}, {"h": 31, "w": 22}]


def constants_of(nodes: list[onnx.NodeProto], constants: Constants) -> Constants:
    read = {name for item in nodes for name in item.input}
    return {name: array for name, array in constants.items() if name in read}


def decoder(head: str, target: str) -> onnx.ModelProto:
    """Half the size, back to that of x, joined with x, and a convolution."""
    first, weights = HEADS[head]
    nodes = [
        first,
        *TARGETS[target],
        node("Resize", ["u", "", "", "target"], ["v"], mode="linear"),
        node("Concat", ["v", "x"], ["joined"], axis=1),
        node("Conv", ["joined", "w"], ["y"]),
    ]
    constants = {**INTEGERS, **weights, "w": numbers(4, 6, 3, 3)}
    return model_of(nodes, {"x": [1, 3, "h", "w"]}, constants_of(nodes, constants))


@pytest.mark.parametrize("ranged", [False, True], ids=["open", "ranged"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("head", HEADS)
def test_resize_to_another_tensor(head: str, target: str, ranged: bool, tmp_path: Path) -> None:
    ranges = {"h": SizeRange(8, 32), "w": SizeRange(8, 32)} if ranged else None
    assert hold(decoder(head, target), tmp_path, ranges, IMAGES) == (1, 4, "h-2", "w-2")


# the first rows of a table, as many as a size says


def position_model(form: str, rows: int) -> onnx.ModelProto:
    """x plus the positions of a table, then a product whose shape needs both sizes."""
    table = numbers(rows, 16)
    length = [node("Shape", ["x"], ["sx"]), node("Gather", ["sx", "one"], ["length"])]
    cut = [node("Unsqueeze", ["length", "axis0"], ["end"])]
    if form == "range":
        length += [node("Range", ["zero", "length", "one"], ["ids"]), node("Gather", ["table", "ids"], ["positions"])]
    elif form == "sliced ids":
        length += [
            *cut,
            node("Slice", ["numbers", "axis0", "end", "axis1"], ["ids"]),
            node("Gather", ["table", "ids"], ["positions"]),
        ]
    else:
        length += [*cut, node("Slice", ["table", "axis0", "end", "axis0"], ["positions"])]
    nodes = [
        *length,
        node("Add", ["x", "positions"], ["sum"]),
        node("Einsum", ["sum", "w"], ["y"], equation="bsd,de->bse"),
    ]
    constants = {
        "zero": np.array(0),
        "one": np.array(1),
        "axis0": vector(0),
        "axis1": vector(1),
        "numbers": np.arange(rows)[None],
        "table": table,
        "w": numbers(16, 8),
    }
    return model_of(nodes, {"x": ["b", "seq", 16]}, constants_of(nodes, constants))


@pytest.mark.parametrize("ranged", [False, True], ids=["open", "ranged"])
@pytest.mark.parametrize("form", ["range", "sliced ids", "sliced table"])
def test_positions(form: str, ranged: bool, tmp_path: Path) -> None:
    ranges = {"b": SizeRange(1, 3), "seq": SizeRange(1, 128)} if ranged else None
    choices = [{"b": b, "seq": seq} for b, seq in ((1, 1), (2, 7), (3, 128))]
    assert hold(position_model(form, 128), tmp_path, ranges, choices) == ("b", "seq", 8)


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (None, ("min(5,n)", 4)),
        ({"n": SizeRange(1, 5)}, ("n", 4)),
        ({"n": SizeRange(5, 9)}, (5, 4)),
        ({"n": SizeRange(4, 9)}, ("min(5,n)", 4)),
    ],
)
def test_a_slice_ends_where_the_table_ends(
    ranges: dict[str, SizeRange] | None, expected: tuple[int | str, ...], tmp_path: Path
) -> None:
    nodes = [node("Shape", ["x"], ["end"]), node("Slice", ["table", "zero", "end", "zero"], ["y"])]
    model = model_of(nodes, {"x": ["n"]}, {"table": numbers(5, 4), "zero": vector(0)})
    allowed = SizeRange(1, 9) if ranges is None else ranges["n"]
    choices = [{"n": n} for n in (1, 4, 5, 9) if n in allowed]
    assert hold(model, tmp_path, ranges, choices) == expected


# Einsum with open sizes


EQUATIONS: dict[str, tuple[Shape, Shape]] = {
    "bsd,de->bse": (["b", "s", 4], [4, 5]),
    "de,bsd->bse": ([4, 5], ["b", "s", 4]),
    "bsd,dhe->bhse": (["b", "s", 4], [4, 2, 3]),
    "bshe,hed->bsd": (["b", "s", 2, 3], [2, 3, 4]),
    "bhqd,bhkd->bhqk": (["b", 2, "s", 4], ["b", 2, "t", 4]),
    "bhqk,bkhd->bqhd": (["b", 2, "s", "t"], ["b", "t", 2, 4]),
    "bs,bt->bst": (["b", "s"], ["b", "t"]),
    "sa,tb->satb": (["s", 2], ["t", "b"]),
    "bsd,bd->bs": (["b", "s", 4], ["b", 4]),
    "bsd,d->bs": (["b", "s", 4], [4]),
    "bst,bst->": (["b", "s", "t"], ["b", "s", "t"]),
    "abs,btscd->atcdb": (["s", "b", 3], ["b", "t", 3, 2, 2]),
    "...d,de->...e": (["b", "s", 4], [4, 5]),
    "bst,st->b": (["b", "s", "t"], ["s", "t"]),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str, tmp_path: Path) -> None:
    left, right = EQUATIONS[equation]
    model = model_of([node("Einsum", ["a", "c"], ["y"], equation=equation)], {"a": left, "c": right}, {})
    choices = [dict(zip("bst", sizes, strict=True)) for sizes in itertools.product((1, 3), (2, 5), (1, 4))]
    hold(model, tmp_path, None, choices)


def test_expand_to_a_shape_of_which_some_sizes_are_known(tmp_path: Path) -> None:
    """As exporters make complex numbers: the imaginary parts are zeros in the shape of the real ones, whose first sizes
    nobody knows."""
    nodes = [
        node("Add", ["a", "c"], ["sum"]),
        node("Unsqueeze", ["sum", "last"], ["real"]),
        node("Shape", ["real"], ["shape"]),
        node("Expand", ["zero", "shape"], ["imaginary"]),
        node("Concat", ["real", "imaginary"], ["complex"], axis=-1),
        node("DFT", ["complex"], ["y"], axis=2),
    ]
    constants = {"last": vector(-1), "zero": np.zeros(1, np.float32)}
    model = model_of(nodes, {"a": ["b", "s", 4], "c": ["t", "u", 4]}, constants)
    choices = [dict(zip("bstu", sizes, strict=True)) for sizes in ((2, 3, 1, 3), (1, 3, 4, 1), (5, 1, 5, 6))]
    assert hold(model, tmp_path, None, choices)[2:] == (4, 2)
