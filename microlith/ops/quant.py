"""Between real numbers and integers; arithmetic in ``nnacl_kernels/quant/quant.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import EXACT, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, WINDOW_ATTRS, conv_output_shape, conv_sample, convolve, finish_float
from .dense import dense_output_shape, dense_sample
from .quant_rules import materialize_dequantize, materialize_quantize, materialize_requantize
from .shape_rules import grouped, require, require_dtype

Attrs = Mapping[str, Any]

_NARROW = (DType.s8, DType.u8, DType.s16)
_STORED = (*_NARROW, DType.u16)


def _target(node: Node, *allowed: DType) -> DType:
    """The dtype that the attribute ``to`` names."""
    target = node.attrs["to"]
    require(node, target in [dtype.value for dtype in allowed], f"cannot produce element type {target}")
    return DType(target)


# quantize, dequantize, requantize


def _may_be(shape: Sequence[Dim], wanted: Sequence[Dim]) -> bool:
    """Whether no known size contradicts another one."""
    return len(shape) == len(wanted) and all(
        isinstance(a, str) or isinstance(b, str) or a == b for a, b in zip(shape, wanted, strict=True)
    )


def _check_scales(node: Node) -> None:
    """Scales and zero points lie along x as axis and block say."""
    shape, axis, block = node.input(0).shape, node.attrs["axis"], node.attrs["block"]
    require(node, -1 <= axis < len(shape), f"axis {axis} is out of range for rank {len(shape)}")
    require(node, block >= 0 and (block == 0 or axis >= 0), f"block {block} with axis {axis}")
    for index, dtype in ((1, DType.f32), (2, DType.s32)):
        value = node.optional_input(index)
        if value is None:
            continue
        require_dtype(node, value, dtype)
        if axis < 0:
            fits = value.shape in ((), (1,))
        elif block == 0:
            fits = _may_be(value.shape, (shape[axis],))
        else:
            fits = _may_be(value.shape, [_blocks(dim, block) if i == axis else dim for i, dim in enumerate(shape)])
        require(node, fits, f"'{value.name}' is {value.type}, which does not fit axis {axis} and block {block}")


def _blocks(dim: Dim, block: int) -> Dim:
    return -(-dim // block) if isinstance(dim, int) else f"-(-{grouped(dim)}//{block})"


def _along(numbers: np.ndarray, x: np.ndarray, attrs: Attrs) -> np.ndarray:
    """Scales or zero points so that they broadcast against x."""
    axis, block = attrs["axis"], attrs["block"]
    if axis < 0:
        return numbers.reshape(())
    if block:
        return np.repeat(numbers, block, axis)[(slice(None),) * axis + (slice(x.shape[axis]),)]
    return numbers.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _parameters(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, its scales and its zero points."""
    x, scales, zeros = (*inputs, None, None)[:3]
    assert x is not None
    scale = np.float32(attrs["scale"]) if scales is None else _along(scales, x, attrs)
    zero = np.int64(attrs["zero"]) if zeros is None else _along(zeros, x, attrs)
    return x, np.asarray(scale), np.asarray(zero)


