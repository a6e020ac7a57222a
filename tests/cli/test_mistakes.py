"""Bad input: one clear message that names the culprit, an exit code, nothing half-written, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from microlith.errors import MicrolithError
from microlith.nnacl_kernels.library import ENVIRONMENT_VARIABLE, find_library

from .conftest import Cli, Outcome, small_model


def assert_clear(outcome: Outcome, *words: str) -> None:
    assert outcome.code not in (0, 130), outcome.out
    assert "Traceback" not in outcome.err + outcome.out
    assert "internal error" not in outcome.err
    text = " ".join((outcome.err + outcome.out).split())
    for word in words:
        assert word in text, text


@pytest.mark.parametrize("suffix", [".onnx", ".tflite", ".lith"])
@pytest.mark.parametrize("content", [b"", b"\x00", b"hello world, no model" * 9, bytes(range(256)) * 40])
def test_files_that_are_no_models(cli: Cli, tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content)
    for command in (["inspect", path], ["check", path], ["codegen", path, "-t", "host", "-o", tmp_path / "out"]):
        assert_clear(cli(*command), "bad")
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".onnx", ".lith"])
def test_truncated_files(cli: Cli, onnx_file: Path, lith_file: Path, tmp_path: Path, suffix: str) -> None:
    whole = onnx_file.with_suffix(suffix).read_bytes()
    for part in (0.05, 0.3, 0.6, 0.95):
        path = tmp_path / f"cut{suffix}"
        path.write_bytes(whole[: int(len(whole) * part)])
        assert_clear(cli("inspect", path), "cut")
        if suffix == ".lith":
            assert_clear(cli("run", path, "--random", 1))


def test_missing_file_and_folder(cli: Cli, tmp_path: Path) -> None:
    assert_clear(cli("convert", tmp_path / "absent.onnx"), "absent.onnx", "no such file")
    assert_clear(cli("run", tmp_path / "absent.lith", "--random", 1), "absent.lith", "no such file")
    assert_clear(cli("inspect", tmp_path), "folder")


def test_all_unsupported_nodes_are_listed(cli: Cli, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("FancyThing", [f"t{index}"], [f"t{index + 1}"], name=f"fancy{index}", domain="my.domain")
        for index in range(5)
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("t5", TensorProto.FLOAT, [1, 4])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    path = tmp_path / "fancy.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    output = tmp_path / "fancy.lith"
    assert_clear(cli("convert", path, "-o", output), "FancyThing", *(f"fancy{index}" for index in range(5)))
    assert not output.exists()
    assert_clear(cli("check", path, "--json"), "FancyThing", "fancy0", "fancy4")


def test_shape_that_is_not_fixed(cli: Cli, tmp_path: Path) -> None:
    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    path = tmp_path / "dynamic.onnx"
    onnx.save(model, path)
    assert_clear(cli("codegen", path, "-t", "host", "-o", tmp_path / "out"), "height")
    assert not (tmp_path / "out").exists()
    fixed = cli("codegen", path, "-t", "host", "-o", tmp_path / "out", "--input", "x:1,3,8,8")
    assert fixed.code == 0, fixed.err


@pytest.mark.parametrize("option", ["x", "x:", ":1,2", "x:1,a", "x:1,-2", "nobody:1,3,8,8", "x:1,3,8"])
def test_shape_options(cli: Cli, onnx_file: Path, tmp_path: Path, option: str) -> None:
    assert_clear(cli("convert", onnx_file, "-o", tmp_path / "a.lith", "--input", option))
    assert not (tmp_path / "a.lith").exists()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("T:-1", "--input T:-1: expected"),
        ("a:smile::1", "no input 'a:smile:'"),
        ("T:1..999999999999", "from 1 to 2147483647"),
    ],
)
def test_a_message_repeats_what_was_typed(cli: Cli, onnx_file: Path, tmp_path: Path, option: str, words: str) -> None:
    assert_clear(cli("convert", onnx_file, "-o", tmp_path / "a.lith", "--input", option), words)


def test_wrong_inputs(cli: Cli, lith_file: Path, tmp_path: Path) -> None:
    good = np.zeros((1, 3, 8, 8), np.float32)
    cases = {
        "name": ({"z": good}, ("x",)),
        "shape": ({"x": good[:, :2]}, ("x", "8")),
        "dtype": ({"x": good.astype(np.int32)}, ("x", "float32")),
    }
    for label, (arrays, words) in cases.items():
        path = tmp_path / f"{label}.npz"
        np.savez(path, **arrays)
        assert_clear(cli("run", lith_file, "--inputs", path, "--outputs", tmp_path / "y.npz"), *words)
        assert_clear(cli("verify", lith_file, "--inputs", path), "x")
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04junk")
    assert_clear(cli("run", lith_file, "--inputs", tmp_path / "junk.npz"), "junk.npz")
    assert_clear(cli("run", lith_file), "--inputs")
    assert not (tmp_path / "y.npz").exists()


def test_unwritable_output(cli: Cli, onnx_file: Path, tmp_path: Path) -> None:
    assert_clear(cli("convert", onnx_file, "-o", tmp_path / "no" / "where" / "a.lith"), "a.lith", "cannot write")
    (tmp_path / "file").write_text("here")
    assert_clear(cli("codegen", onnx_file, "-t", "host", "-o", tmp_path / "file"), "file")
    assert (tmp_path / "file").read_text() == "here"


def test_unknown_target(cli: Cli, onnx_file: Path, tmp_path: Path) -> None:
    for command in ("check", "verify", "codegen"):
        more = ["-o", tmp_path / "out"] if command == "codegen" else []
        assert_clear(cli(command, onnx_file, "--target", "cortex-m99", *more), "cortex-m99", "cortex-m4")


def test_missing_compiler(cli: Cli, lith_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_clear(cli("verify", lith_file, "--target", "cortex-m4"), "not installed", "apt-get install")


def test_unknown_instruction_set(cli: Cli, lith_file: Path) -> None:
    assert_clear(cli("run", lith_file, "--random", 1, "--isa", "sse9"), "sse9")


def test_converting_twice(cli: Cli, lith_file: Path) -> None:
    before = lith_file.read_bytes()
    assert_clear(cli("convert", lith_file), "already")
    assert lith_file.read_bytes() == before


def test_output_that_is_no_file(cli: Cli, onnx_file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.lith"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        assert_clear(cli("convert", onnx_file, "-o", path), "cannot write")
    assert pipe.is_fifo()


def test_output_that_is_the_model(cli: Cli, onnx_file: Path) -> None:
    before = onnx_file.read_bytes()
    assert_clear(cli("convert", onnx_file, "-o", onnx_file), "replace the model")
    assert onnx_file.read_bytes() == before


def test_sizes_that_are_open(cli: Cli, tmp_path: Path) -> None:
    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    onnx.save(model, tmp_path / "open.onnx")
    path = tmp_path / "open.lith"
    assert cli("convert", tmp_path / "open.onnx", "-o", path).code == 0
    for command in (["run", path, "--random", 1], ["bench", path, "--repeat", 1]):
        assert_clear(cli(*command), "x", "--input x:1,3,?,8")
        assert_clear(cli(*command, "--input", "x:1,4,8,8"), "the model wants")
        assert_clear(cli(*command, "--input", "z:1,3,8,8"))
        chosen = cli(*command, "--input", "x:1,3,9,8")
        assert chosen.code == 0, chosen.err


@pytest.mark.parametrize("size", ["", "x", "1T", "-5", "1.2.3K"])
def test_sizes_of_chips(cli: Cli, lith_file: Path, size: str) -> None:
    assert_clear(cli("check", lith_file, "--ram", size), "--ram")


def test_arrays_that_are_objects(cli: Cli, lith_file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}, 1], object))
    assert_clear(cli("run", lith_file, "--inputs", tmp_path / "objects.npy"), "Python objects")
    assert_clear(cli("run", lith_file, "--inputs", tmp_path), "is a folder")
    assert_clear(cli("run", lith_file, "--random", "-1"), "--random")


def test_interrupted_while_its_parts_are_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    outcome = subprocess.run(
        [sys.executable, "-m", "microlith", "--version"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "error: interrupted\n")


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "nowhere.so"))
    with pytest.raises(MicrolithError, match=r"nowhere.so', which is not a file\n  hint: set it") as error:
        find_library()
    assert isinstance(error.value, FileNotFoundError)
