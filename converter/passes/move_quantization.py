"""Ops that only move or compare elements run on integers: dequantize sinks behind them, quantize rises before them.

Both are exact: the real numbers of equal integers are equal, and quantize, like the maximum, keeps order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...numerics import CONTRACTS, quantize_array
from ...rewrite import only_user, producer_of
from .edits import rebuild, substitute, takes_data
from .unsigned_bytes import as_signed, is_mover

KEEP_ORDER = frozenset({"max_pool2d", "reduce_max", "reduce_min"})
"""Ops of one tensor whose result is some of its elements, chosen by order; on integers they know s8 and s16."""

OTHERS = frozenset({"max", "min", "where", "pad"})
"""More ops that quantize may go before."""

SMALLER_RESULT = frozenset({"slice", "gather"})
"""Ops behind which there is less to quantize."""


def run(graph: Graph) -> bool:
    if graph.contract == "tflite-double":  # there the model itself says what runs on integers
        return False
    changed = False
    for node in list(graph.nodes):
        if is_mover(node) or node.op in KEEP_ORDER | {"split", "pad"}:
            changed |= _sink(graph, node)
    for node in reversed(list(graph.nodes)):
        if node.op == "quantize":
            changed |= _rise(graph, node)
    return changed | graph.remove_dead()


def data_inputs(node: Node) -> Sequence[int]:
    """The inputs of an op in this module whose elements are in its result."""
    if node.op == "where":
        return (1, 2)
    return range(len(node.inputs)) if node.op in ("concat", "max", "min") else (0,)


def source_of(value: Value | None) -> Value | None:
    """The integers with one scale that a value is the dequantization of."""
    node = producer_of(value, "dequantize")
    if node is None or len(node.inputs) != 1:
        return None
    x = node.input(0)
    narrow = x.dtype in (DType.s8, DType.u8, DType.s16, DType.u16)
    return x if narrow and x.quant is not None and x.quant.is_per_tensor else None


def _sink(graph: Graph, node: Node) -> bool:
    """Behind a node whose data inputs all come from integers of one quantization."""
    if not node.outputs[0].dtype.is_float or takes_data(node):
        return False
    sources = [source_of(node.input(index)) for index in data_inputs(node)]
    first = sources[0]
    if first is None or any(s is None or s.quant != first.quant or s.dtype is not first.dtype for s in sources):
        return False
    assert first.quant is not None
    if not _has_no_clamp(node):
        return False
    if node.op in KEEP_ORDER and first.dtype not in (DType.s8, DType.u8, DType.s16):
        return False
    inputs = list(node.inputs)
    for index, source in zip(data_inputs(node), sources, strict=True):
        assert source is not None
        bytes_ = node.op in KEEP_ORDER and source.dtype is not DType.s16
        inputs[index] = as_signed(graph, source, node) if bytes_ else source
    integers = inputs[data_inputs(node)[0]]
    assert integers is not None and integers.quant is not None
    if node.op == "pad" and not _pad_with_integer(graph, node, integers.quant, inputs, exact=True):
        return False
    return _replace_outputs(graph, node, inputs, integers.quant)


def _replace_outputs(graph: Graph, node: Node, inputs: Sequence[Value | None], quant: Quant) -> bool:
    """Puts the node on integers, each output dequantized, in the place of the node."""
    made = graph.add(node.op, inputs, node.attrs, name=node.name, before=node, source=node.source)
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.name, new.quant = f"{old.name}_integers", quant
        real = graph.add(
            "dequantize",
            [new],
            name=node.name,
            output_names=[f"{old.name}_real"],
            before=node,
            source="DequantizeLinear",
        )
        graph.replace(old, real.output)
    graph.remove(node)
    return True


def _has_no_clamp(node: Node) -> bool:
    return bool(node.attrs.get("clamp_min", -np.inf) == -np.inf and node.attrs.get("clamp_max", np.inf) == np.inf)


def _pad_with_integer(graph: Graph, node: Node, quant: Quant, inputs: list[Value | None], exact: bool) -> bool:
    """Makes the border that pad adds an integer; False when it is none (where it must be one exactly)."""
    value = node.optional_input(1)
    if node.attrs["mode"] != 0:
        return True
    real = np.zeros(1, np.float32) if value is None else value.data
    if real is None:
        return False
    dtype = inputs[0].dtype.numpy if inputs[0] is not None else np.dtype(np.int8)
    scale, zero = quant.scale.reshape(()), quant.zero_point.reshape(())
    integer = quantize_array(real.reshape(-1), scale, zero, dtype, CONTRACTS[graph.contract])
    if exact and np.float32(scale) * np.float32(int(integer[0]) - int(zero)) != real.reshape(-1)[0]:
        return False
    inputs[1:] = [graph.constant(f"{node.output.name}_border", integer, quant)]
    return True


def _rise(graph: Graph, quantize: Node) -> bool:
    """Before the node in front, when nobody else reads that."""
    node = quantize.input(0).producer
    quant = quantize.output.quant
    if node is None or quant is None or not quant.is_per_tensor or node.op in SMALLER_RESULT:
        return False
    if not is_mover(node) and node.op not in KEEP_ORDER | OTHERS:
        return False
    if only_user(graph, quantize.input(0)) is not quantize or not _has_no_clamp(node) or takes_data(node):
        return False
    if node.op in KEEP_ORDER | {"max", "min"} and quantize.output.dtype is not DType.s8:
        return False
    inputs = list(node.inputs)
    for index in data_inputs(node):
        inputs[index] = quantized(graph, quantize, node.input(index), node)
    if node.op == "pad" and not _pad_with_integer(graph, node, quant, inputs, exact=False):
        return False
    result = rebuild(graph, quantize, node.op, inputs, node.attrs)
    result.quant = quant
    return substitute(graph, quantize.output, result)


def quantized(graph: Graph, quantize: Node, x: Value, before: Node) -> Value:
    """What a quantize makes of another value, at ``before``."""
    quant, dtype = quantize.output.quant, quantize.output.dtype
    assert quant is not None
    if x.data is not None:
        scale, zero = quant.scale.reshape(()), quant.zero_point.reshape(())
        data = quantize_array(x.data, scale, zero, dtype.numpy, CONTRACTS[graph.contract])
        return graph.constant(f"{x.name}_integers", data.reshape(x.data.shape), quant)
    made = rebuild(graph, before, "quantize", [x], quantize.attrs)
    made.quant = quant
    return made