def _draw_scales(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DType
) -> tuple[list[np.ndarray | None], dict[str, Any]]:
    """Random scales and zero points, as inputs or attributes."""
    info = np.iinfo(dtype.numpy)
    low, high = (0, 1) if dtype is DType.s32 else (info.min, info.max + 1)
    kind = int(rng.integers(4))
    axis = int(rng.integers(len(shape))) if kind > 1 else -1
    block = sampling.size(rng, 1, 3) if kind == 3 else 0
    if kind == 0:
        return [], {"scale": float(np.float32(2.0 ** rng.uniform(-10, 1))), "zero": int(rng.integers(low, high))}
    where: tuple[int, ...] = (shape[axis],) if kind == 2 else () if rng.integers(2) else (1,)
    if block:
        where = tuple(-(-dim // block) if i == axis else dim for i, dim in enumerate(shape))
    scales = np.exp2(rng.uniform(-10, 1, where)).astype(np.float32)
    zeros = rng.integers(low, high, where, dtype=np.int32) if rng.integers(2) else None
    return [np.asarray(scales), None if zeros is None else np.asarray(zeros)], {"axis": axis, "block": block}


def _infer_quantize(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32)
    _check_scales(node)
    return [TensorType(_target(node, *_STORED), node.input(0).shape)]


def _reference_quantize(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, scale, zero = _parameters(inputs, attrs)
    dtype = DType(attrs["to"]).numpy
    info = np.iinfo(dtype)
    zero = np.clip(zero, info.min, info.max)
    if attrs["rounding"] == numerics.TFLITE_UP_BY_8 and not attrs["block"]:
        return [_quantize_by_groups(x, scale, zero, dtype)]
    return [numerics.quantize_array(x, scale, zero, dtype, attrs["rounding"])]


def _quantize_by_groups(x: np.ndarray, scale: np.ndarray, zero: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """As LiteRT: whole groups of 8 elements times 1 / scale, half to even; others in double, half away from zero."""
    flat, scales, zeros = (np.broadcast_to(item, x.shape).reshape(-1) for item in (x, scale, zero))
    edge = x.size // 8 * 8
    with np.errstate(all="ignore"):
        groups = np.rint((flat[:edge] * (np.float32(1) / scales[:edge])).astype(np.float64))
        rest = numerics.round_half_away(flat[edge:].astype(np.float64) / scales[edge:].astype(np.float64))
    whole = np.clip(np.nan_to_num(np.concatenate([groups, rest]), nan=0.0, posinf=2e9, neginf=-2e9), -2e9, 2e9)
    info = np.iinfo(dtype)
    return np.clip(whole.astype(np.int64) + zeros, info.min, info.max).astype(dtype).reshape(x.shape)


def _sample_quantize(rng: np.random.Generator) -> Sample:
    target = _STORED[int(rng.integers(len(_STORED)))]
    shape = sampling.shape(rng)
    parameters, attrs = _draw_scales(rng, shape, target)
    rounding = numerics.TFLITE_UP_BY_8 if rng.integers(4) == 0 and not attrs.get("block") else sampling.rounding(rng)
    attrs |= {"to": target.value, "rounding": rounding}
    scale = _parameters([np.empty(shape), *parameters], {"scale": 1.0, "zero": 0, "axis": -1, "block": 0, **attrs})[1]
    x = sampling.floats(rng, shape, -200.0, 200.0) * scale
    ties = (rng.integers(-100, 100, shape) + 0.5).astype(np.float32) * scale
    return Sample([np.where(rng.integers(0, 4, shape) == 0, ties, x).astype(np.float32), *parameters], attrs)


def _infer_dequantize(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), *_STORED, DType.s32)
    _check_scales(node)
    return [TensorType(DType.f32, node.input(0).shape)]


def _reference_dequantize(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    return [numerics.dequantize_array(*_parameters(inputs, attrs))]


def _sample_dequantize(rng: np.random.Generator) -> Sample:
    source = (*_STORED, DType.s32)[int(rng.integers(len(_STORED) + 1))]
    shape = sampling.shape(rng)
    x = sampling.integers(rng, shape, source.numpy.type)
    if source is DType.s32:
        x = (x // 256).astype(np.int32)
    parameters, attrs = _draw_scales(rng, shape, source)
    return Sample([x, *parameters], attrs)


def _infer_quantize_dynamic(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32)
    return [TensorType(DType.u8, x.shape), TensorType(DType.f32, ()), TensorType(DType.u8, ())]


def _reference_quantize_dynamic(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    low, high = x.min(initial=np.float32(0)), x.max(initial=np.float32(0))
    scale = np.float32((high - low) / np.float32(255)) if low < high else np.float32(1)
    zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
    return [numerics.quantize_array(x, scale, zero, np.uint8, numerics.FLOAT_EVEN), np.asarray(scale), np.asarray(zero)]


def _sample_quantize_dynamic(rng: np.random.Generator) -> Sample:
    low = float(rng.choice([-4.0, 0.0, 1.0]))
    x = sampling.floats(rng, sampling.shape(rng), low, low + 5.0)
    return Sample([x if rng.integers(8) else np.zeros_like(x)], {})


def _infer_requantize(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), *_NARROW, DType.s32)
    return [TensorType(_target(node, *_NARROW, DType.s32), node.input(0).shape)]


def _reference_requantize(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    centred = x.astype(np.int64) - attrs["x_zero"]
    if attrs["rounding"] == numerics.FLOAT_EVEN:
        y = numerics.requantize_float(centred, np.float32(attrs["scale"]))
    else:
        y = numerics.requantize(centred, attrs["mult"], attrs["shift"], attrs["rounding"])
    return [np.clip(y + attrs["y_zero"], attrs["q_min"], attrs["q_max"]).astype(DType(attrs["to"]).numpy)]


def _sample_requantize(rng: np.random.Generator) -> Sample:
    source, target = ((*_NARROW, DType.s32)[int(rng.integers(4))] for _ in range(2))
    factor = float(np.float32(2.0 ** rng.uniform(-4, 4)))
    multiplier, shift = numerics.quantize_multiplier(factor)
    ranges = np.iinfo(source.numpy), np.iinfo(target.numpy)
    zeros = [int(rng.integers(info.min, info.max + 1)) for info in ranges]
    attrs = {"to": target.value, "mult": multiplier, "shift": shift, "scale": factor}
    attrs |= {"x_zero": 0 if source in (DType.s16, DType.s32) else zeros[0]}
    attrs |= {"y_zero": 0 if target in (DType.s16, DType.s32) else zeros[1]}
    attrs |= {"q_min": ranges[1].min, "q_max": ranges[1].max, "rounding": sampling.rounding(rng)}
    if target is DType.s32 and attrs["rounding"] == numerics.FLOAT_EVEN:
        attrs["rounding"] = numerics.SINGLE
    shape = (int(rng.integers(1000, 1100)),) if rng.random() < 0.3 else sampling.shape(rng)  # many are looked up
    return Sample([sampling.integers(rng, shape, source.numpy.type)], attrs)


# conv2d_dynamic, dense_dynamic


def _infer_dynamic(node: Node, shape: tuple[int | str, ...], channels: int) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32)
    require_dtype(node, node.input(1), DType.s8)
    for index, dtype in ((2, DType.f32), (3, DType.f32)):
        value = node.optional_input(index)
        if value is not None:
            require_dtype(node, value, dtype)
            require(node, value.shape == (channels,), f"'{value.name}' is {value.type}; [{channels}] is needed")
    return [TensorType(DType.f32, shape)]


def _infer_conv2d_dynamic(node: Node) -> list[TensorType]:
    return _infer_dynamic(node, *conv_output_shape(node, depthwise=False))


def _infer_dense_dynamic(node: Node) -> list[TensorType]:
    return _infer_dynamic(node, *dense_output_shape(node))


def quantize_asymmetric(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows [n, k] as s8 with one scale (float32 [n]) and zero point (int64 [n]) each, as TFLite's hybrid kernels."""
    low32, high32 = np.minimum(x.min(axis=1), np.float32(0)), np.maximum(x.max(axis=1), np.float32(0))
    low, high = low32.astype(np.float64), high32.astype(np.float64)
    flat = low == high
    scale = np.where(flat, 1.0, (high32 - low32).astype(np.float64) / 255.0)  # the difference in float32
    from_min, from_max = -128.0 - low / scale, 127.0 - high / scale
    better_min = 128.0 + np.abs(low / scale) < 127.0 + np.abs(high / scale)
    zero = np.clip(numerics.round_half_away(np.where(better_min, from_min, from_max)), -128, 127)
    scale32 = np.where(flat, 1.0, scale).astype(np.float32)
    zero = np.where(flat, 0.0, zero).astype(np.int64)
    inverse = np.float32(1.0) / scale32
    scaled = numerics.round_half_away(x * inverse[:, None]) + zero[:, None]
    return np.clip(scaled, -128, 127).astype(np.int8), scale32, zero


def quantize_symmetric(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows [n, k] as s8 in [-127, 127] with one scale (float32 [n]) each, as TFLite's hybrid kernels."""
    largest = np.abs(x).max(axis=1).astype(np.float32)
    empty = largest == 0
    scale = np.where(empty, np.float32(1.0), largest / np.float32(127.0)).astype(np.float32)
    inverse = np.where(empty, np.float32(0.0), np.float32(127.0) / np.where(empty, np.float32(1.0), largest))
    rounded = numerics.round_half_away(x * inverse.astype(np.float32)[:, None])
    return np.clip(rounded, -127, 127).astype(np.int8), scale


def quantize_rows(x: np.ndarray, attrs: Attrs) -> tuple[np.ndarray, np.ndarray]:
    """Rows [n, k] as whole numbers less their zero point (float64) and the scale of each row (float32 [n])."""
    if attrs["asymmetric"]:
        quantized, scale, zero = quantize_asymmetric(x)
        return quantized.astype(np.float64) - zero[:, None], scale
    quantized, scale = quantize_symmetric(x)
    return quantized.astype(np.float64), scale


def _reference_conv2d_dynamic(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, w_scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None and w_scales is not None
    centred, scale = quantize_rows(x.reshape(x.shape[0], -1), attrs)
    acc = convolve(centred.reshape(x.shape), weights.astype(np.float64), attrs).astype(np.float32)
    return [finish_float(acc * (w_scales * scale[:, None, None, None]), bias, attrs, x.dtype)]


def _reference_dense_dynamic(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, w_scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None and w_scales is not None
    centred, scale = quantize_rows(x.reshape(-1, x.shape[-1]), attrs)
    acc = (centred @ weights.astype(np.float64).T).astype(np.float32)
    y = finish_float(acc * (w_scales * scale[:, None]), bias, attrs, x.dtype)
    return [y.reshape(*x.shape[:-1], weights.shape[0])]


def _sample_conv2d_dynamic(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=False)
    channels = weights.shape[0]
    bias = sampling.floats(rng, (channels,)) if rng.integers(2) else None
    integers = sampling.integers(rng, weights.shape, low=-127)
    attrs |= {"asymmetric": int(rng.integers(2)), **sampling.clamp(rng)}
    return Sample([x, integers, bias, sampling.floats(rng, (channels,), 0.001, 0.02)], attrs)


def _sample_dense_dynamic(rng: np.random.Generator) -> Sample:
    x, weights = dense_sample(rng)
    units = weights.shape[0]
    bias = sampling.floats(rng, (units,)) if rng.integers(2) else None
    integers = sampling.integers(rng, weights.shape, low=-127)
    attrs = {"asymmetric": int(rng.integers(2)), **sampling.clamp(rng)}
    return Sample([x, integers, bias, sampling.floats(rng, (units,), 0.001, 0.02)], attrs)


register(
    OpDef(
        name="quantize",
        inputs=("x", "scales?", "zeros?"),
        infer=_infer_quantize,
        reference=_reference_quantize,
        samples=_sample_quantize,
        attrs={"scale": 1.0, "zero": 0, "axis": -1, "block": 0, "to": DType.s8.value, "rounding": 0},
        quant=QuantRule(materialize=materialize_quantize),
        tolerance=EXACT,
        doc="Real numbers to integers.",
    ),
    OpDef(
        name="dequantize",
        inputs=("x", "scales?", "zeros?"),
        infer=_infer_dequantize,
        reference=_reference_dequantize,
        samples=_sample_dequantize,
        attrs={"scale": 1.0, "zero": 0, "axis": -1, "block": 0},
        quant=QuantRule(materialize=materialize_dequantize),
        tolerance=EXACT,
        doc="Integers to real numbers.",
    ),
    OpDef(
        name="quantize_dynamic",
        inputs=("x",),
        outputs=("y", "scale", "zero"),
        infer=_infer_quantize_dynamic,
        reference=_reference_quantize_dynamic,
        samples=_sample_quantize_dynamic,
        tolerance=EXACT,
        doc="Real numbers to unsigned 8-bit integers over the range that they have.",
    ),
    OpDef(
        name="requantize",
        inputs=("x",),
        infer=_infer_requantize,
        reference=_reference_requantize,
        samples=_sample_requantize,
        attrs={
            "to": DType.s8.value,
            **dict.fromkeys(("x_zero", "y_zero", "mult", "shift"), 0),
            "scale": 1.0,
            "q_min": -128,
            "q_max": 127,
            "rounding": 0,
        },
        quant=QuantRule(materialize=materialize_requantize),
        tolerance=EXACT,
        doc="From one quantization to another.",
    ),
    OpDef(
        name="conv2d_dynamic",
        inputs=("x", "weights", "bias?", "w_scales"),
        infer=_infer_conv2d_dynamic,
        reference=_reference_conv2d_dynamic,
        samples=_sample_conv2d_dynamic,
        attrs={**WINDOW_ATTRS, "groups": 1, **CLAMP_ATTRS, "asymmetric": 0},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="conv2d of real numbers with s8 weights; x is quantized at run time.",
    ),
    OpDef(
        name="dense_dynamic",
        inputs=("x", "weights", "bias?", "w_scales"),
        infer=_infer_dense_dynamic,
        reference=_reference_dense_dynamic,
        samples=_sample_dense_dynamic,
        attrs={**CLAMP_ATTRS, "asymmetric": 0},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="dense of real numbers with s8 weights; x is quantized at run time.",
    ),
)
