"""Each command does its job; results are held against ONNX Runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from microlith import targets
from microlith.codegen.execute import missing_tools

from .conftest import Cli

COMMANDS = ("convert", "inspect", "run", "bench", "codegen", "check", "verify", "ops")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(cli: Cli, command: str) -> None:
    outcome = cli(command, "--help")
    assert outcome.code == 0
    assert f"microlith {command}" in outcome.out
    assert "Example" in outcome.out


def test_version(cli: Cli) -> None:
    outcome = cli("--version")
    assert outcome.code == 0
    assert outcome.out.startswith("microlith ")


def test_run_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "microlith", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0
    assert result.stdout.startswith("microlith ")


def test_convert_reports_in_json(cli: Cli, onnx_file: Path) -> None:
    outcome = cli("convert", onnx_file, "--json")
    report = json.loads(outcome.out)
    assert Path(report["output"]).stat().st_size == report["file_bytes"]
    # 8 x 8 positions x 4 channels x 27 weights, and 4 x 5
    assert report["macs"] == 8 * 8 * 4 * 27 + 20
    # Kernels may want weights padded to whole panels.
    assert report["constant_bytes"] >= 4 * (4 * 27 + 4 + 20)
    assert report["arena_bytes"] >= report["arena_lower_bound"]


def test_convert_explains_its_passes(cli: Cli, onnx_file: Path, tmp_path: Path) -> None:
    outcome = cli("convert", onnx_file, "-o", tmp_path / "a.lith", "--explain")
    assert outcome.code == 0
    assert "fuse" in outcome.out


def test_run_equals_onnxruntime(cli: Cli, onnx_file: Path, lith_file: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    outcome = cli("run", lith_file, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
    assert outcome.code == 0, outcome.err
    (expected,) = onnxruntime.InferenceSession(onnx_file, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], expected, rtol=1e-5, atol=1e-5)


def test_run_takes_one_npy(cli: Cli, lith_file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    outcome = cli("run", lith_file, "--inputs", tmp_path / "x.npy", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["y"]["shape"] == [1, 5]


def test_inspect(cli: Cli, onnx_file: Path, lith_file: Path) -> None:
    report = json.loads(cli("inspect", lith_file, "--json").out)
    assert report["inputs"][0]["name"] == "x"
    assert report["inputs"][0]["shape"] == [1, 3, 8, 8]
    assert report["parameters"] == 4 * 27 + 4 + 20
    assert "conv2d" in [layer["op"] for layer in report["layers"]]
    assert cli("inspect", lith_file).code == 0
    assert "conv2d" in cli("inspect", onnx_file, "--text").out


def test_bench(cli: Cli, lith_file: Path) -> None:
    report = json.loads(cli("bench", lith_file, "--repeat", 3, "--profile", "--json").out)
    assert 0 < report["min_ns"] <= report["median_ns"] <= report["p90_ns"]
    assert sum(layer["macs"] for layer in report["layers"]) == 8 * 8 * 4 * 27 + 20


def test_check(cli: Cli, onnx_file: Path) -> None:
    outcome = cli("check", onnx_file, "--target", "cortex-m4", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert report["supported"]
    assert report["parameters"] == 4 * 27 + 4 + 20
    assert report["activation_bytes"] >= report["by_lifetime_bytes"] >= report["arena_bytes"]
    assert report["ordering"]["given_arena_size"] == report["arena_bytes"] and report["ordering"]["optimal"]
    assert {layer["op"] for layer in report["layers"]} >= {"conv2d", "dense"}


def test_verify_of_a_loop(cli: Cli, tmp_path: Path) -> None:
    """Subgraphs whose sizes are known run as generated C."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[400,2] x, float[2] start) => (last, sums) {
            last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] item) => (next, out) {
                half = Constant<value = float[1] {0.5}>()
                kept = Mul(s, half)
                next = Add(kept, item)
                out = Mul(next, item)
            }>(start, x)
        }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert cli("convert", tmp_path / "m.onnx", "-o", tmp_path / "m.lith").code == 0
    outcome = cli("verify", tmp_path / "m.lith", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["passed"]


@pytest.mark.parametrize(("target", "same"), [("cortex-m55", False), ("cortex-m4", True)])
def test_verify_floats_on_a_board(cli: Cli, lith_file: Path, target: str, same: bool) -> None:
    """Vectors of floats round sums in another order; scalar kernels owe the bytes of portable C."""
    if missing := missing_tools(targets.get(target)):
        pytest.skip(f"needs {', '.join(missing)}")
    outcome = cli("verify", lith_file, "--json", "--target", target)
    assert outcome.code == 0, outcome.err
    (group,) = [group for group in json.loads(outcome.out)["equal_bytes"] if "C on host" in group]
    assert (f"C on {target}" in group) == same


def test_verify_on_host(cli: Cli, lith_file: Path) -> None:
    outcome = cli("verify", lith_file, "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert {row["engine"] for row in report["outputs"]} == {"runtime", "runtime, C kernels", "C on host"}
    assert all(row["passed"] for row in report["outputs"])
    assert any({"runtime, C kernels", "C on host"} <= set(group) for group in report["equal_bytes"])


def test_check_measures_and_holds_against_a_budget(cli: Cli, lith_file: Path) -> None:
    outcome = cli("check", lith_file, "--target", "host", "--measure", "--flash", "1K", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 1
    assert report["flash_bytes"] > report["weight_bytes"] + report["code_bytes"] - 1 > 1024
    assert "flash" in report["problems"][0]
    assert cli("check", lith_file, "--target", "cortex-m4", "--ram", "64K", "--flash", "1M").code == 0


def test_codegen_writes_a_project_that_builds(cli: Cli, lith_file: Path, tmp_path: Path) -> None:
    outcome = cli("codegen", lith_file, "--target", "host", "-o", tmp_path / "project")
    assert outcome.code == 0, outcome.err
    built = subprocess.run(
        ["make", "-s", "-C", tmp_path / "project", "run"], capture_output=True, text=True, timeout=300, check=False
    )
    assert built.returncode == 0, built.stderr


def test_ops_lists_kernels_and_operators(cli: Cli) -> None:
    report = json.loads(cli("ops", "--json").out)
    assert "c" in next(row for row in report["ops"] if row["op"] == "conv2d")["kernels"]["s8"]
    assert "Conv" in report["frontends"]["ONNX"]
    assert "CONV_2D" in report["frontends"]["TFLite"]


def test_a_constant_instead_of_an_input(cli: Cli, tmp_path: Path) -> None:
    """A reshape whose shape is an input: the runtime takes it as it comes, code needs it at conversion."""
    inputs = [
        onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 6)),
        onnx.helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, (2,)),
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])], "g", inputs, [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "reshape.onnx"
    path.write_bytes(model.SerializeToString())
    np.save(tmp_path / "shape.npy", np.array([3, 4]))

    outcome = cli("convert", path)
    assert outcome.code == 0 and "known at run time only" in outcome.out
    np.savez(tmp_path / "in.npz", x=np.zeros((2, 6), np.float32), shape=np.array([4, 3]))
    report = json.loads(cli("run", tmp_path / "reshape.lith", "--inputs", tmp_path / "in.npz", "--json").out)
    assert report["y"]["shape"] == [4, 3]
    refused = cli("check", path)
    assert refused.code == 1 and "depends on the values of 'shape'" in refused.out and "--constant" in refused.out
    accepted = json.loads(cli("check", path, "--constant", f"shape={tmp_path / 'shape.npy'}", "--json").out)
    assert accepted["supported"]

    assert "expected NAME=FILE" in cli("check", path, "--constant", "shape").err
    assert "no such file" in cli("check", path, "--constant", "shape=nowhere.npy").err
    assert "no input 'form'" in cli("check", path, "--constant", f"form={tmp_path / 'shape.npy'}").err
    assert "finished" in cli("check", tmp_path / "reshape.lith", "--constant", f"shape={tmp_path / 'shape.npy'}").err


def test_texts_of_a_classifier(cli: Cli, tmp_path: Path) -> None:
    """convert, inspect and run say what the integers of its label and the columns of its scores stand for."""
    classifier = onnx.helper.make_node(
        "LinearClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        coefficients=[1.0, 0.0, 0.0, 1.0],
        intercepts=[0.0, 0.0],
        classlabels_strings=["cat", "dog [big]"],
    )
    names = onnx.helper.make_node(
        "ZipMap", ["scores"], ["chances"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog [big]"]
    )
    text, real = onnx.TensorProto.STRING, onnx.TensorProto.FLOAT
    chances = onnx.helper.make_map_type_proto(text, onnx.helper.make_tensor_type_proto(real, []))
    graph = onnx.helper.make_graph(
        [classifier, names],
        "pets",
        [onnx.helper.make_tensor_value_info("x", real, [1, 2])],
        [
            onnx.helper.make_tensor_value_info("label", text, [1]),
            onnx.helper.make_value_info("chances", onnx.helper.make_sequence_type_proto(chances)),
        ],
    )
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model, lith = tmp_path / "pets.onnx", tmp_path / "pets.lith"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), model)
    converted = cli("convert", model, "-o", lith)
    assert "output label: integers stand for texts: 0 cat; 1 dog [big]" in " ".join(converted.out.split())
    report = json.loads(cli("inspect", lith, "--json").out)
    assert report["labels"] == {"label": ["cat", "dog [big]"], "chances": ["cat", "dog [big]"]}
    assert report["metadata"] == {}
    np.savez(tmp_path / "x.npz", x=np.array([[0.25, 4]], np.float32))
    shown = " ".join(cli("run", lith, "--inputs", tmp_path / "x.npz").out.split())
    assert "1 (dog [big])" in shown
    assert "0.25 (cat) 4 (dog [big])" in shown
