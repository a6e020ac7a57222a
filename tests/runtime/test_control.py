"""If and loop: the runtime against the reference, and what both do at the edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lith_models import Build

import microlith
from microlith import modelfile
from microlith.dtypes import DType
from microlith.errors import MicrolithError, ShapeError
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.text import to_text
from microlith.verify import verify


def port(graph: Graph, name: str, shape: tuple[int | str, ...], dtype: DType = DType.f32) -> Value:
    graph.inputs.append(Value(name, TensorType(dtype, shape)))
    return graph.inputs[-1]


def branch(op: str, shape: tuple[int | str, ...] = (2, 3), capture: bool = True) -> Graph:
    """y = op(x); with ``capture`` y = op(x) + x."""
    b = Build(op)
    x = b.input("x", shape)
    y = b.op(op, x, output=f"{op}_y")
    return b.outputs(b.op("add", y, x, output=f"{op}_sum") if capture else y)


def choice() -> Graph:
    b = Build("choice")
    flag, x = b.input("flag", (), DType.b8), b.input("x", (2, 3))
    node = b.graph.add(
        "if", [flag, x], name="if", output_names=["y"], subgraphs=[branch("neg"), branch("square", capture=False)]
    )
    return b.outputs(b.op("relu", node.output, output="z"), node.output)


def powers(iterations: int | None = None) -> Graph:
    """``n`` times: total = total * x + 1, until total is 100 or more; collects total and the iteration."""
    body = Graph("body")
    number, flag = port(body, "number", (), DType.s64), port(body, "flag", (), DType.b8)
    total, x = port(body, "total", (2,)), port(body, "x_inside", (2,))
    assert flag is not None
    product = body.add("mul", [total, x], name="product", output_names=["product"]).output
    one = body.constant("one", np.ones((), np.float32))
    after = body.add("add", [product, one], name="after", output_names=["after"]).output
    largest = body.add("reduce_max", [after], {"axes": 1, "keep_dims": 0}, name="max", output_names=["max"]).output
    limit = body.constant("limit", np.full((), 100, np.float32))
    again = body.add("less", [largest, limit], name="again", output_names=["again"]).output
    body.outputs = [again, after, after, number]
    b = Build("powers")
    x = b.input("x", (2,))
    start = b.op("relu", x, output="start")
    count = b.input("n", (), DType.s64) if iterations is None else b.graph.constant("n", np.asarray(iterations))
    true = b.graph.constant("true", np.ones((), np.bool_))
    node = b.graph.add(
        "loop",
        [count, true, start, x],
        {"carried": 1},
        name="loop",
        output_names=["total", "totals", "numbers"],
        subgraphs=[body],
    )
    return b.outputs(*node.outputs)


def nested() -> Graph:
    """A loop in a loop, with an if in it: what is collected grows in two dimensions."""
    inner = Graph("inner")
    number, flag = port(inner, "j", (), DType.s64), port(inner, "go", (), DType.b8)
    row, x = port(inner, "row", (), DType.s64), port(inner, "x_inner", (2, 3))
    same = inner.add("equal", [number, row], name="same", output_names=["same"]).output
    chosen = inner.add("if", [same, x], name="pick", output_names=["pick"], subgraphs=[branch("neg"), branch("abs")])
    inner.outputs = [flag, chosen.output]
    outer = Graph("outer")
    index, go = port(outer, "i", (), DType.s64), port(outer, "go_on", (), DType.b8)
    x = port(outer, "x_outer", (2, 3))
    three = outer.constant("three", np.asarray(3))
    node = outer.add("loop", [three, go, index, x], name="columns", output_names=["line"], subgraphs=[inner])
    outer.outputs = [go, node.output]
    b = Build("nested")
    x, n = b.input("x", (2, 3)), b.input("n", (1,), DType.s64)
    true = b.graph.constant("true", np.ones((), np.bool_))
    node = b.graph.add("loop", [n, true, x], name="rows", output_names=["table"], subgraphs=[outer])
    return b.outputs(node.output)


def growing() -> Graph:
    """A value that becomes longer with each iteration."""
    body = Graph("body")
    number, flag, list_ = port(body, "i", (), DType.s64), port(body, "go", (), DType.b8), port(body, "list", ("?n",))
    item = body.add("cast", [number], {"to": DType.f32.value}, name="item", output_names=["item"]).output
    vector = body.add("reshape", [item], {"shape": (1,)}, name="vector", output_names=["vector"]).output
    longer = body.add("concat", [list_, vector], {"axis": 0}, name="longer", output_names=["longer"]).output
    body.outputs = [flag, longer]
    b = Build("growing")
    n, start = b.input("n", (), DType.s64), b.input("start", (2,))
    true = b.graph.constant("true", np.ones((), np.bool_))
    node = b.graph.add(
        "loop", [n, true, start], {"carried": 1}, name="loop", output_names=["list_out"], subgraphs=[body]
    )
    return b.outputs(b.op("relu", node.output, output="y"))


X = np.array([[1.5, -2.0, 3.0], [-0.5, 0.0, 7.0]], np.float32)
V = np.array([1.5, 2.0], np.float32)

CASES = {
    "choice": (choice, [{"flag": np.asarray(flag), "x": X} for flag in (True, False, True)]),
    "powers": (powers, [{"x": V, "n": np.asarray(n)} for n in (3, 1, 0, 50, 2)]),
    "powers 4": (lambda: powers(4), [{"x": V}, {"x": -V}]),
    "nested": (nested, [{"x": X, "n": np.array([n])} for n in (4, 0, 1)]),
    "growing": (growing, [{"n": np.asarray(n), "start": V} for n in (0, 5, 1)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_against_the_reference(name: str, threads: int, tmp_path: Path) -> None:
    make, feeds = CASES[name]
    graph = make()
    verify(graph)
    modelfile.save(graph, tmp_path / "m.lith")
    with microlith.load(tmp_path / "m.lith", threads=threads) as model:
        assert model.is_dynamic
        for feed in feeds:
            expected = evaluate(graph, feed)
            results = model.run(feed)
            for key, array in expected.items():
                assert results[key].dtype == array.dtype
                np.testing.assert_allclose(results[key], array, rtol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_files_keep_subgraphs(name: str, tmp_path: Path) -> None:
    graph = CASES[name][0]()
    modelfile.save(graph, tmp_path / "m.lith")
    again = modelfile.load(tmp_path / "m.lith")
    verify(again)
    assert to_text(again).count("\n") == to_text(graph).count("\n")
    modelfile.save(again, tmp_path / "n.lith")
    assert (tmp_path / "m.lith").read_bytes() == (tmp_path / "n.lith").read_bytes()


def test_the_value_of_a_loop_by_hand(tmp_path: Path) -> None:
    modelfile.save(powers(), tmp_path / "m.lith")
    results = microlith.load(tmp_path / "m.lith").run({"x": np.array([2, 1], np.float32), "n": np.asarray(100)})
    np.testing.assert_array_equal(results["totals"], [[5, 2], [11, 3], [23, 4], [47, 5], [95, 6], [191, 7]])
    np.testing.assert_array_equal(results["total"], [191, 7])
    np.testing.assert_array_equal(results["numbers"], np.arange(6))


def test_an_endless_loop_can_be_cancelled(tmp_path: Path) -> None:
    body = Graph("body")
    number, flag = port(body, "i", (), DType.s64), port(body, "go", (), DType.b8)
    body.outputs = [flag, number]
    b = Build("endless")
    flag = b.input("flag", (), DType.b8)
    most = b.graph.constant("most", np.asarray(2**63 - 1))
    node = b.graph.add("loop", [most, flag], name="loop", output_names=["all"], subgraphs=[body])
    modelfile.save(b.outputs(node.output), tmp_path / "m.lith")
    model = microlith.load(tmp_path / "m.lith")
    model.cancel()
    with pytest.raises(microlith.runtime.RunCancelledError):
        model.run(np.asarray(True))
    assert model.run(np.asarray(False))["all"].shape == (0,)


def test_collected_values_must_keep_their_shape(tmp_path: Path) -> None:
    graph = growing()
    (loop,) = (node for node in graph.nodes if node.op == "loop")
    body = loop.subgraphs[0]
    body.outputs.append(body.outputs[1])
    b = Build("other")
    n, start = b.input("n", (), DType.s64), b.input("start", (2,))
    true = b.graph.constant("true", np.ones((), np.bool_))
    node = b.graph.add("loop", [n, true, start], {"carried": 1}, name="l", output_names=["a", "b"], subgraphs=[body])
    modelfile.save(b.outputs(*node.outputs), tmp_path / "m.lith")
    model = microlith.load(tmp_path / "m.lith")
    assert model.run({"n": np.asarray(1), "start": V})["b"].shape == (1, 3)
    with pytest.raises(ShapeError, match="changes its shape"):
        model.run({"n": np.asarray(2), "start": V})
    with pytest.raises(MicrolithError, match=r"known only after a run|has not run"):
        model._output(0)  # the failed run has left nothing
