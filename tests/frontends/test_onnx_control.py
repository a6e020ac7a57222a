"""ONNX If, Loop and Scan, and inputs that decide about shapes: imported, optimized and run, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper
from onnx_models import HEAD, check, compare, parsed, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.errors import InputError, ShapeError, UnsupportedError
from microlith.ir import Graph, all_graphs

CASES: dict[str, tuple[str, list[dict[str, np.ndarray]]]] = {
    "if": (
        """g (bool flag, float[2,3] x) => (y) {
            two = Constant<value = float[1] {2}>()
            z = Relu(x)
            y = If(flag) <
                then_branch = t () => (a) { a = Mul(z, two) },
                else_branch = e () => (b) { c = Neg(x) b = Add(c, z) }>
        }""",
        [{"flag": np.array(flag), "x": np.arange(-3, 3, dtype=np.float32).reshape(2, 3)} for flag in (True, False)],
    ),
    "if with other shapes": (
        """g (bool flag, float[2,3] x) => (y, n) {
            shape = Constant<value = int64[2] {3, 2}>()
            y = If(flag) <
                then_branch = t () => (a) { a = Identity(x) },
                else_branch = e () => (b) { b = Reshape(x, shape) }>
            n = Shape(y)
        }""",
        [{"flag": np.array(flag), "x": np.ones((2, 3), np.float32)} for flag in (True, False)],
    ),
    "if in an if": (
        """g (bool p, bool q, float[4] x) => (y) {
            y = If(p) <
                then_branch = t () => (a) {
                    s = Sigmoid(x)
                    a = If(q) <then_branch = tt () => (aa) { aa = Add(s, x) },
                               else_branch = te () => (ab) { ab = Sub(s, x) }>
                },
                else_branch = e () => (b) { b = Abs(x) }>
        }""",
        [
            {"p": np.array(p), "q": np.array(q), "x": np.array([-1, 0, 2, 5], np.float32)}
            for p in (True, False)
            for q in (True, False)
        ],
    ),
    "loop": (
        """g (int64 n, float[3] start, float[3] step) => (last, all, numbers) {
            go = Constant<value = bool {1}>()
            last, all, numbers = Loop(n, go, start) <
                body = b (int64 i, bool c, float[3] v) => (co, w, each, j) {
                    co = Identity(c)
                    w = Add(v, step)
                    each = Mul(w, w)
                    j = Cast<to = 1>(i)
                }>
        }""",
        [
            {"n": np.array(n), "start": np.zeros(3, np.float32), "step": np.array([1, 2, 3], np.float32)}
            for n in (4, 1, 0)
        ],
    ),
    "loop until": (
        """g (float[1] start) => (last) {
            none = Constant<value = int64 {9223372036854775807}>()
            go = Constant<value = bool {1}>()
            limit = Constant<value = float[1] {100}>()
            flat = Constant<value = int64[0] {}>()
            last = Loop(none, go, start) <
                body = b (int64 i, bool c, float[1] v) => (co, w) {
                    w = Add(v, v)
                    less = Less(w, limit)
                    co = Reshape(less, flat)
                }>
        }""",
        [{"start": np.array([value], np.float32)} for value in (1, 60, 500)],
    ),
    "loop that grows": (
        """g (int64 n, float[2] start) => (list, n2) {
            go = Constant<value = bool {1}>()
            list = Loop(n, go, start) <
                body = b (int64 i, bool c, float[k] v) => (co, w) {
                    co = Identity(c)
                    f = Cast<to = 1>(i)
                    zero = Constant<value = int64[1] {0}>()
                    e = Unsqueeze(f, zero)
                    w = Concat<axis = 0>(v, e)
                }>
            n2 = Size(list)
        }""",
        [{"n": np.array(n), "start": np.array([7, 8], np.float32)} for n in (3, 0, 1)],
    ),
    "loop in a loop": (
        """g (int64 n, float[2] x) => (table) {
            go = Constant<value = bool {1}>()
            three = Constant<value = int64 {3}>()
            table = Loop(n, go) <
                body = outer (int64 i, bool c) => (co, row) {
                    co = Identity(c)
                    fi = Cast<to = 1>(i)
                    row = Loop(three, c) <
                        body = inner (int64 j, bool d) => (do, cell) {
                            do = Identity(d)
                            fj = Cast<to = 1>(j)
                            t = Mul(fi, x)
                            cell = Add(t, fj)
                        }>
                }>
        }""",
        [{"n": np.array(n), "x": np.array([1, 10], np.float32)} for n in (2, 4)],
    ),
    "scan": (
        """g (float[2] first, float[5,2] x) => (last, sums) {
            last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (t, u) {
                t = Add(s, e)
                u = Mul(t, e)
            }>(first, x)
        }""",
        [{"first": np.ones(2, np.float32), "x": np.arange(10, dtype=np.float32).reshape(5, 2)}],
    ),
    "scan backwards along other axes": (
        """g (float[2] first, float[2,4] x, float[4,2] z) => (last, sums, more) {
            last, sums, more = Scan<num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
                scan_output_axes = [1, 0], scan_output_directions = [0, 1],
                body = b (float[2] s, float[2] e, float[2] f) => (t, u, v) {
                    t = Add(s, e)
                    u = Mul(t, f)
                    v = Sub(t, e)
                }>(first, x, z)
        }""",
        [
            {
                "first": np.ones(2, np.float32),
                "x": np.arange(8, dtype=np.float32).reshape(2, 4),
                "z": np.arange(8, dtype=np.float32).reshape(4, 2) / 3,
            }
        ],
    ),
    "scan of a sequence of any length": (
        """g (float[2] first, float[n,2] x) => (last, sums) {
            last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (t, u) {
                t = Add(s, e)
                u = Mul(t, e)
            }>(first, x)
        }""",
        [{"first": np.ones(2, np.float32), "x": np.ones((n, 2), np.float32)} for n in (3, 1)],
    ),
    "shapes as inputs": (
        """g (float[2,3,4] x, int64[2] shape, int64[1] axes, int64[1] starts, int64[1] ends) => (a, b, c, d) {
            a = Reshape(x, shape)
            b = ReduceSum<keepdims = 0>(x, axes)
            c = Slice(x, starts, ends)
            d = Unsqueeze(x, axes)
        }""",
        [
            {
                "x": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
                "shape": np.array(shape),
                "axes": np.array([axis]),
                "starts": np.array([start]),
                "ends": np.array([end]),
            }
            for shape, axis, start, end in (((6, 4), 1, 0, 1), ((-1, 2), -1, 1, 9), ((0, 12), 2, -1, 2))
        ],
    ),
    "data decides": (
        """g (float[3,4] x) => (where, picked, n) {
            zero = Constant<value = float {0}>()
            mask = Greater(x, zero)
            where = NonZero(mask)
            last = Constant<value = int64[2] {1, 0}>()
            pairs = Transpose<perm = [1, 0]>(where)
            picked = GatherND(x, pairs)
            n = Size(picked)
        }""",
        [{"x": np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32)} for seed in range(3)]
        + [{"x": np.full((3, 4), -1, np.float32)}],
    ),
}


def model_of(name: str) -> onnx.ModelProto:
    return parsed(CASES[name][0])


@pytest.mark.parametrize("name", CASES)
def test_against_onnxruntime(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    for feeds in CASES[name][1]:
        check(model, tmp_path, feeds)


@pytest.mark.parametrize("name", CASES)
def test_in_the_runtime(name: str, tmp_path: Path) -> None:
    """From the file that was saved, which knows sizes only as far as they are known before a run."""
    model = model_of(name)
    graph = convert(save(model, tmp_path))
    modelfile.save(graph, tmp_path / "m.lith")
    with microlith.load(tmp_path / "m.lith") as session:
        for feeds in CASES[name][1]:
            results = session.run(feeds)
            for info, expected in zip(model.graph.output, run_reference(model, feeds), strict=True):
                compare(results[info.name], expected, 1e-5, info.name)


def ops_of(graph: Graph) -> set[str]:
    return {node.op for part in all_graphs(graph) for node in part.nodes}


def test_known_conditions_and_lengths_leave_no_subgraphs(tmp_path: Path) -> None:
    """So that code can be generated: a scan over a sequence of known length, and branches that are known."""
    assert not ops_of(convert(save(model_of("scan"), tmp_path))) & {"if", "loop"}
    assert "loop" in ops_of(convert(save(model_of("scan of a sequence of any length"), tmp_path)))
    constants = {"p": np.array(True), "q": np.array(False)}
    graph = convert(save(model_of("if in an if"), tmp_path), constants=constants)
    assert not ops_of(graph) & {"if", "loop"} and [value.name for value in graph.inputs] == ["x"]


SCAN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[400,2] x, float[2] start) => (last, sums) {
    last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] item) => (next, out) {
        next = Add(s, item)
        out = Mul(next, item)
    }>(start, x)
}"""


