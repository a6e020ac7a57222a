"""ONNX Einsum against NumPy; determinants, running sums, attention and normalizations against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import check, converted, feeds_for, make_model, numbers
from onnx_runs import hold

from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

EQUATIONS: Mapping[str, Sequence[tuple[int, ...]]] = {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "ij,jk": [(3, 4), (4, 5)],
    "ij->ji": [(3, 4)],
    "ij": [(3, 4)],
    "ii->i": [(4, 4)],
    "ii": [(4, 4)],
    "...ii->...i": [(2, 3, 3)],
    "ijk->": [(2, 3, 4)],
    "i,i": [(4,), (4,)],
    "i,j->ij": [(3,), (4,)],
    "i,j->ji": [(3,), (4,)],
    "ij,ij->ij": [(3, 4), (3, 4)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bij,jk->bik": [(2, 3, 4), (4, 5)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 6)],
    "bqhd,bkhd->bhqk": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "ij,kj,lk->il": [(2, 3), (4, 3), (5, 4)],
    "abc,cd,def->abef": [(2, 3, 4), (4, 5), (5, 6, 2)],
    "iij,jk->ik": [(3, 3, 4), (4, 2)],
    "ijab,jabc->ic": [(2, 3, 4, 5), (3, 4, 5, 2)],
    "ij,ik->ij": [(3, 4), (3, 5)],
}


def einsum_model(equation: str, shapes: Sequence[tuple[Any, ...]], dtype: int = TensorProto.FLOAT) -> Any:
    names = [f"x{index}" for index in range(len(shapes))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    types = dict.fromkeys([*names, "y"], dtype)
    return make_model([node], dict(zip(names, shapes, strict=True)), ["y"], types=types)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.INT32])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str, dtype: int, tmp_path: Path) -> None:
    model = einsum_model(equation, EQUATIONS[equation], dtype)
    feeds = feeds_for(model)
    result = evaluate(converted(model, tmp_path), feeds)["y"]
    expected = np.einsum(equation, *(feed.astype(np.float64) for feed in feeds.values()))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * max(1.0, float(np.abs(expected).max())))


def test_einsum_of_unknown_batch(tmp_path: Path) -> None:
    model = einsum_model("bhqd,bhkd->bhqk", [("b", 2, "q", 4), ("b", 2, "k", 4)])
    rng = np.random.default_rng(1)
    feeds = {"x0": rng.normal(size=(3, 2, 5, 4)), "x1": rng.normal(size=(3, 2, 7, 4))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    result = evaluate(converted(model, tmp_path), feeds)["y"]
    np.testing.assert_allclose(result, np.einsum("bhqd,bhkd->bhqk", *feeds.values()), atol=1e-5)


@pytest.mark.parametrize("equation", ["ij,jk->il", "ij->iij", "i1->i", "ij,jk,kl->il"])
def test_equations_that_are_not_valid(equation: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Einsum"):
        converted(einsum_model(equation, [(3, 4), (4, 5)][: max(1, equation.count(",") + 1)]), tmp_path)


@pytest.mark.parametrize("op", ["CumSum"])
@pytest.mark.parametrize("flags", [{}, {"exclusive": 1}, {"reverse": 1, "exclusive": 1}])
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.INT64])
def test_running_sum(op: str, flags: Mapping[str, int], dtype: int, tmp_path: Path) -> None:
    node = helper.make_node(op, ["x", "axis"], ["y"], **flags)
    check(make_model([node], {"x": (3, 4, 5)}, ["y"], {"axis": np.array(-2)}, types={"x": dtype, "y": dtype}), tmp_path)


def test_determinant(tmp_path: Path) -> None:
    check(make_model([helper.make_node("Det", ["x"], ["y"])], {"x": (2, 5, 5)}, ["y"]), tmp_path, tolerance=1e-4)


# Attention


@pytest.mark.parametrize("attrs", [{}, {"is_causal": 1}, {"scale": 0.2, "softcap": 2.0}])
@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_attention(attrs: Mapping[str, Any], rank: int, kv_heads: int, tmp_path: Path) -> None:
    q, kv = ((2, 5, 4 * 8), (2, 7, kv_heads * 8)) if rank == 3 else ((2, 4, 5, 8), (2, kv_heads, 7, 8))
    heads = {"q_num_heads": 4, "kv_num_heads": kv_heads} if rank == 3 else {}
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **attrs, **heads)
    check(make_model([node], {"q": q, "k": kv, "v": kv}, ["y"], opset=23), tmp_path)


def test_attention_with_cache_and_mask(tmp_path: Path) -> None:
    names = ["q", "k", "v", "mask", "past_k", "past_v"]
    node = helper.make_node("Attention", names, ["y", "k_now", "v_now", "scores"], qk_matmul_output_mode=3)
    inputs = {
        "q": (1, 4, 2, 8),
        "k": (1, 4, 2, 8),
        "v": (1, 4, 2, 8),
        "mask": (2, 7),
        "past_k": (1, 4, 5, 8),
        "past_v": (1, 4, 5, 8),
    }
    check(make_model([node], inputs, ["y", "k_now", "v_now", "scores"], opset=23), tmp_path)


# Normalizations


@pytest.mark.parametrize(
    ("op", "attrs", "constants"),
    [
        ("LayerNormalization", {"axis": -1}, [numbers(6), numbers(6, seed=2)]),
        ("LayerNormalization", {"axis": 2}, [numbers(5, 6)]),
        ("LayerNormalization", {"axis": 1}, [numbers(6)]),
        ("InstanceNormalization", {"epsilon": 1e-3}, [numbers(4), numbers(4, seed=2)]),
        ("LRN", {"size": 3, "alpha": 0.2, "beta": 0.6, "bias": 2.0}, []),
        ("LpNormalization", {"p": 1, "axis": 1}, []),
        ("MeanVarianceNormalization", {"axes": [0, 2]}, []),
    ],
)
def test_normalization(op: str, attrs: Mapping[str, Any], constants: Sequence[np.ndarray], tmp_path: Path) -> None:
    names = [f"c{index}" for index in range(len(constants))]
    node = helper.make_node(op, ["x", *names], ["y"], **attrs)
    check(make_model([node], {"x": (2, 4, 5, 6)}, ["y"], dict(zip(names, constants, strict=True))), tmp_path)


def test_batch_normalization_with_parameters_at_run_time(tmp_path: Path) -> None:
    names = ["x", "scale", "bias", "mean", "variance"]
    node = helper.make_node("BatchNormalization", names, ["y"])
    inputs = {"x": (2, 4, 5), **dict.fromkeys(names[1:], (4,))}
    model = make_model([node], inputs, ["y"])
    feeds = feeds_for(model)
    feeds["variance"] = np.abs(feeds["variance"]) + np.float32(0.1)
    check(model, tmp_path, feeds)


@pytest.mark.parametrize("at_run_time", [("a",), ("a", "b")])
@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize(("a", "b"), [((2, 0), (0, 3)), ((0, 4), (4, 3)), ((2, 4), (4, 0))])
def test_products_without_terms(
    op: str, a: tuple[int, int], b: tuple[int, int], at_run_time: tuple[str, ...], tmp_path: Path
) -> None:
    """A sum of nothing is zero."""
    hold(op, {"a": numbers(*a), "b": numbers(*b)}, tmp_path, at_run_time=at_run_time)
