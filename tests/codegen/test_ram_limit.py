"""``ram_limit``: generated C whose first layers run in stripes computes the same within fewer bytes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from small_models import int8_cnn, residual

from microlith.codegen import execute, generate
from microlith.codegen.project import draw_sample
from microlith.errors import TargetError
from microlith.evaluate import evaluate


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
