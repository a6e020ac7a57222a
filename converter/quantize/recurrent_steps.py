# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers in floating point, step by step: what calibration has to know of their insides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Node, Value
from ...ops.rnn import REVERSE
from ...stepwise import Executor

X, W, R, BIAS, LENGTHS, H, C, PEEPHOLES = range(8)
"""Inputs of ``gru`` and ``lstm``."""

Visit = Callable[[Value, np.ndarray], np.ndarray | None]


@dataclass
class Step:
    """One step of one direction; arrays of float64."""

    x: np.ndarray
    """[batch, size]"""
    h: np.ndarray
    """[batch, hidden]: the state that the gates read."""
    fresh: np.ndarray
    """[batch, hidden]: what the recurrent weights of the candidate of a gru are multiplied with. Where the reset comes
    behind the product it is another factor for each row; here their mean."""
    cell: np.ndarray
    """[batch, hidden]: of an lstm, behind the step."""


def walk(node: Node, arrays: Sequence[np.ndarray | None], direction: int) -> Iterator[Step]:
    """The steps of a layer whose inputs are ``arrays``, with the functions sigmoid and tanh."""
    x, w, r, bias, _, h0, c0 = (*arrays, *[None] * 7)[:7]
    assert x is not None and w is not None and r is not None
    x = np.moveaxis(x, 1, 0) if node.attrs["layout"] else x
    hidden = r.shape[2]
    h, c = (_initial(node, state, direction, (x.shape[1], hidden)) for state in (h0, c0))
    parts = (np.zeros((2, w.shape[1])) if bias is None else bias[direction].reshape(2, -1)).astype(np.float64)
    turned_w, turned_r = w[direction].astype(np.float64).T, r[direction].astype(np.float64).T
    backwards = direction == 1 or node.attrs["direction"] == REVERSE
    for step in x[:: -1 if backwards else 1].astype(np.float64):
        before, fresh = h, h
        from_x = step @ turned_w + parts[0]
        if node.op == "lstm":
            i, o, f, g = np.split(from_x + h @ turned_r + parts[1], 4, axis=-1)
            limit = node.attrs["cell_clip"]
            c = np.clip(_sigmoid(f) * c + _sigmoid(i) * np.tanh(g), -limit, limit)
            h = _sigmoid(o) * np.tanh(c)
        else:
            both, last = slice(0, 2 * hidden), slice(2 * hidden, None)
            z, reset = np.split(_sigmoid(from_x[:, both] + h @ turned_r[:, both] + parts[1][both]), 2, axis=-1)
            if node.attrs["linear_before_reset"]:
                fresh = reset.mean(axis=-1, keepdims=True) * h
                recurrent = reset * (h @ turned_r[:, last] + parts[1][last])
            else:
                fresh = reset * h
                recurrent = fresh @ turned_r[:, last] + parts[1][last]
            h = (1.0 - z) * np.tanh(from_x[:, last] + recurrent) + z * h
        yield Step(step, before, fresh, c)


def _initial(node: Node, state: np.ndarray | None, direction: int, shape: tuple[int, ...]) -> np.ndarray:
    if state is None:
        return np.zeros(shape)
    return np.asarray(np.moveaxis(state, 1, 0)[direction] if node.attrs["layout"] else state[direction], np.float64)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def visit_layers(
    graph: Graph,
    nodes: Iterable[Node],
    feeds: Iterable[Mapping[str, np.ndarray]],
    use: Callable[[Node, list[np.ndarray | None]], None],
    change: Visit | None = None,
) -> None:
    """Runs a graph and calls ``use`` with some of its layers and the arrays of their inputs. ``change`` may put other
    numbers in the place of a value while it runs."""
    last = {node.outputs[0]: node for node in nodes}
    wanted = {value for node in last.values() for value in node.inputs if value is not None and value.data is None}
    known: dict[Value, np.ndarray] = {}

    def visit(value: Value, array: np.ndarray) -> np.ndarray | None:
        changed = None if change is None else change(value, array)
        if value in wanted:
            known[value] = array if changed is None else changed
        if value in last:
            node = last[value]
            use(
                node,
                [None if item is None else item.data if item.data is not None else known[item] for item in node.inputs],
            )
        return changed

    executor, states = Executor(graph), dict[str, np.ndarray]()
    for feed in feeds:
        known.update({value: feed[value.name] for value in graph.inputs if value in wanted and value.name in feed})
        executor.run(feed, visit, states)


def cell_limits(graph: Graph, nodes: Iterable[Node], feeds: Iterable[Mapping[str, np.ndarray]]) -> dict[Node, float]:
    """The largest magnitude that a cell of each lstm has at any step, over all feeds."""
    limits = dict.fromkeys((node for node in nodes if node.op == "lstm"), 0.0)

    def use(node: Node, arrays: list[np.ndarray | None]) -> None:
        for direction in range(node.input(W).type.static_shape[0]):
            for step in walk(node, arrays, direction):
                limits[node] = max(limits[node], float(np.max(np.abs(step.cell), initial=0.0)))

    if limits:
        visit_layers(graph, limits, feeds, use)
    return limits
