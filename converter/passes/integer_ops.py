"""A float op between dequantize and quantize becomes an op on integers.

The result is what the three would give, to the rounding of the graph's contract: sums of products are exact, and one
factor takes them to the scale of the result. What has no integer form stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...ops.curves import sigmoid_attrs, sigmoid_points
from ...ops.resizing import CROP
from ...rewrite import only_user, producer_of
from . import unsigned_bytes
from .edits import rebuild, substitute
from .integer_tables import replace_by_table, requantized
from .integer_weights import bias_integers, integers_of, wide_integers_of
from .move_quantization import source_of
from .unsigned_bytes import as_signed, shifted_quant
from .weight_codes import LEAST_SAVED

Form = Callable[[Graph, Node, Node, DType, Quant], Value | None]
"""(graph, quantize, layer, type and quantization of the result) -> the result, or None where there is no such form."""


WIDEST_CURVE = 4.0
"""The largest scale of s16 for which the curves have a multiplier."""


def run(graph: Graph) -> bool:
    if graph.contract == "tflite-double":  # LiteRT computes such ops in floating point
        return False
    changed = False
    for node in list(graph.nodes):
        if node.op == "quantize" and node in graph.nodes:
            changed |= convert_one(graph, node)
        elif node.op == "gather" and node.input(0).decoded_from is not None:
            changed |= _gather_integers(graph, node)
    return changed | graph.remove_dead()


def convert_one(graph: Graph, quantize: Node) -> bool:
    """Puts an op on integers in the place of one quantize, the op before it, and what that reads."""
    y = quantize.output
    if y.quant is None or not y.quant.is_per_tensor or y.dtype not in (DType.s8, DType.u8, DType.s16):
        return False
    source = source_of(quantize.input(0))
    if source is not None:
        return requantized(graph, quantize, source)
    layer = quantize.input(0).producer
    if layer is None or len(layer.outputs) != 1:
        return False
    form = FORMS.get(layer.op)
    if form is not None and only_user(graph, layer.output) is quantize:
        target = (DType.s8, shifted_quant(y.quant, DType.s8)) if y.dtype is DType.u8 else (y.dtype, y.quant)
        made = form(graph, quantize, layer, *target)
        if made is not None:
            return _finish(graph, quantize, made)
    return replace_by_table(graph, quantize)


def _finish(graph: Graph, quantize: Node, made: Value) -> bool:
    """Puts integers in the place of what quantize wrote; they take over its name."""
    made.name = quantize.output.name
    if quantize.output.dtype is DType.u8:
        made = unsigned_bytes.shift(graph, made, quantize)
    return substitute(graph, quantize.output, made)


def _add(graph: Graph, quantize: Node, layer: Node, inputs: Sequence[Value | None], quant: Quant) -> Value:
    made = rebuild(graph, quantize, layer.op, inputs, layer.attrs)
    made.producer.name, made.producer.source = layer.name, layer.source  # type: ignore[union-attr]
    made.quant = quant
    return made


def _operand(graph: Graph, value: Value, dtype: DType, before: Node) -> Value | None:
    """The integers of an operand, of the type that the result has."""
    if value.data is not None:
        integers = integers_of(value, None) if dtype is DType.s8 else wide_integers_of(value)
        return None if integers is None else graph.constant(f"{value.name}_integers", *integers)
    source = source_of(value)
    if source is None:
        return None
    if dtype is DType.s8 and source.dtype in (DType.s8, DType.u8):
        return as_signed(graph, source, before)
    return source if source.dtype is dtype else None


def _weighted(axis: int) -> Form:
    """A convolution or dense; ``axis`` of its weights are the output channels."""

    def form(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
        x, real, bias = _operand(graph, layer.input(0), dtype, quantize), layer.input(1), layer.optional_input(2)
        weights = integers_of(real, axis)
        if x is None or weights is None or x.is_constant:
            return None
        inputs = [x, graph.constant(f"{real.name}_integers", *weights)]
        if bias is not None:
            assert x.quant is not None
            whole = bias_integers(bias, x.quant, weights[1], quant, dtype)
            if whole is None:
                return None
            inputs.append(graph.constant(f"{bias.name}_integers", whole))
        return _add(graph, quantize, layer, inputs, quant)

    return form


def _transposed(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """A transposed convolution of one group; the output channels are the last axis of its weights."""
    if layer.attrs["groups"] > 1:
        return None
    return _weighted(len(layer.input(1).shape) - 1)(graph, quantize, layer, dtype, quant)


def _elementwise(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """An op whose inputs are all quantized tensors with one scale each."""
    inputs = [None if value is None else _operand(graph, value, dtype, quantize) for value in layer.inputs]
    if any(value is None for value in inputs) or all(value is not None and value.is_constant for value in inputs):
        return None
    return _add(graph, quantize, layer, inputs, quant)


def _pair(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """The same, where 16-bit operands may have zero points under float-even only."""
    if dtype is DType.s16 and graph.contract != "float-even":
        sources = [source_of(value) for value in layer.inputs if value is not None and not value.is_constant]
        quants = [quant, *(source.quant for source in sources if source is not None)]
        if any(item is None or np.any(item.zero_point) for item in quants):
            return None
    return _elementwise(graph, quantize, layer, dtype, quant)


def _square(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """A product with itself; bytes have a table for it."""
    x = _operand(graph, layer.input(0), dtype, quantize)
    if x is None or x.quant is None or dtype is DType.s8:
        return None
    if graph.contract != "float-even" and (np.any(x.quant.zero_point) or np.any(quant.zero_point)):
        return None
    made = rebuild(graph, quantize, "mul", [x, x], {})
    made.quant = quant
    return made


def _pool(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """A pool. Only an average in float-even may change the scale."""
    x = _operand(graph, layer.input(0), dtype, quantize)
    if x is None or (x.quant != quant and not (layer.op == "avg_pool2d" and graph.contract == "float-even")):
        return None
    return _add(graph, quantize, layer, [x], quant)


def _resize(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """Interpolation keeps scale and zero point. (What is filled in outside of a region would have to be an integer.)"""
    x = _operand(graph, layer.input(0), dtype, quantize)
    if x is None or x.quant != quant or layer.attrs["transform"] == CROP:
        return None
    return _add(graph, quantize, layer, [x, *layer.inputs[1:]], quant)


def _softmax(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    if dtype is DType.s16:
        return _elementwise(graph, quantize, layer, dtype, quant) if _is_unit_s16(quant) else None
    fixed = quant.scale[0] == np.float32(1 / 256) and quant.zero_point[0] == -128
    if graph.contract != "float-even" and not fixed:
        return None
    return _elementwise(graph, quantize, layer, dtype, quant)


def _layer_norm(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """Scale and bias stay in floating point."""
    x, weights = _operand(graph, layer.input(0), dtype, quantize), layer.inputs[1:]
    if x is None or x.is_constant or any(value is not None and not value.is_constant for value in weights):
        return None
    return _add(graph, quantize, layer, [x, *weights], quant)


def _limits(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """relu and clip of s16, of which a curve would round the corners; of s8 they become tables."""
    source = source_of(layer.input(0))
    if dtype is not DType.s16 or source is None or source.dtype is not DType.s16:
        return None
    low, high = (0.0, np.inf) if layer.op == "relu" else (layer.attrs["alpha"], layer.attrs["beta"])
    made = source
    if source.quant != quant:
        made = rebuild(graph, quantize, "requantize", [source], {"to": DType.s16.value})
        made.quant = quant
    for op, limit in (("max", low), ("min", high)):
        if not np.isfinite(limit):
            continue
        integer = np.clip(np.rint(limit / float(quant.scale[0])) + int(quant.zero_point[0]), -32768, 32767)
        name = f"{layer.output.name}_{op}"
        made = rebuild(graph, quantize, op, [made, graph.constant(name, np.array(integer, np.int16), quant)], {})
        made.quant = quant
    return None if made is source else made


def _leaky(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """leaky_relu of s16 as prelu; of s8 it becomes a table."""
    source, alpha = source_of(layer.input(0)), float(layer.attrs["alpha"])
    if dtype is not DType.s16 or source is None or source.dtype is not DType.s16 or alpha == 0.0:
        return None
    assert source.quant is not None
    if graph.contract != "float-even" and (np.any(source.quant.zero_point) or np.any(quant.zero_point)):
        return None
    slope = np.array(np.sign(alpha) * 32767, np.int16)
    constant = graph.constant(f"{layer.output.name}_slope", slope, Quant.per_tensor(abs(alpha) / 32767, 0))
    made = rebuild(graph, quantize, "prelu", [source, constant], {})
    made.quant = quant
    return made


def _is_unit_s16(quant: Quant) -> bool:
    """Whether -1 … 1 in 16 bits, which is what the curves give."""
    return bool(quant.scale[0] == np.float32(1 / 32768) and quant.zero_point[0] == 0)


def _curve(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
    """The logistic function or the hyperbolic tangent of s16; of s8 they become tables."""
    source = source_of(layer.input(0))
    if dtype is not DType.s16 or not _is_unit_s16(quant) or source is None or source.dtype is not DType.s16:
        return None
    assert source.quant is not None
    if np.any(source.quant.zero_point) or source.quant.scale[0] > WIDEST_CURVE:
        return None
    attrs = sigmoid_attrs(float(source.quant.scale[0]), layer.op == "tanh")
    table = graph.constant(f"{layer.output.name}_table", sigmoid_points())
    made = rebuild(graph, quantize, "sigmoid_table", [source, table], attrs)
    made.quant = quant
    return made


def _static(form: Form) -> Form:
    """The form of an op whose constants depend on the shape of its input."""

    def known(graph: Graph, quantize: Node, layer: Node, dtype: DType, quant: Quant) -> Value | None:
        shape = layer.input(0).shape
        axes = [axis for axis in range(len(shape)) if layer.attrs["axes"] >> axis & 1]
        if len(layer.inputs) > 1 or any(not isinstance(shape[axis], int) for axis in axes):
            return None
        return form(graph, quantize, layer, dtype, quant)

    return known


FORMS: dict[str, Form] = {
    "add": _pair,
    "avg_pool2d": _pool,
    "clip": _limits,
    "conv2d": _weighted(0),
    "conv_transpose": _transposed,
    "dense": _weighted(0),
    "depthwise_conv2d": _weighted(3),
    "div": _pair,
    "layer_norm": _layer_norm,
    "leaky_relu": _leaky,
    "log_softmax": _elementwise,
    "matmul": _pair,
    "max_pool2d": _pool,
    "mul": _pair,
    "prelu": _pair,
    "reduce_mean": _static(_pair),
    "reduce_sum": _static(_pair),
    "relu": _limits,
    "resize": _resize,
    "sigmoid": _curve,
    "softmax": _softmax,
    "square": _square,
    "sub": _pair,
    "tanh": _curve,
}
"""The integer form of each op."""


def _gather_integers(graph: Graph, node: Node) -> bool:
    """Rows of a table that the model stores as integers are decoded when they are read."""
    table = node.input(0)
    quant = table.decoded_from
    if quant is None or table.data is None:
        return False
    if quant.scale.size != 1:
        return _gather_scaled_rows(graph, node)
    integers = integers_of(table, None)
    if producer_of(node.output, "gather") is None or integers is None:
        return False
    rows = rebuild(
        graph, node, "gather", [graph.constant(f"{table.name}_integers", *integers), *node.inputs[1:]], node.attrs
    )
    rows.quant = integers[1]
    return substitute(graph, node.output, rebuild(graph, node, "dequantize", [rows], {}))


def _gather_scaled_rows(graph: Graph, node: Node) -> bool:
    """The same where each row has a scale: scales are read at the same positions. Zero points are all the same."""
    table = node.input(0)
    indices = node.input(1)
    if indices.is_constant or node.attrs["axis"] not in (0, -len(table.type.shape)):
        return False
    found = integers_of(table, 0)
    if found is None or table.type.nbytes - found[0].nbytes < LEAST_SAVED or np.any(np.diff(found[1].zero_point)):
        return False
    (data, quant), name = found, table.name
    scales = quant.scale.reshape(-1, *[1] * (data.ndim - 1))

    def rows_of(what: str, numbers: np.ndarray) -> Value:
        return rebuild(graph, node, "gather", [graph.constant(f"{name}_{what}", numbers), indices], node.attrs)

    rows = rebuild(graph, node, "cast", [rows_of("integers", data)], {"to": DType.f32.value})
    if quant.zero_point[0]:
        zero = graph.constant(f"{name}_zero_point", np.array(quant.zero_point[0], np.float32))
        rows = rebuild(graph, node, "sub", [rows, zero], {})
    return substitute(graph, node.output, rebuild(graph, node, "mul", [rows, rows_of("scales", scales)], {}))
