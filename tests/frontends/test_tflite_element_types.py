# SPDX-License-Identifier: Apache-2.0
"""TFLite operators on element types that few models use, against LiteRT's built-in kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import compare
from tflite_builder import TfliteBuilder

from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import UnsupportedError

ALL_INT16 = np.arange(-32768, 32768).astype(np.int16)
IN_128THS = {"int8": {"scale": 1 / 128, "zero_point": 0}, "uint8": {"scale": 1 / 128, "zero_point": 128}}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("depth", [1, 2, 7, 128, 3000])
def test_l2_normalization(depth: int, dtype: str, tmp_path: Path) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        b, low = TfliteBuilder(), np.iinfo(dtype).min
        x = b.input((5, depth), dtype, scale=0.05, zero_point=low + int(rng.integers(0, 256)))
        y = b.output((5, depth), dtype, **IN_128THS[dtype])
        b.operator("L2_NORMALIZATION", [x], [y], "L2NormOptions")
        compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("scale", [0.0002, 0.0003, 0.00005])
@pytest.mark.parametrize(
    ("name", "options"),
    [("EXP", None), ("LOG", None), ("ABS", None), ("GELU", False), ("GELU", True)],
)
def test_functions_of_int16(name: str, options: bool | None, scale: float, tmp_path: Path) -> None:
    b = TfliteBuilder()
    x = b.input(ALL_INT16.shape, "int16", scale=scale, zero_point=0)
    y = b.output(ALL_INT16.shape, "int16", scale=0.0003, zero_point=0)
    table: dict[str, Any] = {} if options is None else {"table": "GeluOptions", "Approximate": options}
    b.operator(name, [x], [y], **table)
    compare(b.build(), tmp_path, np.random.default_rng(0), arrays=[ALL_INT16])


def test_gelu_of_int8_is_not_that_of_int16(tmp_path: Path) -> None:
    """LiteRT computes the tanh form in float32 for tables of 8 bits; here that makes a difference in one entry."""
    b, numbers = TfliteBuilder(), np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    x = b.input(numbers.shape, "int8", scale=0.0386, zero_point=-15)
    y = b.output(numbers.shape, "int8", scale=0.0127, zero_point=-10)
    b.operator("GELU", [x], [y], table="GeluOptions", Approximate=True)
    compare(b.build(), tmp_path, np.random.default_rng(0), arrays=[numbers])


@pytest.mark.parametrize("dtype", ["float32", "int8", "int16", "int32"])
@pytest.mark.parametrize("steps", [(1, 2, 3, 1), (1, 1, 1, 1), (2, 1, 1, 2)])
def test_dilate(steps: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    b, shape = TfliteBuilder(), (2, 3, 4, 1)
    quant = {"int8": {"scale": 0.1, "zero_point": 3}, "int16": {"scale": 0.1}}.get(dtype, {})
    filler = b.constant(np.array(5).astype(dtype), **quant)
    sizes = [(size - 1) * step + 1 for size, step in zip(shape, steps, strict=True)]
    x, y = b.input(shape, dtype, **quant), b.output(sizes, dtype, **quant)
    b.operator("DILATE", [x, b.constant(np.array(steps, np.int32)), filler], [y], "DilateOptions")
    compare(b.build(), tmp_path, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["ADD", "MUL", "MAXIMUM", "TANH", "FLOOR", "NEG"])
def test_half_precision(name: str, tmp_path: Path) -> None:
    """Computed in single precision and rounded once, as LiteRT does here; its other functions round every step."""
    b = TfliteBuilder()
    inputs = [b.input((3, 5), "float16") for _ in range(2 if name in ("ADD", "MUL", "MAXIMUM") else 1)]
    options = {"ADD": "AddOptions", "MUL": "MulOptions"}.get(name)
    b.operator(name, inputs, [b.output((3, 5), "float16")], options)
    compare(b.build(), tmp_path, np.random.default_rng(0), kinds=(0, 1, 2), tolerance=2**-11)


def test_comparisons_of_half_precision(tmp_path: Path) -> None:
    b = TfliteBuilder()
    b.operator("LESS", [b.input((3, 5), "float16"), b.input((5,), "float16")], [b.output((3, 5), "bool")])
    compare(b.build(), tmp_path, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "dtype"), [("LOG_SOFTMAX", "int16"), ("CEIL", "int16"), ("CUMSUM", "int8")])
def test_what_is_refused(name: str, dtype: str) -> None:
    b = TfliteBuilder()
    x, y = (make((2, 3), dtype, scale=0.01) for make in (b.input, b.output))
    if name == "CUMSUM":
        b.operator(name, [x, b.constant(np.array([1], np.int32))], [y], "CumsumOptions")
    else:
        b.operator(name, [x], [y])
    with pytest.raises(UnsupportedError, match=rf"{name} .*quantized s\d+ is not supported"):
        import_tflite(b.build(), name="test")


def test_two_axes_of_a_running_sum_are_refused() -> None:
    b = TfliteBuilder()
    axes = b.constant(np.array([0, 1], np.int32))
    b.operator("CUMSUM", [b.input((2, 3)), axes], [b.output((2, 3))], "CumsumOptions")
    with pytest.raises(UnsupportedError, match="2 numbers for one axis"):
        import_tflite(b.build(), name="test")
