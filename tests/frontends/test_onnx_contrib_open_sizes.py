"""Operators of com.microsoft for attention, with batch and length open: positions and masks follow at run time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import compare, make_model, numbers, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert

Arrays = dict[str, np.ndarray]
KINDS = {np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64}


def hold(
    op: str, shapes: dict[str, tuple[Any, ...]], constants: Arrays, cases: list[Arrays], folder: Path, **attrs: Any
) -> None:
    """``shapes`` in the order of the inputs, constants among them as ()."""
    outputs = {"GroupQueryAttention": ["y", "present_k", "present_v"], "EmbedLayerNormalization": ["y", "m"]}.get(
        op, ["y"]
    )
    node = helper.make_node(op, list(shapes), outputs, domain="com.microsoft", **attrs)
    types = {name: KINDS[array.dtype] for name, array in cases[0].items() if array.dtype in KINDS}
    given = {name: shape for name, shape in shapes.items() if name in cases[0]}
    model = make_model([node], given, outputs, constants, 17, {**types, "m": TensorProto.INT32}, ["com.microsoft"])
    modelfile.save(convert(save(model, folder)), folder / "m.lith")
    with microlith.load(folder / "m.lith") as session:
        for feeds in cases:
            results = session.run(feeds)
            for name, expected in zip(outputs, run_reference(model, feeds), strict=True):
                compare(results[name], expected, 1e-5, name)


def test_a_mask_of_lengths(tmp_path: Path) -> None:
    shapes = {**dict.fromkeys("qkv", ("b", "s", 16)), "bias": (), "lengths": ("b",)}
    cases = [
        {**{name: numbers(2, length, 16, seed=seed) for seed, name in enumerate("qkv")}, "lengths": lengths}
        for length, lengths in ((5, np.array([2, 5], np.int32)), (3, np.array([3, 1], np.int32)))
    ]
    hold("MultiHeadAttention", shapes, {"bias": numbers(48)}, cases, tmp_path, num_heads=4)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
def test_positions_that_start_at_one_number(rank: int, interleaved: int, tmp_path: Path) -> None:
    shapes = {"x": ("b", "s", 16) if rank == 3 else ("b", 2, "s", 8), "start": (1,), "cos": (), "sin": ()}
    caches = {"cos": numbers(20, 4, seed=1), "sin": numbers(20, 4, seed=2)}
    cases = [
        {"x": numbers(*((b, s, 16) if rank == 3 else (b, 2, s, 8))), "start": np.array([start])}
        for b, s, start in ((2, 5, 3), (1, 7, 0))
    ]
    hold("RotaryEmbedding", shapes, caches, cases, tmp_path, interleaved=interleaved)


def test_embeddings_whose_positions_are_not_given(tmp_path: Path) -> None:
    constants = {
        **{name: numbers(size, 8, seed=size) for name, size in (("words", 9), ("places", 12), ("kinds", 2))},
        **{name: numbers(8, seed=seed) for seed, name in enumerate(("gamma", "beta"))},
    }
    shapes = {"ids": ("b", "s"), "segments": ("b", "s"), **dict.fromkeys(constants, ()), "mask": ("b", "s")}
    rng = np.random.default_rng(0)
    cases = [
        {
            name: rng.integers(0, high, shape).astype(np.int32)
            for name, high in (("ids", 9), ("segments", 2), ("mask", 2))
        }
        for shape in ((2, 5), (1, 3))
    ]
    hold("EmbedLayerNormalization", shapes, constants, cases, tmp_path)


def test_a_cache_of_open_length(tmp_path: Path) -> None:
    shapes: dict[str, tuple[Any, ...]] = {"q": ("b", "s", 64), "k": ("b", "s", 32), "v": ("b", "s", 32)}
    shapes |= {
        "past_k": ("b", 2, "p", 16),
        "past_v": ("b", 2, "p", 16),
        "lengths": ("b",),
        "total": (),
        "cos": (),
        "sin": (),
    }
    caches = {"cos": numbers(20, 8, seed=8), "sin": numbers(20, 8, seed=9)}
    cases = [
        {
            "q": numbers(batch, 1, 64),
            **{name: numbers(batch, 1, 32, seed=seed) for seed, name in enumerate(("k", "v"), 1)},
            **{name: numbers(batch, 2, past, 16, seed=seed) for seed, name in enumerate(("past_k", "past_v"), 3)},
            "lengths": np.full(batch, past, np.int32),
            "total": np.array(past + 1, np.int32),
        }
        for batch, past in ((2, 6), (1, 3))
    ]
    options = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    hold("GroupQueryAttention", shapes, caches, cases, tmp_path, **options)
