"""The outcomes that the tests of the ONNX suite are held to: every test that does not pass, with its reason.

``outcomes.txt`` has one line for each: folder, test, outcome, reason. ``operators_page.py`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from onnx_suite import DIFFERS, FAILS, KINDS, PASSES, REFUSED, Outcome, cases, run_case

FILE = Path(__file__).with_name("outcomes.txt")

Key = tuple[str, str]
"""Folder of the suite, and test."""


def stored() -> dict[Key, Outcome]:
    """What ``outcomes.txt`` says."""
    outcomes = {}
    for line in FILE.read_text("utf-8").splitlines():
        kind, name, status, reason = line.split(" ", 3)
        outcomes[kind, name] = Outcome(status, reason)
    return outcomes


def measured() -> dict[Key, Outcome]:
    """Runs every test; those that do not pass."""
    results = {(case.kind, case.name): run_case(case) for kind in KINDS for case in cases(kind)}
    return {key: outcome for key, outcome in results.items() if outcome.status != PASSES}


def store(outcomes: Mapping[Key, Outcome]) -> None:
    lines = [f"{kind} {name} {item.status} {item.reason}\n" for (kind, name), item in sorted(outcomes.items())]
    FILE.write_text("".join(lines), "utf-8")


def same(left: Outcome, right: Outcome) -> bool:
    """Whether two outcomes are alike: numbers in a reason may differ from machine to machine."""
    if left.status != right.status:
        return False
    return left.status in (DIFFERS, FAILS) or re.sub(r"\s+", " ", left.reason) == re.sub(r"\s+", " ", right.reason)


__all__ = ["DIFFERS", "FAILS", "PASSES", "REFUSED", "Outcome", "measured", "same", "store", "stored"]
