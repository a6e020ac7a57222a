"""TFLite files that are damaged, hostile or beyond what can be converted: one clear error each, never a crash."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tflite
from litert_rung import compare
from tflite_builder import Sparsity, TfliteBuilder

from microlith.converter.frontends.tflite import import_tflite, load_tflite, supported_operators
from microlith.converter.frontends.tflite_model import read_model
from microlith.dtypes import DType
from microlith.errors import InputError, MicrolithError, ModelFormatError, UnsupportedError


def small_model() -> TfliteBuilder:
    """int8 convolution, pool, reshape and classifier."""
    rng = np.random.default_rng(0)
    b = TfliteBuilder()
    given = {"scale": 0.05, "zero_point": -3}
    x = b.input((1, 6, 6, 2), "int8", name="image", **given)
    filters = b.constant(rng.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8), scale=[0.01, 0.02, 0.03, 0.04])
    bias = b.constant(np.arange(4, dtype=np.int32), scale=[0.0005, 0.001, 0.0015, 0.002])
    y = b.tensor((1, 6, 6, 4), "int8", scale=0.1, zero_point=5)
    b.operator("CONV_2D", [x, filters, bias], [y], "Conv2DOptions", StrideW=1, StrideH=1)
    pooled = b.tensor((1, 1, 1, 4), "int8", scale=0.1, zero_point=5)
    window = {"FilterHeight": 6, "FilterWidth": 6, "StrideH": 1, "StrideW": 1, "Padding": 1}
    b.operator("AVERAGE_POOL_2D", [y], [pooled], "Pool2DOptions", **window)
    flat = b.tensor((1, 4), "int8", scale=0.1, zero_point=5)
    b.operator("RESHAPE", [pooled, b.constant(np.array([1, 4], np.int32))], [flat], "ReshapeOptions")
    out = b.output((1, 4), "int8", scale=1 / 256, zero_point=-128, name="scores")
    b.operator("SOFTMAX", [flat], [out], "SoftmaxOptions", Beta=1.0)
    return b


def fails(data: bytes) -> str:
    with pytest.raises(ModelFormatError) as caught:
        import_tflite(data, where="bad.tflite")
    text = str(caught.value)
    assert text.startswith("bad.tflite: ")
    return text


def test_names_types_and_quantization_arrive() -> None:
    graph = import_tflite(small_model().build())
    assert graph.contract == "tflite-double"
    assert [(value.name, value.type.static_shape) for value in graph.inputs] == [("image", (1, 6, 6, 2))]
    assert [value.name for value in graph.outputs] == ["scores"]
    convolution = graph.nodes[0]
    assert (convolution.op, convolution.source) == ("conv2d", "CONV_2D")
    weights = convolution.input(1)
    assert weights.quant is not None and weights.quant.axis == 0
    np.testing.assert_array_equal(weights.quant.scale, np.float32([0.01, 0.02, 0.03, 0.04]))


def test_every_truncation_is_refused() -> None:
    data = small_model().build()
    for length in range(len(data)):
        fails(data[:length])


@pytest.mark.parametrize("seed", range(8))
def test_random_damage_gives_an_error_or_a_model(seed: int) -> None:
    data = small_model().build()
    rng = np.random.default_rng(seed)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            place = int(rng.integers(len(data) - 4))
            kind = int(rng.integers(4))
            if kind == 0:
                damaged[place] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                damaged[place] = int(rng.integers(256))
            else:
                word = (0, 1, len(data) - 4, 2**31 - 1, 2**31, 2**32 - 1)[int(rng.integers(6))]
                damaged[place : place + 4] = struct.pack("<I", word)
        try:
            import_tflite(bytes(damaged))
        except MicrolithError as error:
            assert str(error)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for size in (0, 7, 8, 100, 5000):
        noise = bytearray(rng.bytes(size))
        fails(bytes(noise))
        if size >= 8:
            noise[4:8] = b"TFL3"
            fails(bytes(noise))


def test_another_format_is_named() -> None:
    assert "not a TFLite model" in fails(b"\x08\x07\x12\x07pytorch" * 10)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="absent"):
        load_tflite(tmp_path / "absent.tflite")


def test_buffer_of_the_wrong_size() -> None:
    b = small_model()
    b.tensors[1].shape = (4, 3, 3, 3)
    assert "its buffer has 72 bytes, s8[4, 3, 3, 3] needs 108" in fails(b.build())


def test_a_constant_of_more_than_two_gibibytes() -> None:
    """Refused by its shape, whatever its buffer holds."""
    b = small_model()
    b.tensors[1].shape = (4, 1 << 29)
    assert "takes 2,147,483,648 bytes, more than 2,147,483,647" in fails(b.build())


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -0.5])
def test_impossible_scale(scale: float) -> None:
    b = small_model()
    b.tensors[3].scale = [scale]
    assert "tensor 3 't3': a scale is" in fails(b.build())


def test_scales_that_do_not_fit_the_axis() -> None:
    b = small_model()
    b.tensors[1].axis = 2
    assert "4 scales along dimension 2 of shape [4, 3, 3, 2]" in fails(b.build())


@pytest.mark.parametrize("axis", [-1, 3])
def test_scales_of_a_bias_along_a_dimension_of_its_weights(axis: int, tmp_path: Path) -> None:
    """LiteRT refuses what TFLite Micro takes; the result is that of the right dimension."""
    b = small_model()
    right = import_tflite(b.build())
    b.tensors[2].axis = axis
    bias = import_tflite(b.build()).nodes[0].input(2)
    assert bias.quant == right.nodes[0].input(2).quant
    assert bias.quant is not None and bias.quant.axis == 0


def test_zero_point_out_of_range() -> None:
    b = small_model()
    b.tensors[0].zero_point = [300]
    assert "a zero point is outside of s8" in fails(b.build())


def test_tensor_index_out_of_range() -> None:
    b = small_model()
    b.operators[0].inputs[1] = 99
    assert "operator 0 (CONV_2D): inputs name tensor 99" in fails(b.build())


@pytest.mark.parametrize(("name", "row"), [("CUSTOM", "NotThere"), ("SUB", "SUB")])
def test_number_of_an_operator_in_the_newer_field_alone(name: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some exporters leave the older field of one byte out, also where it could hold the number."""
    monkeypatch.setattr(tflite, "OperatorCodeAddDeprecatedBuiltinCode", lambda builder, number: None)
    b = TfliteBuilder()
    tensors = [b.input((3,)), b.input((3,))], [b.output((3,))]
    b.custom(row, *tensors) if name == "CUSTOM" else b.operator(name, *tensors, "SubOptions")
    operator = read_model(b.build(), where="test").subgraphs[0].operators[0]
    assert (operator.name, operator.is_custom) == (row, name == "CUSTOM")


