"""Elements of tensors of sizes, as far as they follow from the shape of another tensor."""

from __future__ import annotations

import numpy as np
import pytest

from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.ops.traced_sizes import traced_sizes


@pytest.mark.parametrize(
    "op, end, other, expected",
    [
        ("add", 2, [2], ("n+2", 6)),
        ("mul", 2, [2, 3], ("n*2", 12)),
        ("mul", 2, [-1, 3], (None, 12)),
        ("add", 0, [2], ()),
    ],
)
def test_sums_and_products(op: str, end: int, other: list[int], expected: tuple[int | str | None, ...]) -> None:
    x = Value("x", TensorType(DType.f32, ("n", 4)))
    graph = Graph(inputs=[x])
    sizes = graph.add("shape", [x], {"start": 0, "end": end, "to": DType.s64.value}).output
    result = graph.add(op, [sizes, graph.constant("other", np.array(other, np.int64))]).output
    assert traced_sizes(result) == expected
