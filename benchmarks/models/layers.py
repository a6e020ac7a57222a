# SPDX-License-Identifier: Apache-2.0
"""A model layer by layer: each of our layers is fed with what the reference runtime has computed before it.

Where a model rounds to 8 bits inside, one rounding decided differently grows on the way to the output, in any two
executions, be it of ONNX Runtime with different numbers of threads (threads_of_ort.py). What can be compared is each
layer alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Layers:
    """How far our layers are from the reference runtime's, each fed with its values."""

    compared: int = 0
    """Layers."""
    elements: int = 0
    """Integer results."""
    unequal: int = 0
    """Of them, those that differ."""
    steps: int = 0
    """The largest difference of an integer."""
    relative: float = 0.0
    """The largest difference of a float result, of the layer's largest element."""

    @property
    def agree(self) -> bool:
        """At most one integer in 10 000 off, by one step; without integers, floats within 1e-4."""
        if self.elements:
            return self.steps <= 1 and self.unequal * 10_000 <= self.elements
        return self.compared > 0 and self.relative <= 1e-4

    def __str__(self) -> str:
        layers = f"{self.compared} layers"
        if self.elements:
            return f"{layers}, {self.unequal} of {self.elements} integers off by one step"
        return f"{layers}, all within {self.relative:.1e}"


def compare_layers(path: Path, cases: Sequence[Sequence[np.ndarray]]) -> Layers:
    """Every layer against ONNX Runtime (without optimisations) or LiteRT's built-in kernels, for inputs of some cases.

    Layers as they are imported, each with a name that the file gives; those of a QDQ model as they are converted, to
    layers of integers.
    """
    from microlith import convert
    from microlith.converter import import_model

    graph = import_model(path)
    if any(node.op in ("quantize", "dequantize") for node in graph.nodes):
        graph = convert(path)
    intermediate = _litert if path.suffix == ".tflite" else _onnxruntime
    result = Layers()
    for inputs in cases:
        _compare(graph, inputs, intermediate(path, inputs), result)
    return result


def _onnxruntime(path: Path, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    import onnx
    from reference import unoptimised_session

    model = onnx.load(path)
    named = {output.name for output in model.graph.output}
    for node in model.graph.node:
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in named)
    session = unoptimised_session(model.SerializeToString())
    feed = {item.name: array for item, array in zip(session.get_inputs(), inputs, strict=True)}
    return dict(zip((item.name for item in session.get_outputs()), session.run(None, feed), strict=True))


def _litert(path: Path, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    engine = Interpreter(
        str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    engine.allocate_tensors()
    for detail, array in zip(engine.get_input_details(), inputs, strict=True):
        engine.set_tensor(detail["index"], array.astype(detail["dtype"]))
    engine.invoke()
    arrays: dict[str, np.ndarray] = {}
    for detail in engine.get_tensor_details():
        try:
            arrays[detail["name"]] = engine.get_tensor(detail["index"])
        except ValueError:
            continue  # a tensor without data, as those of resources
    return arrays


def _compare(graph: Any, inputs: Sequence[np.ndarray], known: Mapping[str, np.ndarray], result: Layers) -> None:
    from microlith.evaluate import node_results

    values = {value: np.asarray(array, value.dtype.numpy) for value, array in zip(graph.inputs, inputs, strict=True)}
    values.update({value: value.data for value in graph.constants()})
    values.update({state.input: state.start() for state in graph.states})
    for node in graph.nodes:
        arrays = [None if value is None else values[value] for value in node.inputs]
        with np.errstate(all="ignore"):
            outputs = node_results(node, arrays)
        for value, output in zip(node.outputs, outputs, strict=True):
            own = np.asarray(output, value.dtype.numpy)
            theirs = _like(known.get(value.name, known.get(value.name.removesuffix("_quantize"))), own)
            if theirs is not None:
                _count(own, theirs, result)
            values[value] = own if theirs is None else theirs


def _like(array: np.ndarray | None, own: np.ndarray) -> np.ndarray | None:
    """The reference's array where it is the same tensor: with channels last, and uint8 as the int8 that we hold."""
    if array is None:
        return None
    if array.dtype == np.uint8 and own.dtype == np.int8:
        array = (array ^ np.uint8(0x80)).view(np.int8)
    orders = [array] if array.ndim < 3 else [array, np.ascontiguousarray(np.moveaxis(array, 1, -1))]
    fitting = [order for order in orders if order.shape == own.shape and order.dtype == own.dtype]
    return min(fitting, key=lambda order: float(np.mean(order != own)), default=None)


def _count(own: np.ndarray, theirs: np.ndarray, result: Layers) -> None:
    result.compared += 1
    if own.dtype == np.bool_ or own.size == 0:
        return
    if own.dtype.kind != "f":
        difference = np.abs(own.astype(np.int64) - theirs.astype(np.int64))
        result.elements += own.size
        result.unequal += int(np.count_nonzero(difference))
        result.steps = max(result.steps, int(difference.max()))
        return
    finite = np.isfinite(own) & np.isfinite(theirs)
    scale = float(np.abs(theirs[finite]).max(initial=0.0)) or 1.0
    difference = np.abs(own[finite].astype(np.float64) - theirs[finite])
    result.relative = max(result.relative, float(difference.max(initial=0.0)) / scale)
