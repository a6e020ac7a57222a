"""ONNX operators that read, choose and change shapes. What they need to know may be constant, a size with a name
(``Sizes``), or computed at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from ...ops.slicing import slice_bounds
from .onnx_graph import Builder, OnnxNode, Reject, Row, Sizes
from .onnx_math import WIDER, axis_of, checked_axis

LAST = int(np.iinfo(np.int64).max)
"""As an end of a slice."""


def is_computed(node: OnnxNode, index: int) -> bool:
    """Whether input ``index`` is a tensor that is computed at run time."""
    entry = node.entries[index] if index < len(node.entries) else None
    return isinstance(entry, Value) and entry.data is None


def reshape(g: Builder, node: OnnxNode) -> Value:
    """Reshape."""
    x = node.value(0)
    keep_zero = bool(node.integer("allowzero", 0))
    attrs = {"allow_zero": int(keep_zero)}
    if is_computed(node, 1):
        return g.add("reshape", [x, g.of_length(node.value(1), node.stated_rank)], attrs)
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
    settled = _inferred(x, shape)
    try:
        return g.reshape(x, settled)
    except Reject:
        if not isinstance(node.entries[1], Sizes):
            raise
        return g.add("reshape", [x, node.value(1)], attrs)


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
    return g.flattened(x, axis)


def squeeze(g: Builder, node: OnnxNode) -> Value:
    """Squeeze: takes out dimensions of size 1."""
    x = node.value(0)
    if node.opset >= 13 and is_computed(node, 1):
        return g.add(
            "squeeze",
            [x, g.of_length(node.value(1), None if node.stated_rank is None else len(x.shape) - node.stated_rank)],
        )
    given = axes_of(node, 13)
    if given is None:
        g.guesses.made |= not x.type.is_static
        counts = {"": 0, "first": 1, "all": len(x.shape)}[g.guesses.open_is_one]
        axes = {index for index, dim in enumerate(x.shape) if dim == 1 or (index < counts and isinstance(dim, str))}
    else:
        axes = {checked_axis(axis, len(x.shape), "an axis") for axis in given}
        wrong = [axis for axis in sorted(axes) if isinstance(x.shape[axis], int) and x.shape[axis] != 1]
        if wrong:
            raise Reject(f"dimension {wrong[0]} of an input of shape {x.shape} is not 1")
    if any(isinstance(x.shape[axis], str) for axis in axes):  # that they are 1 is seen at run time
        return g.add("squeeze", [x], {"axes": sum(1 << axis for axis in axes)})
    shape = [dim for index, dim in enumerate(x.shape) if index not in axes]
    return _reshaped_or(g, x, shape, "squeeze", axes)


def unsqueeze(g: Builder, node: OnnxNode) -> Value:
    """Unsqueeze: puts in dimensions of size 1."""
    x = node.value(0)
    if node.opset >= 13 and is_computed(node, 1):
        count = None if node.stated_rank is None else node.stated_rank - len(x.shape)
        return g.add("unsqueeze", [x, g.of_length(node.value(1), count)])
    given = axes_of(node, 13)
    if given is None:
        raise Reject("has no axes")
    rank = len(x.shape) + len(given)
    axes = {checked_axis(axis, rank, "an axis") for axis in given}
    if len(axes) != len(given):
        raise Reject(f"axes {given} name a dimension twice")
    rest = iter(x.shape)
    shape = [1 if index in axes else next(rest) for index in range(rank)]
    return _reshaped_or(g, x, shape, "unsqueeze", axes)


def _reshaped_or(g: Builder, x: Value, shape: Sequence[Dim], op: str, axes: set[int]) -> Value:
    """A reshape where one can say it, else the op itself."""
    try:
        return g.reshape(x, shape)
    except Reject:
        return g.add(op, [x], {"axes": sum(1 << axis for axis in axes)})


def axes_of(node: OnnxNode, since: int) -> list[int] | None:
    """The axes: an attribute before opset ``since``, afterwards input 1."""
    if node.opset < since:
        return node.integers("axes")
    return node.vector(1, "input 'axes'") if node.has(1) else None


def expand(g: Builder, node: OnnxNode) -> Value:
    """Expand: broadcasts to a shape, in both directions."""
    x = node.value(0)
    if is_computed(node, 1):
        return g.add("expand", [x, _lengthened(g, node.value(1), len(x.shape), node.stated_rank)])
    wanted = node.sizes(1, "the new shape")
    rank = max(len(wanted), len(x.shape))
    target: list[Dim | None] = [*[1] * (rank - len(wanted)), *wanted]
    own: list[Dim] = [*[1] * (rank - len(x.shape)), *x.shape]
    shape: list[int] = []
    for dim, size in zip(target, own, strict=True):
        if dim in (1, size):
            dim = size
        if not isinstance(dim, int):
            y = g.add("expand", [x, node.value(1)])
            return g.known(y, [_broadcast(*pair) for pair in zip(target, own, strict=True)])
        if isinstance(size, int) and size not in (1, dim):
            raise Reject(f"an input of shape {x.shape} does not broadcast to {tuple(wanted)}")
        shape.append(dim)
    return broadcast(g, x, shape)


def _lengthened(g: Builder, shape: Value, own: int, rank: int | None) -> Value:
    """A shape of open length for a result of a stated rank. One that is no longer than the input may be shorter."""
    if rank is None or isinstance(shape.shape[0], int) or rank > own:
        return g.of_length(shape, rank)
    longer = g.add("concat", [g.const(np.ones(rank, shape.dtype.numpy), "ones"), shape], {"axis": 0})
    last = g.add("slice", [longer, *(g.const(np.array([item], np.int64)) for item in (-rank, LAST, 0, 1))])
    return g.add("reshape", [last], {"shape": (rank,)})


def _broadcast(one: Dim | None, other: Dim | None) -> Dim | None:
    """What two sizes broadcast to; None when it is not known."""
    if one == other or other == 1:
        return one
    if one == 1 or (isinstance(other, int) and other > 1):
        return other
    return one if isinstance(one, int) and one > 1 else None


def broadcast(g: Builder, x: Value, shape: Sequence[int]) -> Value:
    """``x`` repeated to a larger shape."""
    return x if tuple(shape) == x.shape else g.add("expand", [x], {"shape": tuple(shape)})


def tile(g: Builder, node: OnnxNode) -> Value:
    """Tile."""
    x, repeats = node.value(0), node.value(1)
    if repeats.data is None:
        return g.add("tile", [x, g.of_length(repeats, len(x.shape))])
    counts = node.vector(1, "input 'repeats'")
    if len(counts) != len(x.shape) or min(counts, default=0) < 0:
        raise Reject(f"the repeats {counts} do not fit an input of shape {x.shape}")
    return x if all(count == 1 for count in counts) else g.add("tile", [x], {"repeats": tuple(counts)})


EQUAL_PIECES = -1
"""In all of the sizes of split: the pieces are equal."""


def split(g: Builder, node: OnnxNode) -> list[Value]:
    """Split: slices where all sizes are known."""
    x = node.value(0)
    axis = axis_of(node, "axis", 0, len(x.shape))
    size = x.shape[axis]
    count = node.integer("num_outputs", len(node.output_names))
    if count < 1 or count != len(node.output_names):
        raise Reject(f"attribute 'num_outputs' is {count}, there are {len(node.output_names)} outputs")
    if node.opset >= 13 and node.has(1) and node.value(1).data is None:
        return g.add_all("split", [x, node.value(1)], {"axis": axis, "sizes": (EQUAL_PIECES,) * count})
    parts = (node.vector(1, "input 'split'") if node.has(1) else None) if node.opset >= 13 else node.integers("split")
    if isinstance(size, str):
        return g.add_all("split", [x], {"axis": axis, "sizes": tuple(parts or (EQUAL_PIECES,) * count)})
    if parts is None:
        chunk = -(-size // count)
        parts = [max(min(chunk, size - index * chunk), 0) for index in range(count)]
    if sum(parts) != size or min(parts, default=0) < 0 or len(parts) < len(node.output_names):
        raise Reject(f"the parts {parts} do not make the size {size} and {len(node.output_names)} outputs")
    starts = np.cumsum([0, *parts])
    return [cut(g, x, {axis: (int(start), part, 1)}) for start, part in zip(starts, parts, strict=False)]


def slice_(g: Builder, node: OnnxNode) -> Value:
    """Slice: inputs since opset 10, attributes before."""
    x = node.value(0)
    if node.opset < 10:
        starts, ends = node.integers("starts") or [], node.integers("ends") or []
        axes = node.integers("axes") or list(range(len(starts)))
        return _sliced(g, x, starts, ends, axes, [1] * len(starts))
    bounds = [node.optional(index) for index in range(1, 5)]
    if any(value is not None and value.data is None for value in bounds):
        return g.add("slice", [x, *bounds])
    starts, ends = node.vector(1, "input 'starts'"), node.vector(2, "input 'ends'")
    axes = node.vector(3, "input 'axes'") if node.has(3) else list(range(len(starts)))
    steps = node.vector(4, "input 'steps'") if node.has(4) else [1] * len(starts)
    return _sliced(g, x, starts, ends, axes, steps)


def _sliced(g: Builder, x: Value, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Value:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Reject(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} differ in length")
    cuts: dict[int, tuple[int, int, int]] = {}
    open_ends = False
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = checked_axis(axis, len(x.shape), "an axis")
        size = x.shape[axis]
        if step == 0:
            raise Reject("a step is 0")
        if isinstance(size, str):
            open_ends = open_ends or not (start == 0 and step == 1 and end >= 1 << 31)
            continue
        start, size, step = slice_bounds(size, start, end, step)
        cuts[axis] = (start, size, step if size > 1 else 1)
    if not open_ends:
        return cut(g, x, cuts)
    # int64 everywhere: ends beyond 2^31 are how exporters say "to the end".
    return g.add("slice", [x, *(g.const(np.asarray(item, np.int64)) for item in (starts, ends, axes, steps))])


def cut(g: Builder, x: Value, cuts: Mapping[int, tuple[int, int, int]]) -> Value:
    """``x`` with (start, size, step) along some axes."""
    cuts = {axis: item for axis, item in cuts.items() if item != (0, x.shape[axis], 1)}
    if not cuts:
        return x
    cuts = {axis: item if item[1] else (0, 0, 1) for axis, item in cuts.items()}
    if not x.type.is_static:
        return _cut_some(g, x, cuts)
    items = [cuts.get(axis, (0, dim, 1)) for axis, dim in enumerate(x.type.static_shape)]
    starts, sizes, steps = (tuple(column) for column in zip(*items, strict=True))
    return g.add("slice", [x], {"start": starts, "size": sizes, "step": steps})


def _cut_some(g: Builder, x: Value, cuts: Mapping[int, tuple[int, int, int]]) -> Value:
    """The same for an input with sizes that are known at run time only."""
    starts, ends, steps = [], [], []
    for start, size, step in cuts.values():
        end = start + size * step
        starts.append(start)
        ends.append(end if end >= 0 else -(1 << 31))
        steps.append(step)
    lists = (starts, ends, list(cuts), steps)
    return g.add("slice", [x, *(g.const(np.asarray(item, np.int64)) for item in lists)])


PAD_MODES = {"constant": 0, "reflect": 1, "edge": 2, "wrap": 4}


def pad(g: Builder, node: OnnxNode) -> Value:
    """Pad: inputs since opset 11, attributes before. Negative amounts crop."""
    x = node.value(0)
    rank = len(x.shape)
    mode = node.text("mode", "constant")
    if mode not in PAD_MODES:
        raise Reject(f"attribute 'mode' is '{mode}'", f"supported: {', '.join(PAD_MODES)}")
    if node.opset < 11:
        amounts, value = node.integers("pads") or [], g.const(np.float32(node.real("value", 0.0)), "value")
        return _padded(g, x, amounts, list(range(rank)), mode, value)
    filler = node.optional(2) if mode == "constant" else None
    if is_computed(node, 1) or is_computed(node, 3):
        return g.add("pad", [x, filler, node.value(1), node.optional(3)], {"mode": PAD_MODES[mode]})
    if any(isinstance(entry, Sizes) and entry.known() is None for entry in node.entries):
        return g.add("pad", [x, filler, node.value(1), node.optional(3)], {"mode": PAD_MODES[mode]})
    axes = node.vector(3, "input 'axes'") if node.has(3) else list(range(rank))
    return _padded(g, x, node.vector(1, "input 'pads'"), axes, mode, filler)


def _padded(g: Builder, x: Value, amounts: list[int], axes: list[int], mode: str, filler: Value | None) -> Value:
    if len(amounts) != 2 * len(axes):
        raise Reject(f"the amounts {amounts} do not fit {len(axes)} axes")
    before, after = [0] * len(x.shape), [0] * len(x.shape)
    for index, axis in enumerate(axes):
        axis = checked_axis(axis, len(x.shape), "an axis")
        before[axis], after[axis] = amounts[index], amounts[index + len(axes)]
    cuts: dict[int, tuple[int, int, int]] = {}
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        if low < 0 or high < 0:
            size = x.shape[axis]
            if isinstance(size, str):
                x = _cropped(g, x, axis, max(-low, 0), min(high, 0))
            else:
                cuts[axis] = (max(-low, 0), size + min(low, 0) + min(high, 0), 1)
    x = cut(g, x, cuts)
    before, after = [max(item, 0) for item in before], [max(item, 0) for item in after]
    if not any(before) and not any(after):
        return x
    if filler is not None and filler.data is not None and (filler.data.size == 0 or not filler.data.any()):
        filler = None
    attrs = {"before": tuple(before), "after": tuple(after), "mode": PAD_MODES[mode]}
    return g.add("pad", [x] if filler is None else [x, filler], attrs)


def _cropped(g: Builder, x: Value, axis: int, start: int, end: int) -> Value:
    """``x`` from ``start`` to ``end``, which counts from the end, along a dimension of open size."""
    bounds = (start, end or LAST, axis, 1)
    return g.add("slice", [x, *(g.const(np.array([item], np.int64), "crop") for item in bounds)])


def shape(g: Builder, node: OnnxNode) -> Value:
    """Shape, read at run time."""
    x = node.value(0)
    attrs = {"start": node.integer("start", 0), "end": node.integer("end", len(x.shape)), "to": DType.s64.value}
    return g.add("shape", [x], attrs)


def size(g: Builder, node: OnnxNode) -> Value:
    """Size, read at run time."""
    return g.add("size", [node.value(0)], {"to": DType.s64.value})


def constant_of_shape(g: Builder, node: OnnxNode) -> Value:
    """ConstantOfShape whose shape is not constant."""
    array = node.tensor("value")
    value = np.zeros((), np.float32) if array is None else array.reshape(())
    sizes = node.sizes(0, "the shape") if not is_computed(node, 0) else (None,)
    filler = g.const(value, "value")
    if all(isinstance(dim, int) for dim in sizes):
        return broadcast(g, filler, [int(dim) for dim in sizes if dim is not None])
    return g.add("expand", [filler, g.of_length(node.value(0), node.stated_rank)])


def range_(g: Builder, node: OnnxNode) -> Value:
    """Range."""
    values = node.values()
    dtype = values[0].dtype
    wide = WIDER.get(dtype, dtype)
    return g.cast(g.add("range", [g.cast(value, wide) for value in values]), dtype)


ROWS: dict[str, Row] = {
    "ConstantOfShape": constant_of_shape,
    "Expand": expand,
    "Flatten": flatten,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "Shape": shape,
    "Size": size,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Unsqueeze": unsqueeze,
}
