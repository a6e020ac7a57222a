"""The engines that are compared, each behind the same small face. An engine imports its package when it is made.

``load`` opens a model and gives it its input, NCHW; ``run`` is what is timed: one inference, as directly as the Python
package of the engine offers it, with inputs and outputs bound where it can; ``output`` is the result as float32.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Engine(Protocol):
    package: str

    def __init__(self, threads: int) -> None: ...
    def file(self, folder: Path, kind: str) -> Path:
        """The model of ``kind`` ("f32", "s8") in a folder of net_files.py."""

    def load(self, path: Path, x: np.ndarray) -> None: ...
    def run(self) -> None: ...
    def output(self) -> np.ndarray: ...


class Microlith:
    """``MICROLITH_BENCH_ISA`` limits its kernels, as in "c,avx2"."""

    package = "microlith"
    source = "onnx"

    def __init__(self, threads: int) -> None:
        import microlith

        self.threads, self.module = threads, microlith

    def file(self, folder: Path, kind: str) -> Path:
        return folder / f"{kind}.{self.source}.lith"

    def load(self, path: Path, x: np.ndarray) -> None:
        self.model = self.module.load(path, threads=self.threads, isa=os.environ.get("MICROLITH_BENCH_ISA"))
        spec = self.model.inputs[0]
        self.x = _as_given(x, spec.shape, spec.dtype, spec.quantization)
        result = self.model.run(self.x)
        name, self.y = next(iter(result.items()))
        self.scale = self.model.outputs[0].quantization
        self.model.bind(spec.name, self.x)
        self.model.bind(name, self.y)
        self.run = self.model.invoke

    def output(self) -> np.ndarray:
        return _as_real(self.y, self.scale)


class MicrolithTflite(Microlith):
    source = "tflite"


def _as_given(x: np.ndarray, shape: tuple[int, ...], dtype: Any, quantization: Any) -> np.ndarray:
    """The input as a model of TFLite wants it: NHWC, perhaps integers."""
    if x.ndim == 4 and tuple(shape) != x.shape:
        x = x.transpose(0, 2, 3, 1)
    if np.dtype(dtype).kind != "f":
        scale, zero = _scale_of(quantization)
        info = np.iinfo(dtype)
        x = np.clip(np.rint(x / scale) + zero, info.min, info.max)
    return np.ascontiguousarray(x, dtype)


def _as_real(y: np.ndarray, quantization: Any) -> np.ndarray:
    if y.dtype.kind == "f":
        return y
    scale, zero = _scale_of(quantization)
    return (y.astype(np.float32) - zero) * np.float32(scale)


def _scale_of(quantization: Any) -> tuple[float, int]:
    if isinstance(quantization, tuple):
        return float(quantization[0]), int(quantization[1])
    return float(np.ravel(quantization.scale)[0]), int(np.ravel(quantization.zero_point)[0])


class OnnxRuntime:
    package = "onnxruntime"

    def __init__(self, threads: int) -> None:
        import onnxruntime

        self.threads, self.module = threads, onnxruntime

    def file(self, folder: Path, kind: str) -> Path:
        return folder / f"{kind}.onnx"

    def load(self, path: Path, x: np.ndarray) -> None:
        options = self.module.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 4
        session = self.module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("y", "cpu")
        self.binding = binding
        self.call = session.run_with_iobinding

    def run(self) -> None:
        self.call(self.binding)

    def output(self) -> np.ndarray:
        return self.binding.copy_outputs_to_cpu()[0]


class OpenVino:
    package = "openvino"

    def __init__(self, threads: int) -> None:
        os.environ.setdefault("OPENVINO_TELEMETRY", "0")
        import openvino

        self.threads, self.module = threads, openvino

    def file(self, folder: Path, kind: str) -> Path:
        return folder / f"{kind}.onnx"

    def load(self, path: Path, x: np.ndarray) -> None:
        settings = {
            "INFERENCE_NUM_THREADS": self.threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        self.model = self.module.Core().compile_model(str(path), "CPU", settings)
        self.request = self.model.create_infer_request()
        self.request.set_input_tensor(self.module.Tensor(x, shared_memory=True))
        self.x, self.run = x, self.request.infer

    def output(self) -> np.ndarray:
        return np.array(self.request.get_output_tensor(0).data)


class LiteRt:
    package = "ai-edge-litert"

    def __init__(self, threads: int) -> None:
        from ai_edge_litert import interpreter

        self.threads, self.module = threads, interpreter

    def file(self, folder: Path, kind: str) -> Path:
        return folder / f"{kind}.tflite"

    def load(self, path: Path, x: np.ndarray) -> None:
        self.model = self.module.Interpreter(str(path), num_threads=self.threads)
        self.model.allocate_tensors()
        given, self.given_back = self.model.get_input_details()[0], self.model.get_output_details()[0]
        x = _as_given(x, tuple(given["shape"]), given["dtype"], given["quantization"])
        self.model.set_tensor(given["index"], x)
        self.run = self.model.invoke

    def output(self) -> np.ndarray:
        return _as_real(self.model.get_tensor(self.given_back["index"]), self.given_back["quantization"])


class Mnn:
    package = "MNN"

    def __init__(self, threads: int) -> None:
        import MNN

        self.threads, self.module = threads, MNN

    def file(self, folder: Path, kind: str) -> Path:
        return folder / f"{kind}.mnn"

    def load(self, path: Path, x: np.ndarray) -> None:
        mnn = self.module
        self.interpreter = mnn.Interpreter(str(path))
        self.session = self.interpreter.createSession(
            {"numThread": self.threads, "backend": "CPU", "precision": "high"}
        )
        given = self.interpreter.getSessionInput(self.session)
        if tuple(given.getShape()) != x.shape:
            self.interpreter.resizeTensor(given, x.shape)
            self.interpreter.resizeSession(self.session)
        given.copyFrom(mnn.Tensor(x.shape, mnn.Halide_Type_Float, x, mnn.Tensor_DimensionType_Caffe))

    def run(self) -> None:
        self.interpreter.runSession(self.session)

    def output(self) -> np.ndarray:
        mnn = self.module
        result = self.interpreter.getSessionOutput(self.session)
        shape = result.getShape()
        copy = mnn.Tensor(shape, mnn.Halide_Type_Float, np.zeros(shape, np.float32), mnn.Tensor_DimensionType_Caffe)
        result.copyToHostTensor(copy)
        return np.array(copy.getData(), np.float32)


class Ncnn:
    """With float32 in memory: its default on x86, float16, loses digits."""

    package = "ncnn"

    def __init__(self, threads: int) -> None:
        import ncnn

        self.threads, self.module = threads, ncnn

    def file(self, folder: Path, kind: str) -> Path:
        return folder / ("ncnn.param" if kind == "f32" else f"no-{kind}-for-ncnn")

    def load(self, path: Path, x: np.ndarray) -> None:
        self.net = self.module.Net()
        options = self.net.opt
        options.use_vulkan_compute, options.num_threads = False, self.threads
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = False
        if self.net.load_param(str(path)) or self.net.load_model(str(path.with_suffix(".bin"))):
            raise RuntimeError("ncnn does not load the model")
        self.x = np.ascontiguousarray(x[0])
        self.given = self.module.Mat(self.x)

    def run(self) -> None:
        work = self.net.create_extractor()
        work.input("in0", self.given)
        _, self.result = work.extract("out0")

    def output(self) -> np.ndarray:
        return np.array(self.result)


ENGINES: dict[str, type[Any]] = {
    "microlith": Microlith,
    "microlith-tflite": MicrolithTflite,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "litert": LiteRt,
    "mnn": Mnn,
    "ncnn": Ncnn,
}

ISA_VARIABLES = {"openvino": "ONEDNN_MAX_CPU_ISA", "microlith": "MICROLITH_BENCH_ISA"}
"""What limits the instruction sets of an engine; the others cannot be limited."""


def version(name: str) -> str:
    """Of the package of an engine, "not installed" without it."""
    try:
        return importlib.metadata.version(ENGINES[name].package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
