# SPDX-License-Identifier: Apache-2.0
"""Original models in the engines that they are made for, where these are installed: ONNX Runtime and LiteRT."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, ModelFormatError
from ..ir import Quant
from ..texts import labels_in, positions_of, texts_of
from .engines import Arrays, Engine, Layer, Port

TEXT = "tensor(string)"
"""Texts are told as positions in a list (``microlith/texts.py``)."""
_ONNX_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int16)": np.int16,
    "tensor(uint16)": np.uint16,
    "tensor(int32)": np.int32,
    "tensor(uint32)": np.uint32,
    "tensor(int64)": np.int64,
    "tensor(uint64)": np.uint64,
    "tensor(bool)": np.bool_,
    TEXT: np.int64,
}


def open_original(path: Path, label: str, shapes: Mapping[str, Sequence[int]] | None) -> Engine | None:
    """The model in its own engine; None when that is not installed."""
    with path.open("rb") as file:
        is_tflite = file.read(8)[4:] == b"TFL3" or path.suffix == ".tflite"
    if importlib.util.find_spec("ai_edge_litert" if is_tflite else "onnxruntime") is None:
        return None
    return LitertEngine(path, label, shapes) if is_tflite else OnnxRuntimeEngine(path, label)


class OnnxRuntimeEngine(Engine):
    """ONNX Runtime without optimisations, so that every tensor of the model is there."""

    def __init__(self, path: Path, label: str) -> None:
        import onnx

        self.label = label
        try:
            self.model = onnx.load(str(path))
        except Exception as error:  # protobuf and onnx raise many types on damaged files
            raise ModelFormatError(f"is no ONNX model: {error}", where=str(path)) from error
        graph = self.model.graph
        constants = {tensor.name: tensor for tensor in graph.initializer}
        public = {value.name for value in graph.output}
        arrays = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in constants.items() if tensor.dims == []}
        produced = {name for node in graph.node for name in node.output if node.op_type != "Constant"}
        variables = produced | {value.name for value in graph.input if value.name not in constants}
        quants, shapes = _quants(graph, constants, arrays), _shapes(self.model)
        self.layers = [
            Layer(
                name,
                node.op_type,
                np.dtype(np.float32),
                shapes.get(name, ()),
                quants.get(name),
                inputs=tuple(operand for operand in node.input if operand in variables),
                is_output=name in public,
            )
            for node in graph.node
            if node.op_type != "Constant"
            for name in node.output
            if name
        ]
        self.session = self._open([])
        self.texts = self._texts(path)
        self.inputs = [
            Port(item.name, tuple(item.shape), np.dtype(_ONNX_TYPES[item.type]), None, tuple(texts))
            for item in self.session.get_inputs()
            if item.type in _ONNX_TYPES and ((texts := self.texts.get(item.name, ())) or item.type != TEXT)
        ]

    def _texts(self, path: Path) -> Mapping[str, Sequence[str]]:
        """What stands for the texts of inputs and outputs in a converted model, by name, where there are texts."""
        from ..converter import import_model

        ports = (*self.session.get_inputs(), *self.session.get_outputs())
        if all(item.type != TEXT for item in ports):
            return {}
        found = labels_in(import_model(path).metadata)
        return {item.name: found[item.name] for item in ports if item.type == TEXT and item.name in found}

    def _open(self, wanted: Sequence[str]) -> Any:
        """A session with the wanted tensors as outputs."""
        import onnx
        import onnxruntime

        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        known = {value.name for value in model.graph.output}
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name not in known)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        try:
            return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has no public base class of its errors
            raise ModelFormatError(f"ONNX Runtime refuses it: {_first_line(error)}", where=self.label) from error

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        names = [item.name for item in self.session.get_outputs()]
        if not set(wanted) <= set(names):
            self.session = self._open(wanted)
        results = []
        for feed in feeds:
            try:
                given = {n: texts_of(a, self.texts[n]) if n in self.texts else a for n, a in feed.items()}
                arrays = self.session.run(list(wanted), given)
            except Exception as error:
                raise InputError(f"ONNX Runtime cannot run it: {_first_line(error)}", where=self.label) from error
            pairs = [
                (name, positions_of(array, self.texts[name]) if name in self.texts else array)
                for name, array in zip(wanted, arrays, strict=True)
            ]
            results.append({name: a for name, a in pairs if isinstance(a, np.ndarray) and a.dtype.kind in "fiub"})
        return results


def _shapes(model: Any) -> dict[str, tuple[int | str, ...]]:
    """The shapes of tensors, as far as ONNX infers them."""
    import onnx

    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except Exception:  # it is only a help
        return {}
    return {
        item.name: tuple(dim.dim_value or dim.dim_param for dim in item.type.tensor_type.shape.dim)
        for item in (*inferred.graph.value_info, *inferred.graph.output)
    }


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _quants(graph: Any, constants: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Quant]:
    """The quantization of integer tensors, as far as the operators around them tell it with constants."""
    import onnx

    def pair(scale: str, zero: str) -> Quant | None:
        if scale not in constants or (zero and zero not in constants):
            return None
        s = arrays[scale] if scale in arrays else onnx.numpy_helper.to_array(constants[scale])
        z = np.zeros(s.shape, np.int64) if not zero else onnx.numpy_helper.to_array(constants[zero])
        return Quant.per_tensor(float(s.reshape(-1)[0]), int(z.reshape(-1)[0])) if s.size == 1 else None

    found: dict[str, Quant] = {}
    for node in graph.node:
        given = [*node.input, "", ""]
        if node.op_type == "QuantizeLinear":
            quant = pair(given[1], given[2])
            name = node.output[0]
        elif node.op_type == "DequantizeLinear":
            quant = pair(given[1], given[2])
            name = node.input[0]
        elif node.op_type.startswith("QLinear") and len(node.input) >= 3:
            place = {"QLinearConv": (6, 7), "QLinearMatMul": (6, 7), "QLinearAdd": (6, 7), "QLinearMul": (6, 7)}
            first, second = place.get(node.op_type, (3, 4))
            quant = pair(given[first], given[second]) if len(node.input) > first else None
            name = node.output[0]
        else:
            continue
        if quant is not None:
            found.setdefault(name, quant)
    return found


class LitertEngine(Engine):
    """LiteRT's built-in kernels without a delegate, one thread."""

    def __init__(self, path: Path, label: str, shapes: Mapping[str, Sequence[int]] | None) -> None:
        import tflite
        from ai_edge_litert import interpreter as litert

        self.label = label
        content = path.read_bytes()
        try:
            self.interpreter = litert.Interpreter(
                model_content=content,
                experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
                num_threads=1,
                experimental_preserve_all_tensors=True,
            )
            for detail in self.interpreter.get_input_details():
                if shapes and detail["name"] in shapes:
                    self.interpreter.resize_tensor_input(detail["index"], list(shapes[detail["name"]]))
            self.interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ModelFormatError(f"LiteRT refuses it: {_first_line(error)}", where=str(path)) from error
        details = {item["index"]: item for item in self.interpreter.get_tensor_details()}
        graph = tflite.Model.GetRootAs(content, 0).Subgraphs(0)
        codes = tflite.Model.GetRootAs(content, 0)
        names = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}
        operators = [graph.Operators(position) for position in range(graph.OperatorsLength())]
        ours = {int(index): self._name(details[int(index)]) for op in operators for index in op.OutputsAsNumpy()}
        ins = [item["index"] for item in self.interpreter.get_input_details()]
        outs = {item["index"] for item in self.interpreter.get_output_details()}
        ours |= {index: self._name(details[index]) for index in ins}
        self.index = {name: index for index, name in ours.items()}
        self.inputs = [
            Port(
                self._name(details[index]),
                tuple(int(dim) for dim in details[index]["shape"]),
                np.dtype(details[index]["dtype"]),
                _litert_quant(details[index]),
            )
            for index in ins
        ]
        self.layers = [
            Layer(
                ours[int(index)],
                names.get(_code(codes.OperatorCodes(op.OpcodeIndex())), "CUSTOM"),
                np.dtype(details[int(index)]["dtype"]),
                tuple(int(dim) for dim in details[int(index)]["shape"]),
                _litert_quant(details[int(index)]),
                inputs=tuple(ours[int(i)] for i in op.InputsAsNumpy() if int(i) in ours),
                is_output=int(index) in outs,
            )
            for op in operators
            for index in op.OutputsAsNumpy()
        ]

    @staticmethod
    def _name(detail: Mapping[str, Any]) -> str:
        return str(detail["name"]) or f"tensor_{detail['index']}"

    def run(self, feeds: Sequence[Mapping[str, np.ndarray]], wanted: Sequence[str]) -> list[Arrays]:
        results = []
        for feed in feeds:
            for port in self.inputs:
                if port.name not in feed:
                    raise InputError(f"input '{port.name}' is missing", where=self.label)
                try:
                    self.interpreter.set_tensor(self.index[port.name], np.ascontiguousarray(feed[port.name]))
                except ValueError as error:
                    raise InputError(f"LiteRT refuses the input: {_first_line(error)}", where=self.label) from error
            self.interpreter.invoke()
            result: Arrays = {}
            for name in wanted:
                try:
                    result[name] = np.array(self.interpreter.get_tensor(self.index[name]))
                except ValueError:  # a tensor without data, such as a resource or one in a branch that did not run
                    continue
            results.append(result)
        return results


def _code(code: Any) -> int:
    return max(int(code.BuiltinCode()), int(code.DeprecatedBuiltinCode()))


def _litert_quant(detail: Mapping[str, Any]) -> Quant | None:
    parameters = detail["quantization_parameters"]
    if parameters["scales"].size != 1 or np.dtype(detail["dtype"]).kind not in "iu":
        return None
    return Quant.per_tensor(float(parameters["scales"][0]), int(parameters["zero_points"][0]))
