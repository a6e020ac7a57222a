"""Damages models, seeded: bytes of any file, and the parts of ONNX and TFLite models, which can still be read then."""

from __future__ import annotations

import copy
import random
import struct

import numpy as np
import onnx
import tflite
from onnx import AttributeProto, TensorProto, numpy_helper
from tflite_builder import TYPES, TfliteBuilder

from microlith.converter.frontends.onnx import ROWS
from microlith.converter.frontends.tflite import ROWS as TFLITE_ROWS

ODD = (0, -1, 1, 2, 3, 7, -2, 255, 65536, 1_000_000, 2**31 - 1, -(2**31), 2**62, -(2**63))
ODD_REALS = (float("nan"), float("inf"), -1e30, 0.0, 1e30)


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes or words exchanged, or the end cut off."""
    changed = bytearray(data)
    kind = rng.randrange(10)
    if kind == 0:
        return bytes(changed[: rng.randrange(len(changed))])
    for _ in range(rng.randrange(1, 6)):
        if kind < 6:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
            continue
        at = rng.randrange(max(1, len(changed) // 4)) * 4
        number = rng.choice((*ODD[:12], rng.randrange(64), rng.randrange(len(changed))))
        changed[at : at + 4] = struct.pack("<q", number)[:4]
    return bytes(changed)


def damaged_onnx(model: onnx.ModelProto, rng: random.Random) -> bytes:
    """Bytes exchanged, or changes after which the file can still be read."""
    if rng.randrange(4) == 0:
        return damaged_bytes(model.SerializeToString(), rng)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for _ in range(rng.randrange(1, 4)):
        try:
            _change(changed, rng)
        except (ValueError, TypeError):  # what protobuf does not take
            continue
    return changed.SerializeToString()


def _change(model: onnx.ModelProto, rng: random.Random) -> None:
    graph = model.graph
    node = rng.choice(graph.node)
    attribute = rng.choice(node.attribute) if node.attribute else None
    info = rng.choice(graph.input) if graph.input else None
    match rng.randrange(11):
        case 0 | 1 | 2 if attribute is not None:
            _change_attribute(attribute, rng)
        case 3 if attribute is not None:
            node.attribute.remove(attribute)
        case 4 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(["", *(item.name for item in graph.input)])
        case 5:
            node.op_type = rng.choice(sorted(ROWS))
        case 6 | 7 if info is not None and info.type.HasField("tensor_type"):
            dims = info.type.tensor_type.shape.dim
            (rng.choice(dims) if dims else dims.add()).dim_value = rng.choice(ODD)
        case 8 if info is not None:
            info.type.tensor_type.elem_type = rng.randrange(24)
        case 9 if info is not None and info.type.tensor_type.elem_type == TensorProto.INT64:
            shape = [min(max(dim.dim_value, 0), 8) for dim in info.type.tensor_type.shape.dim]
            array = np.array([rng.choice(ODD) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
            graph.initializer.append(numpy_helper.from_array(array, info.name))
            graph.input.remove(info)
        case _:
            model.opset_import[0].version = rng.randrange(1, 29)


def _change_attribute(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.i, attribute.f = rng.choice(ODD), rng.choice(ODD_REALS)
    attribute.s = rng.choice([b"\xff?", b"constant", b"linear", b"SAME_UPPER", b"mean"])
    if attribute.floats:
        attribute.floats[rng.randrange(len(attribute.floats))] = rng.choice(ODD_REALS)
    if attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(ODD)
    if attribute.HasField("t") and attribute.t.dims:
        attribute.t.dims[rng.randrange(len(attribute.t.dims))] = rng.choice(ODD)
    if rng.randrange(8) == 0:
        attribute.type = rng.randrange(15)


def damaged_tflite(builder: TfliteBuilder, rng: random.Random) -> bytes:
    """A model whose parts are changed before it is written, and sometimes bytes afterwards."""
    for _ in range(20):
        changed = copy.deepcopy(builder)
        parts = [changed, *changed.subgraphs]
        for _ in range(rng.randrange(0, 4)):
            _change_tflite(rng.choice(parts), rng)
        try:
            data = changed.build()
        except Exception:  # what cannot be written; flatbuffers has errors of its own
            continue
        return data if rng.randrange(3) else damaged_bytes(data, rng)
    return damaged_bytes(builder.build(), rng)


_BUILTINS = sorted({name for name in TFLITE_ROWS if hasattr(tflite.BuiltinOperator, name)})


def _change_tflite(part: TfliteBuilder, rng: random.Random) -> None:
    if not part.operators or not part.tensors:
        return
    tensor, operator = rng.choice(part.tensors), rng.choice(part.operators)
    anything = rng.choice((-1, -2, len(part.tensors), rng.randrange(len(part.tensors)), 2**31 - 1))
    shape = list(tensor.shape)
    small = (0, -1, 1, 2, 3, 7, 65536, 2**31 - 1, -(2**31))
    match rng.randrange(13):
        case 0 | 1 if shape:
            shape[rng.randrange(len(shape))] = rng.choice(small)
            tensor.shape = tuple(shape)
        case 2:
            tensor.shape = tuple([*shape, rng.choice(small)] if rng.randrange(2) else shape[:-1])
        case 3:
            tensor.dtype = rng.choice(sorted(TYPES))
        case 4:
            count = rng.randrange(3)
            tensor.scale = [rng.choice((*ODD_REALS, 0.1, -0.1)) for _ in range(count)]
            tensor.zero_point = [rng.choice(small) for _ in range(rng.choice((count, count, count + 1)))]
        case 5:
            tensor.axis = rng.choice(small)
        case 6:
            operator.name = rng.choice(_BUILTINS)
        case 7 if operator.inputs:
            operator.inputs[rng.randrange(len(operator.inputs))] = anything
        case 8:
            operator.inputs = operator.inputs[:-1] if rng.randrange(2) else [*operator.inputs, anything]
        case 9 if operator.options:
            options = dict(operator.options)
            options[rng.choice(sorted(options))] = rng.choice((*small[:7], 127, -128))
            operator.options = options
        case 10 if tensor.data is not None and tensor.data.size:
            data = tensor.data.copy().reshape(-1)
            odd = ODD_REALS if data.dtype.kind == "f" else small
            data[rng.randrange(data.size)] = np.array(rng.choice(odd)).astype(data.dtype)
            tensor.data = data.reshape(tensor.data.shape)
        case 11:
            ends = rng.choice((part.inputs, part.outputs))
            if ends:
                ends[rng.randrange(len(ends))] = anything
        case _:
            tensor.is_variable = not tensor.is_variable
