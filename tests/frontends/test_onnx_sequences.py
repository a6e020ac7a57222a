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
    assert len(graph.nodes) <= 12


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
    ],
)
def test_says_why_not(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        converted(onnx.parser.parse_model(HEAD + text), tmp_path)
