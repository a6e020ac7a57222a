"""Runs a graph node by node through the C kernels of this machine and shows every value on the way.

What calibration and comparison need: as fast as the kernels, every intermediate value, memory for the live ones only.
An op without a kernel here is computed by its NumPy reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from . import ops
from .dtypes import DType
from .errors import ShapeError
from .evaluate import States, check_input, node_results
from .ir import Graph, Node, Value
from .nnacl_kernels import catalogue
from .nnacl_kernels.prepared import Prepared

Visit = Callable[[Value, np.ndarray], np.ndarray | None]
"""Sees a value that has been computed; an array that it returns takes the place of what was computed."""


@dataclass
class _Step:
    """A node for certain input shapes."""

    prepared: Prepared | None
    """None: the reference computes it."""
    types: list[tuple[tuple[int, ...], np.dtype]]


class Executor:
    """Runs one graph many times. Integer nodes must be materialized."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._isa = catalogue.detected_isa()
        self._steps: dict[tuple[int, tuple[tuple[int, ...] | None, ...]], _Step] = {}
        last: dict[Value, int] = {}
        for index, node in enumerate(graph.nodes):
            last.update((value, index) for value in node.inputs if value is not None)
        kept = set(graph.results)
        self._dying: list[list[Value]] = [[] for _ in graph.nodes]
        for value, index in last.items():
            if value not in kept and not value.is_constant:
                self._dying[index].append(value)

    def run(
        self, inputs: Mapping[str, np.ndarray], visit: Visit | None = None, states: States | None = None
    ) -> dict[str, np.ndarray]:
        """The outputs by name. ``visit`` is called for each input, state and result of a node, in order.

        ``states``: as in ``evaluate``. Raises InputError for an input that does not fit, ShapeError when a node refuses
        its inputs.
        """
        held = {} if states is None else states
        values: dict[Value, np.ndarray] = {}
        for value in self.graph.inputs:
            values[value] = _seen(visit, value, check_input(value, inputs))
        for state in self.graph.states:
            values[state.input] = _seen(visit, state.input, held.get(state.input.name, state.start()))
        with np.errstate(all="ignore"):
            for index, node in enumerate(self.graph.nodes):
                arrays = [
                    None if source is None else source.data if source.data is not None else values[source]
                    for source in node.inputs
                ]
                for output, result in zip(node.outputs, self._run_node(index, node, arrays), strict=True):
                    values[output] = _seen(visit, output, result)
                for dead in self._dying[index]:
                    del values[dead]
        final = {value: value.data if value.data is not None else values[value] for value in self.graph.results}
        held.update({state.input.name: final[state.output] for state in self.graph.states})
        return {value.name: final[value] for value in self.graph.outputs}

    def _run_node(self, index: int, node: Node, arrays: list[np.ndarray | None]) -> list[np.ndarray]:
        key = (index, tuple(None if array is None else array.shape for array in arrays))
        step = self._steps.get(key) if not node.subgraphs else _Step(None, [])
        if step is None:
            step = self._prepare(node, arrays)
            if not ops.get(node.op).data_of(node):  # else other data may give other shapes
                self._steps[key] = step
        if step.prepared is None:
            results = node_results(node, arrays)
            return [
                np.ascontiguousarray(np.asarray(result, output.dtype.numpy)).reshape(np.shape(result))
                for result, output in zip(results, node.outputs, strict=True)
            ]
        outputs = [np.empty(shape, dtype) for shape, dtype in step.types]
        step.prepared.run(arrays, outputs)
        return outputs

    def _prepare(self, node: Node, arrays: list[np.ndarray | None]) -> _Step:
        """Chooses the best kernel that runs here. One that packs an input wants it constant; else the portable one."""
        tensors = [
            None if array is None else catalogue.Tensor(DType.from_numpy(array.dtype).value, array.shape, array)
            for array in arrays
        ]
        try:
            params, outputs = catalogue.make_params(node.op, node.attrs, tensors, len(node.outputs))
        except catalogue.PlanError as error:
            raise ShapeError(str(error), where=f"{node.source} '{node.name}'") from error
        types = [(output.shape, np.dtype(DType(output.dtype).numpy)) for output in outputs]
        first = next((tensor for tensor in tensors if tensor is not None), None)
        constants = [None if value is None else value.data for value in node.inputs]
        for isa in (self._isa, ("c",)):
            if first is None:
                break
            kernel = catalogue.find_kernel(node.op, first.dtype, params, isa, runnable=True)
            if kernel is not None and not any(
                constant is None and array is not None and catalogue.packed_size(kernel, params, position)
                for position, (constant, array) in enumerate(zip(constants, arrays, strict=True))
            ):
                return _Step(Prepared(kernel, params, constants), types)
        return _Step(None, types)


def _seen(visit: Visit | None, value: Value, array: np.ndarray) -> np.ndarray:
    if visit is None:
        return array
    replaced = visit(value, array)
    return array if replaced is None else replaced