def test_a_size_that_must_be_known() -> None:
    """Behind what only a run tells the size of: named, with all other problems."""
    b = TfliteBuilder()
    found = b.tensor((0, 2), "int64")
    b.operator("WHERE", [b.input((2, 3), "bool")], [found])
    b.operator("MIRROR_PAD", [found, b.constant(np.zeros((2, 2), np.int32))], [b.output((0, 2), "int64")])
    b.custom("NotThere", [b.input((3,))], [b.output((3,))])
    with pytest.raises(UnsupportedError) as caught:
        import_tflite(b.build())
    assert [item.op for item in caught.value.items] == ["MIRROR_PAD", "NotThere"]
    assert "all sizes of a tensor of shape" in caught.value.items[0].reason


def test_an_output_of_open_sizes_twice(tmp_path: Path) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(1)
    found = b.output((0, 2), "int64")
    b.outputs.append(found)
    b.operator("WHERE", [b.input((2, 3), "bool")], [found])
    compare(b.build(), tmp_path, rng, arrays=[np.array([[True, False, True], [False, True, True]])])


def test_missing_input() -> None:
    b = small_model()
    b.operators[0].inputs[1] = -1
    assert "operator 0 (CONV_2D): input 1 is missing" in fails(b.build())


def test_missing_options() -> None:
    b = small_model()
    b.operators[0].table = None
    assert "operator 0 (CONV_2D): operator has no Conv2DOptions" in fails(b.build())


def test_options_of_another_operator() -> None:
    b = small_model()
    b.operators[0].table, b.operators[0].options = "SoftmaxOptions", {"Beta": 1.0}
    assert "operator has SoftmaxOptions instead of Conv2DOptions" in fails(b.build())


def test_operators_out_of_order() -> None:
    b = small_model()
    b.operators.reverse()
    assert "used before any operator computes it" in fails(b.build())


