"""Sizes that a model leaves open although its weights say them, and channels and heads that nothing says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model, numbers, save
from onnx_runs import hold_cases

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.errors import InputError, MicrolithError
from microlith.size_ranges import SizeRange

IMAGE = ("n", "c", "h", "w")
CHANNELS = {name: numbers(4, seed=seed, low=0.5) for seed, name in enumerate("abmv")}


def hold(model: onnx.ModelProto, folder: Path, *cases: dict[str, np.ndarray]) -> tuple[Any, ...]:
    """Holds one conversion against ONNX Runtime with several inputs; the shape of the first input."""
    return hold_cases(model, folder, *cases).inputs[0].shape


def picked(*names: str) -> dict[str, np.ndarray]:
    return {name: CHANNELS[name] for name in names}


@pytest.mark.parametrize(
    ("op", "shape", "weights", "opset", "attrs"),
    [
        ("Conv", IMAGE, {"k": numbers(6, 4, 3, 3)}, 17, {}),
        ("Conv", IMAGE, {"k": numbers(4, 1, 3, 3)}, 17, {"group": 4}),
        ("Conv", IMAGE, {"k": numbers(6, 2, 1, 1)}, 17, {"group": 2}),
        ("Conv", ("n", "c", "h"), {"k": numbers(6, 4, 3)}, 17, {}),
        ("ConvTranspose", IMAGE, {"k": numbers(4, 3, 2, 2)}, 17, {}),
        ("BatchNormalization", IMAGE, picked("a", "b", "m", "v"), 17, {}),
        ("InstanceNormalization", IMAGE, picked("a", "b"), 17, {}),
        ("GroupNormalization", IMAGE, picked("a", "b"), 21, {"num_groups": 2}),
        ("PRelu", IMAGE, {"k": numbers(4, 1, 1)}, 17, {}),
        ("LayerNormalization", ("n", "c"), picked("a", "b"), 17, {}),
        ("RMSNormalization", ("n", "c"), picked("a"), 23, {}),
        ("MatMul", ("n", "c"), {"k": numbers(4, 3)}, 17, {}),
        ("Gemm", ("n", "c"), {"k": numbers(3, 4)}, 17, {"transB": 1}),
        ("LSTM", ("h", "n", "c"), {"k": numbers(1, 12, 4), "r": numbers(1, 12, 3)}, 17, {"hidden_size": 3}),
    ],
)
def test_weights_say_the_channels(
    op: str, shape: tuple[str, ...], weights: dict[str, np.ndarray], opset: int, attrs: dict[str, Any], tmp_path: Path
) -> None:
    model = make_model([helper.make_node(op, ["x", *weights], ["y"], **attrs)], {"x": shape}, ["y"], weights, opset)
    sizes = [{"n": 2, "c": 4, "h": 5, "w": 6}, {"n": 1, "c": 4, "h": 3, "w": 4}]
    cases = [{"x": numbers(*(item[name] for name in shape), seed=7)} for item in sizes]
    assert hold(model, tmp_path, *cases) == tuple(4 if name == "c" else name for name in shape)


def test_behind_other_nodes_and_for_every_input(tmp_path: Path) -> None:
    """A symbol has one value in the whole model: here the second convolution says it, for both inputs."""
    nodes = [
        helper.make_node("Add", ["x", "z"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["positive"]),
        helper.make_node("Concat", ["positive", "positive"], ["both"], axis=2),
        helper.make_node("Conv", ["both", "k"], ["y"]),
    ]
    model = make_model(nodes, {"x": IMAGE, "z": IMAGE}, ["y"], {"k": numbers(2, 3, 3, 3)})
    graph = convert(save(model, tmp_path))
    assert [value.shape for value in graph.inputs] == [("n", 3, "h", "w")] * 2
    hold(model, tmp_path, {"x": numbers(1, 3, 4, 5), "z": numbers(1, 3, 4, 5, seed=1)})


def test_a_size_that_may_be_repeated_stays_open(tmp_path: Path) -> None:
    """A summand of four channels goes with an input of one, which ONNX repeats."""
    node = helper.make_node("Add", ["x", "k"], ["y"])
    model = make_model([node], {"x": ("n", "c")}, ["y"], {"k": numbers(4)})
    assert hold(model, tmp_path, {"x": numbers(2, 4)}, {"x": numbers(2, 1)}) == ("n", "c")


def test_a_node_that_may_not_run_says_nothing(tmp_path: Path) -> None:
    branch = [
        helper.make_graph([helper.make_node("MatMul", ["x", "k"], ["b"])], "then", [], [_info("b", ("n", "m"))]),
        helper.make_graph([helper.make_node("Relu", ["x"], ["b2"])], "else", [], [_info("b2", ("n", "m"))]),
    ]
    node = helper.make_node("If", ["which"], ["y"], then_branch=branch[0], else_branch=branch[1])
    model = make_model(
        [node], {"x": ("n", "c"), "which": ()}, ["y"], {"k": numbers(4, 4)}, types={"which": TensorProto.BOOL}
    )
    cases = [{"x": numbers(2, 4), "which": np.array(True)}, {"x": numbers(2, 7), "which": np.array(False)}]
    assert hold(model, tmp_path, *cases) == ("n", "c")


def _info(name: str, shape: tuple[str, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def test_a_range_that_contradicts_the_weights(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "k"], ["y"], name="first")
    path = save(make_model([node], {"x": IMAGE}, ["y"], {"k": numbers(2, 3, 3, 3)}), tmp_path)
    with pytest.raises(InputError, match=r"'c' is given the range 1..8; by 'first' it must be 3(.|\n)*--input c:3"):
        convert(path, inputs={"c": (SizeRange(1, 8),)})
    assert convert(path, inputs={"c": (3,)}).inputs[0].shape == ("n", 3, "h", "w")


def test_another_size_than_the_weights_say_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "k"], ["y"], name="first")
    path = save(make_model([node], {"x": IMAGE}, ["y"], {"k": numbers(2, 3, 3, 3)}), tmp_path)
    with pytest.raises(MicrolithError, match=r"3"):
        convert(path, inputs={"c": (4,)})
    modelfile.save(convert(path), tmp_path / "m.lith")
    with pytest.raises(MicrolithError, match=r"x"):
        microlith.load(tmp_path / "m.lith").run({"x": numbers(1, 4, 5, 5)})


# Nothing says these.


@pytest.mark.parametrize("groups", [1, 2])
def test_group_normalization_with_a_number_for_each_group(groups: int, tmp_path: Path) -> None:
    weights = {"a": numbers(groups, low=0.5), "b": numbers(groups, seed=1)}
    node = helper.make_node("GroupNormalization", ["x", *weights], ["y"], num_groups=groups)
    model = make_model([node], {"x": IMAGE}, ["y"], weights, 18)
    assert hold(model, tmp_path, {"x": numbers(2, 4, 3, 5)}, {"x": numbers(1, 6, 2, 2)}) == IMAGE


@pytest.mark.parametrize(("op", "mode"), [("DepthToSpace", "DCR"), ("DepthToSpace", "CRD"), ("SpaceToDepth", "")])
def test_blocks_of_open_channels(op: str, mode: str, tmp_path: Path) -> None:
    attrs = {"mode": mode} if mode else {}
    model = make_model([helper.make_node(op, ["x"], ["y"], blocksize=2, **attrs)], {"x": IMAGE}, ["y"])
    assert hold(model, tmp_path, {"x": numbers(2, 8, 4, 6)}, {"x": numbers(1, 4, 2, 2)}) == IMAGE


@pytest.mark.parametrize("scale", [0.0, 0.3])
@pytest.mark.parametrize("flat", [False, True])
def test_heads_of_open_size(flat: bool, scale: float, tmp_path: Path) -> None:
    names = ("q", "k", "v")
    shapes: dict[str, tuple[Any, ...]] = {n: ("n", f"t{n}", "d") if flat else ("n", "h", f"t{n}", "d") for n in names}
    shapes["v"] = (*shapes["v"][:-2], "tk", shapes["v"][-1])
    attrs: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2} if flat else {}
    attrs |= {"scale": scale} if scale else {}
    model = make_model([helper.make_node("Attention", names, ["y"], **attrs)], shapes, ["y"], opset=23)
    cases = []
    for length, size in ((5, 8), (3, 4)):
        shape = (lambda t, size=size: (2, t, 2 * size)) if flat else (lambda t, size=size: (2, 3, t, size))
        cases.append({n: numbers(*shape(4 if n == "q" else length), seed=i) for i, n in enumerate(names)})
    hold(model, tmp_path, *cases)


def test_heads_of_open_size_in_a_contributed_operator(tmp_path: Path) -> None:
    shapes = {"q": ("n", "t", "d"), "k": ("n", "s", "d"), "v": ("n", "s", "d")}
    node = helper.make_node("MultiHeadAttention", list(shapes), ["y"], num_heads=2, domain="com.microsoft")
    model = make_model([node], shapes, ["y"], domains=["com.microsoft"])
    cases = [{"q": numbers(2, 3, d), "k": numbers(2, 5, d, seed=1), "v": numbers(2, 5, d, seed=2)} for d in (8, 16)]
    hold(model, tmp_path, *cases)


@pytest.mark.parametrize("axes", [None, [0, 2], [1], [0, 5]])
@pytest.mark.parametrize("rank", [2, 3, 5])
def test_mean_variance_normalization_of_any_rank(rank: int, axes: list[int] | None, tmp_path: Path) -> None:
    """Of its default axes (0, 2, 3) those that there are."""
    attrs = {} if axes is None else {"axes": axes}
    x = numbers(*range(2, 2 + rank))
    model = make_model([helper.make_node("MeanVarianceNormalization", ["x"], ["y"], **attrs)], {"x": x.shape}, ["y"])
    hold(model, tmp_path, {"x": x})
