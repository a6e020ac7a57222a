"""ONNX operators that move data: shapes, slices, joins, paddings, casts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of, checked_axis


def identity(g: Builder, node: OnnxNode) -> Value:
    """Identity, and operators that are the identity in inference."""
    return node.value(0)


def dropout(g: Builder, node: OnnxNode) -> list[Value]:
    """Dropout in inference, which keeps every element."""
    x = node.value(0)
    training = node.optional_array(2, "input 'training_mode'")
    if training is not None and training.any():
        raise Reject("training mode is not supported", "export the model in evaluation mode")
    if not node.wants(1):
        return [x]
    # Nothing is less than itself, so that all elements are kept.
    kept = g.add("logical_not", [g.add("less", [x, x])])
    return [x, kept if node.opset >= 10 else g.cast(kept, x.dtype)]


def reshape(g: Builder, node: OnnxNode) -> Value:
    """Reshape; the new shape may hold sizes that are known only at run time."""
    x = node.value(0)
    keep_zero = bool(node.integer("allowzero", 0))
    shape: list[Dim | None] = []
    for index, dim in enumerate(node.sizes(1, "the new shape")):
        if dim == 0 and not keep_zero:
            if index >= len(x.shape):
                raise Reject(f"the new shape copies dimension {index} of an input of shape {x.shape}")
            shape.append(x.shape[index])
        elif isinstance(dim, int) and dim < -1:
            raise Reject(f"the new shape has the size {dim}")
        else:
            shape.append(None if dim == -1 else dim)
    return g.reshape(x, _inferred(x, shape))


def _inferred(x: Value, shape: list[Dim | None]) -> list[Dim | None]:
    """The size left open settled, when everything else is known."""
    if shape.count(None) == 1 and x.type.is_static and all(dim is None or isinstance(dim, int) for dim in shape):
        rest = int(np.prod([dim for dim in shape if isinstance(dim, int)], dtype=np.int64))
        if rest == 0 or x.type.count % rest:
            raise Reject(f"an input of shape {x.shape} does not fit the new shape {tuple(shape)}")
        return [x.type.count // rest if dim is None else dim for dim in shape]
    return shape


def flatten(g: Builder, node: OnnxNode) -> Value:
    """Flatten to two dimensions."""
    x = node.value(0)
    rank = len(x.shape)
    axis = node.integer("axis", 1)
    if not -rank <= axis <= rank:
        raise Reject(f"attribute 'axis' is {axis}, outside of the {rank} dimensions")
    axis = axis + rank if axis < 0 else axis
    rows, columns = merged(x.shape[:axis]), merged(x.shape[axis:])
    return g.reshape(x, (rows, columns))


def merged(dims: Sequence[Dim]) -> Dim | None:
    """The product of sizes: a number, a single symbol, or None."""
    number = int(np.prod([dim for dim in dims if isinstance(dim, int)], dtype=np.int64))
    symbols = [dim for dim in dims if isinstance(dim, str)]
    if not symbols:
        return number
    return symbols[0] if len(symbols) == 1 and number == 1 else None


def squeeze(g: Builder, node: OnnxNode) -> Value:
    """Squeeze: takes out dimensions of size 1."""
    x = node.value(0)
    given = axes_of(node, 13)
    if given is None:
        axes = {index for index, dim in enumerate(x.shape) if dim == 1}
    else:
        axes = {checked_axis(axis, len(x.shape), "an axis") for axis in given}
        wrong = [axis for axis in sorted(axes) if isinstance(x.shape[axis], int) and x.shape[axis] != 1]
        if wrong:
            raise Reject(f"dimension {wrong[0]} of an input of shape {x.shape} is not 1")
    return g.reshape(x, [dim for index, dim in enumerate(x.shape) if index not in axes])


def unsqueeze(g: Builder, node: OnnxNode) -> Value:
    """Unsqueeze: puts in dimensions of size 1."""
    x = node.value(0)
    given = axes_of(node, 13)
    if given is None:
        raise Reject("has no axes")
    rank = len(x.shape) + len(given)
    axes = {checked_axis(axis, rank, "an axis") for axis in given}
    if len(axes) != len(given):
        raise Reject(f"axes {given} name a dimension twice")
    rest = iter(x.shape)
    return g.reshape(x, [1 if index in axes else next(rest) for index in range(rank)])


def axes_of(node: OnnxNode, since: int) -> list[int] | None:
    """The axes: an attribute before opset ``since``, afterwards input 1."""
    if node.opset < since:
        return node.integers("axes")
    return node.vector(1, "input 'axes'") if node.has(1) else None


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
    """Concat; empty inputs are left out."""
    values = node.values()
    if not values:
        raise Reject("has no inputs")
    axis = axis_of(node, "axis", 1, len(values[0].shape))
    return joined(g, [value for value in values if 0 not in value.shape] or values[:1], axis)


MAX_JOINED = 64
"""NNACL_MAX_INPUTS."""


def joined(g: Builder, values: Sequence[Value], axis: int) -> Value:
    """The concatenation of any number of values."""
    while len(values) > MAX_JOINED:
        groups = [values[index : index + MAX_JOINED] for index in range(0, len(values), MAX_JOINED)]
        values = [joined(g, group, axis) for group in groups]
    return values[0] if len(values) == 1 else g.add("concat", values, {"axis": axis})


def split(g: Builder, node: OnnxNode) -> list[Value]:
    """Split into slices."""
    x = node.value(0)
    axis = axis_of(node, "axis", 0, len(x.shape))
    size = x.shape[axis]
    if isinstance(size, str):
        raise Reject("the size that is split must be known", FIX_SIZES)
    parts = (node.vector(1, "input 'split'") if node.has(1) else None) if node.opset >= 13 else node.integers("split")
    node.ignore("num_outputs")
    if parts is None:
        count = node.integer("num_outputs", len(node.output_names))
        if count < 1:
            raise Reject(f"attribute 'num_outputs' is {count}")
        chunk = -(-size // count)
        parts = [max(min(chunk, size - index * chunk), 0) for index in range(count)]
    if sum(parts) != size or min(parts, default=0) < 0 or len(parts) != len(node.output_names):
        raise Reject(f"the parts {parts} do not make the size {size} and {len(node.output_names)} outputs")
    starts = np.cumsum([0, *parts])
    return [cut(g, x, {axis: (int(start), part, 1)}) for start, part in zip(starts, parts, strict=False)]


def slice_(g: Builder, node: OnnxNode) -> Value:
    """Slice: inputs since opset 10, attributes before."""
    x = node.value(0)
    if node.opset >= 10:
        starts, ends = node.vector(1, "input 'starts'"), node.vector(2, "input 'ends'")
        axes = node.vector(3, "input 'axes'") if node.has(3) else list(range(len(starts)))
        steps = node.vector(4, "input 'steps'") if node.has(4) else [1] * len(starts)
    else:
        starts, ends = node.integers("starts") or [], node.integers("ends") or []
        axes = node.integers("axes") or list(range(len(starts)))
        steps = [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Reject(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} differ in length")
    cuts: dict[int, tuple[int, int, int]] = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = checked_axis(axis, len(x.shape), "an axis")
        size = x.shape[axis]
        if step == 0:
            raise Reject("a step is 0")
        if isinstance(size, str):
            if start == 0 and step == 1 and end >= 1 << 31:
                continue
            raise Reject(f"dimension {axis} is sliced and its size '{size}' is not known", FIX_SIZES)
        indices = range(size)[slice(start, end, step)]
        cuts[axis] = (indices.start, len(indices), step)
    return cut(g, x, cuts)


def cut(g: Builder, x: Value, cuts: dict[int, tuple[int, int, int]]) -> Value:
    """``x`` with (start, size, step) along some axes."""
    cuts = {axis: item for axis, item in cuts.items() if item != (0, x.shape[axis], 1)}
    if not cuts:
        return x
    if any(size == 0 for _, size, _ in cuts.values()):
        raise Reject("the result is empty")
    if not x.type.is_static:
        for axis, (start, size, step) in cuts.items():
            x = g.add("gather", [x, g.const(start + step * np.arange(size), "indices")], {"axis": axis})
        return x
    items = [cuts.get(axis, (0, dim, 1)) for axis, dim in enumerate(x.type.static_shape)]
    starts, sizes, steps = (tuple(column) for column in zip(*items, strict=True))
    return g.add("slice", [x], {"start": starts, "size": sizes, "step": steps})


PAD_MODES = {"constant": 0, "reflect": 1, "edge": 2}


def pad(g: Builder, node: OnnxNode) -> Value:
    """Pad: inputs since opset 11, attributes before. Negative amounts crop."""
    x = node.value(0)
    rank = len(x.shape)
    mode = node.text("mode", "constant")
    if mode not in PAD_MODES:
        raise Reject(f"attribute 'mode' is '{mode}'", f"supported: {', '.join(PAD_MODES)}")
    value: float = 0.0
    if node.opset >= 11:
        amounts = node.vector(1, "input 'pads'")
        given = node.optional_array(2, "input 'constant_value'")
        value = 0.0 if given is None or given.size == 0 else given.reshape(-1)[0]
        axes = node.vector(3, "input 'axes'") if node.has(3) else list(range(rank))
    else:
        amounts, value, axes = node.integers("pads") or [], node.real("value", 0.0), list(range(rank))
    if len(amounts) != 2 * len(axes):
        raise Reject(f"the amounts {amounts} do not fit {len(axes)} axes")
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        axis = checked_axis(axis, rank, "an axis")
        before[axis], after[axis] = amounts[index], amounts[index + len(axes)]
    return padded(g, x, before, after, mode, value)


def padded(g: Builder, x: Value, before: list[int], after: list[int], mode: str, value: float) -> Value:
    """``x`` with some elements more (or fewer, where negative) at both ends of each dimension."""
    cuts: dict[int, tuple[int, int, int]] = {}
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        if low < 0 or high < 0:
            size = x.shape[axis]
            if isinstance(size, str):
                raise Reject(f"dimension {axis} is cropped and its size '{size}' is not known", FIX_SIZES)
            cuts[axis] = (max(-low, 0), size + min(low, 0) + min(high, 0), 1)
    x = cut(g, x, cuts)
    before, after = [max(item, 0) for item in before], [max(item, 0) for item in after]
    if not any(before) and not any(after):
        return x
    filler = None if value == 0 or mode != "constant" else g.const(np.asarray(value, x.dtype.numpy), "value")
    inputs = [x] if filler is None else [x, filler]
    attrs = {"before": tuple(before), "after": tuple(after), "mode": PAD_MODES[mode]}
    return g.add("pad", inputs, attrs)


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


def expand(g: Builder, node: OnnxNode) -> Value:
    """Expand: broadcasts to a shape, in both directions."""
    x = node.value(0)
    wanted = node.sizes(1, "the new shape")
    rank = max(len(wanted), len(x.shape))
    target: list[Dim | None] = [*[1] * (rank - len(wanted)), *wanted]
    own: list[Dim] = [*[1] * (rank - len(x.shape)), *x.shape]
    shape: list[int] = []
    for dim, size in zip(target, own, strict=True):
        if dim in (1, size):
            dim = size
        if not isinstance(dim, int):
            raise Reject("the new shape must be known", FIX_SIZES)
        if isinstance(size, int) and size not in (1, dim):
            raise Reject(f"an input of shape {x.shape} does not broadcast to {tuple(wanted)}")
        shape.append(dim)
    return broadcast(g, x, shape)


def broadcast(g: Builder, x: Value, shape: Sequence[int]) -> Value:
    return x if tuple(shape) == x.shape else g.add("expand", [x], {"shape": tuple(shape)})


def tile(g: Builder, node: OnnxNode) -> Value:
    """Tile: each repeated dimension is expanded before itself and merged."""
    x = node.value(0)
    repeats = node.vector(1, "input 'repeats'")
    if len(repeats) != len(x.shape):
        raise Reject(f"the repeats {repeats} do not fit an input of shape {x.shape}")
    if min(repeats, default=1) < 1:
        raise Reject("the result is empty")
    return repeated(g, x, repeats, before=True)


def repeated(g: Builder, x: Value, repeats: Sequence[int], before: bool) -> Value:
    """Each dimension repeated: as a whole (``before``: abab) or element by element (aabb)."""
    if not x.type.is_static:
        raise Reject("the input's shape must be known", FIX_SIZES)
    split_shape: list[int] = []
    grown: list[int] = []
    for size, count in zip(x.type.static_shape, repeats, strict=True):
        if count == 1:
            split_shape.append(size)
            grown.append(size)
        elif size == 1:
            split_shape.append(1)
            grown.append(count)
        else:
            split_shape.extend((1, size) if before else (size, 1))
            grown.extend((count, size) if before else (size, count))
    if len(grown) > 8:
        raise Reject("repeats too many dimensions at once")
    y = broadcast(g, g.reshape(x, split_shape), grown)
    return g.reshape(y, [size * count for size, count in zip(x.type.static_shape, repeats, strict=True)])


def cast(g: Builder, node: OnnxNode) -> Value:
    """Cast; half and double precision count as float32."""
    return g.cast(node.value(0), dtype_of(node.integer("to", 0)))


def bit_cast(g: Builder, node: OnnxNode) -> Value:
    """BitCast between types of one size."""
    x, dtype = node.value(0), dtype_of(node.integer("to", 0))
    if x.dtype is dtype:
        return x
    return g.cast(x, dtype) if DType.b8 in (x.dtype, dtype) else g.add("bitcast", [x], {"to": dtype.value})


def cast_like(g: Builder, node: OnnxNode) -> Value:
    """CastLike."""
    return g.cast(node.value(0), node.value(1).dtype)


def dtype_of(data_type: int) -> DType:
    """The row of an ONNX element type, with half and double precision as float32."""
    if data_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE):
        return DType.f32
    if data_type not in onnx.TensorProto.DataType.values():
        raise Reject(f"element type {data_type} is unknown")
    try:
        return DType.from_numpy(onnx.helper.tensor_dtype_to_np_dtype(data_type))
    except (KeyError, TypeError):
        name = onnx.TensorProto.DataType.Name(data_type)
        raise Reject(f"element type {name} is not supported") from None


def depth_to_space(g: Builder, node: OnnxNode) -> Value:
    """DepthToSpace in the modes DCR and CRD."""
    x, block, channels, height, width = _blocks(node)
    batch, rest = x.shape[0], channels // (block * block)
    if rest * block * block != channels:
        raise Reject(f"{channels} channels do not divide by {block} squared")
    mode = node.text("mode", "DCR")
    if mode == "DCR":
        y = g.transpose(g.reshape(x, (batch, block, block, rest, height, width)), (0, 3, 4, 1, 5, 2))
    elif mode == "CRD":
        y = g.transpose(g.reshape(x, (batch, rest, block, block, height, width)), (0, 1, 4, 2, 5, 3))
    else:
        raise Reject(f"attribute 'mode' is '{mode}'")
    return g.reshape(y, (batch, rest, height * block, width * block))


def space_to_depth(g: Builder, node: OnnxNode) -> Value:
    """SpaceToDepth in the modes DCR and CRD."""
    x, block, channels, height, width = _blocks(node)
    batch = x.shape[0]
    if height % block or width % block:
        raise Reject(f"an input of shape {x.shape} does not divide into blocks of {block}")
    y = g.reshape(x, (batch, channels, height // block, block, width // block, block))
    mode = node.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise Reject(f"attribute 'mode' is '{mode}'")
    y = g.transpose(y, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return g.reshape(y, (batch, channels * block * block, height // block, width // block))


def _blocks(node: OnnxNode) -> tuple[Value, int, int, int, int]:
    """The input, the block size, and the channels, height and width of the input."""
    x, block = node.value(0), node.integer("blocksize", 0)
    if len(x.shape) != 4 or block < 1:
        raise Reject(f"attribute 'blocksize' is {block} and the input has shape {x.shape}")
    sizes = [dim for dim in x.shape[1:] if isinstance(dim, int)]
    if len(sizes) != 3:
        raise Reject("channels, height and width must be known", FIX_SIZES)
    return x, block, sizes[0], sizes[1], sizes[2]


ROWS: dict[str, Row] = {
    "BitCast": bit_cast,
    "Cast": cast,
    "CastLike": cast_like,
    "Concat": concat,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Identity": identity,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