def test_tables_that_all_refer_to_one_large_vector() -> None:
    """Half of the file is a vector of subgraphs, all the same one, which holds the other half: 10^9 numbers if read."""
    count = 30_000
    fb = flatbuffers.Builder(1024)
    inputs = fb.CreateNumpyVector(np.zeros(count, np.int32))
    tflite.SubGraphStart(fb)
    tflite.SubGraphAddInputs(fb, inputs)
    subgraph = tflite.SubGraphEnd(fb)
    fb.StartVector(4, count, 4)
    for _ in range(count):
        fb.PrependUOffsetTRelative(subgraph)
    subgraphs = fb.EndVector()
    tflite.ModelStart(fb)
    tflite.ModelAddVersion(fb, 3)
    tflite.ModelAddSubgraphs(fb, subgraphs)
    fb.Finish(tflite.ModelEnd(fb), file_identifier=b"TFL3")
    tracemalloc.start()
    begin = time.perf_counter()
    assert "the tables refer to the same bytes too often" in fails(bytes(fb.Output()))
    assert time.perf_counter() - begin < 5
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_large_results_of_constants_are_not_computed() -> None:
    """FILL of a terabyte: imported as a node, without the memory."""
    b = TfliteBuilder()
    shape = b.constant(np.array([1024, 1024, 1024, 256], np.int32))
    value = b.constant(np.array(1.0, np.float32))
    b.operator("FILL", [shape, value], [b.output((1024, 1024, 1024, 256))], "FillOptions")
    tracemalloc.start()
    graph = import_tflite(b.build())
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()
    assert [node.op for node in graph.nodes] == ["expand"]


def test_all_unsupported_operators_are_reported_at_once() -> None:
    b = TfliteBuilder()
    x = b.input((2, 8))
    for index in range(100):
        hashed, other = b.tensor((2, 8), name=f"hash{index}"), b.tensor((2, 8), name=f"custom{index}")
        b.operator("LSH_PROJECTION", [x], [hashed])
        b.custom("Spectrogram", [hashed], [other])
        x = b.tensor((2, 8))
        b.operator("RELU", [other], [x])
    b.outputs.append(x)
    with pytest.raises(UnsupportedError) as caught:
        import_tflite(b.build())
    assert len(caught.value.items) == 200
    assert {(item.op, item.reason) for item in caught.value.items} == {
        ("LSH_PROJECTION", "there is no conversion for this operator"),
        ("Spectrogram", "there is no conversion for this custom operator"),
    }
    assert caught.value.items[0].node == "hash0"


def test_reasons_name_the_attribute() -> None:
    b = TfliteBuilder()
    x = b.input((1, 4, 4, 2))
    filters = b.constant(np.zeros((3, 2, 2, 2), np.float32))
    options = {"StrideW": 1, "StrideH": 1, "FusedActivationFunction": 4}
    b.operator("CONV_2D", [x, filters, -1], [b.output((1, 4, 4, 3))], "Conv2DOptions", **options)
    size = b.input((2,), "int32")
    b.operator("RESIZE_BILINEAR", [x, size], [b.output((1, 8, 8, 2))], "ResizeBilinearOptions")
    b.operator("EXP", [b.input((3,), "complex64")], [b.output((3,), "complex64")])
    with pytest.raises(UnsupportedError) as caught:
        import_tflite(b.build())
    reasons = [item.reason for item in caught.value.items]
    assert "fused activation TANH is not supported" in reasons
    assert "the size is computed at run time; it must be constant" in reasons
    assert any("COMPLEX64" in reason for reason in reasons)


def test_uint8_inputs_and_outputs_stay_uint8() -> None:
    b = TfliteBuilder()
    given = {"scale": 0.1, "zero_point": 130}
    x = b.input((1, 4, 4, 2), "uint8", name="x", **given)
    options = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2}
    b.operator("MAX_POOL_2D", [x], [b.output((1, 2, 2, 2), "uint8", name="y", **given)], "Pool2DOptions", **options)
    graph = import_tflite(b.build())
    assert (graph.inputs[0].dtype, graph.outputs[0].dtype) == (DType.u8, DType.u8)
    assert (graph.inputs[0].name, graph.outputs[0].name) == ("x", "y")
    pool = next(node for node in graph.nodes if node.op == "max_pool2d")
    assert pool.output.dtype is DType.s8
    assert pool.output.quant is not None and int(pool.output.quant.zero_point[0]) == 2


def test_unnamed_and_equal_names() -> None:
    b = TfliteBuilder()
    x, y = b.input((3,), name=""), b.input((3,), name="same")
    b.operator("ADD", [x, y], [b.output((3,), name="same")], "AddOptions")
    graph = import_tflite(b.build())
    names = [value.name for value in (*graph.inputs, *graph.outputs)]
    assert len(set(names)) == 3 and all(names)


def test_input_that_is_an_output_too() -> None:
    b = TfliteBuilder()
    x = b.input((3,))
    b.outputs.append(x)
    b.operator("NEG", [x], [b.output((3,))])
    graph = import_tflite(b.build())
    assert len(graph.outputs) == 2
    assert graph.outputs[0] is not graph.inputs[0]


def open_sizes() -> TfliteBuilder:
    """A model whose file leaves the number of rows and columns open."""
    b = TfliteBuilder()
    x = b.input((1, 1, 1, 2), name="x")
    b.tensors[x].signature = (1, -1, -1, 2)
    filters = b.constant(np.ones((3, 2, 2, 2), np.float32))
    options = {"StrideW": 1, "StrideH": 1, "Padding": 1}
    b.operator("CONV_2D", [x, filters, -1], [b.output((1, 1, 1, 3))], "Conv2DOptions", **options)
    return b


