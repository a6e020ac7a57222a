"""The MLPerf Tiny models and what LiteRT's built-in kernels make of inputs: shared by the tests of all engines.

The models are not part of this repository: ``models/mlperf-tiny`` is looked for below the folder that the environment
variable MICROLITH_SHARED names, else below ``../shared``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from litert_rung import interpreter, random_input, run_interpreter

SHARED = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
FOLDER = SHARED / "models" / "mlperf-tiny"

INTEGER_MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")
FLOAT_MODELS = ("ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float")
HYBRID = "kws_ref_model_float32"
"""Its int8 weights meet inputs that are quantized at run time: one different last bit of a float32 may become a step of
1/127. The C kernels add in LiteRT's order and so give its bits; the vector kernels do not promise that."""

MISSING = None if FOLDER.is_dir() else "the MLPerf Tiny models are not there (MICROLITH_SHARED)"
"""Why the tests with these models are skipped."""


def stored(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The eight inputs that lie beside a model, with the outputs of LiteRT's built-in kernels."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        return list(zip(arrays["inputs"], arrays["outputs_builtin"], strict=True))


def further_inputs(name: str, count: int) -> list[np.ndarray]:
    """Edges and noise: all lowest, all highest, all zero points, ramps, noise small enough to leave softmax alive."""
    rng = np.random.default_rng(sum(name.encode()))
    (detail,) = interpreter((FOLDER / f"{name}.tflite").read_bytes()).get_input_details()
    if np.dtype(detail["dtype"]).kind == "f":
        return [(rng.integers(-128, 128, detail["shape"]) / 128).astype(np.float32) for _ in range(count)]
    return [random_input(rng, detail, kind) for kind in range(count)]


def further(name: str, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """``further_inputs`` with the outputs that LiteRT's built-in kernels give now."""
    engine = interpreter((FOLDER / f"{name}.tflite").read_bytes())
    return [(x, run_interpreter(engine, [x])[0]) for x in further_inputs(name, count)]
