"""Operators of QONNX against their definition, written down here in NumPy, and around layers of ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_models import make_model, numbers, run_reference, save

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import UnsupportedError
from microlith.ir import Graph

DOMAINS = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
GENERAL = DOMAINS[1]
LAST = "qonnx.custom_op.channels_last"

TABLE = {
    "ROUND": (6, 2, 2, 1, 1, -1, -1, -2, -2, -6),
    "CEIL": (6, 3, 2, 2, 1, -1, -1, -1, -2, -5),
    "FLOOR": (5, 2, 1, 1, 1, -1, -2, -2, -3, -6),
    "UP": (6, 3, 2, 2, 1, -1, -2, -2, -3, -6),
    "DOWN": (5, 2, 1, 1, 1, -1, -1, -1, -2, -5),
    "HALF_UP": (6, 3, 2, 1, 1, -1, -1, -2, -3, -6),
    "HALF_DOWN": (5, 2, 2, 1, 1, -1, -1, -2, -2, -5),
}
"""The table of rounding modes in the definition of IntQuant, for the numbers below."""
NUMBERS = (5.5, 2.5, 1.6, 1.1, 1.0, -1.0, -1.1, -1.6, -2.5, -5.5)


def quantized(
    x: np.ndarray, scale: np.ndarray, zero: float, bits: int, signed: bool = True, narrow: bool = False
) -> np.ndarray:
    """IntQuant with the rounding mode ROUND, in single precision as QONNX computes it."""
    low = -(2 ** (bits - 1)) + narrow if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    scale = np.asarray(scale, np.float32)
    return (np.round(np.clip(x / scale + np.float32(zero), low, high)) - np.float32(zero)) * scale


def constants(prefix: str, scale: object, zero: float = 0, bits: int = 8) -> dict[str, np.ndarray]:
    values = {"scale": scale, "zero": zero, "bits": bits}
    return {f"{prefix}_{name}": np.array(value, np.float32) for name, value in values.items()}


def quant_node(x: str, y: str, prefix: str, domain: str = GENERAL, op: str = "IntQuant", **attrs: object):
    inputs = [x, *(f"{prefix}_{name}" for name in ("scale", "zero", "bits"))]
    return helper.make_node(op, inputs, [y], domain=domain, **attrs)


def results(model: object, feeds: dict[str, np.ndarray], folder: Path) -> tuple[Graph, np.ndarray]:
    graph = convert(save(model, folder))
    modelfile.save(graph, folder / "m.lith")
    with runtime.load(folder / "m.lith") as session:
        return graph, next(iter(session.run(feeds).values()))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("op", ["Quant", "IntQuant"])
def test_names(domain: str, op: str, tmp_path: Path) -> None:
    x = numbers(2, 40, low=-3, high=3)
    model = make_model(
        [quant_node("x", "y", "q", domain, op)], {"x": x.shape}, ["y"], constants("q", 0.25, 1, 4), domains=[domain]
    )
    _, actual = results(model, {"x": x}, tmp_path)
    np.testing.assert_array_equal(actual, quantized(x, 0.25, 1, 4))


@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize("bits", [1, 2, 4, 8, 11, 16, 20])
def test_limits(bits: int, signed: int, narrow: int, tmp_path: Path) -> None:
    scale = 2.0 ** (2 - bits)
    x = numbers(500, low=-5, high=5)
    node = quant_node("x", "y", "q", signed=signed, narrow=narrow)
    model = make_model([node], {"x": x.shape}, ["y"], constants("q", scale, 0, bits), domains=[GENERAL])
    graph, actual = results(model, {"x": x}, tmp_path)
    np.testing.assert_array_equal(actual, quantized(x, scale, 0, bits, bool(signed), bool(narrow)))
    assert any(node.op == "quantize" for node in graph.nodes) == (bits <= 16)


@pytest.mark.parametrize("mode", [*TABLE, "floor"])
def test_rounding_modes(mode: str, tmp_path: Path) -> None:
    x = np.array(NUMBERS, np.float32)
    node = quant_node("x", "y", "q", rounding_mode=mode)
    model = make_model([node], {"x": x.shape}, ["y"], constants("q", 1), domains=[GENERAL])
    np.testing.assert_array_equal(results(model, {"x": x}, tmp_path)[1], TABLE[mode.upper()])


def test_a_scale_for_each_channel(tmp_path: Path) -> None:
    x, scale = numbers(2, 3, 4, 5, high=4), np.array([0.5, 0.25, 1], np.float32).reshape(1, 3, 1, 1)
    model = make_model(
        [quant_node("x", "y", "q")], {"x": x.shape}, ["y"], constants("q", scale, 0, 3), domains=[GENERAL]
    )
    np.testing.assert_array_equal(results(model, {"x": x}, tmp_path)[1], quantized(x, scale, 0, 3))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_layers_become_integer_ops(layout: str, tmp_path: Path) -> None:
    """A convolution of few bits and a pool between quantizations: ONNX Runtime's, of the numbers by definition."""
    last = layout == "NHWC"
    x, w = numbers(1, 3, 9, 9, low=0), numbers(8, 3, 3, 3, seed=1)
    scales = (np.abs(w).max(axis=(1, 2, 3)) / 7).astype(np.float32).reshape(-1, 1, 1, 1)

    def moved(array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if last else array

    attrs: dict[str, object] = {"domain": LAST} if last else {}
    nodes = [
        quant_node("x", "xq", "a", signed=0),
        quant_node("w", "wq", "b", narrow=1),
        helper.make_node("Conv", ["xq", "wq"], ["c"], pads=[1, 1, 1, 1], **attrs),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, **attrs),
        quant_node("p", "y", "d", signed=0),
    ]
    step = 2.0**-5
    data = {
        "w": moved(w),
        **constants("a", 2.0**-8),
        **constants("b", moved(scales), 0, 4),
        **constants("d", step, 0, 8),
    }
    feed = moved(x)
    graph, actual = results(
        make_model(nodes, {"x": feed.shape}, ["y"], data, domains=[GENERAL, LAST]), {"x": feed}, tmp_path
    )
    layers = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), nodes[3]]
    layers[1] = helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    real = make_model(layers, {"x": x.shape}, ["y"], {"w": quantized(w, scales, 0, 4, narrow=True)})
    pooled = run_reference(real, {"x": quantized(x, 2.0**-8, 0, 8, signed=False)})[0]
    np.testing.assert_array_equal(actual, moved(quantized(pooled, step, 0, 8, signed=False)))
    layer = next(node for node in graph.nodes if node.op.startswith("conv2d"))
    assert layer.input(0).dtype.name in ("s8", "u8")


