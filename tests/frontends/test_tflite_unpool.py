# SPDX-License-Identifier: Apache-2.0
"""Pools that remember places, and their reverse, against loops over the definition: LiteRT for Python lacks them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers
from litert_rung import converted
from tflite_builder import TfliteBuilder

import microlith
from microlith import modelfile
from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

SAME, VALID = 1, 2


def options(padding: int, stride: tuple[int, int], kernel: tuple[int, int], activation: int = 0) -> bytes:
    """As the operators take them: width before height."""
    return struct.pack("<10i", padding, stride[1], stride[0], kernel[1], kernel[0], activation, 0, 0, 0, 0)


def before(size: int, after: int, stride: int, kernel: int) -> int:
    return max((size - 1) * stride + kernel - after, 0) // 2


def pooled(
    x: np.ndarray, padding: int, stride: tuple[int, int], kernel: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maxima, (row, column) of each in the image, and (row, column) in its window."""
    n, *sizes, c = x.shape
    out = [-(-s // t) if padding == SAME else (s - k) // t + 1 for s, t, k in zip(sizes, stride, kernel, strict=True)]
    pads = [before(o, s, t, k) for o, s, t, k in zip(out, sizes, stride, kernel, strict=True)]
    y = np.full((n, *out, c), -np.inf, np.float32)
    places, local = (np.zeros((*y.shape, 2), np.int64) for _ in range(2))
    for index in np.ndindex(y.shape):
        for fy, fx in np.ndindex(kernel):
            row, column = index[1] * stride[0] - pads[0] + fy, index[2] * stride[1] - pads[1] + fx
            if 0 <= row < sizes[0] and 0 <= column < sizes[1] and x[index[0], row, column, index[3]] > y[index]:
                y[index] = x[index[0], row, column, index[3]]
                places[index], local[index] = (row, column), (fy, fx)
    return y, places, local


def run(b: TfliteBuilder, folder: Path, arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """The outputs of the NumPy reference and of the runtime."""
    graph = converted(b.build())
    modelfile.save(graph, folder / "test.lith")
    feed = {value.name: array for value, array in zip(graph.inputs, arrays, strict=True)}
    results = [evaluate(graph, feed), microlith.load(folder / "test.lith").run(feed)]
    return [[np.asarray(result[value.name]) for value in graph.outputs] for result in results]


WINDOWS = [
    pytest.param(SAME, (2, 2), (2, 2), id="same"),
    pytest.param(SAME, (2, 1), (3, 2), id="padded"),
    pytest.param(VALID, (1, 2), (2, 3), id="valid"),
]


@pytest.mark.parametrize(("padding", "stride", "kernel"), WINDOWS)
@pytest.mark.parametrize("kind", ["image", "window"])
def test_pool(kind: str, padding: int, stride: tuple[int, int], kernel: tuple[int, int], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, (2, 5, 7, 3)).astype(np.float32)
    y, places, local = pooled(x, padding, stride, kernel)
    b = TfliteBuilder()
    if kind == "window":
        wanted = (local[..., 0] * kernel[1] + local[..., 1] + np.float32(0.1)).astype(np.float32)
        outputs = [b.output(y.shape), b.output(y.shape)]
        source = b.input(x.shape)
        b.custom("MaxPoolingWithArgmax2D", [source], outputs, options(padding, stride, kernel))
    else:
        wanted = ((places[..., 0] * 7 + places[..., 1]) * 3 + np.arange(3)).astype(np.int32)
        named = {
            "ksize": [1, *kernel, 1],
            "strides": [1, *stride, 1],
            "padding": {SAME: "SAME", VALID: "VALID"}[padding],
            "include_batch_in_index": False,
        }
        outputs = [b.output(y.shape), b.output(y.shape, "int32")]
        b.custom("MaxPoolWithArgmax", [b.input(x.shape)], outputs, bytes(flexbuffers.Dumps(named)))
    for results in run(b, tmp_path, [x]):
        np.testing.assert_array_equal(results[0], y)
        np.testing.assert_array_equal(results[1], wanted)


@pytest.mark.parametrize(("padding", "stride", "kernel"), WINDOWS)
@pytest.mark.parametrize("name", ["MaxUnpooling2D", "LiteRtMaxUnpooling2D"])
def test_unpool_of_images(
    name: str, padding: int, stride: tuple[int, int], kernel: tuple[int, int], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 3, 4, 2)).astype(np.float32)
    sizes = [s * t if padding == SAME else (s - 1) * t + k for s, t, k in zip((3, 4), stride, kernel, strict=True)]
    places = np.stack([rng.permutation(sizes[0] * sizes[1] * 2)[: x[0].size].reshape(x[0].shape) for _ in range(2)])
    wanted = np.zeros((2, sizes[0] * sizes[1] * 2), np.float32)
    for image in range(2):
        wanted[image, places[image].reshape(-1)] = x[image].reshape(-1)
    b = TfliteBuilder()
    inputs = [b.input(x.shape), b.input(x.shape, "int32")]
    b.custom(name, inputs, [b.output((2, *sizes, 2))], options(padding, stride, kernel))
    for (result,) in run(b, tmp_path, [x, places.astype(np.int32)]):
        np.testing.assert_array_equal(result, wanted.reshape(2, *sizes, 2))


@pytest.mark.parametrize(
    ("stride", "kernel"), [((2, 2), (2, 2)), ((3, 2), (3, 2)), ((2, 2), (1, 1)), ((3, 3), (2, 2))], ids=str
)
def test_unpool_of_windows(stride: tuple[int, int], kernel: tuple[int, int], tmp_path: Path) -> None:
    """What comes to lie outside is left out."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 3, 4, 2)).astype(np.float32)
    sizes = [s * k for s, k in zip((3, 4), kernel, strict=True)]
    local = rng.integers(0, kernel[0] * kernel[1], x.shape)
    pads = [before(s, o, t, k) for s, o, t, k in zip((3, 4), sizes, stride, kernel, strict=True)]
    wanted = np.zeros((2, *sizes, 2), np.float32)
    for n, row, column, channel in np.ndindex(x.shape):
        fy, fx = divmod(int(local[n, row, column, channel]), kernel[1])
        y, z = row * stride[0] - pads[0] + fy, column * stride[1] - pads[1] + fx
        if 0 <= y < sizes[0] and 0 <= z < sizes[1]:
            wanted[n, y, z, channel] = x[n, row, column, channel]
    b = TfliteBuilder()
    b.custom(
        "MaxUnpooling2D", [b.input(x.shape), b.input(x.shape)], [b.output(wanted.shape)], options(SAME, stride, kernel)
    )
    for (result,) in run(b, tmp_path, [x, (local + np.float32(0.1)).astype(np.float32)]):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("given", [b"", options(3, (2, 2), (2, 2)), options(SAME, (0, 2), (2, 2))])
def test_damaged_options(given: bytes) -> None:
    b = TfliteBuilder()
    b.custom("MaxPoolingWithArgmax2D", [b.input((1, 4, 4, 1))], [b.output((1, 2, 2, 1)), b.output((1, 2, 2, 1))], given)
    with pytest.raises(UnsupportedError, match=r"options|padding|strides"):
        converted(b.build())
