"""The part of docs/benchmarks.md about MLPerf Tiny on microcontrollers, made of the rows that bench.py measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microlith import targets
from microlith.errors import InputError
from microlith.files import write_atomically

if TYPE_CHECKING:
    from bench import Row

BEGIN, END = "<!-- bench-mcu begins -->", "<!-- bench-mcu ends -->"
INT8 = {
    "kws_ref_model": "KWS",
    "vww_96_int8": "VWW",
    "pretrainedResnet_quant": "IC",
    "ad01_int8": "AD",
    "str_ww_ref_model": "SWW",
}
FLOAT = {
    "kws_ref_model_float32": "KWS float",
    "vww_96_float": "VWW float",
    "pretrainedResnet": "IC float",
    "ad01_fp32": "AD float",
}
PUBLISHED_CYCLES = {"kws_ref_model": 5.18, "vww_96_int8": 10.7, "pretrainedResnet_quant": 19.8, "ad01_int8": 0.63}
"""Millions on a Cortex-M4: X-CUBE-AI in MLPerf Tiny 1.2 and 1.3 (NUCLEO-L4R5ZI; latency times clock, flash with wait
states)."""


def write_page(path: Path, begin: str, end: str, text: str) -> None:
    """Puts a text between two marks of a page. Raises InputError when it has none."""
    page = path.read_text(encoding="utf-8")
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise InputError(f"has no lines '{begin}' and '{end}'", where=str(path))
    page = f"{head}{begin}\n{text}{end}{tail}"
    write_atomically(path, lambda file: file.write(page.encode()))


def tables(rows: Sequence[Row], baselines: Mapping[str, Any], versions: str) -> str:
    """The tables in Markdown."""
    found = {(row.model, row.target): row for row in rows}
    order = [target.name for target in targets.all_targets() if any(row.target == target.name for row in rows)]
    parts = [f"{versions}.\n"]
    for names in (INT8, FLOAT):
        used = [model for model in names if any(row.model == model for row in rows)]
        if used:
            parts.append(_table("core", order, [names[model] for model in used], _counts(found, used, baselines)))
    m4 = [model for model in INT8 if (model, "cortex-m4") in found]
    if m4:
        measures: dict[str, Callable[[Row], str]] = {
            "flash: code, parameters, program around the model": lambda row: f"{row.code:,}",
            "flash: constants": lambda row: f"{row.constants:,}",
            "RAM: arena, variables, deepest stack": lambda row: f"{row.ram:,}",
            "cycles, estimated (M)": lambda row: "–" if row.count.cycles is None else f"{row.count.cycles / 1e6:.3f}",
            "cycles, X-CUBE-AI on a board (M)": lambda row: str(PUBLISHED_CYCLES.get(row.model, "–")),
        }
        lines = [(name, [cell(found[model, "cortex-m4"]) for model in m4]) for name, cell in measures.items()]
        parts.append(markdown("Cortex-M4F, bytes", [INT8[model] for model in m4], lines))
    return "\n".join(parts)


def _counts(
    found: Mapping[tuple[str, str], Row], models: Sequence[str], baselines: Mapping[str, Any]
) -> Callable[[str], list[str]]:
    def cells(target: str) -> list[str]:
        texts = []
        for model in models:
            row = found.get((model, target))
            other = baselines["models"].get(model, {}).get(target)
            share = f" ({row.count.instructions / other['instructions']:.2f})" if row and other else ""
            texts.append(f"{row.count.instructions / 1e6:.3f}{share}" if row else "–")
        return texts

    return cells


def _table(first: str, targets_: Iterable[str], columns: Sequence[str], cells: Callable[[str], list[str]]) -> str:
    lines = [(targets.get(name).title, cells(name)) for name in targets_]
    return markdown(first, columns, [line for line in lines if any(cell != "–" for cell in line[1])])


def markdown(first: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]]) -> str:
    texts = [f"| {first} | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    texts += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in lines]
    return "\n".join(texts) + "\n"
