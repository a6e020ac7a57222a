"""The outcomes that the tests of the ONNX suite are held to: every test that does not pass, with its reason.

``outcomes.txt`` has one line for each: folder, test, outcome, reason; ``generated.txt`` the same for node tests that
pass in the runtime and not as generated C. ``operators_page.py`` writes both.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from generated_suite import build, programs, run
from onnx_suite import DIFFERS, FAILS, KINDS, PASSES, REFUSED, Outcome, cases, run_case

FILE = Path(__file__).with_name("outcomes.txt")
GENERATED_FILE = Path(__file__).with_name("generated.txt")

Key = tuple[str, str]
"""Folder of the suite, and test."""


def stored(file: Path = FILE) -> dict[Key, Outcome]:
    """What ``outcomes.txt`` or ``generated.txt`` says."""
    outcomes = {}
    for line in file.read_text("utf-8").splitlines():
        kind, name, status, reason = line.split(" ", 3)
        outcomes[kind, name] = Outcome(status, reason)
    return outcomes


def measured() -> dict[Key, Outcome]:
    """Runs every test; those that do not pass."""
    results = {(case.kind, case.name): run_case(case) for kind in KINDS for case in cases(kind)}
    return {key: outcome for key, outcome in results.items() if outcome.status != PASSES}


def measured_as_generated(kind: str = "node") -> dict[Key, Outcome]:
    """Runs every test of a folder that passes in the runtime as generated C; those that do not pass."""
    known = stored()
    passing = [case for case in cases(kind) if (case.kind, case.name) not in known]
    results: dict[Key, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="microlith-generated-") as folder:
        made = programs(passing, Path(folder))
        library = build(made, Path(folder))
        for program in made:
            if (outcome := run(program, library)).status != PASSES:
                results[program.case.kind, program.case.name] = outcome
    return results


def store(outcomes: Mapping[Key, Outcome], file: Path = FILE) -> None:
    lines = [f"{kind} {name} {item.status} {item.reason}\n" for (kind, name), item in sorted(outcomes.items())]
    file.write_text("".join(lines), "utf-8")


def same(left: Outcome, right: Outcome) -> bool:
    """Whether two outcomes are alike: numbers in a reason may differ from machine to machine."""
    if left.status != right.status:
        return False
    return left.status in (DIFFERS, FAILS) or re.sub(r"\s+", " ", left.reason) == re.sub(r"\s+", " ", right.reason)


__all__ = [
    "DIFFERS",
    "FAILS",
    "GENERATED_FILE",
    "PASSES",
    "REFUSED",
    "Outcome",
    "measured",
    "measured_as_generated",
    "same",
    "store",
    "stored",
]
