# SPDX-License-Identifier: Apache-2.0
"""The table of runs, and the command that shows it."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from microlith.errors import InputError
from microlith.trainer.provenance import git_revision, versions
from microlith.trainer.runs import FINISHED, KILLED, RunError, RunTable, differences, sort_runs


def add(folder: Path, name: str = "net", rate: float = 0.1, **metrics: float) -> RunTable:
    table = RunTable(folder)
    run = table.start(name, {"hash": "ab12", "samples": 5}, {"epochs": 3, "rate": rate}, "0123abcd+", {"torch": "2"})
    table.update(run, status=FINISHED, metrics=metrics, seconds=1.5)
    return table


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", "from microlith.cli import main; main()", "train", "runs", *arguments]
    return subprocess.run(line, capture_output=True, text=True)


def test_a_row_comes_back_as_it_was_written(tmp_path: Path) -> None:
    run = add(tmp_path, accuracy=0.5).get("net-1")
    assert (run.id, run.name, run.status, run.seconds, run.revision) == ("net-1", "net", FINISHED, 1.5, "0123abcd+")
    assert run.hyperparameters == {"epochs": 3, "rate": 0.1} and run.metrics == {"accuracy": 0.5}
    assert run.data == {"hash": "ab12", "samples": 5} and run.versions == {"torch": "2"}


def test_ids_count_for_each_name(tmp_path: Path) -> None:
    for name in ("a", "b", "a"):
        table = add(tmp_path, name)
    assert [run.id for run in table.all()] == ["a-1", "b-1", "a-2"]


def _add_five(folder: str) -> None:
    for _ in range(5):
        add(Path(folder))


def test_several_processes_write_at_a_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_five, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(run.id for run in RunTable(tmp_path).all()) == sorted(f"net-{index}" for index in range(1, 11))


def test_a_run_whose_process_is_gone_was_killed(tmp_path: Path) -> None:
    table = RunTable(tmp_path)
    program = (
        "import sys; from microlith.trainer.runs import RunTable; RunTable(sys.argv[1]).start('net', {}, {}, '', {})"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert table.get("net-1").status == KILLED


def test_sorting_and_comparing(tmp_path: Path) -> None:
    add(tmp_path, rate=0.1, accuracy=0.5)
    add(tmp_path, rate=0.2, accuracy=0.9)
    table = add(tmp_path, rate=0.3)
    rows = table.all()
    assert [run.id for run in sort_runs(rows, "accuracy")] == ["net-2", "net-1", "net-3"]
    assert [run.id for run in sort_runs(rows, "rate", descending=False)] == ["net-1", "net-2", "net-3"]
    with pytest.raises(InputError, match="no run has 'acc'"):
        sort_runs(rows, "acc")
    table.update(rows[0], metrics={"rate": 7.0})
    assert sort_runs(table.all(), "rate")[0].id == "net-1"  # a metric before a hyperparameter of the same name
    found = differences(rows[0], rows[1])
    assert found.pop("started")
    assert found == {
        "hyperparameters.rate": (0.1, 0.2),
        "metrics.rate": (7.0, None),
        "metrics.accuracy": (None, 0.9),
    }


def test_the_command_lists_sorts_and_compares(tmp_path: Path) -> None:
    add(tmp_path, rate=0.1, accuracy=0.5)
    add(tmp_path, rate=0.2, accuracy=0.75)
    listing = command("--dir", str(tmp_path), "--sort", "accuracy")
    assert listing.returncode == 0
    assert listing.stdout.index("net-2") < listing.stdout.index("net-1") and "0123abcd+" in listing.stdout
    rows: list[dict[str, Any]] = json.loads(command("-d", str(tmp_path), "--json").stdout)
    assert [row["metrics"]["accuracy"] for row in rows] == [0.5, 0.75]
    compared = command("-d", str(tmp_path), "--compare", "net-1", "net-2").stdout
    assert "hyperparameters.rate" in compared and "+0.25" in compared
    as_json = json.loads(command("-d", str(tmp_path), "--compare", "net-1", "net-2", "--json").stdout)
    assert as_json["metrics.accuracy"] == [0.5, 0.75]


def test_mistakes_of_the_command_are_one_message(tmp_path: Path) -> None:
    missing = command("-d", str(tmp_path))
    assert missing.returncode == 2 and "there is no table of runs in it" in missing.stderr
    assert not list(tmp_path.iterdir())
    add(tmp_path)
    unknown = command("-d", str(tmp_path), "--compare", "net-1", "net-9")
    assert unknown.returncode == 2 and "there is no run 'net-9'" in unknown.stderr
    (tmp_path / "runs.db").write_bytes(b"no database" * 100)
    with pytest.raises(RunError, match="cannot read or write the table"):
        RunTable(tmp_path).all()


def test_the_command_needs_no_torch(tmp_path: Path) -> None:
    add(tmp_path)
    program = (
        "import sys; sys.modules['torch'] = sys.modules['lightning'] = None\n"
        f"sys.argv = ['microlith', 'train', 'runs', '-d', {str(tmp_path)!r}]\n"
        "from microlith.cli import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0 and "net-1" in result.stdout


def test_git_revision(tmp_path: Path) -> None:
    assert git_revision(tmp_path) == ""

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        line = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-qm", "one")
    revision = git("rev-parse", "HEAD")
    assert git_revision(tmp_path) == revision
    (tmp_path / "file").write_text("2")
    assert git_revision(tmp_path) == revision + "+"


def test_versions_of_what_computes() -> None:
    assert {"python", "microlith", "torch", "numpy"} <= set(versions())
