"""What a model computes at conversion: constants through ONNX's own reference, and arithmetic on sizes with symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ...ir import Value
from ...ops.slicing import slice_bounds
from ...size_ranges import SizeRange
from .onnx_graph import OnnxNode, Reject, Sizes, usable_array
from .onnx_size_bounds import questions, with_spans

Rule = Callable[[OnnxNode, list[Any]], list[np.ndarray] | None]

QUANTIZING = frozenset({"DequantizeLinear", "QuantizeLinear"})
"""Operators whose integers stay in the graph, since integer kernels may want them."""

MOVING = frozenset({"Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten"})
"""Operators that only move numbers: what they make of decoded integers is still that."""

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators whose result is not a function of their inputs."""

OWN = frozenset(
    {
        *("Slice", "Unique", "Dropout", "AveragePool", "LpPool", "MaxPool", "ReduceSumSquare"),
        *("Hardmax", "LogSoftmax", "Softmax", "SoftmaxCrossEntropyLoss"),
    }
)
"""Operators that ONNX's evaluator computes otherwise than ONNX Runtime does: where slices with negative steps end, the
axis of an unsorted Unique, windows beyond the padding, softmax over all dimensions behind an axis as before opset 13,
and others. Their rows compute them, as they would at run time."""

MAX_COMPUTED_BYTES = 1 << 28
"""A result larger than this is not computed at conversion."""


def compute(node: OnnxNode) -> list[np.ndarray] | None:
    """The outputs of a node whose inputs are all constant, or None when they are not or ONNX cannot tell."""
    if node.op in RANDOM | QUANTIZING | OWN or any(attribute.HasField("g") for attribute in node.proto.attribute):
        return None
    if node.op in MOVING and any(isinstance(entry, Value) and entry.decoded_from is not None for entry in node.entries):
        return None  # its row keeps the origin
    names: list[str] = []
    feeds: dict[str, np.ndarray] = {}
    for index, entry in enumerate(node.entries):
        if entry is None:
            names.append("")
            continue
        known = entry.data if isinstance(entry, Value) else entry.known() if isinstance(entry, Sizes) else None
        if known is None:
            return None
        names.append(f"i{index}")
        feeds[names[-1]] = known
    if not _is_bounded(node, list(feeds.values())):
        return None
    outputs = [f"o{index}" if name else "" for index, name in enumerate(node.output_names)]
    proto = helper.make_node(node.op, names, outputs)
    proto.attribute.extend(node.proto.attribute)
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in feeds]
    wanted = [name for name in outputs if name]
    result_infos = [helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in wanted]
    graph = helper.make_graph([proto], "constant", infos, result_infos)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    try:
        with np.errstate(all="ignore"):
            results = dict(zip(wanted, ReferenceEvaluator(model).run(None, feeds), strict=True))
    except Exception:  # the evaluator raises what it likes; the row then says what is wrong
        return None
    if not all(isinstance(result, np.ndarray | np.generic) for result in results.values()):
        return None
    empty = np.zeros(0, np.float32)
    return [usable_array(np.asarray(results[name]), node.name) if name else empty for name in outputs]


def _is_bounded(node: OnnxNode, arrays: Sequence[np.ndarray]) -> bool:
    """Whether the result is known to be small enough before it is computed."""
    elements = sum(array.size for array in arrays)
    if node.op in ("ConstantOfShape", "Expand") and arrays:
        elements += _product(arrays[-1])
    elif node.op == "Tile" and len(arrays) == 2:
        elements *= _product(arrays[1])
    elif node.op == "Range" and len(arrays) == 3 and all(array.size == 1 for array in arrays):
        start, limit, delta = (float(array.reshape(())) for array in arrays)
        elements += int(abs((limit - start) / delta)) if delta else MAX_COMPUTED_BYTES
    elif node.op == "MelWeightMatrix" and len(arrays) == 5:
        elements += _product([_product(array) for array in arrays[:2]])
    elif node.op == "Pad" and len(arrays) > 1:
        for low, size in zip(np.abs(arrays[1][: arrays[0].ndim]), arrays[0].shape, strict=False):
            elements *= int(low) + int(size) + 1
    elif node.op in ("Resize", "Upsample", "OneHot", "EyeLike", "CenterCropPad", "Col2Im"):
        return False
    elif len(arrays) > 1:
        try:
            elements = max(elements, _product(np.broadcast_shapes(*(array.shape for array in arrays))))
        except ValueError:
            elements = max(elements, sum(array.size for array in arrays))
    return elements * 8 <= MAX_COMPUTED_BYTES


def _product(dims: Any) -> int:
    product = 1
    for dim in np.asarray(dims).reshape(-1).tolist():
        product *= abs(int(dim))
    return product


def shape_of(node: OnnxNode) -> Sizes:
    """Shape: the sizes of a tensor, from ``start`` to ``end``."""
    entry = node.entries[0] if node.entries else None
    if isinstance(entry, Sizes):
        shape: tuple[int | str, ...] = entry.elements.shape
    else:
        shape = node.value(0).shape
    chosen = shape[node.integer("start", 0) : node.integer("end", len(shape))]
    return Sizes(_objects(list(chosen), (len(chosen),)))


def size_of(node: OnnxNode) -> Sizes:
    """Size: the number of elements of a tensor."""
    dims = node.value(0).shape
    known = all(isinstance(dim, int) for dim in dims)
    return Sizes(_objects([_product(dims) if known else None], ()))


