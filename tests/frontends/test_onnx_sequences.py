"""Sequences of tensors whose lengths and positions are known at conversion, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx_models import check, converted

from microlith.errors import UnsupportedError

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
X = np.arange(24, dtype=np.float32).reshape(4, 6)

CASES = {
    "split into ones and stacked anew": """g (float[4,6] x) => (y) {
        s = SplitToSequence<axis = 0, keepdims = 0>(x)
        y = ConcatFromSequence<axis = 1, new_axis = 1>(s)
    }""",
    "split by a length, the last part shorter": """g (float[4,6] x) => (y, n) {
        four = Constant<value = int64 {4}>()
        last = Constant<value = int64 {-1}>()
        s = SplitToSequence<axis = 1>(x, four)
        y = SequenceAt(s, last)
        n = SequenceLength(s)
    }""",
    "split by lengths, edited": """g (float[4,6] x) => (y) {
        lengths = Constant<value = int64[3] {1, 2, 3}>()
        zero = Constant<value = int64 {0}>()
        back = Constant<value = int64 {-2}>()
        s = SplitToSequence<axis = -1, keepdims = 0>(x, lengths)
        z = Neg(x)
        s2 = SequenceInsert(s, z, back)
        s3 = SequenceErase(s2, zero)
        s4 = SequenceInsert(s3, x)
        s5 = SequenceErase(s4)
        y = ConcatFromSequence<axis = -1>(s5)
    }""",
    "gathered by a loop": """g (float[4,6] x) => (y) {
        n = Constant<value = int64 {4}>()
        go = Constant<value = bool {1}>()
        none = SequenceEmpty()
        rows, sums = Loop(n, go, none) <
            body = b (int64 i, bool c, seq(float[6]) before) => (bool co, seq(float[6]) after, float sum) {
            co = Identity(c)
            row = Gather<axis = 0>(x, i)
            doubled = Add(row, row)
            sum = ReduceSum<keepdims = 0>(row)
            after = SequenceInsert(before, doubled)
        }>
        stacked = ConcatFromSequence<axis = 1, new_axis = 1>(rows)
        y = Add(stacked, sums)
    }""",
    "gathered until a number is reached": """g (float[4,6] x) => (y) {
        go = Constant<value = bool {1}>()
        first = Constant<value = int64 {1}>()
        one = Constant<value = int64 {1}>()
        four = Constant<value = int64 {4}>()
        none = SequenceEmpty()
        last, rows = Loop(, go, first, none) <
            body = b (int64 i, bool c, int64 k, seq(float[6]) before) => (co, next, after) {
                row = Gather<axis = 0>(x, k)
                next = Add(k, one)
                co = Less(next, four)
                after = SequenceInsert(before, row)
            }>
        y = ConcatFromSequence<axis = 0>(rows)
    }""",
    "mapped": """g (float[4,6] x) => (y) {
        s = SplitToSequence<axis = 0>(x)
        one = Constant<value = float {1}>()
        m = SequenceMap(s, one) <
            body = b (float[1,6] row, float shift) => (float[1,6] r) { d = Sub(row, shift) r = Abs(d) }>
        y = ConcatFromSequence<axis = 0>(m)
    }""",
    "what is there for sure": """g (float[4,6] x) => (y) {
        o = Optional(x)
        has = OptionalHasElement(o)
        y = If(has) <then_branch = t () => (a) { a = OptionalGetElement(o) },
                     else_branch = e () => (b) { b = Neg(x) }>
    }""",
    "built from nothing, read in a subgraph": """g (float[4,6] x) => (y) {
        s = SequenceEmpty()
        z = Relu(x)
        s2 = SequenceInsert(s, z)
        s3 = SequenceInsert(s2, x)
        sum = ReduceSum<keepdims = 0>(x)
        zero = Constant<value = float {0}>()
        flag = Greater(sum, zero)
        one = Constant<value = int64 {1}>()
        y = If(flag) <then_branch = t () => (a) { a = SequenceAt(s3, one) },
                      else_branch = e () => (b) { b = ConcatFromSequence<axis = 0>(s2) }>
    }""",
}


@pytest.mark.parametrize("name", CASES)
def test_equals_onnxruntime(name: str, tmp_path: Path) -> None:
    graph = check(onnx.parser.parse_model(HEAD + CASES[name]), tmp_path, {"x": X})
    assert len(graph.nodes) <= 24


def test_parts_whose_lengths_come_at_run_time(tmp_path: Path) -> None:
    text = """g (float[n,6] x, int64[3] lengths) => (y, z) {
        last = Constant<value = int64 {-1}>()
        s = SplitToSequence<axis = 0>(x, lengths)
        y = SequenceAt(s, last)
        z = ConcatFromSequence<axis = 0>(s)
    }"""
    check(onnx.parser.parse_model(HEAD + text), tmp_path, {"x": X, "lengths": np.array([1, 0, 3])})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("g (float[4,n] x) => (y) { s = SplitToSequence<axis = 1>(x) y = SequenceLength(s) }", "the size n"),
        (
            "g (float[4,6] x, int64 i) => (y) { s = SequenceConstruct(x, x) y = SequenceAt(s, i) }",
            "the position in a sequence is computed at run time",
        ),
        ("g (float[4,6] x) => (seq(float[4,6]) s) { s = SequenceConstruct(x, x) }", "it is a sequence of tensors"),
        ("g (float[4,6] x) => (y) { s = SequenceConstruct(x, x) y = Relu(s) }", "input 0 is a sequence of tensors"),
        (
            (
                "g (float[4,6] x) => (y) { three = Constant<value = int64 {3}>() s = SequenceConstruct(x) "
                "y = SequenceAt(s, three) }"
            ),
            "the position 3 is outside of a sequence of 1 tensors",
        ),
        (
            (
                "g (float[4,6] x) => (y) { five = Constant<value = int64[1] {5}>() s = SplitToSequence(x, five) "
                "y = SequenceLength(s) }"
            ),
            r"the parts \[5\] do not make the size 4",
        ),
        ("g (float[4,6] x) => (y) { s = SequenceEmpty() t = SequenceErase(s) y = SequenceLength(t) }", "an empty"),
        (
            """g (float[4,6] x, int64 n) => (y) {
                go = Constant<value = bool {1}>()
                none = SequenceEmpty()
                s = Loop(n, go, none) <body = b (int64 i, bool c, seq(float[4,6]) before) => (co, after) {
                    co = Identity(c) after = SequenceInsert(before, x) }>
                y = ConcatFromSequence<axis = 0>(s)
            }""",
            "it carries a sequence of tensors, and how often it runs is not known",
        ),
    ],
)
def test_says_why_not(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        converted(onnx.parser.parse_model(HEAD + text), tmp_path)
