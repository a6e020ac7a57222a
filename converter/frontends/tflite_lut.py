"""Tables of 256 entries for functions of one int8 tensor, in the arithmetic of LiteRT's built-in kernels.

``table[q + 128]`` is the int8 result for the int8 input ``q``. Functions that LiteRT evaluates in float32 are computed
with the same float32 steps; those that it evaluates in fixed point are computed in the same integers. uint8 tensors
give the same tables, because only ``q - zero_point`` enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from microlith.ir import Quant
from microlith.numerics import (
    TFLITE_DOUBLE,
    quantize_array,
    quantize_multiplier,
    requantize,
    round_half_away,
    round_shift_away,
)

FloatFunction = Callable[[np.ndarray], np.ndarray]
_INTEGERS = np.arange(-128, 128, dtype=np.int64)


def _parameters(quant: Quant) -> tuple[np.float32, int]:
    return np.float32(quant.scale[0]), int(quant.zero_point[0])


def _saturate(values: np.ndarray) -> np.ndarray:
    return np.clip(values, -128, 127).astype(np.int8)


def float_table(function: FloatFunction, x: Quant, y: Quant) -> np.ndarray:
    """``function`` maps float32 real numbers to float32 ones; its results are multiplied by 1 / y scale and rounded."""
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    with np.errstate(all="ignore"):
        real = x_scale * (_INTEGERS - x_zero).astype(np.float32)
        scaled = round_half_away(function(real).astype(np.float32) * (np.float32(1) / y_scale))
        return _saturate(np.nan_to_num(scaled + np.float32(y_zero), posinf=127.0, neginf=-128.0))


def _rounded(function: Callable[[np.ndarray], np.ndarray]) -> FloatFunction:
    """A transcendental function of float32, computed in float64 and rounded once, as a good libm does."""
    return lambda x: np.asarray(function(x.astype(np.float64))).astype(np.float32)


_exp = _rounded(np.exp)
_tanh = _rounded(np.tanh)
_erfc = _rounded(np.vectorize(math.erfc))


def sigmoid(x: np.ndarray) -> np.ndarray:
    one = np.float32(1)
    return one / (one + _exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return np.float32(0.5) * x * _erfc(x * np.float32(-math.sqrt(0.5)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    inner = x + np.float32(0.044715) * x * x * x
    return np.float32(0.5) * x * (np.float32(1) + _tanh(np.float32(math.sqrt(2 / math.pi)) * inner))


def gelu_tanh_16(x: np.ndarray) -> np.ndarray:
    """The tanh form as LiteRT computes it for 16-bit tensors: from the factor of tanh's argument on in float64."""
    inner = x + np.float32(0.044715) * x * x * x
    gate = 1.0 + np.tanh(math.sqrt(2 / math.pi) * inner.astype(np.float64))
    return np.asarray(np.float32(0.5) * x * gate, np.float32)


def elu(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, _rounded(np.expm1)(x), x)


def log_table(x: Quant, y: Quant) -> np.ndarray:
    """Natural logarithm; numbers that have none give the smallest output."""
    y_scale, y_zero = _parameters(y)
    lowest = np.float32(-128 - y_zero) * y_scale
    return float_table(lambda v: np.where(v <= 0, lowest, _rounded(np.log)(np.maximum(v, 1e-30))), x, y)


FLOAT_FUNCTIONS: dict[str, FloatFunction] = {
    "elu": elu,
    "exp": _exp,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "sigmoid": sigmoid,
    "tanh": _tanh,
}


def _scaled(values: np.ndarray, factor: float) -> np.ndarray:
    multiplier, shift = quantize_multiplier(float(factor))
    return requantize(values, multiplier, shift, TFLITE_DOUBLE)


def clamp_table(low: float, high: float, x: Quant, y: Quant) -> np.ndarray:
    """RELU and its relatives: a change of scale, then a clamp to the real range low .. high."""
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    moved = _scaled(_INTEGERS - x_zero, x_scale / y_scale) + y_zero
    q_min = int(quantize_array(low, y_scale, y_zero, np.int8)) if low > -math.inf else -128
    q_max = int(quantize_array(high, y_scale, y_zero, np.int8)) if high < math.inf else 127
    return np.clip(moved, q_min, q_max).astype(np.int8)


def leaky_relu_table(alpha: float, x: Quant, y: Quant) -> np.ndarray:
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    centred = _INTEGERS - x_zero
    factor = x_scale * np.float32(alpha) / y_scale
    negative = _scaled(centred, abs(factor)) * (-1 if factor < 0 else 1)
    return _saturate(np.where(centred >= 0, _scaled(centred, x_scale / y_scale), negative) + y_zero)


def abs_table(x: Quant, y: Quant) -> np.ndarray:
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    size = np.abs(_INTEGERS - x_zero)
    return _saturate((size if x_scale == y_scale else _scaled(size, x_scale / y_scale)) + y_zero)


def rescale_table(x: Quant, y: Quant) -> np.ndarray:
    """The same real numbers under another quantization, as CONCATENATION of uint8 tensors computes them."""
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    # In LiteRT's uint8 terms: the bias is rounded with the uint8 zero point and the uint8 number.
    scale = x_scale * (np.float32(1) / y_scale)
    bias = np.float32(-(x_zero + 128)) * scale
    values = round_half_away((_INTEGERS + 128).astype(np.float32) * scale + bias)
    return _saturate(values.astype(np.int64) + y_zero)


def hard_swish_table(x: Quant, y: Quant) -> np.ndarray:
    """x * relu6(x + 3) / 6 in 16-bit fixed point."""
    x_scale, x_zero = _parameters(x)
    y_scale, y_zero = _parameters(y)
    fine_scale = np.float32(1 / 128) * x_scale
    y_multiplier, y_shift = _multiplier16(fine_scale / y_scale)
    gate_multiplier, gate_shift = _multiplier16(fine_scale / np.float32(3.0 / 32768.0))
    fine = (_INTEGERS - x_zero) * 128
    unshifted = _high_mul16(fine, y_multiplier)
    gate = fine
    if gate_shift > 0:
        gate = _saturate16(gate << (gate_shift - 1))
    gate = _high_mul16(gate, gate_multiplier)
    if gate_shift > 0:
        gate = _saturate16(gate << 1)
    if gate_shift < 0:
        gate = round_shift_away(gate, -gate_shift)
    gate = (gate + (1 << 15)) >> 1
    product = gate * unshifted
    truncated = np.sign(product) * (np.abs(product) >> 15)
    return _saturate(round_shift_away(truncated, -y_shift) + y_zero)


def _multiplier16(factor: float) -> tuple[int, int]:
    """A factor as a Q15 multiplier and a shift."""
    multiplier, shift = quantize_multiplier(float(factor))
    return (32767 if multiplier >= 0x7FFF0000 else (multiplier + (1 << 15)) >> 16), shift


def _high_mul16(a: np.ndarray, b: int) -> np.ndarray:
    """Rounding doubling high half of a 16-bit product, saturated; ties away from zero."""
    product = a * b
    rounded = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return _saturate16(np.sign(rounded) * (np.abs(rounded) >> 15))


def _saturate16(values: np.ndarray) -> np.ndarray:
    return np.clip(values, -32768, 32767)
