"""`microlith crop`: a runtime with the ops of some models, built by CMake alone."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
from lith_models import Build, Case
from native_build import execute, require_tools

import microlith.runtime
from microlith import modelfile
from microlith.cli import app
from microlith.codegen.crop import crop
from microlith.errors import InputError, OutputError
from microlith.nnacl_kernels.library import find_library

RUNTIME = Path(microlith.runtime.__file__).parent


def test_builds_runs_and_refuses(cases: dict[str, Case], tmp_path: Path) -> None:
    require_tools("cmake", "cc")
    case, other = cases["cnn"], cases["mlp"]
    folder = tmp_path / "cropped"
    cropped = crop([case.graph], RUNTIME, folder)
    assert set(cropped.ops) == {node.op for node in case.graph.nodes}
    execute(["cmake", "-S", folder, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Release",
             "-DMICROLITH_BUILD_TOOLS=ON", "-DMICROLITH_WERROR=ON"])  # fmt: skip
    execute(["cmake", "--build", tmp_path / "build", "--parallel", "2"])
    program = tmp_path / "build" / "runtime" / "lith_run"
    (name, array), *_ = case.inputs.items()
    np.save(tmp_path / "x.npy", array)
    execute([program, case.path, "--input", f"{name}={tmp_path / 'x.npy'}", "--output-dir", tmp_path])
    for index, (output, expected) in enumerate(case.expected.items()):
        result = np.load(tmp_path / f"{index}_{output}.npy")
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    missing = sorted({node.op for node in other.graph.nodes} - set(cropped.ops))
    assert f"'{missing[0]}'" in execute([program, other.path], code=1)
    # With 3 x 3 taps there are the kernels by Winograd too.
    assert _library_size(tmp_path / "build") < 320_000


def _library_size(build: Path) -> int:
    return (build / "runtime" / "libmicrolith.so").resolve().stat().st_size


def test_size_with_the_ops_of_mobilenet_v2(tmp_path: Path) -> None:
    require_tools("cmake", "cc", "strip")
    b = Build("mobilenet")
    x = b.op("transpose", b.input("x", (1, 3, 16, 16)), perm=[0, 2, 3, 1])
    wide = b.op("conv2d", x, b.noise(32, 3, 3, 3), stride_h=2, stride_w=2)
    deep = b.op("depthwise_conv2d", wide, b.noise(1, 3, 3, 32), pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)
    added = b.op("add", wide, b.op("conv2d", deep, b.noise(32, 1, 1, 32)))
    mean = b.op("reduce_mean", added, axes=0b0110, keep_dims=0)
    y = b.op("dense", b.op("reshape", mean, shape=[1, 32]), b.noise(10, 32))
    crop([b.outputs(y)], RUNTIME, tmp_path / "cropped")
    execute(["cmake", "-S", tmp_path / "cropped", "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Release",
             "-DMICROLITH_BUILD_TOOLS=OFF"])  # fmt: skip
    execute(["cmake", "--build", tmp_path / "build", "--parallel", "2"])
    execute(["strip", (tmp_path / "build" / "runtime" / "libmicrolith.so").resolve()])
    assert _library_size(tmp_path / "build") < 250_000


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the bound is that of x86-64")
def test_size_with_all_ops(tmp_path: Path) -> None:
    require_tools("strip")
    copy = tmp_path / "libmicrolith.so"
    copy.write_bytes(find_library().read_bytes())
    execute(["strip", copy])
    assert copy.stat().st_size < 2_000_000


def test_rows(cases: dict[str, Case], tmp_path: Path) -> None:
    """Several models, and the instruction sets asked for; portable C always."""
    graphs = [cases["cnn"].graph, cases["mlp"].graph]
    cropped = crop(graphs, RUNTIME, tmp_path / "both", isa=["avx2"])
    assert {kernel.rpartition("_")[2] for kernel in cropped.kernels} == {"avx2", "c"}
    assert {"conv2d", "softmax"} <= set(cropped.ops)
    table = (tmp_path / "both" / "nnacl_kernels" / "kernels.def").read_text()
    assert table.count("NNACL_KERNEL(") == len(cropped.kernels) and "avx512" not in table
    alone = crop(graphs, RUNTIME, tmp_path / "c", isa=[])
    assert {kernel.rpartition("_")[2] for kernel in alone.kernels} == {"c"}


def test_what_is_refused(cases: dict[str, Case], tmp_path: Path) -> None:
    graph = cases["mlp"].graph
    with pytest.raises(InputError, match="no instruction set 'mmx'"):
        crop([graph], RUNTIME, tmp_path / "x", isa=["mmx"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds no generated project"):
        crop([graph], RUNTIME, tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_command(cases: dict[str, Case], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    modelfile.save(cases["mlp"].graph, tmp_path / "mlp.lith")
    words = ["crop", str(tmp_path / "mlp.lith"), str(cases["cnn"].path), "-o", str(tmp_path / "small")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "kernels" in result.output and (tmp_path / "small" / "CMakeLists.txt").is_file()
