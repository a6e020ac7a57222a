"""Mixed precision beside uniform numbers: SQNR at the flash of int8, and flash at the SQNR of 16x8.

    python benchmarks/quantization/mixed_precision.py

Models and data as in ``against_onnxruntime.py``.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import against_onnxruntime as common

MODELS = (
    "classification/mnist_cntk classification/mnist_rten text/attacut_c timeseries/espdl_streaming "
    "enhancement/super_resolution_ort audio-feature/speech_embedding_onnx detection/yunet_n_320"
).split()
SLACK = 1.02
"""Equal flash: 2 % more at most, for a wider bias."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a part of a model's name")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"{'model':38} {'int8':>17} {'mixed, same flash':>18} {'16x8':>17} {'mixed, same SQNR':>18}")
    for name in MODELS:
        path = common.ROOT / f"{name}.onnx"
        if (arguments.only and arguments.only not in name) or not path.exists():
            continue
        feeds = common.calibration_of(common.cases_of(path))
        _, narrow = common.ours(path, feeds)
        _, wide = common.ours(path, feeds, scheme="16x8")
        _, better = common.ours(path, feeds, max_flash=int(narrow.constant_bytes * SLACK))
        _, smaller = common.ours(path, feeds, max_drop=10 ** (-(wide.sqnr - 0.01) / 10), max_flash=wide.constant_bytes)
        cells = [f"{row.sqnr:6.2f} dB {row.constant_bytes:7}" for row in (narrow, better, wide, smaller)]
        print(f"{name:38} " + "  ".join(cells), better.choices["bits"], "|", smaller.choices["bits"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
