# SPDX-License-Identifier: Apache-2.0
"""Transformer and other layers of ONNX Runtime's own domain, and support vector machines, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import check, make_model, numbers, save

import microlith
from microlith import modelfile
from microlith.converter import convert

DOMAIN = "com.microsoft"
TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.uint8): TensorProto.UINT8,
}


def hold(
    op: str,
    folder: Path,
    inputs: Mapping[str, np.ndarray | None],
    *,
    at_run_time: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    domain: str = DOMAIN,
    types: Mapping[str, int] | None = None,
    tolerance: float = 1e-5,
    **attrs: Any,
) -> None:
    """Converts and runs one node; inputs that are not ``at_run_time`` are constants, None ones absent."""
    given = {name: array for name, array in inputs.items() if array is not None}
    feeds = {name: given[name] for name in at_run_time}
    node = helper.make_node(op, [name if name in given else "" for name in inputs], outputs, domain=domain, **attrs)
    model = make_model(
        [node],
        {name: array.shape for name, array in feeds.items()},
        [name for name in outputs if name],
        {name: array for name, array in given.items() if name not in feeds},
        17,
        {**{name: TYPES[array.dtype] for name, array in feeds.items()}, **(types or {})},
        domains=[domain] if domain else [],
    )
    check(model, folder, feeds, tolerance=tolerance)


# Attention


def present(shape: Sequence[int], ones: Sequence[int]) -> np.ndarray:
    """A mask of which the first keys of each entry count."""
    keys = np.arange(shape[-1])
    return (keys < np.reshape(ones, (-1, *[1] * (len(shape) - 1)))).astype(np.int32) * np.ones(shape, np.int32)


@pytest.mark.parametrize(
    "mask", [None, present((2, 5), (5, 3)), present((2, 5, 5), (4, 5)), np.array([5, 2], np.int32)]
)
def test_attention(mask: np.ndarray | None, tmp_path: Path) -> None:
    inputs = {"x": numbers(2, 5, 12), "w": numbers(12, 24, seed=1), "b": numbers(24, seed=2), "mask": mask}
    hold("Attention", tmp_path, inputs, num_heads=2)


def test_attention_of_other_sizes(tmp_path: Path) -> None:
    inputs = {"x": numbers(2, 5, 12), "w": numbers(12, 28, seed=1), "b": numbers(28, seed=2)}
    hold("Attention", tmp_path, inputs, num_heads=2, qkv_hidden_sizes=[8, 8, 12], scale=0.4)


def test_attention_with_a_cache(tmp_path: Path) -> None:
    inputs: dict[str, np.ndarray | None] = {
        "x": numbers(2, 3, 8),
        "w": numbers(8, 24, seed=1),
        "b": numbers(24, seed=2),
    }
    inputs |= {"mask": None, "past": numbers(2, 2, 2, 4, 4, seed=3)}
    outputs = ("y", "present")
    hold("Attention", tmp_path, inputs, at_run_time=("x", "past"), outputs=outputs, num_heads=2, unidirectional=1)


@pytest.mark.parametrize("mask", [None, present((2, 6), (6, 3)), np.array([6, 2], np.int32)])
def test_multi_head_attention(mask: np.ndarray | None, tmp_path: Path) -> None:
    inputs = {
        "q": numbers(2, 5, 8),
        "k": numbers(2, 6, 8, seed=1),
        "v": numbers(2, 6, 12, seed=2),
        "bias": numbers(28, seed=3),
        "mask": mask,
        "added": numbers(1, 2, 5, 6, seed=4),
    }
    hold("MultiHeadAttention", tmp_path, inputs, at_run_time=("q", "k", "v"), num_heads=2)


def test_multi_head_attention_with_a_cache(tmp_path: Path) -> None:
    inputs: dict[str, np.ndarray | None] = {name: numbers(2, 3, 8, seed=i) for i, name in enumerate("qkv")}
    inputs |= {"bias": None, "mask": None, "added": None}
    inputs |= {"pk": numbers(2, 2, 4, 4, seed=4), "pv": numbers(2, 2, 4, 4, seed=5)}
    names, outputs = ("q", "k", "v", "pk", "pv"), ("y", "nk", "nv")
    hold("MultiHeadAttention", tmp_path, inputs, at_run_time=names, outputs=outputs, num_heads=2)


@pytest.mark.parametrize("past", [0, 4])
@pytest.mark.parametrize("attrs", [{}, {"do_rotary": 1}, {"local_window_size": 2}, {"softcap": 3.0, "scale": 0.3}])
def test_group_query_attention(attrs: Mapping[str, Any], past: int, tmp_path: Path) -> None:
    length = 1 if past else 3
    inputs: dict[str, np.ndarray | None] = {
        "q": numbers(2, length, 64),
        "k": numbers(2, length, 32, seed=1),
        "v": numbers(2, length, 32, seed=2),
        "pk": numbers(2, 2, past, 16, seed=3) if past else None,
        "pv": numbers(2, 2, past, 16, seed=4) if past else None,
        "lengths": np.full(2, past + length - 1, np.int32),
        "total": np.array(past + length, np.int32),
    }
    if attrs.get("do_rotary"):
        inputs |= {"cos": numbers(16, 8, seed=5), "sin": numbers(16, 8, seed=6)}
    names = ("q", "k", "v", "pk", "pv") if past else ("q", "k", "v")
    outputs = ("y", "nk", "nv")
    hold(
        "GroupQueryAttention",
        tmp_path,
        inputs,
        at_run_time=names,
        outputs=outputs,
        num_heads=4,
        kv_num_heads=2,
        **attrs,
    )


@pytest.mark.parametrize("positions", [np.array([2], np.int64), np.array([[0, 1, 2], [3, 1, 5]], np.int64)])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved: int, positions: np.ndarray, tmp_path: Path) -> None:
    inputs = {"x": numbers(2, 3, 16), "p": positions, "cos": numbers(9, 4, seed=1), "sin": numbers(9, 4, seed=2)}
    hold("RotaryEmbedding", tmp_path, inputs, interleaved=interleaved)
    inputs["x"] = numbers(2, 2, 3, 8)
    hold("RotaryEmbedding", tmp_path, inputs, interleaved=interleaved)


def test_embed_layer_normalization(tmp_path: Path) -> None:
    inputs = {
        "x": np.array([[1, 2, 3, 0], [4, 1, 0, 0]], np.int32),
        "kinds": np.array([[0, 0, 1, 1], [0, 1, 1, 0]], np.int32),
        "words": numbers(6, 8),
        "places": numbers(7, 8, seed=1),
        "segments": numbers(2, 8, seed=2),
        "gamma": numbers(8, seed=3),
        "beta": numbers(8, seed=4),
        "mask": present((2, 4), (3, 2)),
    }
    names, outputs, types = ("x", "kinds", "mask"), ("y", "lengths"), {"lengths": TensorProto.INT32}
    hold("EmbedLayerNormalization", tmp_path, inputs, at_run_time=names, outputs=outputs, types=types)


def test_simplified_layer_normalization(tmp_path: Path) -> None:
    hold("SimplifiedLayerNormalization", tmp_path, {"x": numbers(2, 3, 8), "w": numbers(8)}, domain="", axis=-1)


# Weights of few bits


@pytest.mark.parametrize(
    ("bits", "zeros"), [(4, "none"), (4, "packed"), (4, "real"), (8, "none"), (8, "packed"), (2, "packed")]
)
def test_matmul_nbits(bits: int, zeros: str, tmp_path: Path) -> None:
    rng, rows, columns, block = np.random.default_rng(0), 5, 72, 32
    blocks = -(-columns // block)
    per_row = -(-blocks * bits // 8)
    inputs: dict[str, np.ndarray | None] = {
        "x": numbers(2, 3, columns),
        "w": rng.integers(0, 256, (rows, blocks, block * bits // 8)).astype(np.uint8),
        "scales": numbers(rows * blocks, seed=1),
        "zeros": {
            "none": None,
            "packed": rng.integers(0, 256, (rows * per_row,)).astype(np.uint8),
            "real": numbers(rows * blocks, seed=2, low=0.0, high=15.0),
        }[zeros],
    }
    hold("MatMulNBits", tmp_path, inputs, K=columns, N=rows, bits=bits, block_size=block, tolerance=1e-4)


def test_gather_block_quantized(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    inputs = {
        "table": rng.integers(0, 256, (7, 32)).astype(np.uint8),
        "x": np.array([[1, 6], [0, 3]], np.int64),
        "scales": numbers(7, 4),
        "zeros": rng.integers(0, 256, (7, 2)).astype(np.uint8),
    }
    hold("GatherBlockQuantized", tmp_path, inputs, block_size=16, bits=4, gather_axis=0, quantize_axis=1)


# Others


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "LeakyRelu"])
def test_fused_gemm(activation: str, tmp_path: Path) -> None:
    inputs = {"x": numbers(3, 5), "w": numbers(4, 5, seed=1), "b": numbers(4, seed=2)}
    given = {"activation_alpha": 0.3} if activation == "LeakyRelu" else {}
    hold("FusedGemm", tmp_path, inputs, transB=1, activation=activation, **given)


@pytest.mark.parametrize("op", ["ComplexMul", "ComplexMulConj"])
def test_complex_mul(op: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from onnx_models import converted

    a, b = numbers(3, 4, 2), numbers(3, 4, 2, seed=1)
    node = helper.make_node(op, ["a", "b"], ["y"], domain=DOMAIN)
    model = make_model([node], {"a": a.shape, "b": b.shape}, ["y"], domains=[DOMAIN])
    graph = converted(model, tmp_path)  # ONNX Runtime has it for GPUs only
    from microlith.evaluate import evaluate

    left, right = (array[..., 0] + 1j * array[..., 1] for array in (a, b))
    product = left * (right.conj() if op.endswith("Conj") else right)
    result = evaluate(graph, {"a": a, "b": b})["y"]
    np.testing.assert_allclose(result, np.stack([product.real, product.imag], axis=-1), atol=1e-6)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_cdist(metric: str, tmp_path: Path) -> None:
    hold("CDist", tmp_path, {"x": numbers(3, 5), "b": numbers(4, 5, seed=1)}, metric=metric)


def test_expand_dims(tmp_path: Path) -> None:
    hold("ExpandDims", tmp_path, {"x": numbers(2, 3), "axis": np.array(-1, np.int32)})


# Support vector machines


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF", "POLY", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_svm_regressor(one_class: int, kernel: str, tmp_path: Path) -> None:
    attrs = {
        "kernel_type": kernel,
        "kernel_params": [0.4, 0.3, 2.0],
        "n_supports": 3,
        "support_vectors": numbers(15, seed=1).tolist(),
        "coefficients": numbers(3, seed=2).tolist(),
        "rho": [0.15],
        "one_class": one_class,
    }
    hold("SVMRegressor", tmp_path, {"x": numbers(7, 5)}, domain="ai.onnx.ml", **attrs)


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF"])
def test_svm_classifier(kernel: str, tmp_path: Path) -> None:
    attrs = {
        "kernel_type": kernel,
        "kernel_params": [0.4, 0.3, 2.0],
        "vectors_per_class": [2, 3, 1],
        "support_vectors": numbers(30, seed=1).tolist(),
        "coefficients": numbers(12, seed=2).tolist(),
        "rho": numbers(3, seed=3).tolist(),
        "classlabels_ints": [4, 7, 9],
    }
    outputs, types = ("label", "scores"), {"label": TensorProto.INT64}
    hold("SVMClassifier", tmp_path, {"x": numbers(9, 5)}, domain="ai.onnx.ml", outputs=outputs, types=types, **attrs)


def two_classes(**attrs: Any) -> dict[str, Any]:
    return {
        "kernel_type": "RBF",
        "kernel_params": [0.4, 0.3, 2.0],
        "vectors_per_class": [2, 3],
        "support_vectors": numbers(25, seed=1).tolist(),
        "coefficients": numbers(5, seed=2).tolist(),
        "rho": [0.05],
        "classlabels_ints": [4, 7],
        **attrs,
    }


def test_svm_classifier_of_two_classes(tmp_path: Path) -> None:
    outputs, types, x = ("label", "scores"), {"label": TensorProto.INT64}, numbers(9, 5)
    hold("SVMClassifier", tmp_path, {"x": x}, domain="ai.onnx.ml", outputs=outputs, types=types, **two_classes())


@pytest.mark.parametrize("count", [2, 3, 5])
def test_probabilities_of_classes(count: int, tmp_path: Path) -> None:
    pairs = count * (count - 1) // 2
    attrs = {
        "vectors_per_class": [2] * count,
        "support_vectors": numbers(10 * count, seed=1).tolist(),
        "coefficients": numbers(2 * count * (count - 1), seed=2).tolist(),
        "rho": numbers(pairs, seed=3).tolist(),
        "classlabels_ints": list(range(3, 3 + count)),
        "prob_a": (-1.0 - np.abs(numbers(pairs, seed=4))).tolist(),
        "prob_b": numbers(pairs, seed=5).tolist(),
    }
    outputs, types, x = ("label", "scores"), {"label": TensorProto.INT64}, numbers(40, 5)
    hold("SVMClassifier", tmp_path, {"x": x}, domain="ai.onnx.ml", outputs=outputs, types=types, **two_classes(**attrs))


def runtime_results(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    modelfile.save(convert(save(model, folder)), folder / "model.lith")
    with microlith.load(folder / "model.lith") as session:
        return dict(session.run(feeds))


def test_one_class_decides_as_exact_sums_do(tmp_path: Path) -> None:
    """Rows apart from those on the boundary, where a support vector lies and any order of sums gives another sign."""
    x, vectors, weights = numbers(150, 4), numbers(60, 4), np.abs(numbers(60, seed=2))
    likeness = np.exp(-0.4 * np.square(x[:, None].astype(np.float64) - vectors).sum(axis=2)) @ weights.astype(
        np.float64
    )
    rho = np.float32(-likeness[17])  # row 17 lies on the boundary
    attrs = {
        "kernel_type": "RBF",
        "kernel_params": [0.4, 0.0, 3.0],
        "n_supports": 60,
        "support_vectors": vectors.reshape(-1).tolist(),
        "coefficients": weights.tolist(),
        "rho": [float(rho)],
        "one_class": 1,
    }
    node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", **attrs)
    model = make_model([node], {"x": ("rows", "features")}, ["y"], domains=["ai.onnx.ml"])
    assert convert(save(model, tmp_path)).inputs[0].shape == ("rows", 4)
    (result,) = runtime_results(model, {"x": x}, tmp_path).values()
    margin = likeness + rho
    clear = np.abs(margin) > 1e-5 * likeness
    assert np.count_nonzero(~clear) == 1
    np.testing.assert_array_equal(result.reshape(-1)[clear], np.sign(margin[clear]))
