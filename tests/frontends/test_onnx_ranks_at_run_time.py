"""ONNX If whose branches give tensors of different ranks: what follows is decided when the model runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import Arrays, numbers, parsed, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.errors import UnsupportedError
from microlith.size_ranges import SizeRange

SQUEEZED = """
    one = Constant<value = int64 {1}>()
    axis = Constant<value = int64[1] {1}>()
    size = Shape<start = 1, end = 2>(x)
    is_one = Equal(size, one)
    z = If(is_one) <
        then_branch = t () => (a) { a = Squeeze(x, axis) },
        else_branch = e () => (b) { b = Identity(x) }>
"""

MODELS = {
    "squeeze-then-sum": (
        "g (float[2,n,3] x) => (float s) {" + SQUEEZED + "q = Mul(z, z) s = ReduceSum<keepdims = 0>(q) }",
        ({"x": numbers(2, 1, 3)}, {"x": numbers(2, 4, 3)}),
    ),
    "squeeze-then-flat": (
        "g (float[2,n,3] x) => (y, w) {"
        + SQUEEZED
        + "q = Neg(z) flat = Constant<value = int64[2] {2, -1}>() y = Reshape(q, flat) w = Abs(x) }",
        ({"x": numbers(2, 1, 3)}, {"x": numbers(2, 4, 3)}),
    ),
    "reshape-or-not": (
        """g (bool flag, float[2,3] x, float[3] v) => (y) {
            six = Constant<value = int64[1] {-1}>()
            all = Constant<value = int64[2] {2, -1}>()
            z = If(flag) <then_branch = t () => (a) { a = Reshape(x, six) }, else_branch = e () => (b) { b = Abs(x) }>
            w = Exp(v)
            q = Tanh(z)
            r = Reshape(q, all)
            y = Add(r, w)
        }""",
        tuple({"flag": np.array(flag), "x": numbers(2, 3), "v": numbers(3, seed=1)} for flag in (True, False)),
    ),
    "inside-a-branch": (
        """g (bool p, bool q, float[4] x) => (y) {
            half = Constant<value = float {0.5}>()
            row = Constant<value = float[1] {3.0}>()
            s = If(p) <
                then_branch = t () => (a) { a = Identity(row) },
                else_branch = e () => (b) {
                    c = If(q) <then_branch = tt () => (aa) { aa = Sqrt(half) },
                               else_branch = te () => (ab) { ab = Neg(row) }>
                    b = Abs(c) }>
            r = Mul(s, x)
            y = Add(r, s)
        }""",
        tuple(
            {"p": np.array(p), "q": np.array(q), "x": numbers(4)}
            for p, q in ((True, True), (False, True), (False, False))
        ),
    ),
    "two-questions": (
        """g (bool p, bool q, float[2,3] x) => (y) {
            flat = Constant<value = int64[1] {-1}>()
            z = If(p) <then_branch = t () => (a) { a = Reshape(x, flat) }, else_branch = e () => (b) { b = Abs(x) }>
            u = If(q) <then_branch = v () => (c) { c = Neg(z) }, else_branch = w () => (d) { d = Reshape(z, flat) }>
            y = ReduceMax<keepdims = 0>(u)
        }""",
        tuple({"p": np.array(p), "q": np.array(q), "x": numbers(2, 3)} for p in (True, False) for q in (True, False)),
    ),
    "in-a-loop": (
        """g (int64 n, float[2,3] x) => (y) {
            go = Constant<value = bool {1}>()
            flat = Constant<value = int64[1] {-1}>()
            back = Constant<value = int64[2] {2, 3}>()
            zero = Constant<value = int64 {0}>()
            y = Loop(n, go, x) <body = b (int64 i, bool c, float[2,3] v) => (co, w) {
                co = Identity(c)
                first = Equal(i, zero)
                z = If(first) <then_branch = t () => (a) { a = Reshape(v, flat) },
                               else_branch = e () => (b) { b = Abs(v) }>
                d = Add(z, z)
                w = Reshape(d, back)
            }>
        }""",
        tuple({"n": np.array(n, np.int64), "x": numbers(2, 3)} for n in (0, 1, 3)),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_follows_is_read_for_both(name: str, tmp_path: Path) -> None:
    text, cases = MODELS[name]
    model = parsed(text)
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
    session = microlith.load(tmp_path / "m.lith")
    for feeds in cases:
        hold(session, model, feeds)


def hold(session: microlith.Model, model: object, feeds: Arrays) -> None:
    outputs = session.run(feeds)
    for actual, expected in zip(outputs.values(), run_reference(model, feeds), strict=True):
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)


def test_a_branch_with_which_nothing_can_follow_is_left_out(tmp_path: Path) -> None:
    """The transpose wants two dimensions."""
    text = """g (bool flag, float[2,3] x) => (y) {
        flat = Constant<value = int64[1] {-1}>()
        z = If(flag) <then_branch = t () => (a) { a = Reshape(x, flat) }, else_branch = e () => (b) { b = Abs(x) }>
        y = Transpose<perm = [1, 0]>(z)
    }"""
    graph = convert(save(parsed(text), tmp_path))
    assert [node.op for node in graph.nodes] == ["abs", "transpose"]


def test_a_declared_rank_leaves_a_branch_out(tmp_path: Path) -> None:
    text = """g (bool flag, float[2,3] x) => (y) {
        flat = Constant<value = int64[1] {-1}>()
        z = If(flag) <then_branch = t () => (a) { a = Reshape(x, flat) }, else_branch = e () => (b) { b = Abs(x) }>
        y = Neg(z)
    }"""
    model = parsed(text)
    with pytest.raises(UnsupportedError, match=r"is f32\[6\] with the then branch, with the else branch f32\[2,3\]"):
        convert(save(model, tmp_path))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3]))
    graph = convert(save(model, tmp_path))
    assert graph.outputs[0].shape == (2, 3)
    assert all(node.op != "if" for node in graph.nodes)


RANGED = "g (float[2,n,3] x) => (y) {" + SQUEEZED + "y = Mul(z, z) }"
ARITHMETIC = """g (float[2,n,3] x) => (y) {
    axis = Constant<value = int64[1] {1}>()
    two = Constant<value = int64 {2}>()
    seven = Constant<value = int64 {7}>()
    size = Shape<start = 1, end = 2>(x)
    twice = Mul(size, two)
    more = Add(twice, two)
    few = Less(more, seven)
    some = Greater(size, two)
    none = Not(some)
    both = And(few, none)
    z = If(both) <then_branch = t () => (a) { a = ReduceSum<keepdims = 0>(x, axis) },
                  else_branch = e () => (b) { b = Neg(x) }>
    y = Mul(z, z)
}"""


@pytest.mark.parametrize(
    ("text", "low", "high", "ops"),
    [
        (RANGED, 1, 1, ["reshape", "square"]),
        (RANGED, 2, 5, ["square"]),
        (ARITHMETIC, 1, 2, ["reduce_sum", "square"]),
        (ARITHMETIC, 3, 5, ["fused_elementwise"]),
    ],
)
def test_a_range_with_one_answer_takes_one_branch(
    text: str, low: int, high: int, ops: list[str], tmp_path: Path
) -> None:
    model = parsed(text)
    graph = convert(save(model, tmp_path), inputs={"n": (SizeRange(low, high),)})
    assert [node.op for node in graph.nodes] == ops
    modelfile.save(graph, tmp_path / "m.lith")
    session = microlith.load(tmp_path / "m.lith")
    for size in range(low, high + 1):
        hold(session, model, {"x": numbers(2, size, 3)})


@pytest.mark.parametrize(("text", "low", "high"), [(RANGED, 1, 5), (ARITHMETIC, 2, 3)])
def test_a_range_with_two_answers_says_what_to_choose(text: str, low: int, high: int, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"f32\[2,3\] with the then branch") as error:
        convert(save(parsed(text), tmp_path), inputs={"n": (SizeRange(low, high),)})
    assert f"the branch depends on n: give a size, --input n:{low}, or a range" in str(error.value)


@pytest.mark.parametrize(
    ("question", "low", "high", "answer"),
    [
        ("GreaterOrEqual", 3, 9, True),
        ("GreaterOrEqual", 2, 9, None),
        ("GreaterOrEqual", 1, 2, False),
        ("LessOrEqual", 1, 3, True),
        ("LessOrEqual", 3, 4, None),
        ("LessOrEqual", 4, 9, False),
        ("Greater", 4, 9, True),
        ("Greater", 1, 3, False),
        ("Less", 1, 2, True),
        ("Less", 3, 9, False),
        ("Equal", 3, 3, True),
        ("Equal", 1, 2, False),
        ("Equal", 2, 4, None),
    ],
)
def test_questions_about_a_size(question: str, low: int, high: int, answer: bool | None, tmp_path: Path) -> None:
    text = f"""g (float[n] x) => (y) {{
        three = Constant<value = int64 {{3}}>()
        size = Shape<start = 0, end = 1>(x)
        asked = {question}(size, three)
        y = If(asked) <then_branch = t () => (a) {{ a = Sqrt(x) }}, else_branch = e () => (b) {{ b = Neg(x) }}>
    }}"""
    ops = {node.op for node in convert(save(parsed(text), tmp_path), inputs={"n": (SizeRange(low, high),)}).nodes}
    expected = "if" if answer is None else "sqrt" if answer else "neg"
    assert ops & {"if", "sqrt", "neg"} == {expected}