def test_a_long_scan_has_a_known_length(tmp_path: Path) -> None:
    """It stays a loop; what it collects has one element for each of its iterations."""
    graph = convert(save(onnx.parser.parse_model(SCAN), tmp_path))
    assert "loop" in ops_of(graph)
    assert [value.type.static_shape for value in graph.outputs] == [(2,), (400, 2)]


def test_constants_take_the_place_of_inputs(tmp_path: Path) -> None:
    path = save(model_of("shapes as inputs"), tmp_path)
    feeds = CASES["shapes as inputs"][1][0]
    constants = {name: array for name, array in feeds.items() if name != "x"}
    with pytest.raises(UnsupportedError, match=r"depends on the values of 'shape'.*\n.*--constant"):
        microlith.generate(convert(path), "host", tmp_path / "c")
    graph = convert(path, constants=constants)
    assert [value.name for value in graph.inputs] == ["x"]
    assert all(value.type.is_static for value in graph.values())
    report = microlith.generate(graph, "host", tmp_path / "c")
    assert report.layers == len(graph.nodes)
    for wrong, message in (
        ({"nobody": feeds["axes"]}, "no input 'nobody'"),
        ({"axes": feeds["axes"].astype(np.int32)}, "is int64, the constant is int32"),
        ({"axes": np.zeros(3, np.int64)}, "cannot have the shape"),
    ):
        with pytest.raises(InputError, match=message):
            convert(path, constants=wrong)


