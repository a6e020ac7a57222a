"""Emitters: each arranges the parts of a generated project as one build system or ecosystem wants them.

An emitter is a module with a ``TITLE`` for people, ``files(parts)`` that gives the project by path (licence, report and
manifest come on top) or raises TargetError when the ecosystem has no place for the target, ``next_step(folder)``: what
a user does with it, and perhaps ``archives(parts, files)``: further files made of the bytes of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...errors import TargetError
from ..parts import Parts
from . import arduino, cmake, cmsis_pack, make, platformio, standalone, zephyr


@dataclass(frozen=True)
class Emitter:
    """A row of the table of emitters."""

    title: str
    files: Callable[[Parts], Mapping[str, str]]
    next_step: Callable[[str], str]
    archives: Callable[[Parts, Mapping[str, bytes]], Mapping[str, bytes]]


def _no_archives(parts: Parts, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return {}


EMITTERS: Mapping[str, Emitter] = {
    name: Emitter(module.TITLE, module.files, module.next_step, getattr(module, "archives", _no_archives))
    for name, module in (
        ("standalone", standalone),
        ("cmake", cmake),
        ("make", make),
        ("arduino", arduino),
        ("platformio", platformio),
        ("zephyr", zephyr),
        ("cmsis-pack", cmsis_pack),
    )
}
"""By the name that users give."""


def get(name: str) -> Emitter:
    """The emitter of that name; ``TargetError`` lists all when there is none."""
    if name not in EMITTERS:
        raise TargetError(f"there is no project '{name}'", hint="projects: " + ", ".join(EMITTERS))
    return EMITTERS[name]
