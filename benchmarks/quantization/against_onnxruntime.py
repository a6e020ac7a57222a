"""Our int8 beside that of onnxruntime.quantization: SQNR at the outputs, same model, same calibration data.

    python benchmarks/quantization/against_onnxruntime.py [--only NAME] [--json FILE]

Both are measured against ONNX Runtime in float32. Theirs: ``quantize_static``, QDQ, int8 weights per channel, int8
activations, min-max calibration, run without graph optimizations, as it is written. Ours: ``--quantize int8`` with its
defaults.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import onnx
import onnx.version_converter
import onnxruntime as ort
import sqnr_table
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from sqnr_table import Feed, Results

MODELS = """
classification/mnist_cntk classification/mnist_rten classification/pplcnet_orientation detection/retinaface_640
detection/ultraface_rfb_320 detection/yolox_nano detection/yunet_n_320 landmark/openseeface_lm0
segmentation/deeplabv3_onnx enhancement/super_resolution_ort ocr/ppocr_v4_det ocr/ppocr_v6_rec_tiny text/attacut_c
text/magika_v3_3 recommender/widedeep_a audio-feature/speech_embedding_onnx audio-quality/dnsmos_p808
audio-quality/dnsmos_sig_bak_ovr audio-quality/aecmos_gru audio-denoise/dtln_1_onnx audio-music/basic_pitch_onnx
timeseries/espdl_streaming timeseries/atspm_funcnet_head
""".split()


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


def run_ort(model: bytes, feeds: list[Feed]) -> Results:
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


def compare(path: Path) -> dict[str, Any]:
    names = [item.name for item in _session(path.read_bytes()).get_inputs()]
    return sqnr_table.compare(
        path,
        names,
        lambda tests: run_ort(path.read_bytes(), tests),
        lambda feeds, tests: run_ort(theirs(path, feeds), tests),
    )


if __name__ == "__main__":
    sqnr_table.main(__doc__, [f"{name}.onnx" for name in MODELS], "ONNX Runtime", compare)
