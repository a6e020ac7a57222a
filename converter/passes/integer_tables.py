"""A function of one s8 tensor as a table of its 256 results, of one s16 tensor as a curve of 513 points: chains of
elementwise float ops, and changes of scale."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...numerics import CONTRACTS, dequantize_array, quantize_array, requantize_float
from .edits import rebuild, substitute
from .layout_rules import BROADCASTING, ELEMENTWISE
from .unsigned_bytes import as_signed, shift, shifted_quant

MAX_NODES = 24
"""Ops in a chain that becomes a table."""

FUNCTIONS = (ELEMENTWISE | BROADCASTING) - {"lut", "cast", "quantize", "requantize", "logical_not", "where"}
"""Ops that may stand in such a chain."""
_INTEGERS = np.arange(-128, 128, dtype=np.int8)
_HALF_POINTS = np.arange(-32768, 32769, 64, dtype=np.int32)
"""The points of a curve of s16 and those in the middle between two."""


class _NoTableError(Exception):
    """A value is not a function of one quantized tensor."""


class _Chain:
    """What leads from one dequantize to a value."""

    def __init__(self) -> None:
        self.source: Value | None = None
        """The integers that the only dequantize reads."""
        self._results: dict[int, np.ndarray] = {}
        self._places: np.ndarray = _INTEGERS

    def evaluate(self, value: Value) -> np.ndarray:
        """float32 [256]: the value for each integer from -128 to 127, or for s16 [1025], at every 64th; () for a
        constant."""
        if id(value) not in self._results:
            self._results[id(value)] = self._compute(value)
        if len(self._results) > MAX_NODES:
            raise _NoTableError
        return self._results[id(value)]

    def _compute(self, value: Value) -> np.ndarray:
        if value.data is not None:
            if value.data.size != 1 or value.data.dtype != np.float32:
                raise _NoTableError
            return value.data.reshape(())
        node = value.producer
        if node is None or len(node.outputs) != 1:
            raise _NoTableError
        if node.op == "dequantize":
            return self._decode(node)
        if node.op not in FUNCTIONS or value.dtype is not DType.f32:
            raise _NoTableError
        inputs = [None if operand is None else self.evaluate(operand) for operand in node.inputs]
        if self.source is None or value.shape != self.source.shape:
            raise _NoTableError
        (result,) = ops.get(node.op).reference(inputs, node.attrs)
        return np.broadcast_to(np.asarray(result, np.float32), self._places.shape)

    def _decode(self, node: Node) -> np.ndarray:
        x = node.input(0)
        known = (DType.s8, DType.u8, DType.s16)
        if len(node.inputs) != 1 or x.quant is None or not x.quant.is_per_tensor or x.dtype not in known:
            raise _NoTableError
        if self.source is not None and self.source is not x:
            raise _NoTableError
        self.source = x
        if x.dtype is DType.s16:
            self._places = _HALF_POINTS
            return _decoded(x.quant, _HALF_POINTS)
        return _decoded(x.quant if x.dtype is DType.s8 else shifted_quant(x.quant, DType.s8))


def _decoded(quant: Quant, integers: np.ndarray = _INTEGERS) -> np.ndarray:
    return dequantize_array(integers, quant.scale, quant.zero_point)


def replace_by_table(graph: Graph, quantize: Node) -> bool:
    """Puts a table in the place of a chain of elementwise ops between one dequantize and quantize."""
    chain = _Chain()
    try:
        with np.errstate(all="ignore"):
            real = chain.evaluate(quantize.input(0))
    except _NoTableError:
        return False
    if chain.source is None:
        return False
    if chain.source.dtype is DType.s16:
        return _put_curve(graph, quantize, chain.source, real)
    if quantize.output.dtype not in (DType.s8, DType.u8):
        return False
    return _put_table(graph, quantize, chain.source, real)


def requantized(graph: Graph, quantize: Node, source: Value) -> bool:
    """Integers that are dequantized and quantized again at once: nothing, a change of scale, or a table."""
    y = quantize.output
    assert source.quant is not None and y.quant is not None
    if source.dtype is y.dtype and source.quant == y.quant:
        return substitute(graph, y, source)
    if not {source.dtype, y.dtype} <= {DType.s8, DType.u8}:
        if graph.contract != "single" or not {source.dtype, y.dtype} <= {DType.s8, DType.s16}:
            return False
        made = rebuild(graph, quantize, "requantize", [source], {"to": y.dtype.value})
        made.quant = y.quant
        return substitute(graph, y, made)
    x = as_signed(graph, source, quantize)
    assert x.quant is not None
    quant = y.quant if y.dtype is DType.s8 else shifted_quant(y.quant, DType.s8)
    real = _decoded(x.quant)
    if x.quant != quant and graph.contract == "float-even":
        factor = x.quant.scale[0] / quant.scale[0]
        centred = _INTEGERS.astype(np.int64) - x.quant.zero_point
        fast = np.clip(requantize_float(centred, factor) + quant.zero_point, -128, 127)
        if not np.array_equal(fast, _table(graph, real, quant)):
            return _put_table(graph, quantize, source, real)
    made = x if x.quant == quant else rebuild(graph, quantize, "requantize", [x], {"to": DType.s8.value})
    made.quant = quant
    return substitute(graph, y, made if y.dtype is DType.s8 else shift(graph, made, quantize))


def _table(graph: Graph, real: np.ndarray, quant: Quant) -> np.ndarray:
    return quantize_array(real, quant.scale, quant.zero_point, np.int8, CONTRACTS[graph.contract])


def _put_curve(graph: Graph, quantize: Node, source: Value, real: np.ndarray) -> bool:
    """A curve of s16. Each point is moved by half of the error that interpolation has in the middle behind it."""
    quant = quantize.output.quant
    if quantize.output.dtype is not DType.s16 or quant is None or not np.all(np.isfinite(real)):
        return False
    steps = real.astype(np.float64) / float(quant.scale[0]) + int(quant.zero_point[0])
    points, middles = steps[::2], steps[1::2]
    error = (points[:-1] + points[1:]) / 2 - middles
    points = np.clip(np.rint(np.append(points[:-1] - error / 2, points[-1])), -32768, 32767)
    if np.max(np.abs(np.diff(points))) > 32767:  # steeper than the kernel can be
        return False
    curve = graph.constant(f"{quantize.output.name}_table", points.astype(np.int16))
    made = rebuild(graph, quantize, "lut", [source, curve], {})
    made.quant, made.name = quant, quantize.output.name
    return substitute(graph, quantize.output, made)


def _put_table(graph: Graph, quantize: Node, source: Value, real: np.ndarray) -> bool:
    y = quantize.output
    assert y.quant is not None
    quant = y.quant if y.dtype is DType.s8 else shifted_quant(y.quant, DType.s8)
    table = graph.constant(f"{y.name}_table", _table(graph, real, quant))
    made = rebuild(graph, quantize, "lut", [as_signed(graph, source, quantize), table], {})
    made.quant, made.name = quant, y.name
    return substitute(graph, y, made if y.dtype is DType.s8 else shift(graph, made, quantize))
