"""ONNX operators that move data: joins, transposes, positions, casts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_graph import NARROW, Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of
from .onnx_shapes import cut


def identity(g: Builder, node: OnnxNode) -> Value:
    """Identity, and operators that are the identity in inference."""
    return node.value(0)


def dropout(g: Builder, node: OnnxNode) -> list[Value]:
    """Dropout in inference, which keeps every element."""
    x = node.value(0)
    training = node.optional(2)
    if training is not None and (training.data is None or training.data.any()):
        raise Reject("training mode is not supported", "export the model in evaluation mode")
    if not node.wants(1):
        return [x]
    # Nothing is less than itself, so that all elements are kept.
    kept = g.add("logical_not", [g.add("less", [x, x])])
    return [x, kept if node.opset >= 10 else g.cast(kept, x.dtype)]


def transpose(g: Builder, node: OnnxNode) -> Value:
    """Transpose; without perm it reverses the dimensions."""
    x = node.value(0)
    rank = len(x.shape)
    perm = node.integers("perm")
    perm = list(reversed(range(rank))) if perm is None else perm
    if sorted(perm) != list(range(rank)):
        raise Reject(f"attribute 'perm' is {perm}, the input has {rank} dimensions")
    return g.transpose(x, perm)


def concat(g: Builder, node: OnnxNode) -> Value:
    """Concat; inputs that add nothing along the axis are left out."""
    values = node.values()
    if not values:
        raise Reject("has no inputs")
    axis = axis_of(node, "axis", 1, len(values[0].shape))
    return joined(g, [value for value in values if not _adds_nothing(value, axis)] or values[:1], axis)


def _adds_nothing(value: Value, axis: int) -> bool:
    """Whether it has no elements along ``axis``, or is the one-dimensional nothing that runtimes join with anything."""
    return value.shape == (0,) or (axis < len(value.shape) and value.shape[axis] == 0)


MAX_JOINED = 64
"""NNACL_MAX_INPUTS."""


def joined(g: Builder, values: Sequence[Value], axis: int) -> Value:
    """The concatenation of any number of values."""
    while len(values) > MAX_JOINED:
        groups = [values[index : index + MAX_JOINED] for index in range(0, len(values), MAX_JOINED)]
        values = [joined(g, group, axis) for group in groups]
    return values[0] if len(values) == 1 else g.add("concat", values, {"axis": axis})


def gather(g: Builder, node: OnnxNode) -> Value:
    """Gather along one axis; one constant index is a slice."""
    x, indices = node.value(0), node.value(1)
    axis = axis_of(node, "axis", 0, len(x.shape))
    size = x.shape[axis]
    if indices.data is not None and indices.data.size == 1 and isinstance(size, int):
        index = int(indices.data.reshape(()))
        if not -size <= index < size:
            raise Reject(f"index {index} is outside of the size {size}")
        y = cut(g, x, {axis: (index % size, 1, 1)})
        shape = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]]
        return g.reshape(y, shape)
    if indices.dtype not in (DType.s32, DType.s64):
        raise Reject(f"indices are {indices.dtype.name}, expected s32 or s64")
    return g.add("gather", [x, indices], {"axis": axis})


def cast(g: Builder, node: OnnxNode) -> Value:
    """Cast; half precision counts as float32."""
    return g.cast(node.value(0), dtype_of(node.integer("to", 0)))


def bit_cast(g: Builder, node: OnnxNode) -> Value:
    """BitCast between types of one size."""
    x, dtype = node.value(0), dtype_of(node.integer("to", 0))
    if x.dtype is dtype:
        return x
    return g.cast(x, dtype) if DType.b8 in (x.dtype, dtype) else g.add("bitcast", [x], {"to": dtype.value})


def cast_like(g: Builder, node: OnnxNode) -> Value:
    """CastLike."""
    if (narrow := g.narrow.get(id(node.value(1)))) is not None:
        raise _not_supported(narrow)
    return g.cast(node.value(0), node.value(1).dtype)


def held_type(data_type: int) -> DType:
    """As ``dtype_of``, and what holds numbers of 4 and 2 bits, for tensors that are only read."""
    return NARROW[data_type][0] if data_type in NARROW else dtype_of(data_type)


def _not_supported(data_type: int) -> Reject:
    name = onnx.TensorProto.DataType.Name(data_type)
    return Reject(f"element type {name} is not supported", certain=True)


def dtype_of(data_type: int) -> DType:
    """The row of an ONNX element type, with half precision as float32."""
    if data_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        return DType.f32
    if data_type not in onnx.TensorProto.DataType.values():
        raise Reject(f"element type {data_type} is unknown", certain=True)
    try:
        return DType.from_numpy(onnx.helper.tensor_dtype_to_np_dtype(data_type))
    except (KeyError, TypeError):
        raise _not_supported(data_type) from None


def depth_to_space(g: Builder, node: OnnxNode) -> Value:
    """DepthToSpace in the modes DCR and CRD."""
    x, block, channels, mode = _blocks(node)
    batch, _, height, width = x.shape
    if isinstance(channels, str):
        return _open_depth(g, x, block, mode, to_depth=False)
    rest = channels // (block * block)
    if rest * block * block != channels:
        raise Reject(f"{channels} channels do not divide by {block} squared")
    if isinstance(height, int) and isinstance(width, int):
        if mode == "DCR":
            y = g.transpose(g.reshape(x, (batch, block, block, rest, height, width)), (0, 3, 4, 1, 5, 2))
        else:
            y = g.transpose(g.reshape(x, (batch, rest, block, block, height, width)), (0, 1, 4, 2, 5, 3))
        return g.reshape(y, (batch, rest, height * block, width * block))
    # A reshape settles one open size: the rows of a block go to the height first, then its columns to the width.
    y, split = g.to_nhwc(x), (block, block, rest) if mode == "DCR" else (rest, block, block)
    y = g.reshape(y, (batch, height, width, *split))
    y = g.transpose(y, (0, 2, 4, 5, 1, 3) if mode == "DCR" else (0, 2, 5, 3, 1, 4))
    y = g.transpose(g.reshape(y, (batch, width, block, rest, None)), (0, 4, 1, 2, 3))
    return g.to_nchw(g.reshape(y, (batch, y.shape[1], None, rest)))


def space_to_depth(g: Builder, node: OnnxNode) -> Value:
    """SpaceToDepth in the modes DCR and CRD."""
    x, block, channels, mode = _blocks(node)
    batch, _, height, width = x.shape
    if any(isinstance(size, int) and size % block for size in (height, width)):
        raise Reject(f"an input of shape {x.shape} does not divide into blocks of {block}")
    if isinstance(channels, str):
        return _open_depth(g, x, block, mode, to_depth=True)
    if isinstance(height, int) and isinstance(width, int):
        y = g.reshape(x, (batch, channels, height // block, block, width // block, block))
        y = g.transpose(y, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
        return g.reshape(y, (batch, channels * block * block, height // block, width // block))
    # The steps of depth_to_space, backwards.
    y = g.reshape(g.to_nhwc(x), (batch, height, None, block, channels))
    y = g.transpose(y, (0, 2, 3, 4, 1))
    y = g.reshape(y, (*y.shape[:4], None, block))
    y = g.transpose(y, (0, 4, 1, 5, 2, 3) if mode == "DCR" else (0, 4, 1, 3, 5, 2))
    return g.to_nchw(g.reshape(y, (*y.shape[:3], channels * block * block)))


def _open_depth(g: Builder, x: Value, block: int, mode: str, *, to_depth: bool) -> Value:
    """The same where the number of channels is open: all shapes in between are computed from the input's."""
    batch, channels, height, width = (g.sizes_of(x, axis, axis + 1) for axis in range(4))

    def number(value: int) -> Value:
        return g.const(np.array([value], np.int64), "size")

    def times(size: Value, factor: int) -> Value:
        return g.add("mul", [size, number(factor)])

    def shaped(value: Value, *sizes: Value) -> Value:
        return g.add("reshape", [value, g.add("concat", list(sizes), {"axis": 0})])

    side, rest = number(block), number(-1)
    if to_depth:
        parts = shaped(x, batch, channels, g.add("div", [height, side]), side, g.add("div", [width, side]), side)
        parts = g.transpose(parts, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
        area = times(channels, block * block)
        return shaped(parts, batch, area, g.add("div", [height, side]), g.add("div", [width, side]))
    split = (side, side, rest) if mode == "DCR" else (rest, side, side)
    parts = shaped(x, batch, *split, height, width)
    parts = g.transpose(parts, (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3))
    return shaped(parts, batch, rest, times(height, block), times(width, block))


def _blocks(node: OnnxNode) -> tuple[Value, int, Dim, str]:
    """The input, the block size, the channels of the input, and the mode."""
    x, block, mode = node.value(0), node.integer("blocksize", 0), node.text("mode", "DCR")
    if len(x.shape) != 4 or block < 1:
        raise Reject(f"attribute 'blocksize' is {block} and the input has shape {x.shape}")
    if mode not in ("DCR", "CRD"):
        raise Reject(f"attribute 'mode' is '{mode}'")
    return x, block, x.shape[1], mode


ROWS: dict[str, Row] = {
    "BitCast": bit_cast,
    "Cast": cast,
    "CastLike": cast_like,
    "Concat": concat,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Gather": gather,
    "Identity": identity,
    "OptionalGetElement": identity,
    "SpaceToDepth": space_to_depth,
    "Transpose": transpose,
}
