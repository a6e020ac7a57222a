"""Mixed precision beside uniform numbers: SQNR at the flash of int8, and flash at the SQNR of 16x8.

    python benchmarks/quantization/mixed_precision.py
    python benchmarks/quantization/mixed_precision.py --target cortex-m4    # flash, RAM and instructions there

Models and data as in ``against_onnxruntime.py``.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import onnxruntime
import sqnr_table as common

from microlith.codegen.graph_costs import costs_on

MODELS = (
    "classification/mnist_cntk classification/mnist_rten text/attacut_c timeseries/espdl_streaming "
    "enhancement/super_resolution_ort audio-feature/speech_embedding_onnx detection/yunet_n_320"
).split()


HEAD = """| model | int8 | mixed, at most that flash | 16x8 | mixed, at least that SQNR |
|---|---|---|---|---|"""


def row_of(name: str) -> str:
    """A row of the table in ``docs/benchmarks.md``."""
    path = common.ROOT / f"{name}.onnx"
    inputs = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"]).get_inputs()
    feeds = common.calibration_of(common.cases_of(path, [item.name for item in inputs]))
    _, narrow = common.ours(path, feeds)
    _, wide = common.ours(path, feeds, scheme="16x8")
    _, better = common.ours(path, feeds, max_flash=narrow.constant_bytes)
    _, smaller = common.ours(path, feeds, max_drop=10 ** (-wide.sqnr / 10))
    cells = []
    for report in (narrow, better, wide, smaller):
        bits = report.choices.get("bits")
        cells.append(f"{report.sqnr:.2f} dB, {report.constant_bytes:,}" + (f": {bits}" if bits else ""))
    return f"| {name.split('/')[-1]} | {' | '.join(cells)} |"


TARGET_HEAD = """| model | int8 | 16x8 | mixed |
|---|---|---|---|"""


def row_on(name: str, target: str) -> str:
    """A row for budgets on a target: the flash, RAM and instructions that int8 takes, and a fifth more."""
    path = common.ROOT / f"{name}.onnx"
    inputs = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"]).get_inputs()
    feeds = common.calibration_of(common.cases_of(path, [item.name for item in inputs]))
    costs = costs_on(target)
    _, narrow = common.ours(path, feeds, costs=costs)
    _, wide = common.ours(path, feeds, costs=costs, scheme="16x8")
    limits = {f"max_{what}": int(1.2 * getattr(narrow, what)) for what in ("flash", "ram", "instructions")}
    _, mixed = common.ours(path, feeds, costs=costs, **limits)
    cells = []
    for report in (narrow, wide, mixed):
        bits = report.choices.get("bits")
        text = f"{report.sqnr:.2f} dB, {report.flash:,} B, {report.ram:,} B, {report.instructions / 1e6:.2f} M"
        cells.append(text + (f": {bits}" if bits else ""))
    return f"| {name.split('/')[-1]} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a part of a model's name")
    parser.add_argument("--target", help="budgets of flash, RAM and instructions on this machine")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(TARGET_HEAD if arguments.target else HEAD)
    for name in MODELS:
        if (common.ROOT / f"{name}.onnx").exists() and (not arguments.only or arguments.only in name):
            print(row_on(name, arguments.target) if arguments.target else row_of(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
