"""The folder that codegen writes: its bytes, its names, and what stops it from being written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import small_models
from generated_projects import STRICT, need, project
from hypothesis import given
from hypothesis import strategies as st

from microlith import modelfile
from microlith.codegen import execute, generate, names
from microlith.dtypes import DType
from microlith.errors import (
    InputError,
    ModelFormatError,
    OutputError,
    ShapeError,
    TargetError,
    ToolError,
    UnsupportedError,
)
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue

SNAPSHOTS = Path(__file__).parent / "snapshots"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    generate(small_models.float_cnn(), "cortex-m4", tmp_path / "a")
    generate(small_models.float_cnn(), "cortex-m4", tmp_path / "elsewhere" / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "elsewhere" / "b")


def test_no_file_names_a_place_or_a_time(tmp_path: Path) -> None:
    generate(small_models.float_cnn(), "cortex-m4", tmp_path / "a")
    for path, data in contents(tmp_path / "a").items():
        text = data.decode()
        assert str(tmp_path) not in text, path
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b", text), path


def test_a_file_gives_the_same_project_as_its_graph(tmp_path: Path) -> None:
    graph = small_models.int8_cnn()
    modelfile.save(graph, tmp_path / "net.lith")
    generate(graph, "host", tmp_path / "a", name="net")
    generate(tmp_path / "net.lith", "host", tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("name", ["int8_cnn.c", "int8_cnn.h", "int8_cnn_weights.c"])
def test_snapshot(name: str, tmp_path: Path) -> None:
    """MICROLITH_UPDATE_SNAPSHOTS=1 rewrites the snapshots; read the difference before you commit it."""
    generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a")
    text = (tmp_path / "a" / name).read_text()
    snapshot = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("MICROLITH_UPDATE_SNAPSHOTS") == "1":
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(text)
    assert text == snapshot.read_text()


def test_holds_exactly_the_kernels_it_needs(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "host", tmp_path / "a")
    kernels = {path for path in contents(tmp_path / "a") if path.startswith("kernels/")}
    assert {path for path in kernels if path.endswith(".c")} == {
        "kernels/conv/conv2d_s8_c.c",
        "kernels/conv/depthwise_conv2d_s8_c.c",
    }
    included = {
        line.split('"')[1]
        for path in kernels
        for line in (tmp_path / "a" / path).read_text().splitlines()
        if line.startswith('#include "')
    }
    assert {f"kernels/{name}" for name in included} <= kernels
    for path in kernels - {"kernels/nnacl_names.h"}:
        assert (tmp_path / "a" / path).read_text() == (catalogue.ROOT / path.removeprefix("kernels/")).read_text()


def test_manifest_lists_every_file(tmp_path: Path) -> None:
    report = generate(small_models.int8_cnn(), "host", tmp_path / "a")
    files = contents(tmp_path / "a")
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["files"] == {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    assert set(report.files) == set(files)


def test_report(tmp_path: Path) -> None:
    report = generate(small_models.int8_cnn(), "cortex-m3", tmp_path / "a")
    # 5x8x8 outputs of 3x3x4 taps, as many of 3x3 taps, 5x8x6 of 8.
    assert report.macs == 5 * 8 * 8 * 36 + 5 * 8 * 8 * 9 + 5 * 8 * 6 * 8
    assert report.weight_bytes == 8 * 36 + 8 * 9 + 6 * 8 + 3 * 4 * (8 + 8 + 6)
    # The depthwise convolution reads one row and one position before what it writes, and finishes a position at a time.
    assert report.arena_lower_bound == 5 * 8 * 8 + (8 + 2) * 8
    assert report.arena_bytes >= report.arena_lower_bound
    stored = json.loads((tmp_path / "a" / "report.json").read_text())
    assert stored["arena_bytes"] == report.arena_bytes
    assert [layer["op"] for layer in stored["layer_table"]] == ["conv2d", "depthwise_conv2d", "conv2d"]


def test_views_cost_nothing(tmp_path: Path) -> None:
    generate(small_models.float_cnn(), "host", tmp_path / "a")
    source = (tmp_path / "a" / "float_cnn.c").read_text()
    assert "same bytes, no code" in source
    assert "nnacl_reshape" not in source


def test_equal_constants_stand_once(tmp_path: Path) -> None:
    graph = Graph("twins")
    x = Value("x", TensorType(DType.f32, (4,)))
    graph.inputs.append(x)
    ones = np.linspace(0, 1, 4, dtype=np.float32)
    first = graph.add("add", [x, graph.constant("a", ones)], name="first")
    second = graph.add("mul", [first.output, graph.constant("b", ones.copy())], name="second")
    graph.outputs = [second.output]
    assert generate(graph, "host", tmp_path / "a").weight_bytes == ones.nbytes


def test_strange_names_become_unique_identifiers(tmp_path: Path) -> None:
    graph = Graph('2nd model: \U0001f600 */ "x" \\ ??/')
    names = ["in:0", "in/0", "in 0 count", "while", "*/ int evil; /*", "\u00e9t\u00e9", ""]
    inputs = [Value(name, TensorType(DType.f32, (2,))) for name in names]
    graph.inputs = list(inputs)
    total = inputs[0]
    for index, value in enumerate(inputs[1:]):
        total = graph.add("add", [total, value], name=names[index]).output
    total.name = "sum"
    graph.outputs = [total]
    generate(graph, "host", tmp_path / "a")
    header = (tmp_path / "a" / "model_2nd_model_x.h").read_text()
    macros = re.findall(r"#define MODEL_2ND_MODEL_X_INPUT_(\w+) \d\n#define", header)
    assert macros == ["IN_0", "IN_0_2", "IN_0_COUNT_2", "INPUT_WHILE", "INT_EVIL", "T", "INPUT"]
    assert all(text.isascii() for text in map(bytes.decode, contents(tmp_path / "a").values()))


EVIL = (
    "a*\\ static int evil(void){return 1;} /\\*",
    "x*/ int evil; /*",
    "a??/",
    "b\\",
    'q"; int evil; "',
    "\u00e9\n#error\r",
)


@given(st.text(st.sampled_from("*/\\?\"' a\n\r\t\u00e9{}$#`") | st.characters(), max_size=200))
def test_comments_cannot_be_left(text: str) -> None:
    for result in (names.comment(text), names.short_comment(text)):
        assert result.isascii() and (result.isprintable() or not result)
        assert not set(result) & set('*\\"?')
    assert len(names.short_comment(text)) <= 72


def test_plain_names_stay_as_they_are() -> None:
    assert names.comment("/block.1/Conv-2 (a+b): 3;") == "/block.1/Conv-2 (a+b): 3;"
    assert names.comment("\u00e9t\u00e9") == "{U+00E9}t{U+00E9}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_names_are_no_code(compiler: str, tmp_path: Path) -> None:
    need("make", compiler)
    graph = Graph(EVIL[0])
    x = Value(EVIL[0], TensorType(DType.f32, (4,)))
    graph.inputs.append(x)
    for index, name in enumerate(EVIL):
        other = graph.constant(f"{name}{index}", np.full(4, index + 1, np.float32))
        x = graph.add("add", [x, other], name=name, source=name).output
    x.name = EVIL[1]
    graph.outputs = [x]
    target = project(graph, "host", tmp_path / "a")
    execute.build(target, compiler=compiler, variables={"WARNINGS": STRICT + " -Wcomment -Wtrigraphs"})
    assert "PASS" in execute.selftest(target)
    report = json.loads((tmp_path / "a" / "report.json").read_text())
    assert [layer["name"] for layer in report["layer_table"]] == list(EVIL)
    symbols = subprocess.run(["nm", target.program("selftest")], capture_output=True, text=True, check=True).stdout
    assert "evil" not in re.sub(r"\w*_init|\w*_run|\w*_input|\w*_output|\w*_l\d\w*|\w*_nnacl_\w*", "", symbols)


def test_license(tmp_path: Path) -> None:
    for target in ("cortex-m4", "arm64-linux"):
        generate(small_models.int8_cnn(), target, tmp_path / target, weights="binary")
        files = contents(tmp_path / target)
        assert files["LICENSE"] == (Path(__file__).parents[2] / "LICENSE").read_bytes()
        for path, data in files.items():
            if path != "LICENSE" and not path.endswith((".json", ".bin", ".md")):
                assert b"SPDX-License-Identifier: Apache-2.0" in data.split(b"\n")[0], path


def test_libm_only_where_it_is_needed(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "host", tmp_path / "int8")
    for path in ("Makefile", "CMakeLists.txt", "README.md"):
        text = (tmp_path / "int8" / path).read_text()
        assert "-lm" not in text and "PUBLIC m)" not in text
    assert "math.h" not in (tmp_path / "int8" / "int8_cnn.c").read_text()
    graph = Graph("roots")
    x = Value("x", TensorType(DType.f32, (4,)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("sqrt", [x], name="root").output]
    generate(graph, "host", tmp_path / "roots")
    # The roots of negative inputs are NaN; that says nothing of how exact the others have to be.
    assert "NAN" in (tmp_path / "roots" / "main" / "selftest_data.h").read_text()
    assert not re.search(r"_COUNT, (NAN|INF)", (tmp_path / "roots" / "main" / "selftest.c").read_text())
    assert "-lm" in (tmp_path / "roots" / "Makefile").read_text()
    assert "PUBLIC m)" in (tmp_path / "roots" / "CMakeLists.txt").read_text()
    assert "`-lm`" in (tmp_path / "roots" / "README.md").read_text()


def test_the_readme_shows_how_the_runner_starts(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "m4")
    text = (tmp_path / "m4" / "README.md").read_text()
    assert "arg=runner,arg=inputs.bin,arg=outputs.bin -kernel build/runner.elf" in text
    generate(small_models.int8_cnn(), "host", tmp_path / "host")
    assert "    build/runner inputs.bin outputs.bin\n" in (tmp_path / "host" / "README.md").read_text()


def test_one_layer_is_not_layers(tmp_path: Path) -> None:
    graph = Graph("one")
    x = Value("x", TensorType(DType.f32, (4,)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("relu", [x], name="n" * 100).output]
    generate(graph, "host", tmp_path / "a")
    assert "one: 1 layer, 0 multiply-accumulates" in (tmp_path / "a" / "one.c").read_text()
    report = json.loads((tmp_path / "a" / "report.json").read_text())
    assert report["layer_table"][0]["name"] == "n" * 100


def test_self_test_holds_several_samples_as_size_allows(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a")
    text = (tmp_path / "a" / "main" / "selftest_data.h").read_text()
    assert [f"sample_{index}_input_0[" in text for index in range(5)] == [True] * 4 + [False]
    graph = Graph("wide")
    x = Value("x", TensorType(DType.f32, (7000,)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("relu", [x], name="relu").output]
    generate(graph, "cortex-m4", tmp_path / "b")
    text = (tmp_path / "b" / "main" / "selftest_data.h").read_text()
    assert "sample_0_input_0[" in text and "sample_1_input_0[" not in text


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    for _ in range(2):
        generate(small_models.int8_cnn(), "host", tmp_path / "link")
        assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "int8_cnn.c").exists()
    (tmp_path / "new").symlink_to("elsewhere")
    generate(small_models.int8_cnn(), "host", tmp_path / "new")
    assert (tmp_path / "new").is_symlink() and (tmp_path / "elsewhere" / "int8_cnn.c").exists()
    (tmp_path / "old.lith").write_bytes(b"old")
    (tmp_path / "model.lith").symlink_to("old.lith")
    modelfile.save(small_models.int8_cnn(), tmp_path / "model.lith")
    assert (tmp_path / "model.lith").is_symlink() and (tmp_path / "old.lith").read_bytes() != b"old"
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OutputError):
        generate(small_models.int8_cnn(), "host", tmp_path / "circle")


def test_folders_of_cmake_are_no_work(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "host", tmp_path / "a")
    (tmp_path / "a" / "out").mkdir()
    (tmp_path / "a" / "out" / "CMakeCache.txt").write_text("")
    (tmp_path / "a" / "out" / "x.o").write_text("")
    generate(small_models.int8_cnn(), "host", tmp_path / "a")
    assert not (tmp_path / "a" / "out").exists()


# --- what stops it ----------------------------------------------------------------------------------------------


def test_unknown_target_lists_all(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"no target 'esp99'(.|\n)*host.*cortex-m0plus.*cortex-m55"):
        generate(small_models.int8_cnn(), "esp99", tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_targets_have_short_names(tmp_path: Path) -> None:
    for short, name in (("arm64", "arm64-linux"), ("armv7", "armv7-linux")):
        assert generate(small_models.int8_cnn(), short, tmp_path / short).target == name


@pytest.mark.parametrize(
    ("absent", "target", "package"),
    [
        ("riscv64-unknown-elf-gcc", "riscv32", "gcc-riscv64-unknown-elf"),
        ("qemu-system-riscv32", "riscv32", "qemu-system-misc"),
        ("picolibc.specs", "riscv32", "picolibc-riscv64-unknown-elf"),
        ("arm-none-eabi-gcc", "cortex-m85", "gcc-arm-none-eabi"),
    ],
)
def test_a_missing_tool_is_named_with_its_package(
    absent: str, target: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute.shutil, "which", lambda tool: None if tool == absent else f"/usr/bin/{tool}")
    monkeypatch.setattr(execute, "_knows", lambda compiler, specs: specs != absent)
    result = project(small_models.int8_cnn(), target, tmp_path / "a")
    with pytest.raises(ToolError, match=rf"'{absent}' is not installed(.|\n)*apt-get install .*{package}"):
        execute.build(result)


def test_model_too_large_for_the_board(tmp_path: Path) -> None:
    graph = Graph("huge")
    x = Value("x", TensorType(DType.f32, (1, 1_200_000)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("add", [x, graph.constant("c", np.zeros((1, 1_200_000), np.float32))]).output]
    with pytest.raises(TargetError, match=r"4,8\d\d,\d\d\d bytes of flash; mps3-an547 has 4,194,304(.|\n)*int8"):
        generate(graph, "cortex-m55", tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_open_dimension(tmp_path: Path) -> None:
    graph = Graph("dynamic")
    x = Value("x", TensorType(DType.f32, ("batch", 4)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("relu", [x]).output]
    with pytest.raises(ShapeError, match=r"'batch' of input 'x'(.|\n)*--input batch:1..128"):
        generate(graph, "host", tmp_path / "a")
    assert generate(graph, "host", tmp_path / "a", sizes={"batch": 3}).inputs[0]["shape"] == [3, 4]


def test_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        generate(small_models.int8_cnn(), "host", tmp_path)
    assert contents(tmp_path) == {"thesis.txt": b"mine"}


def test_own_folder_is_replaced(tmp_path: Path) -> None:
    generate(small_models.float_cnn(), "host", tmp_path / "a")
    (tmp_path / "a" / "build").mkdir()
    (tmp_path / "a" / "build" / "x.o").write_text("")
    generate(small_models.int8_cnn(), "host", tmp_path / "a")
    assert (tmp_path / "a" / "int8_cnn.c").exists()
    assert not (tmp_path / "a" / "float_cnn.c").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("file", ["notes.txt", "int8_cnn.c"])
def test_work_in_an_own_folder_is_kept(file: str, tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "host", tmp_path / "a")
    (tmp_path / "a" / file).write_text("by hand")
    with pytest.raises(OutputError, match=file):
        generate(small_models.int8_cnn(), "host", tmp_path / "a")
    assert (tmp_path / "a" / file).read_text() == "by hand"
    generate(small_models.int8_cnn(), "host", tmp_path / "a", force=True)
    assert "by hand" not in str(contents(tmp_path / "a"))


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        generate(small_models.int8_cnn(), "host", tmp_path / "file" / "a")
    with pytest.raises(OutputError, match="is not a folder"):
        generate(small_models.int8_cnn(), "host", tmp_path / "file")


def test_missing_model(tmp_path: Path) -> None:
    (tmp_path / "broken.lith").write_bytes(b"LITH" * 10)
    with pytest.raises(ModelFormatError):
        generate(tmp_path / "broken.lith", "host", tmp_path / "a")


def test_sample_without_an_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no input 'input'"):
        generate(small_models.int8_cnn(), "host", tmp_path / "a", samples=[{"x": np.zeros(3)}])
    assert not (tmp_path / "a").exists()


def test_unsupported_names_all_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "candidates", lambda *arguments, **options: [])
    with pytest.raises(UnsupportedError, match=r"on cortex-m3: 3 unsupported nodes(.|\n)*'conv'(.|\n)*'dw'(.|\n)*'pw'"):
        generate(small_models.int8_cnn(), "cortex-m3", tmp_path / "a")
