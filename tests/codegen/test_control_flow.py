"""Ops that run subgraphs in generated C, against ONNX Runtime and LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from generated_projects import built, project

from microlith.codegen import execute
from microlith.converter import convert
from microlith.errors import UnsupportedError

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

FLAGS = [
    {"flag": np.array(flag), "x": np.arange(-3, 3, dtype=np.float32).reshape(2, 3)} for flag in (True, False, True)
]

CASES: dict[str, tuple[str, list[dict[str, np.ndarray]]]] = {
    "if": (
        """g (bool flag, float[2,3] x) => (y, n) {
            two = Constant<value = float[1] {2}>()
            z = Relu(x)
            y = If(flag) <
                then_branch = t () => (a) { a = Mul(z, two) },
                else_branch = e () => (b) { c = Neg(x) b = Add(c, z) }>
            n = Neg(y)
        }""",
        FLAGS,
    ),
    "if that gives a constant or an input": (
        """g (bool flag, float[2,3] x) => (y) {
            y = If(flag) <
                then_branch = t () => (a) { a = Constant<value = float[2,3] {1,2,3,4,5,6}>() },
                else_branch = e () => (b) { b = Identity(x) }>
        }""",
        FLAGS,
    ),
    "if in a loop in an if": (
        """g (bool flag, float[2,3] x) => (y) {
            many = Constant<value = int64 {500}>()
            go = Constant<value = bool {1}>()
            three = Constant<value = int64 {3}>()
            y = If(flag) <
                then_branch = t () => (a) {
                    a = Loop(many, go, x) <body = b (int64 i, bool c, float[2,3] s) => (cc, next) {
                        cc = Identity(c)
                        late = Less(i, three)
                        next = If(late) <then_branch = tt () => (u) { u = Add(s, x) },
                                         else_branch = ee () => (v) { v = Sub(s, x) }>
                    }>
                },
                else_branch = e () => (b) { b = Abs(x) }>
        }""",
        FLAGS,
    ),
    "loop that collects": (
        """g (float[3] start, float[3] step) => (last, all, numbers) {
            n = Constant<value = int64 {300}>()
            go = Constant<value = bool {1}>()
            last, all, numbers = Loop(n, go, start) <body = b (int64 i, bool c, float[3] s) => (cc, next, item, num) {
                cc = Identity(c)
                next = Add(s, step)
                item = Mul(next, next)
                num = Identity(i)
            }>
        }""",
        [{"start": np.float32([1, 2, 3]), "step": np.float32([0.5, -1, 0])}],
    ),
    "loop with a count and a condition that come at run time": (
        """g (int64 n, bool go, float[1] start, float limit) => (last) {
            last = Loop(n, go, start) <body = b (int64 i, bool c, float[1] s) => (cc, next) {
                next = Add(s, s)
                sum = ReduceSum<keepdims = 0>(next)
                cc = Less(sum, limit)
            }>
        }""",
        [
            {"n": np.array(n), "go": np.array(go), "start": np.float32([1]), "limit": np.array(20, np.float32)}
            for n, go in ((3, True), (100, True), (5, False), (0, True))
        ],
    ),
    "scan": (
        """g (float[4,2] x, float[2] start) => (last, sums) {
            last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] item) => (next, out) {
                next = Add(s, item)
                out = Identity(next)
            }>(start, x)
        }""",
        [{"x": np.arange(8, dtype=np.float32).reshape(4, 2), "start": np.float32([10, 20])}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_onnxruntime(name: str, tmp_path: Path) -> None:
    import onnxruntime

    text, samples = CASES[name]
    model = onnx.parser.parse_model(HEAD + text)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    graph = convert(model)
    assert any(node.subgraphs for node in graph.nodes) or name == "scan"
    result = built(graph, "host", tmp_path / "a", samples=samples, name="model")
    execute.selftest(result)
    outputs = execute.run(result, samples)
    for sample, actual in zip(samples, outputs.samples, strict=True):
        for output, wanted in zip(graph.outputs, session.run(None, sample), strict=True):
            np.testing.assert_allclose(actual[output.name], wanted, rtol=1e-6)
            assert actual[output.name].shape == wanted.shape


def test_subgraphs_on_a_board(tmp_path: Path) -> None:
    text, samples = CASES["if in a loop in an if"]
    graph = convert(onnx.parser.parse_model(HEAD + text))
    result = built(graph, "cortex-m4", tmp_path / "a", samples=samples, name="model")
    assert "PASS" in execute.selftest(result)  # which measures the stack, too


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            """g (bool flag, float[2,3] x) => (y) {
                shape = Constant<value = int64[2] {3, 2}>()
                y = If(flag) <then_branch = t () => (a) { a = Identity(x) },
                              else_branch = e () => (b) { b = Reshape(x, shape) }>
            }""",
            r"its branches give f32\[2,3\] and f32\[3,2\]",
        ),
        (
            """g (int64 n, float[3] x) => (y) {
                go = Constant<value = bool {1}>()
                y = Loop(n, go) <body = b (int64 i, bool c) => (cc, item) { cc = Identity(c) item = Neg(x) }>
            }""",
            "how often it runs, and so how much it collects",
        ),
        (
            """g (int64 n, float[1] x) => (y) {
                go = Constant<value = bool {1}>()
                y = Loop(n, go, x) <body = b (int64 i, bool c, float[k] s) => (cc, next) {
                    cc = Identity(c) next = Concat<axis = 0>(s, x) }>
            }""",
            r"a value that it carries is f32\[1\] at first and f32\[2\] later",
        ),
    ],
)
def test_says_why_not(text: str, reason: str, tmp_path: Path) -> None:
    graph = convert(onnx.parser.parse_model(HEAD + text))
    with pytest.raises(UnsupportedError, match=reason):
        project(graph, "host", tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_model_without_inputs(tmp_path: Path) -> None:
    graph = convert(onnx.parser.parse_model(HEAD + "g () => (y) { y = Constant<value = float[3] {0.5, -1, 2}>() }"))
    result = built(graph, "host", tmp_path / "a", name="model")
    execute.selftest(result)
    outputs = execute.run(result, [{}, {}]).outputs["y"]
    assert outputs.tolist() == [[0.5, -1, 2]] * 2