def test_bipolar_quant(tmp_path: Path) -> None:
    x, w, scale = numbers(4, 6), numbers(6, 5, seed=2), np.float32(0.25)
    x[0, 0] = 0
    nodes = [
        helper.make_node("BipolarQuant", ["x", "s"], ["xq"], domain=GENERAL),
        helper.make_node("BipolarQuant", ["w", "s"], ["wq"], domain=GENERAL),
        helper.make_node("MatMul", ["xq", "wq"], ["y"]),
    ]
    model = make_model(nodes, {"x": x.shape}, ["y"], {"w": w, "s": scale}, domains=[GENERAL])
    signs = [np.where(a >= 0, scale, -scale).astype(np.float64) for a in (x, w)]
    np.testing.assert_array_equal(results(model, {"x": x}, tmp_path)[1], signs[0] @ signs[1])


def test_trunc(tmp_path: Path) -> None:
    """Of 8 bits to 5: eight of the old steps make one; the scale stays as it was."""
    whole = np.arange(-128, 128)
    data = {"s": np.float32(0.5), "z": np.float32(0), "from": np.float32(8), "to": np.float32(5)}
    for mode, expected in (("FLOOR", whole // 8), ("ROUND", np.round(whole / 8)), ("CEIL", -(-whole // 8))):
        node = helper.make_node("Trunc", ["x", *data], ["y"], domain=GENERAL, rounding_mode=mode)
        x = (whole * 0.5).astype(np.float32)
        model = make_model([node], {"x": x.shape}, ["y"], data, domains=[GENERAL])
        np.testing.assert_array_equal(results(model, {"x": x}, tmp_path)[1], expected * 0.5)


@pytest.mark.parametrize("layout,shape", [("NCHW", (2, 3, 4, 5)), ("NHWC", (2, 4, 5, 3)), ("NCHW", (6, 3))], ids=str)
@pytest.mark.parametrize("channels", [1, 3])
def test_multi_threshold(layout: str, shape: tuple[int, ...], channels: int, tmp_path: Path) -> None:
    x = numbers(*shape)
    thresholds = np.sort(numbers(channels, 7, seed=3), axis=1)
    x.flat[0] = thresholds[0, 2]
    node = helper.make_node(
        "MultiThreshold", ["x", "t"], ["y"], domain=GENERAL, out_scale=0.5, out_bias=-1.0, out_dtype="INT4",
        data_layout=layout,
    )  # fmt: skip
    model = make_model([node], {"x": shape}, ["y"], {"t": thresholds}, domains=[GENERAL])
    axis = -1 if layout == "NHWC" else 1
    columns = np.moveaxis(x, axis, 0)
    rows = [np.searchsorted(thresholds[min(k, channels - 1)], part, "right") for k, part in enumerate(columns)]
    expected = np.moveaxis(np.stack(rows), 0, axis) * 0.5 - 1
    np.testing.assert_array_equal(results(model, {"x": x}, tmp_path)[1], expected)


def test_what_is_not_supported_is_listed(tmp_path: Path) -> None:
    nodes = [
        quant_node("x", "a", "q", rounding_mode="SOMEHOW"),
        helper.make_node("FloatQuant", ["a", "q_scale"], ["b"], domain=GENERAL),
        helper.make_node("IntQuant", ["x", "q_scale", "q_zero", "bits"], ["y"], domain=GENERAL),
    ]
    data = {**constants("q", 1), "bits": np.float32(2.5)}
    with pytest.raises(UnsupportedError) as error:
        convert(save(make_model(nodes, {"x": (3,)}, ["b", "y"], data, domains=[GENERAL]), tmp_path))
    assert [item.op.split(".")[-1] for item in error.value.items] == ["IntQuant", "FloatQuant", "IntQuant"]
    for text in ("'rounding_mode' is 'SOMEHOW'", "quantize to integers, with IntQuant", "one whole number up to 32"):
        assert text in str(error.value)
