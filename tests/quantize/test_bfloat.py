"""bfloat16: weights of it, products of it, which layers have them, and what the results are worth."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from microlith import load, modelfile
from microlith.cli import app
from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions, QuantReport, quantize
from microlith.dtypes import DType
from microlith.errors import InputError
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue
from microlith.ops.compressed import from_bfloat, to_bfloat

from . import onnx_nets
from .test_static import images, sqnr_to_onnxruntime

SMALLEST = np.finfo(np.float32).tiny


def rounded(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.astype(ml_dtypes.bfloat16).astype(np.float64))


SHAPE = (2, 9, 11, 37)


def layer(op: str, shape: tuple[int, ...], weights: np.ndarray, bias: np.ndarray | None = None) -> Graph:
    """y = op(x, weights, bias), x float32 [shape]."""
    graph = Graph("layer")
    x = Value("x", TensorType(DType.f32, shape))
    graph.inputs.append(x)
    constants = [("w", weights)] if bias is None else [("w", weights), ("b", bias)]
    node = graph.add(
        op, [x, *(graph.constant(name, data.astype(np.float32)) for name, data in constants)], name="layer"
    )
    node.output.name = "y"
    graph.outputs = [node.output]
    return graph


def bfloats(source: Graph | onnx.ModelProto, compute: str = "bfloat16") -> tuple[Graph, QuantReport]:
    options = QuantizeOptions("bf16", compute=compute)
    if isinstance(source, Graph):
        return quantize(source, options)
    reports: list[QuantReport] = []
    return convert(source, quantization=options, report=reports.append), reports[0]


def test_rounding_is_that_of_the_type() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200_000, np.uint32)
    ties = (bits & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    values = np.concatenate([bits, ties]).view(np.float32)
    values = values[~(np.abs(values) < SMALLEST)]
    with np.errstate(invalid="ignore"):
        wanted = values.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(from_bfloat(to_bfloat(values)), wanted.astype(np.float32))
    small = np.array([1e-39, -1e-39, 0.0, -0.0], np.float32)
    np.testing.assert_array_equal(to_bfloat(small), [0, 0x8000, 0, 0x8000])
    np.testing.assert_array_equal(from_bfloat(np.array([0x0001, 0x807F], np.uint16)), [0.0, -0.0])


@pytest.mark.parametrize("isa", ["c", "avx2", "avx512bf16", "bf16"])
@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("compute", ["float32", "bfloat16"])
def test_each_kernel_sums_products_of_rounded_numbers(compute: str, kernel: int, isa: str, tmp_path: Path) -> None:
    """Against float64: what is rounded is rounded once, and sums are those of float32."""
    if isa not in catalogue.detected_isa():
        pytest.skip(f"this machine has no {isa}")
    rng = np.random.default_rng(kernel)
    weights, bias = rng.standard_normal((45, kernel, kernel, 37)), rng.standard_normal(45)
    graph, _ = bfloats(layer("conv2d", SHAPE, weights, bias), compute)
    assert [node.op for node in graph.nodes] == ["conv2d_compressed"]
    modelfile.save(graph, tmp_path / "a.lith")
    given = rng.standard_normal(SHAPE).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(given, (kernel, kernel), (1, 2))  # n h w c kh kw
    windows = rounded(windows) if compute == "bfloat16" else windows.astype(np.float64)
    wanted = np.einsum("nhwcij,oijc->nhwo", windows, rounded(weights.astype(np.float32))) + bias.astype(np.float32)
    got = load(tmp_path / "a.lith", isa=["c", isa]).run({"x": given})["y"]
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("isa", ["c", "avx2", "avx512bf16", "bf16"])
def test_threads_do_not_change_results(isa: str, tmp_path: Path) -> None:
    if isa not in catalogue.detected_isa():
        pytest.skip(f"this machine has no {isa}")
    rng = np.random.default_rng(1)
    modelfile.save(bfloats(layer("conv2d", SHAPE, rng.standard_normal((45, 3, 3, 37))))[0], tmp_path / "a.lith")
    given = {"x": rng.standard_normal(SHAPE).astype(np.float32)}
    alone = load(tmp_path / "a.lith", isa=["c", isa]).run(given)["y"]
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(load(tmp_path / "a.lith", isa=["c", isa], threads=threads).run(given)["y"], alone)


def test_a_net_keeps_its_results(tmp_path: Path) -> None:
    cnn = onnx_nets.small_cnn(np.random.default_rng(0))
    for compute, least in (("float32", 40.0), ("bfloat16", 35.0)):
        graph, report = bfloats(cnn, compute)
        assert sqnr_to_onnxruntime(cnn, graph, images(8, seed=5)) > least
        kept = {layer.op: layer.reason for layer in report.floats}
        assert list(kept) == ["depthwise_conv2d"] and "several groups" in kept["depthwise_conv2d"]
        weights = [node.input(1) for node in graph.nodes if node.op in ("conv2d_compressed", "dense_compressed")]
        assert weights and all(value.dtype is DType.u16 for value in weights)
        modelfile.save(graph, tmp_path / "a.lith")
        with load(tmp_path / "a.lith") as model:
            for image in images(4, seed=6):
                (wanted,), (got,) = evaluate(graph, {"image": image}).values(), model.run({"image": image}).values()
                np.testing.assert_allclose(got, wanted, atol=1e-3 if compute == "bfloat16" else 1e-5)


def test_numbers_beyond_halves_are_kept() -> None:
    weights = np.array([[1e30, 1e-30, 3e5, 1.0]], np.float32)
    graph, report = bfloats(layer("dense", (1, 4), weights))
    assert not report.floats
    (result,) = evaluate(graph, {"x": np.ones((1, 4), np.float32)}).values()
    np.testing.assert_allclose(result, [[1e30]], rtol=2**-8)


@pytest.mark.parametrize(
    ("scheme", "compute"), [("float16", "bfloat16"), ("bfloat16", "float16"), ("int8", "bfloat16")]
)
def test_contradictions(scheme: str, compute: str) -> None:
    with pytest.raises(InputError, match=f"--compute {compute} contradicts '{scheme}'"):
        QuantizeOptions(scheme, compute=compute, calibrate="x.npz" if scheme == "int8" else None).check()


def test_the_command_line(tmp_path: Path) -> None:
    onnx.save(onnx_nets.small_cnn(np.random.default_rng(0)), tmp_path / "a.onnx")
    arguments = ["convert", str(tmp_path / "a.onnx"), "-q", "bf16", "--compute", "bfloat16", "-o"]
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "a.lith")])
    assert result.exit_code == 0 and "compute bfloat16" in result.output
    plain = CliRunner().invoke(app, ["convert", str(tmp_path / "a.onnx"), "-o", str(tmp_path / "b.lith")])
    assert plain.exit_code == 0
    assert (tmp_path / "a.lith").stat().st_size < (tmp_path / "b.lith").stat().st_size
