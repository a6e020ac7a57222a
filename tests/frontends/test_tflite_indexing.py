"""TFLite's operators that index, order and select, and those over volumes, against LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import compare
from tflite_builder import TfliteBuilder


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def held(b: TfliteBuilder, folder: Path, arrays: list[np.ndarray] | None = None, **options: Any) -> None:
    compare(b.build(), folder, np.random.default_rng(4), arrays=arrays, **options)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int32", "int64"])
def test_top_k(dtype: str, tmp_path: Path) -> None:
    b = TfliteBuilder()
    quant = {"scale": 0.5, "zero_point": 3} if dtype in ("int8", "uint8") else {}
    x, k = b.input((3, 2, 11), dtype, **quant), b.constant(np.array(4, np.int32))
    b.operator("TOPK_V2", [x, k], [b.output((3, 2, 4), dtype, **quant), b.output((3, 2, 4), "int32")], "TopKV2Options")
    held(b, tmp_path, kinds=range(3))


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64"])
def test_scatter_nd(dtype: str, tmp_path: Path) -> None:
    b = TfliteBuilder()
    indices, updates = b.constant(np.array([[4], [1], [4]], np.int32)), b.input((3, 2), dtype)
    b.operator("SCATTER_ND", [indices, updates, b.constant(ints(6, 2))], [b.output((6, 2), dtype)], "ScatterNdOptions")
    held(b, tmp_path)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (2, 0)])
def test_reverse_sequence(batch: int, time: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    shape = (3, 4, 3)
    lengths = b.constant(np.array([2, 3, 1], np.int64))
    options = {"BatchDim": batch, "SeqDim": time}
    b.operator("REVERSE_SEQUENCE", [b.input(shape), lengths], [b.output(shape)], "ReverseSequenceOptions", **options)
    held(b, tmp_path)


def test_gather_nd_of_bytes(tmp_path: Path) -> None:
    b = TfliteBuilder()
    quant = {"scale": 0.25, "zero_point": -7}
    x, pairs = b.input((3, 4, 5), "int8", **quant), b.constant(np.array([[2, 1], [0, 3]], np.int32))
    b.operator("GATHER_ND", [x, pairs], [b.output((2, 5), "int8", **quant)], "GatherNdOptions")
    held(b, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int32"])
def test_where(dtype: str, tmp_path: Path) -> None:
    """The number of rows is known only once the condition is."""
    b = TfliteBuilder()
    b.operator("WHERE", [b.input((3, 4), dtype)], [b.output((0, 2), "int64")], "WhereOptions")
    held(b, tmp_path, [(np.arange(12).reshape(3, 4) % 3 == 1).astype(dtype)])


def test_unique(tmp_path: Path) -> None:
    b = TfliteBuilder()
    x = b.input((7,), "int32")
    b.operator("UNIQUE", [x], [b.output((0,), "int32"), b.output((7,), "int32")], "UniqueOptions", IdxOutType=2)
    held(b, tmp_path, [ints(4, 2, 4, 1, 2, 2, 9)])


@pytest.mark.parametrize("most", [3, 20])
@pytest.mark.parametrize("version", [4, 5])
def test_non_max_suppression(version: int, most: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    rng = np.random.default_rng(2)
    corners = rng.uniform(0, 4, (12, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(1, 3, (12, 2))], axis=1).astype(np.float32)
    scores = rng.permutation(12).astype(np.float32) / 12
    numbers = [np.array(0.4, np.float32), np.array(0.3, np.float32), np.array(0.0, np.float32)]
    operands = [b.input((12, 4)), b.input((12,)), b.constant(np.array(most, np.int32))]
    operands += [b.constant(number) for number in numbers[: version - 2]]
    outputs = [b.output((most,), "int32"), b.output((), "int32")]
    if version == 5:
        outputs.insert(1, b.output((most,)))
    b.operator(f"NON_MAX_SUPPRESSION_V{version}", operands, outputs, f"NonMaxSuppressionV{version}Options")
    held(b, tmp_path, [boxes, scores])


@pytest.mark.parametrize(("padding", "stride", "dilation"), [(0, 1, 1), (0, 2, 1), (1, 1, 2)])
def test_conv_3d(padding: int, stride: int, dilation: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    rng = np.random.default_rng(1)
    filters = b.constant(rng.standard_normal((2, 3, 2, 3, 4)).astype(np.float32))
    bias = b.constant(rng.standard_normal(4).astype(np.float32))
    sizes, kernel = (5, 6, 7), (2, 3, 2)
    spans = [(k - 1) * dilation + 1 for k in kernel]
    out = [-(-size // stride) if padding == 0 else (size - span) // stride + 1 for size, span in zip(sizes, spans)]  # noqa: B905
    options = {f"Stride{axis}": stride for axis in "DHW"} | {f"Dilation{axis}Factor": dilation for axis in "DHW"}
    inputs, outputs = [b.input((2, *sizes, 3)), filters, bias], [b.output((2, *out, 4))]
    b.operator("CONV_3D", inputs, outputs, "Conv3DOptions", Padding=padding, FusedActivationFunction=1, **options)
    held(b, tmp_path)


@pytest.mark.parametrize("padding", [0, 1])
def test_conv_3d_transpose(padding: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    filters = b.constant(np.random.default_rng(1).standard_normal((2, 3, 2, 4, 3)).astype(np.float32))
    size = (6, 8, 10) if padding == 0 else (6, 9, 10)
    options = {f"Stride{axis}": 2 for axis in "DHW"} | {f"Dilation{axis}Factor": 1 for axis in "DHW"}
    inputs = [b.constant(ints(1, *size, 4)), filters, b.input((1, 3, 4, 5, 3))]
    b.operator("CONV_3D_TRANSPOSE", inputs, [b.output((1, *size, 4))], "Conv3DOptions", Padding=padding, **options)
    held(b, tmp_path)


@pytest.mark.parametrize("start", [(0, 0, 0), (1, 2, 1), (9, -3, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int32"])
def test_dynamic_update_slice(dtype: str, start: tuple[int, ...], tmp_path: Path) -> None:
    b = TfliteBuilder()
    rng = np.random.default_rng(1)
    x, update = b.input((3, 4, 5), dtype), b.input((2, 1, 3), dtype)
    inputs = [x, update, b.input((3,), "int32")]
    b.operator("DYNAMIC_UPDATE_SLICE", inputs, [b.output((3, 4, 5), dtype)])
    arrays = [rng.integers(-9, 9, shape).astype(dtype) for shape in ((3, 4, 5), (2, 1, 3))]
    held(b, tmp_path, [*arrays, ints(*start)])


@pytest.mark.parametrize("single", [False, True])
def test_sparse_to_dense(single: bool, tmp_path: Path) -> None:
    b = TfliteBuilder()
    places, shape = b.constant(np.array([[0, 1], [2, 3], [1, 0]], np.int32)), b.constant(ints(3, 4))
    values = b.constant(np.array(2.5, np.float32)) if single else b.input((3,))
    inputs = [places, shape, values, b.constant(np.array(-1, np.float32))]
    dense = b.output((3, 4)) if not single else b.tensor((3, 4))
    b.operator("SPARSE_TO_DENSE", inputs, [dense], "SparseToDenseOptions")
    if single:
        b.operator("ADD", [dense, b.input((3, 4))], [b.output((3, 4))], "AddOptions")
    held(b, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", ["SUM", "PROD", "MAX", "MIN"])
def test_unsorted_segments(name: str, dtype: str, tmp_path: Path) -> None:
    b = TfliteBuilder()
    ids, count = b.constant(ints(2, 0, -1, 2, 4, 0)), b.constant(np.array(5, np.int32))
    inputs = [b.input((6, 3), dtype), ids, count]
    b.operator(f"UNSORTED_SEGMENT_{name}", inputs, [b.output((5, 3), dtype)], f"UnsortedSegment{name.title()}Options")
    held(b, tmp_path)


def test_diagonals(tmp_path: Path) -> None:
    b = TfliteBuilder()
    b.operator("MATRIX_DIAG", [b.input((2, 4))], [b.output((2, 4, 4))], "MatrixDiagOptions")
    for shape in ((2, 3, 5), (2, 5, 3)):
        inputs = [b.input(shape), b.input((2, 3))]
        b.operator("MATRIX_SET_DIAG", inputs, [b.output(shape)], "MatrixSetDiagOptions")
    held(b, tmp_path)


@pytest.mark.parametrize("activation", [0, 3])
def test_l2_pool(activation: int, tmp_path: Path) -> None:
    b = TfliteBuilder()
    options = {"StrideH": 2, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 2, "FusedActivationFunction": activation}
    b.operator("L2_POOL_2D", [b.input((1, 6, 7, 3))], [b.output((1, 3, 7, 3))], "Pool2DOptions", Padding=0, **options)
    held(b, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("axis", "batch", "indices", "result"),
    [
        (1, 1, (2, 5), (2, 5, 6, 4)),
        (2, 1, (2, 5), (2, 3, 5, 4)),
        (3, 1, (2, 2, 2), (2, 3, 6, 2, 2)),
        (3, 2, (2, 3, 2), (2, 3, 6, 2)),
        (2, 2, (2, 3), (2, 3, 4)),
        (1, 1, (2,), (2, 6, 4)),
        (-2, -1, (2, 5), (2, 3, 5, 4)),
    ],
)
def test_gather_with_batches(
    axis: int, batch: int, indices: tuple[int, ...], result: tuple[int, ...], dtype: str, tmp_path: Path
) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(3)
    quant = {"scale": 0.05, "zero_point": 3} if dtype == "int8" else {}
    operands = [b.input((2, 3, 6, 4), dtype, **quant), b.input(indices, "int32")]
    b.operator("GATHER", operands, [b.output(result, dtype, **quant)], "GatherOptions", Axis=axis, BatchDims=batch)
    compare(b.build(), tmp_path, rng)


def test_top_k_of_a_number_that_is_an_input(tmp_path: Path) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(4)
    inputs = [b.input((3, 9)), b.input((), "int32")]
    b.operator("TOPK_V2", inputs, [b.output((3, 1)), b.output((3, 1), "int32")], "TopKV2Options")
    for k in (1, 4, 9):
        compare(b.build(), tmp_path, rng, arrays=[rng.normal(size=(3, 9)).astype(np.float32), np.array(k, np.int32)])


@pytest.mark.parametrize("shape", [(8, 6), (8, 3, 4)], ids=str)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("scales", [1, 8])
def test_rows_of_a_table_of_bytes(scales: int, bits: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    """As exporters of language models keep their embeddings."""
    b, rng = TfliteBuilder(), np.random.default_rng(5)
    limit = 1 << bits - 1
    data = rng.integers(-limit, limit, shape).astype(np.int8)
    quant = {"scale": rng.uniform(0.01, 0.1, scales), "zero_point": 0, "axis": 0}
    table = b.constant(data, **quant) if bits == 8 else b.int4_constant(data, **quant)
    b.operator("EMBEDDING_LOOKUP", [b.input((5,), "int32"), table], [b.output((5, *shape[1:]))])
    compare(b.build(), tmp_path, rng, arrays=[rng.integers(0, 8, 5).astype(np.int32)])
