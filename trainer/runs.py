# SPDX-License-Identifier: Apache-2.0
"""The table of runs: what was trained on which data with which numbers, and what came out. SQLite, no PyTorch.

``runs.db`` lies in the folder of the runs beside a folder for each; several processes may write at a time.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microlith.errors import InputError, MicrolithError

FILE = "runs.db"
RUNNING, FINISHED, FAILED, KILLED = "running", "finished", "failed", "killed"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    started REAL NOT NULL,
    seconds REAL NOT NULL DEFAULT 0,
    revision TEXT NOT NULL,
    host TEXT NOT NULL,
    process INTEGER NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    data TEXT NOT NULL,
    hyperparameters TEXT NOT NULL,
    metrics TEXT NOT NULL DEFAULT '{}',
    versions TEXT NOT NULL
)
"""
_JSON = ("data", "hyperparameters", "metrics", "versions")


class RunError(MicrolithError):
    """A run that is not there, or cannot be taken up again."""


@dataclass
class Run:
    """One row."""

    id: str
    name: str
    status: str
    """``running``, ``finished``, ``failed`` (with a reason) or ``killed`` (its process is gone)."""
    started: float
    """Seconds since 1970."""
    seconds: float
    """Spent training, all attempts together."""
    revision: str
    """git commit of the program, with ``+`` when files were changed."""
    host: str
    process: int
    reason: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    """After the last epoch that ended."""
    versions: dict[str, str] = field(default_factory=dict)

    def flat(self) -> dict[str, Any]:
        """All of it as one mapping, names of inner values joined with dots: what can be compared and sorted by."""
        facts: dict[str, Any] = {
            name: getattr(self, name) for name in ("status", "started", "seconds", "revision", "host", "reason")
        }
        for group in ("hyperparameters", "data", "versions"):
            facts.update({f"{group}.{key}": value for key, value in getattr(self, group).items()})
        facts.update({f"metrics.{key}": value for key, value in self.metrics.items()})
        return facts

    def get(self, key: str) -> Any:
        """A value by its full name or by the last part of it (``val_accuracy``), metrics first; None: there is none."""
        if key in self.metrics:
            return self.metrics[key]
        facts = {"id": self.id, "name": self.name, **self.flat()}
        if key in facts:
            return facts[key]
        return next((value for name, value in facts.items() if name.split(".", 1)[-1] == key), None)


class RunTable:
    """The runs of one folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @contextmanager
    def _open(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        path = self.folder / FILE
        if not create and not path.is_file():
            raise RunError(
                "there is no table of runs in it",
                where=str(self.folder),
                hint="name the run_dir that trainer.fit was given",
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise RunError(
                f"cannot open the table of runs: {error}",
                where=str(path),
                hint="run_dir is a folder that can be written",
            ) from error
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN IMMEDIATE" if create else "BEGIN")
            if create:
                connection.execute(_SCHEMA)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise RunError(
                f"cannot read or write the table of runs: {error}",
                where=str(path),
                hint="choose another run_dir, or move this file away",
            ) from error
        finally:
            connection.close()

    def start(
        self,
        name: str,
        data: Mapping[str, Any],
        hyperparameters: Mapping[str, Any],
        revision: str,
        versions: Mapping[str, str],
    ) -> Run:
        """Adds a run; its id is the name and the next free number."""
        with self._open(create=True) as table:
            numbers = [
                int(row["id"].rsplit("-", 1)[1])
                for row in table.execute("SELECT id FROM runs WHERE name = ?", (name,)).fetchall()
            ]
            run = Run(
                f"{name}-{max(numbers, default=0) + 1}", name, RUNNING, time.time(), 0.0, revision, platform.node(),
                os.getpid(), "", dict(data), dict(hyperparameters), {}, dict(versions),
            )  # fmt: skip
            values = {**run.__dict__, **{key: json.dumps(getattr(run, key), default=str) for key in _JSON}}
            names = ", ".join(values)
            marks = ", ".join(f":{key}" for key in values)
            table.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", values)
        return self.get(run.id)

    def update(self, run: Run, **changes: Any) -> None:
        """Changes columns of a run, here and in the table."""
        for key, value in changes.items():
            setattr(run, key, value)
        sets = ", ".join(f"{key} = :{key}" for key in changes)
        values = {key: json.dumps(value, default=str) if key in _JSON else value for key, value in changes.items()}
        with self._open(create=True) as table:
            table.execute(f"UPDATE runs SET {sets} WHERE id = :id", {**values, "id": run.id})

    def all(self) -> list[Run]:
        """Oldest first."""
        with self._open() as table:
            rows = table.execute("SELECT * FROM runs ORDER BY started, rowid").fetchall()
        return [_from_row(row) for row in rows]

    def get(self, id: str) -> Run:
        """A run by its id. Raises RunError when there is none."""
        with self._open() as table:
            row = table.execute("SELECT * FROM runs WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise RunError(f"there is no run {id!r}", where=str(self.folder), hint="`microlith train runs` lists them")
        return _from_row(row)

    def path(self, run: Run) -> Path:
        """The folder with checkpoints and logs of a run."""
        return self.folder / run.id


def _from_row(row: sqlite3.Row) -> Run:
    values = {key: json.loads(row[key]) if key in _JSON else row[key] for key in row.keys()}  # noqa: SIM118
    run = Run(**values)
    if run.status == RUNNING and run.host == platform.node() and not _is_alive(run.process):
        run.status = KILLED
    return run


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def sort_runs(runs: Sequence[Run], key: str, descending: bool = True) -> list[Run]:
    """By a value of them, those without it last. Raises InputError when none has it."""
    present = [run for run in runs if run.get(key) is not None]
    if runs and not present:
        known = sorted({name for run in runs for name in run.flat()})
        raise InputError(f"no run has {key!r}", hint=f"one of {', '.join(known)}")
    numbers = all(isinstance(run.get(key), int | float) for run in present)
    present.sort(key=lambda run: run.get(key) if numbers else str(run.get(key)), reverse=descending)
    return [*present, *(run for run in runs if run.get(key) is None)]


def differences(first: Run, second: Run) -> dict[str, tuple[Any, Any]]:
    """What is not the same in two runs: name -> both values, None where a run lacks it."""
    left, right = first.flat(), second.flat()
    return {
        name: (left.get(name), right.get(name))
        for name in dict.fromkeys([*left, *right])
        if left.get(name) != right.get(name)
    }