def compute_sizes(node: OnnxNode, ranges: Mapping[str, SizeRange]) -> list[Sizes] | None:
    """The outputs of a node that works on sizes only, or None when it is not such a node."""
    rule = _rule(node.op, ranges)
    if rule is None or not any(isinstance(entry, Sizes) for entry in node.entries):
        return None
    arrays: list[np.ndarray | None] = []
    for entry in node.entries:
        if entry is None:
            arrays.append(None)
        elif isinstance(entry, Sizes):
            arrays.append(entry.elements)
        elif isinstance(entry, Value) and entry.data is not None:
            arrays.append(entry.data)
        else:
            return None
    results = rule(node, arrays)
    return None if results is None else [Sizes(np.asarray(result, dtype=object)) for result in results]


def _rule(op: str, ranges: Mapping[str, SizeRange]) -> Rule | None:
    if op in _ARITHMETIC:
        return _elementwise(with_spans(op, _ARITHMETIC[op], ranges))
    asked = questions(ranges).get(op)
    return _RULES.get(op) if asked is None else _elementwise(asked)


def _objects(items: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def _elementwise(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
        left, right = np.broadcast_arrays(arrays[0], arrays[1])
        items = [function(a, b) for a, b in zip(left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True)]
        return [_objects(items, left.shape)]

    return rule


def _numeric(function: Callable[[int, int], int], neutral: int | None = None) -> Callable[[Any, Any], Any]:
    """Arithmetic on numbers; a symbol survives only the neutral element."""

    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, int | float) and isinstance(b, int | float):
            return function(a, b)  # type: ignore[arg-type]
        if b == neutral:
            return a
        return None

    return apply


def _multiply(a: Any, b: Any) -> Any:
    return b if a == 1 else _numeric(operator.mul, 1)(a, b)


def _add(a: Any, b: Any) -> Any:
    return b if a == 0 else _numeric(operator.add, 0)(a, b)


def _divide(a: int, b: int) -> int:
    if isinstance(a, float) or isinstance(b, float):
        return a / b  # type: ignore[return-value]
    if b == 0:
        raise Reject("divides by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _where(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    condition, left, right = np.broadcast_arrays(*arrays)
    triples = zip(condition.reshape(-1).tolist(), left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True)
    return [_objects([None if c is None else a if c else b for c, a, b in triples], condition.shape)]


def _gather(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    indices = np.asarray(arrays[1].tolist(), dtype=np.int64)
    return [_boxed(np.take(arrays[0], indices, axis=node.integer("axis", 0)))]


def _boxed(result: Any) -> np.ndarray:
    """A NumPy result as an object array, scalars included."""
    if isinstance(result, np.ndarray):
        return result.astype(object)
    return _objects([result], ())


def _slice(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray] | None:
    data = arrays[0]
    if node.opset >= 10:
        starts, ends = (array.reshape(-1).tolist() for array in arrays[1:3])
        axes = arrays[3].reshape(-1).tolist() if len(arrays) > 3 and arrays[3] is not None else range(len(starts))
        steps = arrays[4].reshape(-1).tolist() if len(arrays) > 4 and arrays[4] is not None else [1] * len(starts)
    else:
        starts, ends = node.integers("starts") or [], node.integers("ends") or []
        axes, steps = node.integers("axes") or range(len(starts)), [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if not all(isinstance(bound, int) for bound in (start, end, step)):
            return None
        start, size, step = slice_bounds(data.shape[axis], start, end, step)
        data = data.take(start + step * np.arange(size), axis=axis)
    return [data]


def _concat(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    return [np.concatenate([array.astype(object) for array in arrays], axis=node.integer("axis", 0))]


def _unsqueeze(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    axes = node.integers("axes") if node.opset < 13 else arrays[1].reshape(-1).tolist()
    return [np.expand_dims(arrays[0], tuple(axes or ()))]


def _squeeze(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    if node.opset < 13:
        axes = node.integers("axes")
    else:
        axes = arrays[1].reshape(-1).tolist() if len(arrays) > 1 and arrays[1] is not None else None
    return [_boxed(np.squeeze(arrays[0], None if axes is None else tuple(axes)))]


def _reshape(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    return [arrays[0].reshape([int(dim) for dim in arrays[1].reshape(-1).tolist()])]


def _cast(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray] | None:
    kinds: dict[int, Any] = {onnx.TensorProto.FLOAT: float, onnx.TensorProto.INT64: int, onnx.TensorProto.INT32: int}
    to = node.integer("to", 0)
    if to == onnx.TensorProto.BOOL and all(item is None or isinstance(item, bool) for item in arrays[0].reshape(-1)):
        return _same(node, arrays)
    kind = kinds.get(to)
    if kind is None:
        return None
    items = [kind(item) if isinstance(item, int | float) else item for item in arrays[0].reshape(-1).tolist()]
    return [_objects(items, arrays[0].shape)]


def _product_of(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    items = arrays[0].reshape(-1).tolist()
    total: Any = 1
    for item in items:
        total = _multiply(total, item)
    return [_objects([total], (1,) * arrays[0].ndim if node.integer("keepdims", 1) else ())]


def _same(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    return [arrays[0]]


def _not(node: OnnxNode, arrays: list[Any]) -> list[np.ndarray]:
    items = [not item if isinstance(item, bool) else None for item in arrays[0].reshape(-1).tolist()]
    return [_objects(items, arrays[0].shape)]


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": _add,
    "Div": _numeric(_divide, 1),
    "Max": _numeric(max),
    "Min": _numeric(min),
    "Mul": _multiply,
    "Sub": _numeric(operator.sub, 0),
}

_RULES: dict[str, Rule] = {
    "Cast": _cast,
    "Concat": _concat,
    "Gather": _gather,
    "Identity": _same,
    "Not": _not,
    "ReduceProd": _product_of,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
