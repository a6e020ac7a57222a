"""Writes ``docs/operators.md`` and ``outcomes.txt``: run it after any change to ops, kernels or importers.

python tests/backend/operators_page.py            # runs the ONNX suite first; takes about a minute
python tests/backend/operators_page.py --page     # the page only
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import outcomes
from onnx_suite import KINDS, Case, cases
from row_ops import ops_of

from microlith import ops
from microlith.converter.frontends import onnx as onnx_frontend
from microlith.converter.frontends import onnx_subgraphs
from microlith.converter.frontends import tflite as tflite_frontend
from microlith.nnacl_kernels import catalogue

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"

ONNXRUNTIME = {"plain": 1000, "wide": 1540}
"""How many tests of each slice onnxruntime 1.32 passes (its backend on the CPU, onnx 1.23)."""

REMARKS = dict.fromkeys(
    ("test_dft_inverse", "test_dft_inverse_opset19"),
    "the vector has 1.9e-7 where the transform is 0 (rounding of float32), the test allows 1e-7; ours is 0",
)
"""Of tests with another result: whose fault it is."""

INTRODUCTION = """\
# Operators

Written by `python tests/backend/operators_page.py`; a test holds it against the code.

## The ONNX backend suite

Every test of `onnx.backend.test` (onnx {version}), converted in memory and run in the C runtime
(`tests/backend/`); comparison and tolerances are those of ONNX's own runner. The two slices are taken from the node
tests: *wide* is everything of ONNX's own domain whose inputs and outputs are tensors of whole bytes (no float8,
bfloat16, 4 or 2 bits, strings, sequences, optionals); *plain* is what of it uses float32, int64, int32, bool, uint8 and
int8 only and is not an operator's expansion into others. For comparison, onnxruntime 1.32 on a CPU.
"""


def page(results: Mapping[outcomes.Key, outcomes.Outcome]) -> str:
    """The whole page."""
    return "".join(
        itertools.chain(
            [INTRODUCTION.format(version=onnx.__version__), "\n"],
            _counts(results),
            _generated(results),
            _failures(results),
            _onnx_table(results),
            _tflite_table(),
            _op_table(),
        )
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
    for row in rows:
        yield f"| {' | '.join(str(item).replace('|', chr(92) + '|') for item in row)} |\n"
    yield "\n"


def counts(results: Mapping[outcomes.Key, outcomes.Outcome], belongs: Callable[[Case], bool]) -> tuple[int, int]:
    """How many tests of a part of the suite pass, and how many there are."""
    chosen = [case for kind in KINDS for case in cases(kind) if belongs(case)]
    return sum((case.kind, case.name) not in results for case in chosen), len(chosen)


def _counts(results: Mapping[outcomes.Key, outcomes.Outcome]) -> Iterator[str]:
    parts: list[tuple[str, Callable[[Case], bool], int | str]] = [
        ("plain", lambda case: case.is_plain, ONNXRUNTIME["plain"]),
        ("wide", lambda case: case.is_wide, ONNXRUNTIME["wide"]),
        ("all node tests", lambda case: case.kind == "node", 1588),
        ("simple", lambda case: case.kind == "simple", 17),
        ("pytorch-converted", lambda case: case.kind == "pytorch-converted", 59),
        ("pytorch-operator", lambda case: case.kind == "pytorch-operator", 24),
    ]
    rows = [(name, *reversed(counts(results, belongs)), peer) for name, belongs, peer in parts]
    yield from _table(("slice", "tests", "pass", "onnxruntime passes"), rows)


def _generated(results: Mapping[outcomes.Key, outcomes.Outcome]) -> Iterator[str]:
    missing = outcomes.stored(outcomes.GENERATED_FILE)
    passing = [case for case in cases("node") if (case.kind, case.name) not in results]
    done = sum((case.kind, case.name) not in missing for case in passing)
    yield f"As generated C on the host, {done} of the {len(passing)} node tests that pass in the runtime pass "
    yield f"({100 * done / len(passing):.1f} %).\nGenerated code knows all shapes, so inputs that decide about shapes "
    yield "are stored in the model for this." + (" The others:\n\n" if missing else "\n")
    groups: dict[str, list[str]] = defaultdict(list)
    for (_, name), outcome in sorted(missing.items()):
        groups[f"{outcome.status} | {outcome.reason}"].append(name)
    for reason, names in groups.items():
        yield f"* {reason}: {', '.join(names)}\n"
    yield "\n"


def _failures(results: Mapping[outcomes.Key, outcomes.Outcome]) -> Iterator[str]:
    yield "## Tests that do not pass\n\n"
    yield "*refused*: `convert` names what it does not support; *differs*: another result; *fails*: any other error.\n"
    by_name = {(case.kind, case.name): case for kind in KINDS for case in cases(kind)}
    titles = {
        "plain": "Of the plain slice",
        "wide": "Of the wide slice only",
        "other": "Of neither slice",
    }
    groups: dict[str, dict[tuple[str, str], list[str]]] = {title: defaultdict(list) for title in titles}
    for key, outcome in sorted(results.items()):
        case = by_name[key]
        slice_name = "plain" if case.is_plain else "wide" if case.is_wide else "other"
        groups[slice_name][outcome.status, REMARKS.get(case.name, outcome.reason)].append(case.name)
    for name, title in titles.items():
        yield f"\n### {title}\n\n"
        rows = [(", ".join(names), status, reason) for (status, reason), names in groups[name].items()]
        yield from _table(("tests", "outcome", "reason"), sorted(rows)) if rows else ["None.\n"]


def _onnx_table(results: Mapping[outcomes.Key, outcomes.Outcome]) -> Iterator[str]:
    yield "## ONNX operators\n\n"
    yield "With the ops that their conversion may use, and how many of their node tests pass.\n\n"
    total: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for case in cases("node"):
        total[case.op] += 1
        passed[case.op] += (case.kind, case.name) not in results
    rows = []
    for name in sorted({*onnx_frontend.ROWS, *onnx_subgraphs.CONTROL}):
        row = onnx_frontend.ROWS.get(name)
        used = ", ".join(ops_of(row)) if row is not None else ""
        rows.append((name, used, f"{passed[name]} of {total[name]}" if total[name] else "no tests"))
    for (domain, name), row in sorted(onnx_frontend.FOREIGN_ROWS.items()):
        title = f"{domain}:{name}"
        count = f"{passed[title]} of {total[title]}" if total[title] else "no tests"
        rows.append((title, ", ".join(ops_of(row)), count))
    yield from _table(("operator", "ops", "node tests"), rows)
    others = sorted(name for name in _defined_by_others() if name not in onnx_frontend.ROWS)
    yield f"Replaced by the graphs that define them: {', '.join(others)}.\n\n"


def _defined_by_others() -> Iterator[str]:
    from microlith.converter.frontends.onnx_load import is_defined_by_others

    newest = onnx.defs.onnx_opset_version()
    for schema in onnx.defs.get_all_schemas():
        if schema.domain == "" and is_defined_by_others(onnx.NodeProto(op_type=schema.name), newest):
            yield schema.name


def _tflite_table() -> Iterator[str]:
    yield "## TFLite operators\n\nWith the ops that their conversion may use.\n\n"
    rows = [(name, ", ".join(ops_of(row))) for name, row in sorted(tflite_frontend.ROWS.items())]
    yield from _table(("operator", "ops"), rows)


def _op_table() -> Iterator[str]:
    yield "## Ops\n\n"
    yield "Kernels by element type of the first input, best instruction set first. A result may differ from the\n"
    yield "reference by the tolerance, relative + absolute; integers are exact always.\n\n"
    variants: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for kernel in catalogue.kernels():
        variants[kernel.op][catalogue.dtype_name(kernel.dtype)].append(kernel.isa)
    rows = []
    for opdef in ops.all_ops():
        tolerance = opdef.tolerance
        by_isa: dict[str, list[str]] = defaultdict(list)
        for dtype, isas in variants[opdef.name].items():
            by_isa[" ".join(dict.fromkeys(isas))].append(dtype)
        rows.append(
            (
                opdef.name,
                " ".join(opdef.inputs),
                "; ".join(f"{' '.join(dtypes)}: {isas}" for isas, dtypes in by_isa.items()),
                "exact" if tolerance == ops.EXACT else f"{tolerance.relative:g} + {tolerance.absolute:g}",
                opdef.doc,
            )
        )
    yield from _table(("op", "inputs", "kernels", "tolerance", "meaning"), rows)


def main() -> None:
    options = sys.argv[1:]
    if options not in ([], ["--page"], ["--runtime"]):
        sys.exit(__doc__)
    if options != ["--page"]:
        outcomes.store(outcomes.measured())
    if not options:
        outcomes.store(outcomes.measured_as_generated(), outcomes.GENERATED_FILE)
    PAGE.write_text(page(outcomes.stored()), "utf-8")


if __name__ == "__main__":
    main()