def test_given_sizes_fill_the_open_ones() -> None:
    graph = import_tflite(open_sizes().build(), inputs={"x": (1, 5, 6, 2)})
    assert graph.outputs[0].type.static_shape == (1, 4, 5, 3)


def test_open_sizes_are_named_when_they_do_not_fit() -> None:
    with pytest.raises(UnsupportedError, match="--input x:1,N,N,2"):
        import_tflite(open_sizes().build())


@pytest.mark.parametrize("inputs", [{"y": (1, 5, 6, 2)}, {"x": (5, 6, 2)}, {"x": (1, 0, 6, 2)}])
def test_given_sizes_must_fit(inputs: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(InputError):
        import_tflite(open_sizes().build(), inputs=inputs)


def test_four_bit_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    b = TfliteBuilder()
    given = {"scale": 0.05, "zero_point": 3}
    x = b.input((2, 15), "int8", **given)
    filters = b.int4_constant(rng.integers(-7, 8, (9, 15)).astype(np.int8), scale=0.1)
    bias = b.constant(rng.integers(-500, 500, 9).astype(np.int32), scale=0.005)
    y = b.output((2, 9), "int8", scale=0.3, zero_point=-2)
    b.operator("FULLY_CONNECTED", [x, filters, bias], [y], "FullyConnectedOptions")
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sparse_weights(dtype: str, tmp_path: Path) -> None:
    """Rows in CSR, and blocks of 1 x 4 along the columns."""
    rng = np.random.default_rng(6)
    for blocked in (False, True):
        width = 4 if blocked else 1
        mask = rng.integers(0, 2, (5, 12 // width)).astype(bool)
        dense = (rng.standard_normal((5, 12)) * np.repeat(mask, width, axis=1)).astype(dtype)
        segments = [0, *np.cumsum(mask.sum(axis=1)).tolist()]
        indices = np.nonzero(mask)[1].tolist()
        values = dense.reshape(5, 12 // width, width)[mask].reshape(-1)
        sparsity = Sparsity(
            [0, 1, 2] if blocked else [0, 1],
            [1] if blocked else [],
            [5, (segments, indices), *([4] if blocked else [])],
        )
        b = TfliteBuilder()
        stored = b.tensor((5, 12), dtype, data=values, sparsity=sparsity)
        weights = b.tensor((5, 12), dtype)
        b.operator("DENSIFY", [stored], [weights], "DensifyOptions")
        if dtype == "float16":
            half, weights = weights, b.tensor((5, 12))
            b.operator("DEQUANTIZE", [half], [weights], "DequantizeOptions")
        b.operator("FULLY_CONNECTED", [b.input((2, 12)), weights, -1], [b.output((2, 5))], "FullyConnectedOptions")
        compare(b.build(), tmp_path, rng, kinds=(0, 1))


@pytest.mark.parametrize(
    ("segments", "indices"),
    [
        ([0, 1, 9], [0]),
        ([0, 2, 1], [0, 1]),
        ([0], [0]),
        ([0, 1, 2], [0, 7]),
        ([-1, 1, 2], [0, 1]),
        ([0, 1, 2], [0, -1]),
    ],
)
def test_damaged_sparsity(segments: list[int], indices: list[int]) -> None:
    b = TfliteBuilder()
    data = np.ones(2, np.float32)
    stored = b.tensor((2, 3), data=data, sparsity=Sparsity([0, 1], [], [2, (segments, indices)]))
    b.operator("DENSIFY", [stored], [b.output((2, 3))], "DensifyOptions")
    assert "its sparsity" in fails(b.build())


def test_operator_table_is_complete() -> None:
    """Every operator with a row is one of the schema, and the first ten are there."""
    names = supported_operators()
    assert len(names) >= 90
    assert all(hasattr(tflite.BuiltinOperator, name) for name in names)


def test_a_file_of_more_than_2_gib_is_not_read_as_a_whole(tmp_path: Path) -> None:
    """Most of it is a hole: buffers may lie behind the flatbuffer."""
    builder = TfliteBuilder()
    builder.operator("ABS", [builder.input((2, 3))], [builder.output((2, 3))])
    path = tmp_path / "large.tflite"
    with path.open("wb") as file:
        file.write(builder.build())
        file.truncate(3 << 30)
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))\n"
        "from microlith.converter import convert; print([node.op for node in convert(sys.argv[1]).nodes])"
    )
    outcome = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert outcome.stdout == "['abs']\n", outcome.stderr
