"""UNIDIRECTIONAL_SEQUENCE_LSTM against LiteRT, run after run: its states live on. Also what stands beside it in
tflite_numeric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import assert_close, compare, converted, interpreter, run_interpreter
from tflite_builder import TfliteBuilder

import microlith
from microlith import modelfile
from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import UnsupportedError

HIDDEN, SIZE = 6, 5
OPTIONS = "UnidirectionalSequenceLSTMOptions"


def lstm(
    b: TfliteBuilder,
    tensors: dict[int, int],
    shape: Sequence[int],
    *,
    batch: int,
    state: dict[str, Any],
    cell: dict[str, Any],
    intermediates: Sequence[int] = (),
    **options: Any,
) -> None:
    """Adds the operator; ``tensors`` are its inputs by place, without the states."""
    places = {
        **tensors,
        18: b.variable((batch, HIDDEN), **state),
        19: b.variable((batch, HIDDEN), **cell),
    }
    output = b.output((*shape[:2], HIDDEN), **state)
    b.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [places.get(place, -1) for place in range(24)],
        [output],
        OPTIONS,
        **{"FusedActivationFunction": 4, **options},
    )
    b.operators[-1].intermediates = intermediates


def float_model(
    rng: np.random.Generator,
    shape: Sequence[int],
    batch: int,
    *,
    peepholes: bool = False,
    coupled: bool = False,
    **options: Any,
) -> bytes:
    b = TfliteBuilder()
    tensors = {0: b.input(shape)}
    kept = [gate for gate in range(4) if not (coupled and gate == 0)]
    for first, columns in ((1, SIZE), (5, HIDDEN)):
        for gate in kept:
            tensors[first + gate] = b.constant(rng.uniform(-0.6, 0.6, (HIDDEN, columns)).astype(np.float32))
    for gate in kept:
        tensors[12 + gate] = b.constant(rng.uniform(-0.6, 0.6, HIDDEN).astype(np.float32))
    for place in (9, 10, 11) if peepholes else ():
        if not (coupled and place == 9):
            tensors[place] = b.constant(rng.uniform(-0.6, 0.6, HIDDEN).astype(np.float32))
    lstm(b, tensors, shape, batch=batch, state={}, cell={}, **options)
    return b.build()


def integer_model(rng: np.random.Generator, shape: Sequence[int], batch: int, *, zero: int, exponent: int) -> bytes:
    b = TfliteBuilder()
    tensors = {0: b.input(shape, "int8", scale=0.02, zero_point=11)}
    for first, columns, scale in ((1, SIZE, 0.011), (5, HIDDEN, 0.009)):
        for gate in range(4):
            weights = rng.integers(-127, 128, (HIDDEN, columns)).astype(np.int8)
            tensors[first + gate] = b.constant(weights, scale=scale * (1 + 0.3 * gate))
    for gate in range(4):
        bias = rng.integers(-3000, 3000, HIDDEN).astype(np.int32)
        tensors[12 + gate] = b.constant(bias, scale=0.02 * 0.011 * (1 + 0.3 * gate))
    hidden: dict[str, Any] = {"dtype": "int8", "scale": 0.0077, "zero_point": zero}
    cell: dict[str, Any] = {"dtype": "int16", "scale": 2.0**exponent}
    between = [b.tensor((0,)) for _ in range(4)] + [b.tensor((0,), **hidden)]
    lstm(b, tensors, shape, batch=batch, state=hidden, cell=cell, intermediates=between, CellClip=6.0)
    return b.build()


def compare_runs(data: bytes, folder: Path, feeds: Sequence[np.ndarray], tolerance: float = 1e-5) -> None:
    """Several runs of one session, then again after a reset."""
    engine = interpreter(data)
    graph = converted(data)
    modelfile.save(graph, folder / "test.lith")
    model = microlith.load(folder / "test.lith")
    for round_trip in range(2):
        if round_trip:
            engine.reset_all_variables()
            model.reset()
        for index, feed in enumerate(feeds):
            (expected,) = run_interpreter(engine, [feed])
            result = model.run({graph.inputs[0].name: feed})[graph.outputs[0].name]
            assert_close(result, expected, f"run {index}, round {round_trip}", tolerance)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("variant", ["plain", "peepholes", "coupled", "both", "relu", "clipped"])
def test_float(variant: str, time_major: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    shape, batch = ((4, 2, SIZE), 2) if time_major else ((2, 4, SIZE), 2)
    options: dict[str, Any] = {"relu": {"FusedActivationFunction": 1}, "clipped": {"CellClip": 0.3}}.get(variant, {})
    both = variant == "both"
    data = float_model(
        rng,
        shape,
        batch,
        peepholes=both or variant == "peepholes",
        coupled=both or variant == "coupled",
        TimeMajor=time_major,
        **options,
    )
    compare_runs(data, tmp_path, [rng.normal(size=shape).astype(np.float32) for _ in range(3)])


@pytest.mark.parametrize("zero", [0, -4, 100])
@pytest.mark.parametrize("exponent", [-12, -11, -15, -9])
def test_int8(zero: int, exponent: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    shape = (1, 7, SIZE)
    feeds = [rng.integers(-128, 128, shape).astype(np.int8) for _ in range(4)]
    compare_runs(integer_model(rng, shape, 1, zero=zero, exponent=exponent), tmp_path, feeds)


@pytest.mark.parametrize("activation", [0, 1, 4])
@pytest.mark.parametrize("kind", ["step", "batch first", "time first"])
def test_plain_rnn(kind: str, activation: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    shape = {"step": (2, SIZE), "batch first": (2, 4, SIZE), "time first": (4, 2, SIZE)}[kind]
    b = TfliteBuilder()
    x = b.input(shape)
    arrays = [rng.uniform(-0.4, 0.4, size).astype(np.float32) for size in ((HIDDEN, SIZE), (HIDDEN, HIDDEN), (HIDDEN,))]
    inputs = [x, *(b.constant(array) for array in arrays), b.variable((2, HIDDEN))]
    output = b.output((*shape[:-1], HIDDEN))
    if kind == "step":
        b.operator("RNN", inputs, [output], "RNNOptions", FusedActivationFunction=activation)
    else:
        options = {"FusedActivationFunction": activation, "TimeMajor": kind == "time first"}
        b.operator("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, [output], "SequenceRNNOptions", **options)
    compare_runs(b.build(), tmp_path, [rng.normal(size=shape).astype(np.float32) for _ in range(3)])


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(("rank", "memory", "activation"), [(1, 4, 0), (2, 3, 1), (3, 1, 3)])
@pytest.mark.parametrize("kind", ["float", "hybrid"])
def test_svdf(kind: str, rank: int, memory: int, activation: int, has_bias: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    b, batch, units = TfliteBuilder(), 2, 5
    features, times = rng.normal(size=(units * rank, SIZE)), rng.normal(size=(units * rank, memory))
    x, bias = b.input((batch, SIZE)), b.constant(rng.normal(size=units).astype(np.float32)) if has_bias else -1
    weights = []
    for numbers in (features, times):
        if kind == "hybrid":
            scale = np.abs(numbers).max() / 127
            weights.append(b.constant(np.round(numbers / scale).astype(np.int8), scale=float(scale), zero_point=0))
        else:
            weights.append(b.constant(numbers.astype(np.float32)))
    inputs = [x, *weights, bias, b.variable((batch, units * rank * memory))]
    y = b.output((batch, units))
    b.operator("SVDF", inputs, [y], "SVDFOptions", Rank=rank, FusedActivationFunction=activation)
    feeds = [rng.normal(size=(batch, SIZE)).astype(np.float32) for _ in range(5)]
    # LiteRT rounds x to 8 bits in the hybrid form; here it stays as it is.
    compare_runs(b.build(), tmp_path, feeds, tolerance=1e-5 if kind == "float" else 0.15)


@pytest.mark.parametrize("seed", range(6))
def test_svdf_int8(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b, rank, memory, (batch, units, size) = TfliteBuilder(), 1 + seed % 3, 1 + seed, rng.integers(1, 20, 3).tolist()
    x_scale, weight_scale, state_scale = (2.0 ** rng.uniform(-8, -4, 3)).astype(np.float32)
    time_scale, y_scale = np.float32(2.0**-13), np.float32(state_scale * 2.0)
    x = b.input((batch, size), "int8", scale=float(x_scale), zero_point=int(rng.integers(-128, 128)))
    features = rng.integers(-127, 128, (units * rank, size)).astype(np.int8)
    times = rng.integers(-8192, 8192, (units * rank, memory)).astype(np.int16)
    bias_scale = float(state_scale * time_scale)
    inputs = [
        x,
        b.constant(features, scale=float(weight_scale), zero_point=0),
        b.constant(times, scale=float(time_scale), zero_point=0),
        b.constant(rng.integers(-99999, 99999, units).astype(np.int32), scale=bias_scale, zero_point=0),
        b.variable((batch, units * rank * memory), dtype="int16", scale=float(state_scale), zero_point=0),
    ]
    y = b.output((batch, units), "int8", scale=float(y_scale * 16), zero_point=int(rng.integers(-128, 128)))
    b.operator("SVDF", inputs, [y], "SVDFOptions", Rank=rank, FusedActivationFunction=1)
    compare_runs(b.build(), tmp_path, [rng.integers(-128, 128, (batch, size)).astype(np.int8) for _ in range(6)])


def micro_times(sums: np.ndarray, factor: float) -> np.ndarray:
    """Sums times a factor in 31-bit fixed point, as gemmlowp rounds: the doubled high half, then halves away from 0."""
    mantissa, exponent = np.frexp(factor)
    fixed = int(np.floor(mantissa * 2**31 + 0.5))
    high = sums.astype(object) * 2 ** max(exponent, 0) * fixed
    high = np.array([(h + 2**30) // 2**31 if h >= 0 else -((-h + 2**30 - 1) // 2**31) for h in high.ravel()], object)
    right = 2 ** max(-exponent, 0)
    away = [(abs(h) + right // 2) // right * (1 if h >= 0 else -1) for h in high]
    return np.array(away, np.int64).reshape(sums.shape)


@pytest.mark.parametrize("seed", range(6))
def test_svdf_of_bytes(seed: int, tmp_path: Path) -> None:
    """Weights and memory of int8, which LiteRT cannot run, against the steps of TFLite Micro in whole numbers."""
    rng = np.random.default_rng(seed)
    b, rank, steps, (batch, units, size) = TfliteBuilder(), 1 + seed % 3, 1 + seed, rng.integers(2, 20, 3).tolist()
    filters, (x_zero, state_zero, y_zero) = units * rank, rng.integers(-40, 40, 3).tolist()
    x_scale, feature_scale, time_scale = (2.0 ** rng.uniform(-8, -4, 3)).astype(np.float32)
    state_scale = np.float32(x_scale * feature_scale * 90 * size**0.5)
    y_scale = np.float32(state_scale * time_scale * 60 * (steps * rank) ** 0.5)
    features, times = (rng.integers(-127, 128, (filters, n)).astype(np.int8) for n in (size, steps))
    bias = rng.integers(-2000, 2000, units).astype(np.int32)
    inputs = [
        b.input((batch, size), "int8", scale=float(x_scale), zero_point=x_zero),
        b.constant(features, scale=float(feature_scale), zero_point=0),
        b.constant(times, scale=float(time_scale), zero_point=0),
        b.constant(bias, scale=float(state_scale * time_scale), zero_point=0) if seed % 2 else -1,
        b.variable((batch, filters * steps), dtype="int8", scale=float(state_scale), zero_point=state_zero),
    ]
    y = b.output((batch, units), "int8", scale=float(y_scale), zero_point=y_zero)
    b.operator("SVDF", inputs, [y], "SVDFOptions", Rank=rank, FusedActivationFunction=1)
    graph = converted(b.build())
    modelfile.save(graph, tmp_path / "test.lith")
    model = microlith.load(tmp_path / "test.lith")
    memory = np.full((batch, filters, steps), state_zero, np.int64)
    for _ in range(8):
        x = rng.integers(-128, 128, (batch, size)).astype(np.int8)
        sums = (x.astype(np.int64) - x_zero) @ features.astype(np.int64).T
        first = np.float64(x_scale) * np.float64(feature_scale) / np.float64(state_scale)
        found = np.clip(micro_times(sums, float(first)), -128, 127) + state_zero
        memory = np.concatenate([memory[..., 1:], found.astype(np.int8)[..., None]], axis=-1)
        weighed = ((memory - state_zero) * times).sum(axis=-1).reshape(batch, units, rank).sum(axis=-1)
        second = np.float64(state_scale) * np.float64(time_scale) / np.float64(y_scale)
        total = micro_times(weighed + (bias if seed % 2 else 0), float(second)) + y_zero
        (result,) = model.run({graph.inputs[0].name: x}).values()
        np.testing.assert_array_equal(result, np.clip(total, -128, 127).astype(np.int8))


def test_layer_normalization_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    b = TfliteBuilder()
    tensors = {0: b.input((1, 2, SIZE))}
    for place in range(20, 24):
        tensors[place] = b.constant(rng.normal(size=HIDDEN).astype(np.float32))
    lstm(b, tensors, (1, 2, SIZE), batch=1, state={}, cell={})
    with pytest.raises(UnsupportedError, match="layer normalization"):
        import_tflite(b.build())


@pytest.mark.parametrize("radius", [0, 2, 9])
def test_local_response_normalization(radius: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    x, y = b.input((1, 3, 4, 7)), b.output((1, 3, 4, 7))
    options = {"Radius": radius, "Bias": 1.5, "Alpha": 0.3, "Beta": 0.75}
    b.operator("LOCAL_RESPONSE_NORMALIZATION", [x], [y], "LocalResponseNormalizationOptions", **options)
    compare(b.build(), tmp_path, np.random.default_rng(8))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_cumsum(exclusive: bool, dtype: str, tmp_path: Path) -> None:
    b = TfliteBuilder()
    x, axis, y = b.input((2, 5, 3), dtype), b.constant(np.array(-2, np.int32)), b.output((2, 5, 3), dtype)
    b.operator("CUMSUM", [x, axis], [y], "CumsumOptions", Exclusive=exclusive, Reverse=exclusive)
    compare(b.build(), tmp_path, np.random.default_rng(9))


@pytest.mark.parametrize("name", ["BITWISE_XOR", "RIGHT_SHIFT"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_bits(name: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    info = np.iinfo(dtype)
    b = TfliteBuilder()
    operands = [b.input((3, 4), dtype), b.input((3, 4), dtype)]
    b.operator(name, operands, [b.output((3, 4), dtype)])
    a = rng.integers(info.min, info.max, (3, 4)).astype(dtype)
    compare(b.build(), tmp_path, rng, arrays=[a, rng.integers(0, 8, (3, 4)).astype(dtype)])
