# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors in TFLite models, which are tensors there: each step of a loop writes one of their rows.

TensorFlow's converter writes row i of a list as what is in front of it, the row, and what is behind it, joined: two
SLICEs whose sizes are known only at run time, and a CONCATENATION. Keras' recurrent layers come so; here this is one
operator again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import TfliteNode
from .tflite_model import TfliteOperator, TfliteSubgraph, TfliteTensor

SET_ROW = "CONCATENATION of a list"
"""The operator, with the list, the number of the row and the row as its inputs."""


def with_rows_set(subgraph: TfliteSubgraph) -> list[TfliteOperator]:
    """The operators of a subgraph, those of rows that are written as one."""
    if not any(operator.name == "SLICE" for operator in subgraph.operators):
        return subgraph.operators
    finder = _Finder(subgraph)
    return [finder.row_set(operator) or operator for operator in subgraph.operators if not finder.is_part(operator)]


def set_row(node: TfliteNode) -> Value:
    """A list with another tensor as one of its rows."""
    rows, number, row = (node.value(index) for index in range(3))
    place = node.reshape(node.add("cast", [number], {"to": DType.s64.value}), (1, 1))
    return node.add("scatter_nd", [rows, place, row], quant=node.output_quant())


class _Finder:
    def __init__(self, subgraph: TfliteSubgraph) -> None:
        self.subgraph = subgraph
        self.makers = {index: operator for operator in subgraph.operators for index in operator.outputs}
        self.uses = Counter(index for operator in subgraph.operators for index in operator.inputs)
        self.uses.update(subgraph.outputs)
        found = [(operator, self._inputs(operator)) for operator in subgraph.operators]
        self.found = {operator.outputs: inputs for operator, inputs in found if inputs is not None}
        ends = [operator.inputs for operator in subgraph.operators if operator.outputs in self.found]
        self.parts = {index for inputs in ends for index in (inputs[0], inputs[2])}

    def is_part(self, operator: TfliteOperator) -> bool:
        """Whether an operator gives what is in front of a row, or behind it."""
        return operator.name == "SLICE" and not self.parts.isdisjoint(operator.outputs)

    def row_set(self, operator: TfliteOperator) -> TfliteOperator | None:
        inputs = self.found.get(operator.outputs)
        return None if inputs is None else replace(operator, name=SET_ROW, inputs=inputs)

    def _inputs(self, operator: TfliteOperator) -> tuple[int, int, int] | None:
        """The list, the number of the row, and the row, if an operator puts a list together again."""
        if operator.name != "CONCATENATION" or len(operator.inputs) != 3 or len(operator.outputs) != 1:
            return None
        front, row, back = operator.inputs
        first, last = self._slice(front), self._slice(back)
        if first is None or last is None or first[0] != last[0] or not self._is_row(row, first[0], operator):
            return None
        number = self._padded(first[2], -1)
        behind = self._padded(last[1], 0)
        fits = self._all(first[1], 0) and self._all(last[2], -1) and number is not None and behind is not None
        if not fits or not self._is_next(behind, number):
            return None
        assert number is not None
        return first[0], number, row

    def _slice(self, index: int) -> tuple[int, int, int] | None:
        """The inputs of the SLICE that makes a tensor for one reader."""
        maker = self.makers.get(index)
        if maker is None or maker.name != "SLICE" or len(maker.inputs) != 3 or self.uses[index] != 1:
            return None
        if len(maker.outputs) != 1:
            return None
        return maker.inputs[0], maker.inputs[1], maker.inputs[2]

    def _is_row(self, row: int, rows: int, operator: TfliteOperator) -> bool:
        """Whether a tensor has the shape of one row, and the result that of the list."""
        whole, one = self._tensor(rows), self._tensor(row)
        if whole is None or one is None or not whole.shape or one.shape != (1, *whole.shape[1:]):
            return False
        result = self._tensor(operator.outputs[0])
        same = result is not None and (result.shape, result.type_name) == (whole.shape, whole.type_name)
        options = operator.read_options("ConcatenationOptions")
        return same and options.Axis() == 0 and one.type_name == whole.type_name

    def _tensor(self, index: int) -> TfliteTensor | None:
        return self.subgraph.tensors[index] if 0 <= index < len(self.subgraph.tensors) else None

    def _all(self, index: int, number: int) -> bool:
        """Whether a tensor is constant, and this number everywhere."""
        tensor = self._tensor(index)
        return tensor is not None and tensor.data is not None and bool(np.all(tensor.data == number))

    def _padded(self, index: int, rest: int) -> int | None:
        """The first element, if a tensor is made of one that is computed and of the same constant behind it."""
        maker = self.makers.get(index)
        if maker is None or maker.name not in ("CONCATENATION", "PACK") or not maker.inputs:
            return None
        if not all(self._all(other, rest) for other in maker.inputs[1:]):
            return None
        first = self._scalar(maker.inputs[0])
        tensor = self._tensor(first)
        return first if tensor is not None and tensor.data is None and tensor.shape in ((), (1,)) else None

    def _scalar(self, index: int) -> int:
        """What a tensor of one element was before it got another shape."""
        maker = self.makers.get(index)
        if maker is None or maker.name not in ("RESHAPE", "EXPAND_DIMS", "SQUEEZE") or not maker.inputs:
            return index
        return maker.inputs[0]

    def _is_next(self, index: int | None, number: int | None) -> bool:
        """Whether a tensor is one more than another."""
        maker = None if index is None else self.makers.get(index)
        if maker is None or maker.name != "ADD" or len(maker.inputs) != 2:
            return False
        return any(a == number and self._all(b, 1) for a, b in (maker.inputs, maker.inputs[::-1]))
