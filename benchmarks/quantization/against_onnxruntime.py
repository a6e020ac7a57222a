"""Our int8 beside that of onnxruntime.quantization: SQNR at the outputs, same model, same calibration data.

    python benchmarks/quantization/against_onnxruntime.py [--only NAME] [--json FILE]

Models: the float ONNX models below ``models/`` in the folder that ``MICROLITH_SHARED`` names, or ``../shared``. Both
calibrate on the stored inputs of each model (of pictures also mirrored), and both are measured on the stored inputs
against ONNX Runtime in float32. Theirs: ``quantize_static``, QDQ, int8 weights per channel, int8 activations, min-max
calibration, run without graph optimizations, as it is written. Ours: ``--quantize int8`` with its defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions
from microlith.stepwise import Executor

ROOT = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[2] / ".." / "shared")) / "models"

MODELS = """
classification/mnist_cntk classification/mnist_rten classification/pplcnet_orientation detection/retinaface_640
detection/ultraface_rfb_320 detection/yolox_nano detection/yunet_n_320 landmark/openseeface_lm0
segmentation/deeplabv3_onnx enhancement/super_resolution_ort ocr/ppocr_v4_det ocr/ppocr_v6_rec_tiny text/attacut_c
text/magika_v3_3 recommender/widedeep_a audio-feature/speech_embedding_onnx audio-quality/dnsmos_p808
audio-quality/dnsmos_sig_bak_ovr audio-denoise/dtln_1_onnx timeseries/espdl_streaming timeseries/atspm_funcnet_head
""".split()

Feed = dict[str, np.ndarray]


def cases_of(path: Path) -> list[Feed]:
    """The stored inputs of a model by name."""
    session = _session(path.read_bytes())
    names = [item.name for item in session.get_inputs()]
    with np.load(f"{path}.ref.npz") as stored:
        numbers = sorted({key.split("_")[0] for key in stored.files if key.startswith("c") and "_in" in key})
        return [{name: stored[f"{number}_in{index}"] for index, name in enumerate(names)} for number in numbers]


def calibration_of(cases: list[Feed]) -> list[Feed]:
    """The cases of one shape, that with most elements, and their mirror images where they are pictures."""
    largest = max(cases, key=lambda feed: sum(array.size for array in feed.values()))
    shapes = {name: array.shape for name, array in largest.items()}
    same = [feed for feed in cases if {name: array.shape for name, array in feed.items()} == shapes]
    mirrored = [{name: np.ascontiguousarray(array[..., ::-1]) for name, array in feed.items()} for feed in same]
    pictures = all(len(shape) == 4 and shape[1] in (1, 3) for shape in shapes.values())
    return [*same, *mirrored] if pictures else same


class Reader:
    """Calibration data as ONNX Runtime wants it."""

    def __init__(self, feeds: list[Feed]) -> None:
        self.feeds = feeds
        self.rewind()

    def get_next(self) -> Feed | None:
        return next(self.left, None)

    def rewind(self) -> None:
        self.left = iter(self.feeds)

    def __len__(self) -> int:
        return len(self.feeds)


def _session(model: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_ort(model: bytes, feeds: list[Feed]) -> list[list[np.ndarray]]:
    session = _session(model)
    return [session.run(None, feed) for feed in feeds]


def raised_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in opset 13 or later, which quantization per channel wants, without weights among its inputs."""
    weights = {item.name for item in model.graph.initializer}
    inputs = [item for item in model.graph.input if item.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    opset = next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    model.ir_version = max(model.ir_version, 8)
    return model if opset >= 13 else onnx.version_converter.convert_version(model, 13)


def theirs(path: Path, feeds: list[Feed]) -> bytes:
    """The model that ONNX Runtime makes, min-max calibration."""
    with tempfile.TemporaryDirectory() as folder:
        raised, prepared, made = (Path(folder, name) for name in ("raised.onnx", "prepared.onnx", "int8.onnx"))
        onnx.save(raised_opset(onnx.load(path)), raised)
        try:
            quant_pre_process(str(raised), str(prepared), skip_symbolic_shape=True)
        except Exception:
            prepared = raised
        quantize_static(
            str(prepared),
            str(made),
            Reader(feeds),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
        return made.read_bytes()


def ours(path: Path, feeds: list[Feed], **options: Any) -> tuple[Any, Any]:
    reports: list[Any] = []
    shapes = {name: array.shape for name, array in feeds[0].items()}
    graph = convert(
        path, inputs=shapes, quantization=QuantizeOptions(calibrate=feeds, **options), report=reports.append
    )
    return graph, reports[0]


def sqnr(wanted: list[list[np.ndarray]], got: list[list[np.ndarray]]) -> float:
    """Decibels: for each output over all cases, then the mean of the outputs of real numbers; at most 120."""
    figures = []
    for index, first in enumerate(wanted[0]):
        if first.dtype.kind != "f":
            continue
        x = np.concatenate([np.ravel(case[index]).astype(np.float64) for case in wanted])
        y = np.concatenate([np.ravel(case[index]).astype(np.float64) for case in got])
        noise = np.sum((x - y) ** 2)
        figures.append(120.0 if noise == 0 else min(120.0, 10 * np.log10(max(np.sum(x**2), 1e-30) / noise)))
    return float(np.mean(figures))


def compare(name: str, **options: Any) -> dict[str, Any]:
    path = ROOT / f"{name}.onnx"
    cases = cases_of(path)
    feeds = calibration_of(cases)
    tests = [feed for feed in cases if all(feed[key].shape == feeds[0][key].shape for key in feed)]
    wanted = run_ort(path.read_bytes(), tests)
    row: dict[str, Any] = {"model": name, "samples": len(feeds)}
    try:
        row["onnxruntime"] = sqnr(wanted, run_ort(theirs(path, feeds), tests))
    except Exception as error:
        row["onnxruntime error"] = f"{type(error).__name__}: {error}"[:120]
        print(row["onnxruntime error"], file=sys.stderr)
    start = time.time()
    graph, report = ours(path, feeds, **options)
    executor = Executor(graph)
    got = []
    for feed in tests:
        made = executor.run(feed)
        got.append([made[value.name] for value in graph.outputs])
    row |= {"microlith": sqnr(wanted, got), "choices": report.choices, "seconds": round(time.time() - start, 1)}
    row["float layers"] = [f"{layer.op} '{layer.name}'" for layer in report.floats]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a part of a model's name")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    print(f"{'model':40} {'ORT':>7} {'ours':>7} {'gain':>6}  floats  seconds")
    for name in MODELS:
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        if not (ROOT / f"{name}.onnx").exists():
            print(f"{name:40} not there")
            continue
        row = compare(name)
        rows.append(row)
        other = row.get("onnxruntime", float("nan"))
        print(
            f"{name:40} {other:7.2f} {row['microlith']:7.2f} {row['microlith'] - other:6.2f}"
            f"  {len(row['float layers']):6} {row['seconds']:8}",
            flush=True,
        )
    gains = [row["microlith"] - row["onnxruntime"] for row in rows if "onnxruntime" in row]
    print(f"mean gain {np.mean(gains):.2f} dB over {len(gains)} models, smallest {min(gains):.2f} dB")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    sys.exit(main())
