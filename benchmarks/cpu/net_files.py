"""Writes the networks of nets.py as the files that each engine reads.

    python benchmarks/cpu/net_files.py FOLDER [NAME ...]

Below FOLDER/NAME: ``x.npy`` and ``y.npy`` (input, and output of PyTorch), ``f32.onnx``, ``s8.onnx`` (quantized by ONNX
Runtime: QDQ, static, weights per channel), ``f32.tflite`` and ``s8.tflite`` (litert-torch, ai-edge-quantizer),
``f32.mnn``, ``ncnn.param`` and ``ncnn.bin`` (pnnx), ``facts.json``, and the .onnx and .tflite files as ``.lith``. What
exists stays, but for the last; what a package that is not installed would write is left out, with a line that says so.
So the packages may be installed in several environments, and this be run in one after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nets
import numpy as np

import microlith

CALIBRATION = 8
"""Inputs of the standard normal distribution that ranges are taken from."""


def _samples(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    for seed in range(CALIBRATION):
        yield np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _onnx(folder: Path, name: str) -> None:
    import torch

    module, x = nets.build(name)
    with torch.no_grad():
        y = module(x)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", y.numpy())
    facts = {"macs": nets.multiplications(module, x), "parameters": sum(p.numel() for p in module.parameters())}
    (folder / "facts.json").write_text(json.dumps(facts))
    names: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(module, (x,), folder / "f32.onnx", opset_version=13, dynamo=False, **names)


def _onnx_s8(folder: Path, name: str) -> None:
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = ({"x": x} for x in _samples(nets.NETS[name][1]))

        def get_next(self) -> Any:
            return next(self.left, None)

    ready = folder / "ready.onnx"
    quant_pre_process(folder / "f32.onnx", ready, skip_symbolic_shape=True)
    quantization.quantize_static(
        ready,
        folder / "s8.onnx",
        Samples(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    ready.unlink()


def _tflite(folder: Path, name: str) -> None:
    import litert_torch

    module, x = nets.build(name)
    if x.dim() == 4:
        module, x = litert_torch.to_channel_last_io(module, args=[0]).eval(), x.permute(0, 2, 3, 1).contiguous()
    litert_torch.convert(module, (x,)).export(str(folder / "f32.tflite"))


def _tflite_s8(folder: Path, name: str) -> None:
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    path = str(folder / "f32.tflite")
    signatures = Interpreter(path).get_signature_list()
    key = next(iter(signatures))
    given = signatures[key]["inputs"][0]
    shape = nets.NETS[name][1]
    samples = [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in _samples(shape)]
    work = quantizer.Quantizer(path)
    work.load_quantization_recipe(recipe.static_wi8_ai8())
    ranges = work.calibrate({key: [{given: np.ascontiguousarray(x)} for x in samples]})
    work.quantize(ranges).export_model(str(folder / "s8.tflite"), overwrite=True)


def _mnn(folder: Path, _name: str) -> None:
    """By the native function of the converter: the command of the package sends reports of its use."""
    import MNN  # noqa: F401 -- for the error that says that it is missing

    paths = ["--modelFile", str(folder / "f32.onnx"), "--MNNModel", str(folder / "f32.mnn")]
    words = ["mnnconvert", "-f", "ONNX", *paths, "--bizCode", "bench", "--useOriginRNNImpl"]
    subprocess.run(
        [sys.executable, "-c", f"import _tools; _tools.mnnconvert({words!r})"], check=True, capture_output=True
    )


def _ncnn(folder: Path, name: str) -> None:
    import torch

    program = Path(sys.executable).with_name("pnnx")
    if not program.exists():
        raise ImportError("pnnx is not installed")
    module, x = nets.build(name)
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        torch.jit.trace(module, x).save(f"{place}/net.pt")  # type: ignore[no-untyped-call]
        shape = ",".join(map(str, x.shape))
        subprocess.run(
            [program, "net.pt", f"inputshape=[{shape}]", "fp16=0"], cwd=place, check=True, capture_output=True
        )
        for suffix in ("bin", "param"):
            shutil.copy(f"{place}/net.ncnn.{suffix}", folder / f"ncnn.{suffix}")


STEPS: list[tuple[str, Callable[[Path, str], None]]] = [
    ("f32.onnx", _onnx),
    ("s8.onnx", _onnx_s8),
    ("f32.tflite", _tflite),
    ("s8.tflite", _tflite_s8),
    ("f32.mnn", _mnn),
    ("ncnn.param", _ncnn),
]


def write(root: Path, name: str) -> list[str]:
    """Writes the files of a network; why some are not there."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for file, step in STEPS:
        if (folder / file).exists():
            continue
        hidden = io.StringIO()
        try:
            with contextlib.redirect_stdout(hidden), contextlib.redirect_stderr(hidden), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step(folder, name)
        except (Exception, SystemExit) as error:  # converters of others fail in any way
            text = str(error).partition("\n")[0][:120]
            problems.append(f"{name}/{file}: {type(error).__name__}: {text}")
            continue
        if not (folder / file).exists():
            problems.append(f"{name}/{file}: the converter wrote nothing")
    for source in sorted([*folder.glob("*.onnx"), *folder.glob("*.tflite")]):
        try:
            microlith.convert(source, source.with_name(f"{source.name}.lith"))
        except microlith.MicrolithError as error:
            problems.append(f"{name}/{source.name}.lith: {error}")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="networks (default: all)")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in arguments.names or nets.NETS:
        for problem in write(arguments.folder, name):
            print(problem, flush=True)


if __name__ == "__main__":
    main()
