# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention with a cache that is longer than its content, and sequences of different lengths."""

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
from microlith.errors import UnsupportedError

Arrays = dict[str, np.ndarray]

HEADS, SHARED, SIZE = 4, 2, 16
NAMES = ["q", "k", "v", "past_k", "past_v", "after", "total", "cos", "sin"]
TYPES = {"after": TensorProto.INT32, "total": TensorProto.INT32}
TABLES = {"cos": numbers(32, SIZE // 2, seed=8), "sin": numbers(32, SIZE // 2, seed=9)}


def case(new: int, rows: int, lengths: tuple[int, ...], packed: bool = False, total: int | None = None) -> Arrays:
    """``lengths`` of the sequences with their new tokens."""
    batch = len(lengths)
    hidden = {"q": (HEADS + 2 * SHARED if packed else HEADS) * SIZE, "k": SHARED * SIZE, "v": SHARED * SIZE}
    feeds = {
        name: numbers(batch, new, size, seed=seed)
        for seed, (name, size) in enumerate(hidden.items())
        if name == "q" or not packed
    }
    feeds |= {name: numbers(batch, SHARED, rows, SIZE, seed=seed) for seed, name in enumerate(("past_k", "past_v"), 3)}
    feeds["after"] = np.array(lengths, np.int32) - 1
    feeds["total"] = np.array(max(lengths) if total is None else total, np.int32)
    return feeds


def model_for(feeds: Arrays, shapes: dict[str, tuple[Any, ...]], constants: Arrays, **attrs: Any) -> Any:
    options = {"num_heads": HEADS, "kv_num_heads": SHARED, "do_rotary": 1, **attrs}
    names = [name if name in feeds or name in TABLES else "" for name in NAMES]
    node = helper.make_node("GroupQueryAttention", names, ["y", "new_k", "new_v"], domain="com.microsoft", **options)
    given = {name: shapes.get(name, array.shape) for name, array in feeds.items() if name not in constants}
    return make_model([node], given, ["y", "new_k", "new_v"], {**constants, **TABLES}, 17, TYPES, ["com.microsoft"])


def hold(model: Any, cases: list[Arrays], folder: Path, real_rows: bool = False) -> None:
    modelfile.save(convert(save(model, folder)), folder / "m.lith")
    inputs = [info.name for info in model.graph.input]
    with microlith.load(folder / "m.lith") as session:
        for feeds in cases:
            given = {name: feeds[name] for name in inputs}
            results = session.run(given)
            for name, expected in zip(("y", "new_k", "new_v"), run_reference(model, given), strict=True):
                actual = results[name]
                if name == "y" and real_rows:
                    for row, after in enumerate(feeds["after"]):
                        compare(actual[row, : after + 1], expected[row, : after + 1], 1e-5, name)
                else:
                    compare(actual, expected, 1e-5, name)


@pytest.mark.parametrize("attrs", [{}, {"do_rotary": 0}, {"local_window_size": 3}, {"softcap": 2.0, "scale": 0.4}])
@pytest.mark.parametrize("lengths", [(5, 5), (3, 8), (1, 4)])
def test_one_token_more_in_a_cache_with_room(lengths: tuple[int, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    feeds = case(1, 12, lengths)
    hold(model_for(feeds, {}, {}, **attrs), [feeds], tmp_path)


def test_the_cache_grows_where_the_longest_sequence_needs_it(tmp_path: Path) -> None:
    feeds = case(1, 6, (3, 7))
    hold(model_for(feeds, {}, {}), [feeds], tmp_path)


def test_a_prompt_into_a_cache_that_is_there_already(tmp_path: Path) -> None:
    """Results behind the end of a sequence are not defined."""
    feeds = case(5, 9, (5, 3), total=5)
    hold(model_for(feeds, {}, {}), [feeds], tmp_path, real_rows=True)


def test_more_than_one_token_behind_a_prefix(tmp_path: Path) -> None:
    feeds = case(3, 12, (8,))
    hold(model_for(feeds, {}, {}), [feeds], tmp_path)
    hold(model_for(feeds, {}, {}, local_window_size=4), [feeds], tmp_path)


@pytest.mark.parametrize("new", [1, 3])
def test_packed_projections(new: int, tmp_path: Path) -> None:
    feeds = case(new, 10, (4, 7) if new == 1 else (6,), packed=True)
    hold(model_for(feeds, {}, {}), [feeds], tmp_path)
    del feeds["past_k"], feeds["past_v"]
    feeds["after"][:], feeds["total"] = new - 1, np.array(new, np.int32)
    hold(model_for(feeds, {}, {}), [feeds], tmp_path)


def test_all_sizes_open(tmp_path: Path) -> None:
    """A prompt, then tokens one after another, in one model."""
    cases = [case(4, 8, (4, 4)), case(1, 8, (5, 3)), case(1, 8, (9, 2)), case(1, 5, (2,)), case(2, 6, (5,))]
    shapes: dict[str, tuple[Any, ...]] = {name: ("b", "s", cases[0][name].shape[2]) for name in ("q", "k", "v")}
    shapes |= dict.fromkeys(("past_k", "past_v"), ("b", SHARED, "p", SIZE)) | {"after": ("b",)}
    hold(model_for(cases[0], shapes, {}), cases, tmp_path)


def test_lengths_that_are_known_leave_a_plain_cache(tmp_path: Path) -> None:
    feeds = case(1, 6, (7, 7))
    model = model_for(feeds, {}, {name: feeds[name] for name in ("after", "total")})
    assert "gather_nd" not in [node.op for node in convert(save(model, tmp_path)).nodes]
    hold(model, [feeds], tmp_path)


def test_a_cache_of_known_size_is_planned(tmp_path: Path) -> None:
    """The sum of a mask says how long the sequences are, its size how many rows there are."""
    feeds = case(1, 8, (5, 8))
    model = model_for(feeds, {}, {})
    mask = (np.arange(8) <= feeds["after"][:, None]).astype(np.int64)
    nodes = [
        helper.make_node("ReduceSum", ["mask", "axis"], ["sum"], keepdims=0),
        helper.make_node("Sub", ["sum", "one"], ["less"]),
        helper.make_node("Cast", ["less"], ["after"], to=TensorProto.INT32),
        helper.make_node("Shape", ["mask"], ["shape"], start=1, end=2),
        helper.make_node("Cast", ["shape"], ["total"], to=TensorProto.INT32),
        *model.graph.node,
    ]
    shapes = {name: array.shape for name, array in feeds.items() if name not in ("after", "total")}
    constants = {"axis": np.array([1], np.int64), "one": np.array(1, np.int64), **TABLES}
    outputs, types = ["y", "new_k", "new_v"], {"mask": TensorProto.INT64}
    model = make_model(nodes, {**shapes, "mask": mask.shape}, outputs, constants, 17, types, ["com.microsoft"])
    graph = convert(save(model, tmp_path))
    assert all(value.type.is_static for node in graph.nodes for value in node.outputs)
    hold(model, [{**feeds, "mask": mask}], tmp_path)


def test_what_is_refused(tmp_path: Path) -> None:
    feeds = case(1, 8, (5, 8))
    with pytest.raises(UnsupportedError, match="a sink of the heads"):
        convert(save(model_for(feeds, {}, {}, smooth_softmax=1), tmp_path))
    del feeds["past_v"]
    with pytest.raises(UnsupportedError, match="past_key and past_value must be given together"):
        convert(save(model_for(feeds, {}, {}), tmp_path))