def test_what_cannot_be(tmp_path: Path) -> None:
    """Ranks have to be known, and a value that is carried has to keep its type."""
    text = """g (bool flag, float[2,3] x) => (y) {
        one = Constant<value = int64[1] {-1}>()
        y = If(flag) <then_branch = t () => (a) { a = Reshape(x, one) }, else_branch = e () => (b) { b = Abs(x) }>
    }"""
    with pytest.raises(UnsupportedError, match=r"with the else branch f32\[2,3\]"):
        convert(save(parsed(text), tmp_path))
    text = """g (int64 n, float[2] x) => (y) {
        go = Constant<value = bool {1}>()
        y = Loop(n, go, x) <body = b (int64 i, bool c, float[2] v) => (co, w) {
            co = Identity(c)
            w = Cast<to = 7>(v)
        }>
    }"""
    with pytest.raises(UnsupportedError, match="carries from one iteration to the next is f32"):
        convert(save(parsed(text), tmp_path))


def test_unsupported_nodes_inside_are_listed(tmp_path: Path) -> None:
    text = """g (bool flag, float[2] x) => (y) {
        y = If(flag) <
            then_branch = t () => (a) { b = StringNormalizer(x) a = Identity(b) },
            else_branch = e () => (c) { d = Frobnicate(x) c = Identity(d) }>
    }"""
    with pytest.raises(UnsupportedError) as caught:
        convert(save(parsed(text), tmp_path))
    assert {item.op for item in caught.value.items} == {"StringNormalizer", "Frobnicate"}


def test_nested_loops_cannot_explode(tmp_path: Path) -> None:
    """Each body carries a value that grows, so that it is read again and again, and holds the next loop."""

    def body(level: int) -> str:
        if level == 0:
            return "w = Concat<axis = 0>(v, v)"
        return f"""one{level} = Constant<value = int64 {{1}}>()
            w = Loop(one{level}, c, v) <body = b{level} (int64 i, bool c, float[k] v) => (co, w) {{
                co = Identity(c)
                {body(level - 1)}
            }}>"""

    for depth in (3, 15, 17):
        text = f"""g (int64 n, float[2] v) => (w) {{
            c = Constant<value = bool {{1}}>()
            {body(depth)}
        }}"""
        try:
            convert(save(parsed(text), tmp_path))
        except UnsupportedError as error:
            assert depth > 3 and ("too large in all" in str(error) or "deeper than" in str(error))


