# SPDX-License-Identifier: Apache-2.0
"""Does ONNX Runtime without optimisations give one result for a QDQ model, whatever the number of its threads?

python benchmarks/models/threads_of_ort.py efficientnet_lite0_qdq_int8.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from reference import unoptimised_session

THREADS = (2, 4, 8, 16)
INPUTS = 30


def _inputs(path: Path) -> list[np.ndarray]:
    """The stored inputs of the model's first input, then the same with noise of 3 % of the largest element."""
    with np.load(f"{path}.ref.npz") as stored:
        cases = [stored[key] for key in sorted(stored.files) if key.endswith("_in0")]
    rng = np.random.default_rng(0)
    while len(cases) < INPUTS:
        source = cases[len(cases) % 3 if len(cases) >= 3 else 0]
        cases.append((source + rng.normal(0, 0.03, source.shape) * np.abs(source).max()).astype(np.float32))
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="with <model>.ref.npz beside it")
    path = parser.parse_args().model
    inputs = _inputs(path)
    one = unoptimised_session(path, 1)
    name = one.get_inputs()[0].name
    expected = [one.run(None, {name: array})[0] for array in inputs]
    for threads in THREADS:
        session = unoptimised_session(path, threads)
        results = [session.run(None, {name: array})[0] for array in inputs]
        largest = [float(np.abs(a - b).max()) for a, b in zip(results, expected, strict=True)]
        differ = sum(value > 0 for value in largest)
        print(
            f"{threads} threads: {differ} of {len(inputs)} inputs give another result than one thread, by up to "
            f"{max(largest):.3g}; the largest element is {max(float(np.abs(e).max()) for e in expected):.3g}"
        )


if __name__ == "__main__":
    main()
