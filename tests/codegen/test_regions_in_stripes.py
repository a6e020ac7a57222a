"""Several memories and a limit of RAM together: stripes whose tensors, and whose rows, lie in different arenas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built
from small_models import int8_cnn, residual

from microlith.codegen import execute, generate, variants
from microlith.codegen.project import draw_sample
from microlith.errors import InputError, TargetError
from microlith.evaluate import evaluate
from microlith.ir import Graph
from microlith.regions import FAST, SLOW, MemoryRegion

SRAM = MemoryRegion("sram", 1 << 16, SLOW)


def samples_of(graph: Graph, count: int) -> list[dict[str, np.ndarray]]:
    """Random inputs, floats as whole numbers, so that sums are exact in any order."""
    drawn = [draw_sample(graph, {}, seed) for seed in range(count)]
    return [{name: np.rint(x) if x.dtype.kind == "f" else x for name, x in sample.items()} for sample in drawn]


def assert_runs(graph: Graph, project: execute.Project) -> None:
    assert execute.selftest(project).endswith("PASS\n")
    samples = samples_of(graph, 3)
    for sample, output in zip(samples, execute.run(project, samples).samples, strict=True):
        for name, wanted in evaluate(graph, sample).items():
            np.testing.assert_array_equal(np.asarray(output[name]).reshape(wanted.shape), wanted)


def used(project: execute.Project) -> dict[str, int]:
    return {region["name"]: region["used"] for region in project.report["regions"]}


@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m55", "riscv32"])
def test_stripes_fit_where_the_whole_does_not(target: str, tmp_path: Path) -> None:
    graph = residual(64)
    whole = generate(graph, target, tmp_path / "whole")
    image = graph.inputs[0].type.nbytes
    regions = (MemoryRegion("dtcm", 4096, FAST), MemoryRegion("sram", image + 5000, SLOW))
    with pytest.raises(TargetError, match="cannot hold the activations") as error:
        generate(graph, target, tmp_path / "a", regions=regions)
    assert "--ram-limit" in error.value.hint
    limit = whole.arena_bytes
    project = built(graph, target, tmp_path / "a", regions=regions, ram_limit=limit)
    assert project.report["stripes"]["stripes"] > 1
    assert used(project)["dtcm"] <= 4096 and used(project)["sram"] <= image + 5000
    assert sum(used(project).values()) + project.report["stack_bytes"] <= limit
    assert_runs(graph, project)


def test_a_limit_that_the_regions_keep_changes_nothing(tmp_path: Path) -> None:
    graph = int8_cnn(height=31)
    regions = (MemoryRegion("dtcm", 1024, FAST), SRAM)
    free = generate(graph, "cortex-m4", tmp_path / "free", regions=regions)
    report = generate(graph, "cortex-m4", tmp_path / "a", regions=regions, ram_limit=1 << 20)
    assert report.stripes is None and report.regions == free.regions


@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_rows_arrive_in_several_memories(target: str, tmp_path: Path) -> None:
    graph = int8_cnn(height=64)
    regions = (MemoryRegion("dtcm", 1200, FAST), MemoryRegion("sram", 1 << 14, SLOW))
    project = built(graph, target, tmp_path / "a", regions=regions, input_by_rows=True)
    (report,) = [item for item in project.report["regions"] if item["name"] == "dtcm"]
    pieces = [tensor for tensor in report["tensors"] if tensor["name"].startswith("input rows")]
    source = (project.folder / f"{project.name}.c").read_text()
    assert pieces and "arenas[pieces[instance->piece].arena]" in source
    assert_runs(graph, project)


def test_rows_arrive_in_one_named_memory(tmp_path: Path) -> None:
    graph = int8_cnn(height=200)
    project = built(graph, "cortex-m4", tmp_path / "a", regions=(MemoryRegion("ring", 6000),), input_by_rows=True)
    assert list(used(project)) == ["ring"] and used(project)["ring"] < graph.inputs[0].type.nbytes
    assert_runs(graph, project)


def test_constants_keep_their_places(tmp_path: Path) -> None:
    graph = residual(64)
    regions = (MemoryRegion("dtcm", 4096, FAST), SRAM, MemoryRegion("flash", 1 << 14, read_only=True))
    project = built(graph, "cortex-m4", tmp_path / "a", regions=regions, ram_limit=18000)
    assert project.report["stripes"] is not None and used(project)["flash"] == project.report["weight_bytes"]
    assert_runs(graph, project)


def test_regions_that_stripes_do_not_fit_into_either(tmp_path: Path) -> None:
    regions = (MemoryRegion("dtcm", 300, FAST), MemoryRegion("sram", 700, SLOW))
    for options in ({"ram_limit": 1 << 20}, {"input_by_rows": True}):
        with pytest.raises(TargetError, match="even in stripes, the regions cannot hold the activations") as error:
            generate(residual(64), "cortex-m4", tmp_path / "a", regions=regions, **options)
        assert error.value.hint and not (tmp_path / "a").exists()


@pytest.mark.parametrize("limit", [0, -1])
def test_limits_that_are_none(limit: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"a limit of {limit} bytes"):
        generate(int8_cnn(), "host", tmp_path / "a", ram_limit=limit)


@pytest.mark.parametrize("regions", [(), (MemoryRegion("dtcm", 2048, FAST), SRAM)])
def test_kernels_are_chosen_in_stripes_too(
    regions: tuple[MemoryRegion, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, limit = int8_cnn(height=200), 9900
    options = {"ram_limit": limit, "input_by_rows": True, "regions": regions}
    taken = "nnacl_depthwise_conv2d_s8_dsp"
    monkeypatch.setitem(variants.CODE_BYTES["cortex-m4"], "conv/depthwise_conv2d_s8_dsp.c", 10**6)  # it never pays
    monkeypatch.setattr(variants, "SLOWEST", 100.0)
    for number, more in enumerate(({"without": {taken}}, {"optimize": "size"})):
        report = generate(graph, "cortex-m4", tmp_path / str(number), **options, **more)
        kernels = {layer["kernel"] for layer in report.layer_table}
        assert report.stripes is not None and taken not in kernels
        assert report.arena_bytes + report.stack_bytes <= limit
