"""Time, size and accuracy of models with bfloat16 beside float32.

    python benchmarks/cpu/bfloat.py FOLDER [NAME ...]

FOLDER is one that net_files.py wrote. For each network, converted here: microseconds of one run on one thread (median,
the three in turn), bytes of the file, and the signal to noise of the result against PyTorch's in dB, for float32, for
weights of bfloat16, and for products of bfloat16, with all instruction sets of this machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import microlith
from microlith.converter.quantize import QuantizeOptions

NAMES = ("mobilenet_v2", "resnet18", "resnet50", "squeezenet11", "minilm6_128", "autoenc_640", "resnet8_cifar")
KINDS = {
    "float32": None,
    "bfloat16": QuantizeOptions("bfloat16"),
    "bfloat16 products": QuantizeOptions("bfloat16", compute="bfloat16"),
}
ROUNDS = 15


def sqnr(wanted: np.ndarray, got: np.ndarray) -> float:
    """Signal to noise in dB."""
    noise = float(np.square(wanted.astype(np.float64) - got).sum())
    return float("inf") if noise == 0 else 10 * np.log10(float(np.square(wanted.astype(np.float64)).sum()) / noise)


def row(folder: Path, isa: list[str] | None) -> str:
    given, wanted = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    with tempfile.TemporaryDirectory() as place:
        models, sizes = {}, {}
        for kind, options in KINDS.items():
            path = Path(place) / f"{kind}.lith"
            microlith.convert(folder / "f32.onnx", path, quantization=options)
            sizes[kind] = path.stat().st_size
            models[kind] = microlith.load(path, isa=isa)
        times: dict[str, list[float]] = {kind: [] for kind in KINDS}
        results = {kind: next(iter(model.run({"x": given}).values())) for kind, model in models.items()}
        for _ in range(ROUNDS):
            for kind, model in models.items():
                model.run({"x": given})
                start = time.perf_counter()
                model.run({"x": given})
                times[kind].append(1e6 * (time.perf_counter() - start))
    plain = statistics.median(times["float32"])
    cells = [f"{plain:.4g}, {sizes['float32'] / 1e6:.2f} MB, {sqnr(wanted, results['float32']):.0f} dB"]
    for kind in list(KINDS)[1:]:
        took = statistics.median(times[kind])
        quality = sqnr(wanted, results[kind])
        cells.append(f"{took:.4g} ({took / plain:.2f}), {sizes[kind] / 1e6:.2f} MB, {quality:.0f} dB")
    return f"| {folder.name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--isa", help="names with commas; all of this machine without it")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"| network | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}")
    for name in options.names:
        print(row(options.folder / name, options.isa.split(",") if options.isa else None), flush=True)


if __name__ == "__main__":
    main()
