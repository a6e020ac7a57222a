"""Our int8 beside that of ai-edge-quantizer: SQNR at the outputs, same TFLite model, same calibration data.

    pip install ai-edge-quantizer
    python benchmarks/quantization/against_ai_edge.py [--only NAME] [--json FILE]

Both are measured against LiteRT in float32. Theirs: the recipe ``static_wi8_ai8`` (int8 weights per channel, int8
activations, min-max), run by LiteRT's reference kernels; its integer inputs and outputs are quantized and dequantized
here as their scales say. Ours: ``--quantize int8`` with its defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import sqnr_table
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_quantizer import quantizer, recipe
from sqnr_table import Feed, Results

MODELS = """
classification/mobilenet_v1_025_224_float detection/ultraface_rfb_320_tflite detection/blazeface_short
detection/palm_detection_lite landmark/face_landmark landmark/hand_landmark_lite
text/nl_classifier_builtin text/nl_regex_embedder tabular/hello_world_float gesture/keypoint_classifier
rnn/mnist_lstm_float audio-denoise/dtln_1_tflite
""".split()


def _interpreter(model: bytes) -> Interpreter:
    made = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    made.allocate_tensors()
    return made


def _quantized(array: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    if detail["dtype"] not in (np.int8, np.int16) or array.dtype.kind != "f":
        return array
    scale, zero_point = detail["quantization"]
    info = np.iinfo(detail["dtype"])
    return np.clip(np.round(array / scale) + zero_point, info.min, info.max).astype(detail["dtype"])


def _real(array: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero_point = detail["quantization"]
    return (array.astype(np.float32) - zero_point) * np.float32(scale) if scale and array.dtype.kind == "i" else array


def run_litert(model: bytes, feeds: list[Feed]) -> Results:
    """The outputs as real numbers, in the order of the model."""
    results = []
    for feed in feeds:
        interpreter = _interpreter(model)
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], _quantized(feed[detail["name"]], detail))
        interpreter.invoke()
        details = interpreter.get_output_details()
        results.append([_real(interpreter.get_tensor(detail["index"]), detail) for detail in details])
    return results


def renewed(model: bytes) -> bytes:
    """The model as ai-edge-quantizer needs it: with a signature, and with codes of ops where it looks for them.

    Files from before schema 3a keep them in ``deprecated_builtin_code`` only.
    """
    tree = schema.ModelT.InitFromPackedBuf(model)
    for code in tree.operatorCodes:
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
    main = tree.subgraphs[0]

    def maps(indices: Sequence[int]) -> list[Any]:
        made = []
        for index in indices:
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = main.tensors[index].name, int(index)
            made.append(entry)
        return made

    signature = schema.SignatureDefT()
    signature.inputs, signature.outputs = maps(main.inputs), maps(main.outputs)
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    tree.signatureDefs = tree.signatureDefs or [signature]
    builder = flatbuffers.Builder(len(model) + 4096)
    builder.Finish(tree.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def theirs(path: Path, feeds: list[Feed]) -> bytes:
    """The model that ai-edge-quantizer makes."""
    model = renewed(path.read_bytes())
    reader = _interpreter(model)
    ((key, signature),) = reader.get_signature_list().items()
    runner = reader.get_signature_runner(key).get_input_details()
    data = [{given: feed[runner[given]["name"]] for given in signature["inputs"]} for feed in feeds]
    made = quantizer.Quantizer(bytearray(model), recipe.static_wi8_ai8())
    statistics = made.calibrate({key: data}, num_threads=1)
    return bytes(made.quantize(statistics, enable_progress_report=False).quantized_model)


def compare(path: Path) -> dict[str, Any]:
    names = [detail["name"] for detail in _interpreter(path.read_bytes()).get_input_details()]
    return sqnr_table.compare(
        path,
        names,
        lambda tests: run_litert(path.read_bytes(), tests),
        lambda feeds, tests: run_litert(theirs(path, feeds), tests),
    )


if __name__ == "__main__":
    sqnr_table.main(__doc__, [f"{name}.tflite" for name in MODELS], "ai-edge", compare)
