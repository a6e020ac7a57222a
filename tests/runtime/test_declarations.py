"""The parsed form of the header is that of the header."""

from __future__ import annotations

from pathlib import Path

from microlith.runtime import declarations_generated, write_declarations


def test_declarations_are_those_of_the_header() -> None:
    written = Path(declarations_generated.__file__).read_text("utf-8")
    assert written == write_declarations.source(), "run: python -m microlith.runtime.write_declarations"
