"""What the importers say about a node that they cannot convert."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...errors import Unsupported
from ...extensions import HOW_TO_ADD

CHANGE_IT = (
    "change this node in the model before it is exported ('microlith ops' lists what is supported), or add an op of "
    "your own: docs/custom-ops.md"
)


def attribute_in(reason: str, names: Iterable[str]) -> str:
    """The first of some attribute names that a reason names; "" when there is none."""
    words = set(re.findall(r"\w+", reason))
    return next((name for name in names if name in words), "")


def problem(node: str, op: str, reason: str, hint: str = "", attribute: str = "") -> Unsupported:
    """One entry of the report, with something to do about it in any case."""
    if not hint and attribute:
        hint = f"export the model with another '{attribute}'; 'microlith ops' lists what is supported"
    return Unsupported(node, op, reason, hint or CHANGE_IT, attribute)


__all__ = ["CHANGE_IT", "HOW_TO_ADD", "attribute_in", "problem"]