def test_squeeze_of_a_size_that_is_open(tmp_path: Path) -> None:
    """Which dimensions go is decided by the rank that the model declares for its output."""
    text = "g (float[n,1,3] x) => (float[k] y) { z = Squeeze(x) y = Relu(z) }"
    x = np.array([[[1, -2, 3]]], np.float32)
    for declared, shape, fails in (((None,), (3,), True), ((None, 3), (1, 3), False)):
        model = onnx.parser.parse_model(HEAD + text)
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, declared))
        modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
        session = microlith.load(tmp_path / "m.lith")
        np.testing.assert_array_equal(session.run(x)["y"], np.maximum(x, 0).reshape(shape))
        two = np.concatenate([x, x])
        if fails:
            with pytest.raises(ShapeError):
                session.run(two)
        else:
            assert session.run(two)["y"].shape == (2, 3)


def test_squeeze_of_a_batch_that_is_open(tmp_path: Path) -> None:
    """What follows needs the rank that is left when of two open sizes only the first is 1."""
    text = """g (float[n,k,3] x, float[1] t) => (y) {
        two = Constant<value = int64[1] {2}>()
        three = Constant<value = int64[1] {3}>()
        axis = Constant<value = int64[1] {1}>()
        score = Slice(x, two, three, two)
        over = GreaterOrEqual(score, t)
        bare = Squeeze(over)
        found = NonZero(bare)
        turned = Transpose<perm = [1, 0]>(found)
        where = Squeeze(turned, axis)
        y = Gather<axis = 1>(x, where)
    }"""
    model = parsed(text)
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
    with microlith.load(tmp_path / "m.lith") as session:
        for rows in (7, 2):
            feeds = {"x": np.random.default_rng(rows).normal(size=(1, rows, 3)).astype(np.float32)}
            feeds["t"] = np.array([0.1], np.float32)
            np.testing.assert_array_equal(session.run(feeds)["y"], run_reference(model, feeds)[0])
        with pytest.raises(ShapeError):
            session.run({"x": np.ones((2, 4, 3), np.float32), "t": np.zeros(1, np.float32)})


SQUEEZE = """g (float[2,n] x) => (y) {
    one = Constant<value = int64 {1}>()
    axis = Constant<value = int64[1] {-1}>()
    shape = Shape<start = 1>(x)
    is_one = Equal(shape, one)
    z = If(is_one) <
        then_branch = t () => (a) { a = Squeeze(x, axis) },
        else_branch = e () => (b) { b = Identity(x) }>
    y = TAIL
}"""
"""What exporters make of a squeeze along a dimension that they do not know; TAIL uses z."""


def test_a_squeeze_behind_a_question(tmp_path: Path) -> None:
    text = SQUEEZE.replace("TAIL", "Neg(z)")
    modelfile.save(convert(save(parsed(text), tmp_path)), tmp_path / "m.lith")
    session = microlith.load(tmp_path / "m.lith")
    np.testing.assert_array_equal(session.run(np.array([[1], [2]], np.float32))["y"], [-1, -2])
    with pytest.raises(ShapeError):
        session.run(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("declared,tail", [((2, None), "Neg(z)"), (None, "Transpose<perm = [1, 0]>(z)")], ids=str)
def test_a_squeeze_that_does_not_fit_what_follows(
    declared: tuple[int | None, ...] | None, tail: str, tmp_path: Path
) -> None:
    """The declared rank, or the rank that a later node needs, says that nothing is taken out."""
    text = SQUEEZE.replace("TAIL", tail)
    model = parsed(text)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, declared))
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    actual = microlith.load(tmp_path / "m.lith").run(x)["y"]
    np.testing.assert_array_equal(actual, run_reference(model, {"x": x})[0])
