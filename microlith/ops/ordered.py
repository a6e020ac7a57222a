"""Sums in the order in which ONNX Runtime adds them; arithmetic in ``nnacl_kernels/ordered/ordered.h``.

The references follow that header with NumPy's float32, vectorized over the results, one product after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import EXACT, OpDef, Sample, register, sampling
from .conv import WINDOW_ATTRS, pad_plane, windows_of
from .shape_rules import require, require_dtype, require_equal, require_rank, same_type, static_shape, window_dim

Attrs = Mapping[str, Any]
Array = np.ndarray

_CONV_ATTRS: dict[str, Any] = {**WINDOW_ATTRS, "groups": 1}
_PADS = ("pad_top", "pad_left", "pad_bottom", "pad_right")
_POOL_ATTRS: dict[str, Any] = {
    "kernel_h": 1,
    "kernel_w": 1,
    "stride_h": 1,
    "stride_w": 1,
    **dict.fromkeys(_PADS, 0),
    "count_include_pad": 0,
    "style": 0,
}
PLAIN_BLOCK, PACKED_BLOCK = 128, 256
LARGEST_POOL, WIDEST_POOL = 32, 2045


def fused_product(a: Array, b: Array, c: Array) -> Array:
    """float32 ``a * b + c`` rounded once: the sum is rounded to odd in float64, then to float32."""
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    taken = total - product
    lost = (product - (total - taken)) + (addend - taken)
    bits = total.view(np.int64)
    moved = np.where((lost != 0) & np.isfinite(lost) & (bits & 1 == 0), np.where((lost > 0) == (total > 0), 1, -1), 0)
    rounded: Array = (bits + moved).view(np.float64).astype(np.float32)
    return rounded


def _in_blocks(a: Array, b: Array, start: Array, block: int) -> Array:
    """``start`` + the sum over the first axis of a and b, blocks of fused products."""
    for begin in range(0, len(a), block):
        total = np.zeros_like(start)
        for x, y in zip(a[begin : begin + block], b[begin : begin + block], strict=True):
            total = fused_product(x, y, total)
        start = start + total
    return start


def _in_fours(a: Array, b: Array, start: Array) -> Array:
    begin = 0
    while begin < len(a):
        run = next(size for size in (4, 2, 1) if size <= len(a) - begin)
        total = a[begin] * b[begin]
        for k in range(begin + 1, begin + run):
            total = total + a[k] * b[k]
        start, begin = total + start, begin + run
    return start


def _in_eights(a: Array, b: Array, start: Array) -> Array:
    """The results lie along the last axis."""
    s = np.zeros((8, *start.shape), np.float32)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        s[k % 8] = s[k % 8] + x * y
    total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
    places = start.shape[-1]
    whole = places // 4 * 4
    fours = (((s[0] + s[1]) + s[2]) + s[3]) + (((s[4] + s[5]) + s[6]) + s[7])
    total[..., :whole] = fours[..., :whole]
    if places & 2:
        pair = ((s[0] + s[2]) + (s[4] + s[6])) + ((s[1] + s[3]) + (s[5] + s[7]))
        total[..., whole : whole + 2] = pair[..., whole : whole + 2]
    return np.asarray(total + start)


def _block(columns: int, depth: int) -> int:
    if columns >= depth or columns > 64:
        return PLAIN_BLOCK
    return 256 if columns > 32 else 512 if columns > 16 else 1024


def product(a: Array, b: Array, start: Array, *, transposed: bool = False, packed: bool = False) -> Array:
    """``start`` [m, n] + a [m, k] @ b [k, n], as a product of matrices is computed there."""
    rows, columns = len(a), b.shape[1]
    left, right = a.T[:, :, None], b[:, None, :]
    if packed:
        return _in_blocks(left, right, start, PACKED_BLOCK)
    if rows == 1:
        return _in_eights(left, right, start) if transposed else _in_fours(left, right, start)
    if columns == 1 and not transposed:
        return _in_eights(left[:, :, 0], right[:, :, 0], start[:, 0])[:, None]
    return _in_blocks(left, right, start, _block(columns, len(b)))


def _infer_conv(node: Node) -> list[TensorType]:
    attrs, weights = node.attrs, static_shape(node, node.input(1))
    require_dtype(node, node.input(0), DType.f32)
    require_dtype(node, node.input(1), DType.f32)
    batch, in_h, in_w, in_c = require_rank(node, node.input(0), 4)
    require(node, len(weights) == 4, "weights need four dimensions")
    depth, kernel_h, kernel_w, channels = weights
    require(node, attrs["groups"] >= 1 and channels % attrs["groups"] == 0, "groups do not divide the channels")
    require_equal(node, depth * attrs["groups"], in_c, "input channels by the weights")
    _check_bias(node, channels)
    out_h = window_dim(
        node, in_h, kernel_h, attrs["stride_h"], attrs["pad_top"], attrs["pad_bottom"], attrs["dilation_h"]
    )
    out_w = window_dim(
        node, in_w, kernel_w, attrs["stride_w"], attrs["pad_left"], attrs["pad_right"], attrs["dilation_w"]
    )
    return [TensorType(DType.f32, (batch, out_h, out_w, channels))]


def _check_bias(node: Node, channels: object) -> None:
    bias = node.optional_input(2)
    if bias is not None:
        require_dtype(node, bias, DType.f32)
        require(node, bias.shape == (channels,), f"bias '{bias.name}' is {bias.type}; [{channels}] is needed")


def _reference_conv(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, weights, bias = (*inputs, None)[:3]
    assert x is not None and weights is not None
    depth, kernel_h, kernel_w, channels = weights.shape
    groups = attrs["groups"]
    windows = windows_of(pad_plane(x, attrs), kernel_h, kernel_w, attrs)  # n, oh, ow, c, kh, kw
    batch, out_h, out_w = windows.shape[:3]
    plain = all(attrs[name] == 1 for name in ("stride_h", "stride_w", "dilation_h", "dilation_w"))
    whole_rows = depth == 1 and kernel_w == x.shape[2] and kernel_h * kernel_w > 1
    transposed = plain and whole_rows and not any(attrs[name] for name in _PADS)
    y = np.empty((batch, out_h, out_w, channels), np.float32)
    size = channels // groups
    for n in range(batch):
        for group in range(groups):
            taken = windows[n, :, :, group * depth : (group + 1) * depth].reshape(out_h * out_w, -1)
            own = weights[..., group * size : (group + 1) * size].reshape(-1, size)
            sums = product(own.T, taken.T, np.zeros((size, len(taken)), np.float32), transposed=transposed)
            y[n, :, :, group * size : (group + 1) * size] = sums.T.reshape(out_h, out_w, size)
    return [y if bias is None else y + bias]


def _infer_matmul(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    require_dtype(node, a, DType.f32)
    require_dtype(node, b, DType.f32)
    require(
        node, len(a.shape) >= 2 and len(b.shape) in (2, len(a.shape)), "a and b must be matrices, or stacks of them"
    )
    require_equal(node, b.shape[-2], a.shape[-1], "columns of a by the rows of b")
    require(node, len(b.shape) == 2 or b.shape[:-2] == a.shape[:-2], "a and b differ before the matrices")
    _check_bias(node, b.shape[-1])
    return [TensorType(DType.f32, (*a.shape[:-1], b.shape[-1]))]


def _reference_matmul(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    a, b, bias = (*inputs, None)[:3]
    assert a is not None and b is not None
    left = a.reshape(-1, *a.shape[-2:]) if b.ndim > 2 else a.reshape(1, -1, a.shape[-1])
    right = b.reshape(-1, *b.shape[-2:])
    y = np.empty((*left.shape[:2], b.shape[-1]), np.float32)
    for n, (matrix, other) in enumerate(zip(left, right, strict=True)):
        start = np.zeros(y.shape[1:], np.float32) if bias is None else np.broadcast_to(bias, y.shape[1:]).copy()
        if attrs["vector"] or (attrs["a_transposed"] and b.shape[-1] == 1 and len(matrix) > 1):
            y[n] = _in_fours(matrix.T[:, :, None], other[:, None, :], start)
        elif attrs["a_transposed"]:
            y[n] = _in_blocks(matrix.T[:, :, None], other[:, None, :], start, PLAIN_BLOCK)
        else:
            y[n] = product(matrix, other, start, transposed=attrs["transposed"], packed=attrs["packed"])
    return [y.reshape(*a.shape[:-1], b.shape[-1])]


def _infer_mean(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32)
    shape, trailing = node.input(0).shape, node.attrs["trailing"]
    require(node, 1 <= trailing <= len(shape), "trailing must be some of the dimensions of x")
    ones = (1,) * trailing if node.attrs["keep_dims"] else ()
    return [TensorType(DType.f32, (*shape[: len(shape) - trailing], *ones))]


def _total(numbers: Sequence[np.float32]) -> np.float32:
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total


def _as_pool(row: Array) -> np.float32:
    whole = len(row) // 4 * 4
    s = np.zeros(4, np.float32)
    for begin in range(0, whole, 4):
        s = s + row[begin : begin + 4]
    return _total([(s[0] + s[2]) + (s[1] + s[3]), *row[whole:]])


def _as_reduction(row: Array, place: int) -> np.float32:
    begin = min(-place % 4, len(row))
    inside = row[begin : begin + (len(row) - begin) // 4 * 4].reshape(-1, 4)
    if len(inside) == 0:
        return _total(list(row))
    even, odd = inside[0], inside[1] if len(inside) > 1 else None
    pairs = len(inside) // 2 * 2
    for i in range(2, pairs, 2):
        even, odd = even + inside[i], odd + inside[i + 1]
    s = even if odd is None else even + odd
    s = s + inside[pairs] if len(inside) > pairs > 0 else s
    return _total([(s[0] + s[2]) + (s[1] + s[3]), *row[:begin], *row[begin + inside.size :]])


def _reference_mean(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    (x,) = inputs
    kept = x.shape[: x.ndim - attrs["trailing"]]
    rows = x.reshape(int(np.prod(kept)), -1)
    count = rows.shape[1]
    sums = [_as_reduction(row, n * count % 4) if attrs["style"] else _as_pool(row) for n, row in enumerate(rows)]
    y = np.array(sums, np.float32).reshape((*kept, *([1] * attrs["trailing"] if attrs["keep_dims"] else ())))
    return [y if attrs["sum"] else y / np.float32(count)]


def _infer_pool(node: Node) -> list[TensorType]:
    attrs = node.attrs
    require_dtype(node, node.input(0), DType.f32)
    batch, in_h, in_w, channels = require_rank(node, node.input(0), 4)
    out_h = window_dim(node, in_h, attrs["kernel_h"], attrs["stride_h"], attrs["pad_top"], attrs["pad_bottom"], 1)
    out_w = window_dim(node, in_w, attrs["kernel_w"], attrs["stride_w"], attrs["pad_left"], attrs["pad_right"], 1)
    return [TensorType(DType.f32, (batch, out_h, out_w, channels))]


def _reference_pool(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    (x,) = inputs
    window = {**attrs, "dilation_h": 1, "dilation_w": 1}
    sizes = (attrs["kernel_h"], attrs["kernel_w"])
    inside = pad_plane(np.ones((1, *x.shape[1:3], 1), np.float32), window)
    count = windows_of(inside, *sizes, window).sum(axis=(4, 5), dtype=np.float32)
    taken = windows_of(pad_plane(x, window), *sizes, window)
    y = np.zeros(taken.shape[:4], np.float32)
    width = x.shape[2] + attrs["pad_left"] + attrs["pad_right"]
    fits = attrs["stride_w"] <= 2 and max(sizes) <= LARGEST_POOL and width <= WIDEST_POOL
    if fits and not attrs["style"]:
        for kx in range(sizes[1]):
            column = taken[..., 0, kx]
            for ky in range(1, sizes[0]):
                column = column + taken[..., ky, kx]
            y = y + column
    else:
        for ky in range(sizes[0]):
            for kx in range(sizes[1]):
                y = y + taken[..., ky, kx]
    return [y / (np.float32(sizes[0] * sizes[1]) if attrs["count_include_pad"] else count)]


_SIGMOID = (
    (4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01),
    (
        6.10247389755681e-13,
        5.76102136993427e-09,
        6.29106785017040e-06,
        1.70198817374094e-03,
        1.16817656904453e-01,
        9.93151921023180e-01,
    ),
)
_TANH = (
    (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    ),
    (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03),
)
"""The coefficients that Eigen has, of odd and of even powers, highest first."""


def _polynomial(factors: Sequence[float], x: Array) -> Array:
    total = np.full_like(x, factors[0])
    for factor in factors[1:]:
        total = fused_product(total, x, np.full_like(x, factor))
    return total


def _quotient(x: Array, factors: tuple[Sequence[float], Sequence[float]], most: float) -> Array:
    x = np.clip(x, np.float32(-most), np.float32(most))
    square = x * x
    return np.asarray(_polynomial(factors[0], square) * x / _polynomial(factors[1], square))


def _reference_sigmoid(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    return [np.maximum(_quotient(inputs[0], _SIGMOID, 18.0) + np.float32(0.5), np.float32(0))]


def _reference_tanh(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    return [_quotient(inputs[0], _TANH, 9.0)]


def _sample_function(rng: np.random.Generator) -> Sample:
    return Sample([sampling.floats(rng, sampling.shape(rng), -20.0, 20.0)], {})


def _sample_conv(rng: np.random.Generator) -> Sample:
    groups, depth, size = sampling.size(rng, 1, 2), sampling.size(rng, 1, 9), int(rng.choice([1, 2, 5, 9, 18]))
    kernel_h, kernel_w = sampling.size(rng, 1, 3), sampling.size(rng, 1, 3)
    if rng.integers(4) == 0:
        groups, depth, kernel_h, kernel_w = 1, 140, 1, 1
    attrs: dict[str, Any] = {"groups": groups}
    if rng.integers(2):
        attrs |= {name: sampling.size(rng, 0, 1) for name in _PADS}
        attrs |= {"stride_h": sampling.size(rng, 1, 2), "stride_w": sampling.size(rng, 1, 2)}
        attrs |= {"dilation_w": sampling.size(rng, 1, 2)}
    if rng.integers(4) == 0:
        depth = 1
    height, width = (
        kernel_h + int(rng.choice([0, 1, 4])),
        kernel_w * attrs.get("dilation_w", 1) + int(rng.choice([0, 3])),
    )
    x = sampling.floats(rng, (sampling.size(rng, 1, 2), height, width, groups * depth))
    w = sampling.floats(rng, (depth, kernel_h, kernel_w, groups * size))
    bias = sampling.floats(rng, (groups * size,)) if rng.integers(2) else None
    return Sample([x, w] if bias is None else [x, w, bias], attrs)


def _sample_matmul(rng: np.random.Generator) -> Sample:
    batch, depth = sampling.size(rng, 1, 3), int(rng.choice([1, 3, 8, 14, 70, 270]))
    rows, columns = int(rng.choice([1, 2, 7])), int(rng.choice([1, 3, 6, 17, 70]))
    attrs = dict.fromkeys(("transposed", "packed", "vector", "a_transposed"), 0)
    if rng.integers(3):
        attrs[str(rng.choice(list(attrs)))] = 1
    batch = 1 if depth > 14 else batch
    a = sampling.floats(rng, (batch, rows, depth))
    b = sampling.floats(rng, (*((batch,) if rng.integers(2) else ()), depth, columns))
    bias = sampling.floats(rng, (columns,)) if rng.integers(2) else None
    return Sample([a, b] if bias is None else [a, b, bias], attrs)


def _sample_mean(rng: np.random.Generator) -> Sample:
    x = sampling.floats(rng, (sampling.size(rng, 1, 3), sampling.size(rng, 1, 9), sampling.size(rng, 1, 40)))
    attrs = {name: int(rng.integers(2)) for name in ("style", "sum", "keep_dims")}
    return Sample([x], {"trailing": sampling.size(rng, 1, 3), **attrs})


def _sample_pool(rng: np.random.Generator) -> Sample:
    kernel = {"kernel_h": sampling.size(rng, 1, 4), "kernel_w": sampling.size(rng, 1, 4)}
    attrs = {**kernel, "stride_h": sampling.size(rng, 1, 3), "stride_w": sampling.size(rng, 1, 3)}
    attrs |= {
        name: sampling.size(rng, 0, kernel["kernel_h" if name in _PADS[::2] else "kernel_w"] - 1) for name in _PADS
    }
    shape = (sampling.size(rng, 1, 2), sampling.size(rng, 4, 9), sampling.size(rng, 4, 9), sampling.size(rng, 1, 5))
    return Sample(
        [sampling.floats(rng, shape)],
        {**attrs, "count_include_pad": int(rng.integers(2)), "style": int(rng.integers(2))},
    )


_ROWS: tuple[
    tuple[str, tuple[str, ...], Callable[..., Any], Callable[..., Any], Callable[..., Any], Attrs, str], ...
] = (
    (
        "conv2d_ordered",
        ("x", "weights", "bias?"),
        _infer_conv,
        _reference_conv,
        _sample_conv,
        _CONV_ATTRS,
        "A convolution with sums in the order of ONNX Runtime.",
    ),
    (
        "matmul_ordered",
        ("a", "b", "bias?"),
        _infer_matmul,
        _reference_matmul,
        _sample_matmul,
        {"transposed": 0, "packed": 0, "vector": 0, "a_transposed": 0},
        "Products of matrices with sums in the order of ONNX Runtime.",
    ),
    (
        "mean_ordered",
        ("x",),
        _infer_mean,
        _reference_mean,
        _sample_mean,
        {"trailing": 1, "keep_dims": 0, "style": 0, "sum": 0},
        "Means or sums of rows in the order of ONNX Runtime.",
    ),
    (
        "avg_pool2d_ordered",
        ("x",),
        _infer_pool,
        _reference_pool,
        _sample_pool,
        _POOL_ATTRS,
        "An average pool with sums in the order of ONNX Runtime.",
    ),
    (
        "sigmoid_ordered",
        ("x",),
        same_type,
        _reference_sigmoid,
        _sample_function,
        {},
        "The logistic function as ONNX Runtime approximates it.",
    ),
    (
        "tanh_ordered",
        ("x",),
        same_type,
        _reference_tanh,
        _sample_function,
        {},
        "The hyperbolic tangent as ONNX Runtime approximates it.",
    ),
)

register(
    *(
        OpDef(
            name=name,
            inputs=inputs,
            infer=infer,
            reference=reference,
            samples=samples,
            attrs=attrs,
            tolerance=EXACT,
            doc=doc,
        )
        for name, inputs, infer, reference, samples, attrs, doc in _ROWS
    )
)
