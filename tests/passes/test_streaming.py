"""Models of a window that slides over time, made into streams: their steps give what the windows give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from litert_rung import interpreter, run_interpreter
from mlperf_tiny import SHARED
from tflite_builder import TfliteBuilder

from microlith import convert, load
from microlith.converter import import_model
from microlith.converter.streaming import stream
from microlith.errors import InputError
from microlith.ir import Graph

WAKE_WORD = SHARED / "models" / "mlperf-tiny" / "str_ww_ref_model.tflite"


def conv(
    b: TfliteBuilder, rng: np.random.Generator, x: int, shape: tuple[int, ...], stride: int = 1, same: bool = False
) -> int:
    """A convolution along time of shape [channels out, taps, 1, channels in]."""
    channels, taps, _, depth = shape
    filters = b.constant(rng.integers(-127, 128, shape).astype(np.int8), scale=[0.01] * channels)
    bias = b.constant(rng.integers(-99, 99, channels).astype(np.int32), scale=[0.001] * channels)
    rows = b.tensors[x].shape[1] if same else (b.tensors[x].shape[1] - taps) // stride + 1
    y = b.tensor((1, rows, 1, channels), "int8", scale=0.02 * np.sqrt(taps * depth))
    options = {"StrideW": 1, "StrideH": stride, "Padding": 0 if same else 1}
    b.operator("CONV_2D", [x, filters, bias], [y], "Conv2DOptions", **options)
    b.tensors[y].scale[0] = 0.1
    return y


def listener(stride: int = 1, same: bool = False) -> TfliteBuilder:
    """Three convolutions along 20 frames of 4 numbers, a pool, a sum, and a dense layer over all that is left."""
    rng = np.random.default_rng(stride)
    b = TfliteBuilder()
    x = b.input((1, 20, 1, 4), "int8", name="frames", scale=0.1)
    a = conv(b, rng, conv(b, rng, x, (6, 3, 1, 4), same=same), (6, 1, 1, 6))
    total = b.tensor(b.tensors[a].shape, "int8", scale=0.15)
    b.operator("ADD", [a, a], [total], "AddOptions", FusedActivationFunction=1)
    y = conv(b, rng, total, (5, 4, 1, 6), stride)
    rows = b.tensors[y].shape[1]
    pooled = b.tensor((1, rows - 1, 1, 5), "int8", scale=0.1)
    window = {"FilterHeight": 2, "FilterWidth": 1, "StrideH": 1, "StrideW": 1, "Padding": 1}
    b.operator("MAX_POOL_2D", [y], [pooled], "Pool2DOptions", **window)
    flat = b.tensor((1, 5 * (rows - 1)), "int8", scale=0.1)
    b.operator("RESHAPE", [pooled, b.constant(np.array([1, -1], np.int32))], [flat], "ReshapeOptions")
    weights = b.constant(rng.integers(-127, 128, (3, 5 * (rows - 1))).astype(np.int8), scale=0.01)
    out = b.output((1, 3), "int8", name="scores", scale=0.2)
    b.operator("FULLY_CONNECTED", [flat, weights, -1], [out], "FullyConnectedOptions")
    return b


def test_labels_stay() -> None:
    """What the metadata says of the scores, it says of those of the stream."""
    graph = import_model(listener().build())
    graph.metadata["labels/scores"] = "yes\nno\nnoise"
    assert stream(graph, 2).metadata == graph.metadata


def check(data: bytes, graph: Graph, folder: Path, rows: int, steps: int) -> None:
    """The steps of the runtime against LiteRT's results for all windows, also after a reset."""
    from microlith import modelfile

    engine = interpreter(data)
    shape = tuple(engine.get_input_details()[0]["shape"])
    rng = np.random.default_rng(1)
    frames = rng.integers(-128, 128, (1, steps * rows, *shape[2:])).astype(np.int8)
    (x,) = graph.inputs
    assert x.type.static_shape == (1, rows, *shape[2:])
    modelfile.save(graph, folder / "m.lith")
    model = load(folder / "m.lith")
    compared = []
    for step in range(1, steps + 1):
        end = step * rows
        (y,) = model.run({x.name: frames[:, end - rows : end]}).values()
        if end >= shape[1]:
            (wanted,) = run_interpreter(engine, [frames[:, end - shape[1] : end]])
            assert y.tobytes() == wanted.tobytes(), f"step {step}"
            compared.append(y)
    assert len(np.unique(np.stack(compared))) > 5


@pytest.mark.parametrize(("rows", "stride"), [(1, 1), (3, 1), (2, 2), (1, 2)])
def test_steps_equal_litert_on_windows(rows: int, stride: int, tmp_path: Path) -> None:
    data = listener(stride).build()
    graph = convert(data, stream_rows=rows)
    assert graph.states
    macs = [node.output.type.count for node in graph.nodes if node.op == "conv2d"]
    assert macs[0] == 6 * rows and (macs[-1] == 5 * rows // stride or rows < stride)
    check(data, graph, tmp_path, rows, 30)


@pytest.mark.skipif(not WAKE_WORD.exists(), reason="MLPerf Tiny's models are not there (MICROLITH_SHARED)")
def test_wake_word(tmp_path: Path) -> None:
    graph = convert(WAKE_WORD, stream_rows=1)
    assert [state.input.type.static_shape for state in graph.states] == [
        (1, 2, 1, 40), (1, 4, 1, 128), (1, 9, 1, 128), (1, 14, 1, 128),
    ]  # fmt: skip
    check(WAKE_WORD.read_bytes(), graph, tmp_path, 1, 40)


def test_mistakes() -> None:
    with pytest.raises(InputError, match=r"steps of 1: CONV_2D.* pads the window"):
        convert(listener(same=True).build(), stream_rows=1)
    with pytest.raises(InputError, match="has 20 rows: a step cannot have 21"):
        convert(listener().build(), stream_rows=21)
    with pytest.raises(InputError, match="at least one row"):
        convert(listener().build(), stream_rows=0)
