# SPDX-License-Identifier: Apache-2.0
"""Integer ops that TFLite lacks, or has in other types only: C kernels against NumPy in 100,000 random cases each.

    python benchmarks/exactness/against_numpy.py [--only fixed_gru] [--cases 100000] [--seed 0]

Attributes and inputs are those that the OpDef draws: every rounding contract, zero points at the ends of their type. A
case is an element of a result. Exits with 1 if one differs, in portable C or in the kernels for this machine.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from microlith import ops
from microlith.dtypes import DType
from microlith.nnacl_kernels import catalogue

ROWS = {
    "fixed_gru": ("s8", "s16"),
    "fixed_lstm": ("s8", "s16"),
    "quantized_lstm": ("s8",),
    "layer_norm": ("s8", "s16"),
    "log_softmax": ("s8", "s16"),
    "softmax": ("s8", "s16"),
    "div": ("s8", "s16"),
    "mul": ("s8", "s16"),
    "add": ("s8", "s16"),
    "sub": ("s8", "s16"),
    "prelu": ("s8", "s16"),
    "lut": ("s8", "s16"),
    "matmul": ("s8", "s16"),
    "conv_transpose": ("s8", "s16"),
    "resize": ("s8", "s16"),
    "requantize": ("s8", "s16"),
}


def run(name: str, dtype: str, cases: int, seed: int) -> tuple[int, int]:
    """Cases, and how many of them differ."""
    opdef, done, different, wanted_type = ops.get(name), 0, 0, DType[dtype]
    rng = np.random.default_rng(seed)
    while done < cases:
        sample = opdef.samples(rng)
        first = sample.inputs[0]
        if first is None or DType.from_numpy(first.dtype) is not wanted_type:
            continue
        attrs = opdef.complete_attrs(sample.attrs)
        expected = opdef.reference(sample.inputs, attrs)
        if not all(array.dtype.kind == "i" for array in expected):
            continue
        inputs = [
            None if array is None else catalogue.Tensor(DType.from_numpy(array.dtype).value, array.shape, array)
            for array in sample.inputs
        ]
        params, types = catalogue.make_params(name, attrs, inputs, len(expected))
        kernels = {
            kernel.symbol: kernel
            for isa in catalogue.detected_isa()
            if (kernel := catalogue.find_kernel(name, wanted_type.value, params, [isa], runnable=True)) is not None
        }
        for kernel in kernels.values():
            outputs = [np.zeros(type.shape, DType(type.dtype).numpy) for type in types]
            catalogue.run(kernel, params, sample.inputs, outputs)
            different += sum(int(np.count_nonzero(a != b)) for a, b in zip(outputs, expected, strict=True))
        done += sum(array.size for array in expected)
    return done, different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one op")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| op | int8: cases, different | int16 |\n|---|---:|---:|")
    wrong = 0
    for name, dtypes in ROWS.items():
        if arguments.only not in (None, name):
            continue
        found = {dtype: run(name, dtype, arguments.cases, arguments.seed) for dtype in dtypes}
        cells = [f"{found[dtype][0]:,}, {found[dtype][1]}" if dtype in found else "" for dtype in ("s8", "s16")]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        wrong += sum(different for _, different in found.values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
