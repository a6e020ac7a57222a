# SPDX-License-Identifier: Apache-2.0
"""Integer kernels against NumPy and LiteRT over 100,000 random cases of every operator; the table of docs/exactness.md.

python benchmarks/exactness/run_exactness.py [--only ADD] [--dtypes int8] [--cases 100000] [--seed 0]
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"

if __name__ == "__main__":
    sys.path[:0] = [str(TESTS / "exactness"), str(TESTS)]
    importlib.import_module("exactness").main()
