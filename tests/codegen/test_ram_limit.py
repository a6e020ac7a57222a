"""``ram_limit``: generated C whose first layers run in stripes computes the same within fewer bytes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from small_models import deep, int8_cnn, residual

from microlith import targets
from microlith.codegen import execute, generate, ramlimit
from microlith.codegen.measured import generate_measured
from microlith.codegen.project import draw_sample
from microlith.errors import TargetError
from microlith.evaluate import evaluate
from microlith.ir import Graph
from microlith.lower import lower


def test_a_limit_that_is_kept_changes_nothing(tmp_path: Path) -> None:
    report = generate(int8_cnn(), "host", tmp_path / "a", ram_limit=1 << 20)
    assert report.stripes is None


def test_stripes_keep_to_the_limit_with_the_same_bytes(tmp_path: Path) -> None:
    graph = residual(64)
    free = generate(graph, "cortex-m3", tmp_path / "free")
    limit = free.arena_bytes + free.stack_bytes - 1
    report = generate(graph, "cortex-m3", tmp_path / "limited", ram_limit=limit)
    assert report.arena_bytes + report.stack_bytes <= limit
    assert report.stripes is not None and report.stripes.recomputed_macs == 0
    assert report.macs == free.macs


def test_generated_stripes_run(tmp_path: Path) -> None:
    graph = residual(64)
    free = generate(graph, "host", tmp_path / "free")
    samples = [{name: np.rint(x) for name, x in draw_sample(graph, {}, seed).items()} for seed in range(8)]
    report = generate(graph, "host", tmp_path / "a", samples=samples, ram_limit=free.arena_bytes + free.stack_bytes - 1)
    assert report.stripes is not None
    project = execute.Project.open(tmp_path / "a")
    execute.build(project)
    outputs = execute.run(project, samples).outputs
    for index, sample in enumerate(samples):
        for name, wanted in evaluate(graph, sample).items():
            np.testing.assert_array_equal(np.asarray(outputs[name][index]).reshape(wanted.shape), wanted)


def test_a_limit_that_cannot_be_kept_is_told_with_the_least(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="the least that stripes of its first layers lead to is") as error:
        generate(int8_cnn(), "host", tmp_path / "a", ram_limit=100)
    assert error.value.hint
    assert not (tmp_path / "a").exists()


def test_the_least_that_is_told_can_be_had(tmp_path: Path) -> None:
    """However far out of reach the limit that was asked for."""
    graph = residual(64)
    with pytest.raises(TargetError) as error:
        generate(graph, "cortex-m4", tmp_path / "a", ram_limit=10)
    (text,) = re.findall(r"lead to is ([0-9,]+)", error.value.what)
    least = int(text.replace(",", ""))
    report = generate(graph, "cortex-m4", tmp_path / "a", ram_limit=least)
    assert report.stripes is not None and report.arena_bytes + report.stack_bytes <= least


def test_a_limit_out_of_reach_of_a_deep_network_is_told_soon(tmp_path: Path) -> None:
    """Of 140 layers. No division leads to less than what is told, whether the search has looked at it or not."""
    graph = deep(140)
    before = time.process_time()
    with pytest.raises(TargetError) as error:
        generate(graph, "cortex-m4", tmp_path / "a", ram_limit=1024)
    assert time.process_time() - before < 60
    (text,) = re.findall(r"lead to is ([0-9,]+)", error.value.what)
    row = targets.get("cortex-m4")
    program = lower(graph, row.isa, alignment=row.alignment, overlap=True)
    search = ramlimit._Search(graph, ramlimit.Machine(row, (), {}), program)
    every = {division for rows in (8, 4) for division in search._divisions(rows, 0, by_rows=False)}
    assert len(every) > 4
    assert int(text.replace(",", "")) <= min(ramlimit.ram_bytes(search._try(division).program) for division in every)


@pytest.mark.parametrize("by_rows", [False, True])
def test_no_program_in_stripes_goes_below_its_bounds(by_rows: bool) -> None:
    for graph in (residual(64), int8_cnn(), deep(24)):
        row = targets.get("cortex-m4")
        program = lower(graph, row.isa, alignment=row.alignment, overlap=True)
        search = ramlimit._Search(graph, ramlimit.Machine(row, (), {}), program)
        divisions = [division for rows in (8, 4, 2, 1) for division in search._divisions(rows, 0, by_rows)]
        assert divisions
        for division in divisions:
            need = ramlimit.ram_bytes(search._try(division).program)
            assert 0 < search._rough(division) <= need
            assert 0 < search._bound(division) <= need


def test_a_search_that_was_cut_short_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ramlimit, "_MOST_EFFORT", 1)
    with pytest.raises(TargetError, match=r"stripes of its first layers lead to [\d,]+; those .* at best") as error:
        generate(residual(64), "cortex-m4", tmp_path / "a", ram_limit=10)
    found, best = (int(text.replace(",", "")) for text in re.findall(r"lead to ([0-9,]+)", error.value.what))
    assert best < found


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int | None, str]] = []
    with pytest.raises(TargetError):
        generate(residual(64), "host", tmp_path / "a", ram_limit=10, progress=lambda *step: told.append(step))
    assert told and all("bytes so far" in text for _, _, text in told)


def test_a_limit_between_estimate_and_measure_is_kept_when_measured(tmp_path: Path) -> None:
    """The estimate of the stack is on the safe side; --measure judges by what the compiler makes."""
    graph = residual(64)
    with pytest.raises(TargetError) as error:
        generate(graph, "cortex-m4", tmp_path / "a", ram_limit=10)
    assert "--measure" not in error.value.hint  # whatever the stack takes, the arena alone is larger
    least = int(re.findall(r"lead to is ([0-9,]+)", error.value.what)[0].replace(",", ""))
    estimated = generate(graph, "cortex-m4", tmp_path / "b", ram_limit=least)
    with pytest.raises(TargetError, match="the limit is") as error:
        generate(graph, "cortex-m4", tmp_path / "c", ram_limit=least - 1)
    assert "--measure" in error.value.hint

    report = generate_measured(graph, "cortex-m4", tmp_path / "c", ram_limit=least - 1)
    need = report.arena_bytes + report.stack_bytes
    assert report.stack_bytes < estimated.stack_bytes and need < least
    generate_measured(graph, "cortex-m4", tmp_path / "d", ram_limit=need)
    project = execute.Project.open(tmp_path / "d")
    execute.build(project)
    execute.run(project, [draw_sample(graph, {}, 1)])
    with pytest.raises(TargetError, match=f"needs {need:,} bytes of arena and stack at least, as measured"):
        generate_measured(graph, "cortex-m4", tmp_path / "e", ram_limit=need - 1)
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(("graph", "saves"), [(int8_cnn(), False), (residual(64), True)], ids=["no", "yes"])
def test_rows_are_only_recommended_where_they_save_bytes(tmp_path: Path, graph: Graph, saves: bool) -> None:
    with pytest.raises(TargetError) as error:
        generate(graph, "cortex-m4", tmp_path / "a", ram_limit=100)
    (least,) = re.findall(r"lead to is ([0-9,]+)", error.value.what)
    offered = re.findall(r"--input-by-rows.*?([0-9,]+) would be needed", error.value.hint)
    assert bool(offered) == saves
    assert all(int(text.replace(",", "")) < int(least.replace(",", "")) for text in offered)
