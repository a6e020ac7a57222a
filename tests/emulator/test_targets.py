"""Generated projects on every target, in an emulator where the target is foreign: bytes, instructions, stack."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import small_models
from generated_projects import built, need_target
from generated_projects import project as generated

from microlith import targets
from microlith.codegen import execute
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue

PORTABLE = [target.name for target in targets.all_targets() if target.name != "host-avx2"]
BOARDS = [target.name for target in targets.all_targets() if target.is_bare_metal]
COUNT = 4


def samples_of(graph: Graph) -> list[dict[str, np.ndarray]]:
    return [draw_sample(graph, {}, seed=seed) for seed in range(COUNT)]


@pytest.mark.parametrize("target", PORTABLE)
def test_integers_equal_the_reference(target: str, tmp_path: Path) -> None:
    graph = small_models.int8_cnn()
    result = execute.run(built(graph, target, tmp_path / "a"), samples_of(graph))
    wanted = np.stack([evaluate(graph, sample)["output"] for sample in samples_of(graph)])
    assert result.outputs["output"].tobytes() == wanted.tobytes()


def test_avx2(tmp_path: Path) -> None:
    if "avx2" not in catalogue.detected_isa():
        pytest.skip("this CPU has no AVX2")
    for graph in (small_models.int8_cnn(), small_models.float_cnn()):
        project = built(graph, "host-avx2", tmp_path / graph.name)
        assert execute.selftest(project).endswith("PASS\n")


@pytest.fixture(scope="module")
def host_floats(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    graph = small_models.float_cnn()
    return execute.run(built(graph, "host", tmp_path_factory.mktemp("host") / "a"), samples_of(graph)).outputs


@pytest.mark.parametrize("target", [name for name in PORTABLE if name != "host"])
def test_floats_equal_those_of_the_host(target: str, host_floats: dict[str, np.ndarray], tmp_path: Path) -> None:
    """The same bits; float kernels for MVE and NEON, which do not round a product before they add it, are near."""
    graph = small_models.float_cnn()
    outputs = execute.run(built(graph, target, tmp_path / "a"), samples_of(graph)).outputs
    assert outputs.keys() == host_floats.keys()
    for name, wanted in host_floats.items():
        if {"mve", "neon"} & set(targets.get(target).isa):
            np.testing.assert_allclose(outputs[name], wanted, rtol=0, atol=1e-5 * float(np.abs(wanted).max()))
        else:
            assert outputs[name].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", [name for name in PORTABLE if name != "host"])
def test_denormal_floats_survive(target: str, tmp_path: Path) -> None:
    """Compiled with -O3, at which compilers make vectors of loops: those of NEON and MVE flush denormals to zero."""
    need_target(target)
    graph = Graph("denormals")
    x = Value("x", TensorType(DType.f32, (16, 4)))
    graph.inputs.append(x)
    factors = np.linspace(0.5, 1.5, 64, dtype=np.float32).reshape(16, 4)
    product = graph.add("mul", [x, graph.constant("factors", factors)], output_names=["product"])
    total = graph.add("reduce_sum", [product.output], {"axes": 0b01, "keep_dims": 0}, output_names=["sum"])
    graph.outputs = [product.output, total.output]
    project = generated(graph, target, tmp_path / "a")
    execute.build(project, variables={"OPT": "-O3"})
    tiny = (np.arange(64).reshape(16, 4) * 1.7e-41).astype(np.float32)
    result = execute.run(project, [{"x": tiny}])
    assert result.outputs["product"].tobytes() == (tiny * factors).tobytes()
    wanted = np.sum(tiny * factors, axis=0, dtype=np.float64).astype(np.float32)
    assert result.outputs["sum"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", BOARDS)
def test_selftest_counts_and_stack(target: str, tmp_path: Path) -> None:
    """The self-test passes, twice the same; a model of twice the work takes about twice the instructions."""
    project = built(small_models.int8_cnn(), target, tmp_path / "a")
    text = execute.selftest(project)
    assert text.endswith("PASS\n")
    assert text == execute.selftest(project)
    figures = dict(line.strip().split("=") for line in text.splitlines() if "=" in line)
    instructions, stack = int(figures["instructions"]), int(figures["stack"])
    macs = project.report["macs"]
    assert 3 * macs < instructions < 60 * macs
    assert 64 < stack <= project.report["stack_bytes"]
    size = execute.measure_size(project)
    assert size.constants == project.report["weight_bytes"]
    assert 2_000 < size.code < 16_000
    assert size.ram < project.report["arena_bytes"] + 2 * project.report["stack_bytes"] + 8_192


def test_instructions_are_instructions(tmp_path: Path) -> None:
    """SysTick, calibrated with a loop of known length, against a run that is known to be longer by a known factor."""
    need_target("cortex-m4")
    counts = {}
    for length in (1_000, 3_000):
        graph = Graph(f"copy {length}")
        x = Value("x", TensorType(DType.f32, (length,)))
        graph.inputs.append(x)
        graph.outputs = [graph.add("abs", [x], output_names=["y"]).output]
        project = built(graph, "cortex-m4", tmp_path / str(length))
        counts[length] = execute.run(project, [draw_sample(graph, {})]).instructions
    each = (counts[3_000] - counts[1_000]) / 2_000
    assert abs(each - round(each)) < 0.05, "a loop takes a whole number of instructions for each element"
    assert 3 <= round(each) <= 12


def test_runner_reports_a_bad_file(tmp_path: Path) -> None:
    project = built(small_models.int8_cnn(), "cortex-m4", tmp_path / "a")
    (tmp_path / "in.bin").write_bytes(b"123")
    for arguments, message in (
        (["runner", "in.bin", "out.bin"], "not a whole number of samples"),
        (["runner", "none.bin", "out.bin"], "inputs cannot be opened"),
        (["runner"], "usage"),
    ):
        command = [*project.target.emulator(arguments), str(project.program("runner"))]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert message in done.stdout + done.stderr
