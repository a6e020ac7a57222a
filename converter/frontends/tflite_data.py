"""TFLite's operators that move, reshape or select data. What they read from constants is settled here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from . import tflite_open as open_
from .tflite_graph import Reject, Row, TfliteNode, axis_of, require
from .tflite_lut import rescale_table
from .tflite_open import is_computed, is_open


def reshape(node: TfliteNode) -> Value:
    x = node.value(0)
    if is_open(x) or is_computed(node, 1):
        return open_.reshape(node)
    return copy(node, x, reshaped(node, x.type.static_shape))


def reshaped(node: TfliteNode, sizes: Sequence[int]) -> list[int]:
    """The sizes that RESHAPE gives a tensor of ``sizes``."""
    shape = open_.new_shape(node)
    count = math.prod(sizes)
    if shape == [0] and count == 1:
        shape = []  # how old converters wrote a scalar
    known = int(np.prod([dim for dim in shape if dim != -1], dtype=np.int64))
    if shape.count(-1) == 1 and known > 0 and count % known == 0:
        shape = [count // known if dim == -1 else dim for dim in shape]
    elif known != count or min(shape, default=0) < 0:
        raise Reject(f"{count} elements do not fit shape {shape}")
    return shape


def copy(node: TfliteNode, x: Value, shape: Sequence[int]) -> Value:
    """The same elements under a (possibly equal) shape, with the quantization of the operator's output."""
    return node.add("reshape", [x], {"shape": tuple(shape)}, quant=node.output_quant())


def squeeze(node: TfliteNode) -> Value:
    if is_open(node.value(0)):
        return open_.squeeze(node)
    return copy(node, node.value(0), squeezed(node, node.shape(0)))


def squeezed(node: TfliteNode, shape: Sequence[int]) -> list[int]:
    """The sizes that SQUEEZE leaves of ``shape``."""
    given = {axis_of(axis, len(shape)) for axis in open_.squeezed_axes(node)}
    axes = given or {i for i, dim in enumerate(shape) if dim == 1}
    require(all(shape[axis] == 1 for axis in axes), f"dimensions {sorted(axes)} of {list(shape)} are not all 1")
    return [dim for axis, dim in enumerate(shape) if axis not in axes]


def expand_dims(node: TfliteNode) -> Value:
    if is_open(node.value(0)):
        return open_.expand_dims(node)
    return copy(node, node.value(0), expanded(node, node.shape(0)))


def expanded(node: TfliteNode, shape: Sequence[int]) -> list[int]:
    """The sizes that EXPAND_DIMS makes of ``shape``."""
    axes, sizes = node.ints(1, "the axis"), list(shape)
    require(len(axes) == 1, f"{len(axes)} axes")
    sizes.insert(axis_of(axes[0], len(sizes) + 1), 1)
    return sizes


def shape_of(node: TfliteNode) -> Value:
    if is_open(node.value(0)):
        return open_.shape_of(node)
    return node.const(np.array(node.shape(0), node.output_type().dtype.numpy))


def rank_of(node: TfliteNode) -> Value:
    return node.const(np.array(len(node.value(0).shape), np.int32))


def transpose(node: TfliteNode) -> Value:
    x, rank = node.value(0), len(node.value(0).shape)
    perm = [axis_of(axis, rank) for axis in node.ints(1, "the permutation")]
    require(sorted(perm) == list(range(rank)), f"{perm} is no permutation of {rank} dimensions")
    return node.add("transpose", [x], {"perm": tuple(perm)}, quant=node.output_quant())


def concatenation(node: TfliteNode) -> Value:
    options = node.options("ConcatenationOptions", required=True)
    require(
        options.FusedActivationFunction() == 0,
        "a fused activation is not supported",
        attribute="fused_activation_function",
    )
    values = node.all_values()
    require(len(values) > 0, "no inputs")
    axis = axis_of(options.Axis(), len(values[0].shape))
    quant = node.output_quant()
    if quant is not None:
        values = [_rescaled(node, value) for value in values]
    return node.add("concat", values, {"axis": axis}, quant=quant)


def _rescaled(node: TfliteNode, x: Value) -> Value:
    """``x`` with the output's quantization: through a table where they differ, which LiteRT does for uint8 only."""
    quant = node.output_quant()
    if x.dtype is not DType.s8 or x.quant is None or quant is None or x.quant == quant:
        return x
    table = node.const(rescale_table(x.quant, quant), suffix="table")
    return node.add("lut", [x, table], quant=quant)


def pack(node: TfliteNode) -> Value:
    options = node.options("PackOptions", required=True)
    values = node.all_values()
    require(len(values) > 0, "no inputs")
    if any(map(is_open, values)):
        return open_.pack(node, values, options.Axis())
    shape = list(values[0].type.static_shape)
    axis = axis_of(options.Axis(), len(shape) + 1)
    shape.insert(axis, 1)
    parts = [node.reshape(value, shape) for value in values]
    if len(parts) == 1:
        return copy(node, values[0], shape)
    return node.add("concat", parts, {"axis": axis}, quant=node.output_quant())


def part(node: TfliteNode, x: Value, axis: int, start: int, size: int) -> Value:
    """The entries start .. start + size - 1 along one axis."""
    if is_open(x):
        return open_.cut(node, x, [(axis, start, start + size, 1)])
    starts, sizes = [0] * len(x.shape), list(x.type.static_shape)
    starts[axis], sizes[axis] = start, size
    attrs = {"start": tuple(starts), "size": tuple(sizes), "step": (1,) * len(sizes)}
    return node.add("slice", [x], attrs, quant=x.quant)


def unpack(node: TfliteNode) -> list[Value]:
    options = node.options("UnpackOptions", required=True)
    x, shape = node.value(0), list(node.value(0).shape)
    axis = axis_of(options.Axis(), len(shape))
    require(shape[axis] == node.n_outputs, f"{node.n_outputs} outputs of dimension {shape[axis]}")
    if is_open(x):
        parts = [part(node, x, axis, index, 1) for index in range(node.n_outputs)]
        return [node.add("squeeze", [value], {"axes": 1 << axis}, quant=x.quant) for value in parts]
    rest = list(node.shape(0)[:axis] + node.shape(0)[axis + 1 :])
    return [node.reshape(part(node, x, axis, index, 1), rest) for index in range(node.n_outputs)]


def split(node: TfliteNode) -> list[Value]:
    axes, x = node.ints(0, "the axis"), node.value(1)
    require(len(axes) == 1, f"{len(axes)} axes")
    axis = axis_of(axes[0], len(x.shape))
    size, count = known_size(x, axis), node.n_outputs
    require(count > 0 and size % count == 0, f"dimension {size} does not divide into {count} parts")
    return _parts(node, x, axis, [size // count] * count)


def split_v(node: TfliteNode) -> list[Value]:
    x, sizes, axes = node.value(0), node.ints(1, "the sizes"), node.ints(2, "the axis")
    require(len(axes) == 1, f"{len(axes)} axes")
    axis = axis_of(axes[0], len(x.shape))
    total = known_size(x, axis)
    if sizes.count(-1) == 1:
        rest = total - sum(size for size in sizes if size != -1)
        sizes = [rest if size == -1 else size for size in sizes]
    require(min(sizes, default=0) >= 0 and sum(sizes) == total, f"sizes {sizes} of dimension {total}")
    return _parts(node, x, axis, sizes)


def known_size(x: Value, axis: int) -> int:
    """The size of one dimension. Reject when only a run tells it."""
    dim = x.shape[axis]
    require(isinstance(dim, int), f"the size of dimension {axis} is known at run time only")
    assert isinstance(dim, int)
    return dim


def _parts(node: TfliteNode, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    starts = np.cumsum([0, *sizes[:-1]])
    return [part(node, x, axis, int(start), size) for start, size in zip(starts, sizes, strict=True)]


def slice_(node: TfliteNode) -> Value:
    if is_open(node.value(0)) or is_computed(node, 1, 2):
        return open_.slice_(node)
    x, shape = node.value(0), node.shape(0)
    begin, size = node.ints(1, "the start"), node.ints(2, "the size")
    require(len(begin) == len(size) == len(shape), f"start {begin} and size {size} for shape {list(shape)}")
    size = [dim - first if count == -1 else count for dim, first, count in zip(shape, begin, size, strict=True)]
    inside = all(
        first >= 0 and count >= 0 and first + count <= dim for dim, first, count in zip(shape, begin, size, strict=True)
    )
    require(inside, f"start {begin} and size {size} reach outside of shape {list(shape)}")
    attrs = {"start": tuple(begin), "size": tuple(size), "step": (1,) * len(shape)}
    return node.add("slice", [x], attrs, quant=node.output_quant())


def strided_slice(node: TfliteNode) -> Value:
    options = node.options("StridedSliceOptions", required=True)
    if is_open(node.value(0)) or is_computed(node, 1, 2):
        return open_.strided_slice(node)
    x, shape = node.value(0), node.shape(0)
    begin, end, stride = (node.ints(i, what) for i, what in ((1, "the start"), (2, "the end"), (3, "the stride")))
    require(len(begin) == len(end) == len(stride), f"start {begin}, end {end}, stride {stride}")
    require(not options.Offset(), "an end relative to the start is not supported", attribute="offset")
    picked: list[range] = []
    result: list[int] = []
    for index in _spread_ellipsis(len(begin), len(shape), options.EllipsisMask(), options.NewAxisMask()):
        bit = 0 if index is None else 1 << index
        if index is not None and options.NewAxisMask() & bit:
            result.append(1)
            continue
        dim = shape[len(picked)]
        if index is None:
            picked.append(range(dim))
        elif options.ShrinkAxisMask() & bit:
            position = begin[index] + dim if begin[index] < 0 else begin[index]
            require(0 <= position < dim, f"index {begin[index]} is out of range for dimension {dim}")
            picked.append(range(position, position + 1))
            continue
        else:
            require(stride[index] != 0, "a stride is 0")
            first = None if options.BeginMask() & bit else begin[index]
            last = None if options.EndMask() & bit else end[index]
            picked.append(range(*slice(first, last, stride[index]).indices(dim)))
        result.append(len(picked[-1]))
    attrs = {
        "start": tuple(span.start if len(span) else 0 for span in picked),
        "size": tuple(len(span) for span in picked),
        "step": tuple(span.step for span in picked),
    }
    y = node.add("slice", [x], attrs, quant=node.output_quant())
    return node.reshape(y, result)


def _spread_ellipsis(count: int, rank: int, ellipsis: int, new_axes: int) -> list[int | None]:
    """The entries of a slice specification in order, with None for each dimension that is taken whole."""
    marked = [index for index in range(count) if ellipsis >> index & 1]
    require(len(marked) <= 1, "more than one ellipsis")
    entries: list[int | None] = list(range(count))
    consumed = sum(1 for index in range(count) if index not in marked and not new_axes >> index & 1)
    require(consumed <= rank, f"{consumed} indices for {rank} dimensions")
    whole: list[int | None] = [None] * (rank - consumed)
    position = marked[0] if marked else count
    return entries[:position] + whole + entries[position + 1 :]


def reverse(node: TfliteNode) -> Value:
    x, shape = node.value(0), node.shape(0)
    axes = {axis_of(axis, len(shape)) for axis in node.ints(1, "the axes")}
    attrs = {
        "start": tuple(max(dim - 1, 0) if axis in axes else 0 for axis, dim in enumerate(shape)),
        "size": tuple(shape),
        "step": tuple(-1 if axis in axes else 1 for axis in range(len(shape))),
    }
    return node.add("slice", [x], attrs, quant=node.output_quant())


def _paddings(node: TfliteNode) -> tuple[list[int], list[int]]:
    shape = node.shape(0)
    pads = node.array(1, "the padding")
    require(pads.shape == (len(shape), 2) and pads.dtype.kind in "iu", f"padding has shape {list(pads.shape)}")
    require(not np.any(pads < 0), "padding is negative")
    return [int(pad) for pad in pads[:, 0]], [int(pad) for pad in pads[:, 1]]


def pad(node: TfliteNode) -> Value:
    """PAD and PADV2; without a value, integers are filled with the zero point."""
    x, quant = node.value(0), node.output_quant()
    if node.has(2):
        value = node.reshape(node.value(2), (1,))
        require(value.dtype is x.dtype, f"a {value.dtype.name} value for a {x.dtype.name} tensor")
    else:
        zero = int(quant.zero_point[0]) if quant is not None else 0
        value = node.const(np.array([zero], x.dtype.numpy), quant, suffix="value")
    if is_open(x) or is_computed(node, 1):
        return node.add("pad", [x, value, open_.pads(node)], {"mode": 0}, quant=quant)
    before, after = _paddings(node)
    attrs = {"before": tuple(before), "after": tuple(after), "mode": 0}
    return node.add("pad", [x, value], attrs, quant=quant)


def dilate(node: TfliteNode) -> Value:
    """DILATE: a filler between the elements along each dimension."""
    x, filler = node.value(0), node.reshape(node.value(2), (1,))
    steps = node.ints(1, "the steps")
    require(len(steps) == len(x.shape) and min(steps, default=1) >= 1, f"the steps are {steps}")
    require(filler.dtype is x.dtype, f"a {filler.dtype.name} filler for a {x.dtype.name} tensor")
    y = spread(node, x, steps, filler)
    return y if y is not x else node.reshape(x, x.type.static_shape)


def spread(node: TfliteNode, x: Value, steps: Sequence[int], filler: Value) -> Value:
    """``x`` with step - 1 times ``filler``, of one element, between its elements along each dimension."""
    for axis, step in enumerate(steps):
        shape = x.type.static_shape
        if step == 1 or shape[axis] <= 1:
            continue
        x = node.reshape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        after = [0] * len(x.shape)
        after[axis + 1] = step - 1
        x = node.add(
            "pad", [x, filler], {"before": (0,) * len(x.shape), "after": tuple(after), "mode": 0}, quant=x.quant
        )
        x = node.reshape(x, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
        x = part(node, x, axis, 0, (shape[axis] - 1) * step + 1)
    return x


def mirror_pad(node: TfliteNode) -> Value:
    options = node.options("MirrorPadOptions")
    before, after = _paddings(node)
    symmetric = options.Mode() == 1
    for dim, first, last in zip(node.shape(0), before, after, strict=True):
        limit = dim if symmetric else dim - 1
        require(max(first, last) <= max(limit, 0), f"padding {first}, {last} mirrors more than dimension {dim}")
    attrs = {"before": tuple(before), "after": tuple(after), "mode": 3 if symmetric else 1}
    return node.add("pad", [node.value(0), None], attrs, quant=node.output_quant())


def gather(node: TfliteNode) -> Value:
    options = node.options("GatherOptions")
    x, indices = node.value(0), node.value(1)
    axis, batch = axis_of(options.Axis(), len(x.shape)), options.BatchDims()
    batch = batch + len(indices.shape) if batch < 0 else batch
    if batch == 0:
        return node.add("gather", [x, indices], {"axis": axis}, quant=node.output_quant())
    require(batch <= min(axis, len(indices.shape)), f"batch_dims is {options.BatchDims()}", attribute="batch_dims")
    # The axis moves up to the batch, and what stood in front of it is put behind the indices.
    between, places = list(range(batch, axis)), len(indices.shape) - batch
    first = [*range(batch), axis, *between, *range(axis + 1, len(x.shape))]
    moved = node.add("transpose", [x], {"perm": tuple(first)}, quant=x.quant) if between else x
    picked = node.reshape(indices, (*node.shape(1), 1))
    y = node.add("gather_nd", [moved, picked], {"batch_dims": batch}, quant=node.output_quant())
    if not between:
        return y
    behind = batch + places + len(between)
    perm = [*range(batch), *range(batch + places, behind), *range(batch, batch + places), *range(behind, len(y.shape))]
    return node.add("transpose", [y], {"perm": tuple(perm)}, quant=node.output_quant())


def embedding_lookup(node: TfliteNode) -> Value:
    """Rows of a table; of one of bytes as real numbers where the output is float."""
    indices, x = node.value(0), node.value(1)
    if node.output_type().dtype is DType.f32 and x.dtype is DType.s8:
        return _real_rows(node, indices, x)
    require(x.dtype is DType.f32 or x.quant == node.output_quant(), "the table is quantized")
    return node.add("gather", [x, indices], {"axis": 0}, quant=node.output_quant())


def _real_rows(node: TfliteNode, indices: Value, table: Value) -> Value:
    """Rows of a constant table of int8, times one scale or that of each row."""
    data, quant = node.array(1, "the quantized table"), table.quant
    require(quant is not None and quant.axis in (None, 0), "the table has no scales, or not for its rows")
    assert quant is not None
    require(not np.any(quant.zero_point), "the table has a zero point")
    rows = node.add("gather", [node.const(data, suffix="table"), indices], {"axis": 0})
    scales = np.broadcast_to(quant.scale.reshape(-1, *[1] * (data.ndim - 1)), (len(data), *[1] * (data.ndim - 1)))
    factors = node.add("gather", [node.const(scales, suffix="scales"), indices], {"axis": 0})
    return node.add("mul", [node.add("cast", [rows], {"to": DType.f32.value}), factors])


def tile(node: TfliteNode) -> Value:
    if is_open(node.value(0)) or is_computed(node, 1):
        return open_.tile(node)
    x, shape = node.value(0), node.shape(0)
    times = node.ints(1, "the multiples")
    require(len(times) == len(shape) and min(times, default=0) >= 0, f"multiples {times} for shape {list(shape)}")
    if all(count == 1 for count in times):
        return copy(node, x, shape)
    folded: list[int] = []
    target: list[int] = []
    for dim, count in zip(shape, times, strict=True):
        folded += [1, dim] if count != 1 else [dim]
        target += [count, dim] if count != 1 else [dim]
    require(len(folded) <= 8, f"rank {len(folded)} in between is above 8")
    spread = node.add("expand", [node.reshape(x, folded)], {"shape": tuple(target)}, quant=x.quant)
    return copy(node, spread, [dim * count for dim, count in zip(shape, times, strict=True)])


def broadcast_to(node: TfliteNode) -> Value:
    if is_computed(node, 1):
        return open_.expand(node, node.value(0), 1)
    return node.add("expand", [node.value(0)], {"shape": tuple(node.ints(1, "the shape"))}, quant=node.output_quant())


def fill(node: TfliteNode) -> Value:
    if is_computed(node, 0):
        return open_.expand(node, node.value(1), 0)
    shape = node.ints(0, "the shape")
    require(min(shape, default=0) >= 0, f"shape {shape} has a negative size")
    return node.add("expand", [node.value(1)], {"shape": tuple(shape)}, quant=node.output_quant())


def zeros_like(node: TfliteNode) -> Value:
    zero = node.const(np.zeros((), node.value(0).dtype.numpy))
    return node.add("expand", [zero], {"shape": node.shape(0)})


def space_to_depth(node: TfliteNode) -> Value:
    block = node.options("SpaceToDepthOptions", required=True).BlockSize()
    n, h, w, c = _spatial(node)
    require(block >= 1 and h % block == 0 and w % block == 0, f"block {block} does not divide {h} x {w}")
    return _shuffle(
        node, (n, h // block, block, w // block, block, c), (0, 1, 3, 2, 4, 5), (n, h // block, w // block, -1)
    )


def depth_to_space(node: TfliteNode) -> Value:
    block = node.options("DepthToSpaceOptions", required=True).BlockSize()
    n, h, w, c = _spatial(node)
    require(block >= 1 and c % (block * block) == 0, f"block {block} does not divide {c} channels")
    depth = c // (block * block)
    return _shuffle(node, (n, h, w, block, block, depth), (0, 1, 3, 2, 4, 5), (n, h * block, w * block, depth))


def _spatial(node: TfliteNode) -> tuple[int, int, int, int]:
    shape = node.shape(0)
    require(len(shape) == 4, f"input has rank {len(shape)}, not 4")
    n, h, w, c = shape
    return n, h, w, c


def _shuffle(
    node: TfliteNode, apart: Sequence[int], perm: Sequence[int], shape: Sequence[int], x: Value | None = None
) -> Value:
    """Reshape, transpose, reshape."""
    x = node.value(0) if x is None else x
    count = x.type.count
    known = int(np.prod([dim for dim in shape if dim != -1]))
    final = [count // known if dim == -1 else dim for dim in shape]
    moved = node.add("transpose", [node.reshape(x, apart)], {"perm": tuple(perm)}, quant=x.quant)
    return copy(node, moved, final)


def space_to_batch_nd(node: TfliteNode) -> Value:
    x, shape = node.value(0), node.shape(0)
    blocks, pads = node.ints(1, "the block shape"), node.array(2, "the padding")
    spatial = len(blocks)
    require(len(shape) > spatial and pads.shape == (spatial, 2), f"{spatial} blocks for shape {list(shape)}")
    require(min(blocks) >= 1 and not np.any(pads < 0), f"blocks {blocks}, padding {pads.tolist()}")
    if np.any(pads):
        zero = int(x.quant.zero_point[0]) if x.quant is not None else 0
        value = node.const(np.array([zero], x.dtype.numpy), x.quant, suffix="value")
        rest = (0,) * (len(shape) - spatial - 1)
        before = (0, *(int(pad) for pad in pads[:, 0]), *rest)
        after = (0, *(int(pad) for pad in pads[:, 1]), *rest)
        x = node.add("pad", [x, value], {"before": before, "after": after, "mode": 0}, quant=x.quant)
    batch, *sizes = x.type.static_shape
    inner, depth = sizes[:spatial], sizes[spatial:]
    require(all(size % block == 0 for size, block in zip(inner, blocks, strict=True)), f"{inner} by blocks {blocks}")
    apart = [batch]
    for size, block in zip(inner, blocks, strict=True):
        apart += [size // block, block]
    perm = [*(2 * i + 2 for i in range(spatial)), 0, *(2 * i + 1 for i in range(spatial))]
    perm += range(len(perm), len(perm) + len(depth))
    final = [batch * int(np.prod(blocks)), *(s // b for s, b in zip(inner, blocks, strict=True)), *depth]
    return _shuffle(node, [*apart, *depth], perm, final, x)


def batch_to_space_nd(node: TfliteNode) -> Value:
    x, shape = node.value(0), node.shape(0)
    blocks, crops = node.ints(1, "the block shape"), node.array(2, "the crops")
    spatial, total = len(blocks), int(np.prod(blocks))
    require(len(shape) > spatial and crops.shape == (spatial, 2), f"{spatial} blocks for shape {list(shape)}")
    require(min(blocks) >= 1 and shape[0] % total == 0, f"batch {shape[0]} by blocks {blocks}")
    inner, depth = shape[1 : spatial + 1], shape[spatial + 1 :]
    apart = [*blocks, shape[0] // total, *inner, *depth]
    perm = [spatial]
    for i in range(spatial):
        perm += [spatial + 1 + i, i]
    perm += range(2 * spatial + 1, 2 * spatial + 1 + len(depth))
    sizes = [size * block for size, block in zip(inner, blocks, strict=True)]
    y = _shuffle(node, apart, perm, [shape[0] // total, *sizes, *depth], x)
    if not np.any(crops):
        return y
    starts = [int(crop) for crop in crops[:, 0]]
    kept = [size - int(crop.sum()) for size, crop in zip(sizes, crops, strict=True)]
    require(min(kept) >= 0 and not np.any(crops < 0), f"crops {crops.tolist()} of {sizes}")
    attrs = {
        "start": (0, *starts, *(0 for _ in depth)),
        "size": (shape[0] // total, *kept, *depth),
        "step": (1,) * len(shape),
    }
    return node.add("slice", [y], attrs, quant=node.output_quant())


ROWS: Mapping[str, Row] = {
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenation,
    "DEPTH_TO_SPACE": depth_to_space,
    "DILATE": dilate,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "EXPAND_DIMS": expand_dims,
    "FILL": fill,
    "GATHER": gather,
    "MIRROR_PAD": mirror_pad,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad,
    "RANK": rank_of,
    "RESHAPE": reshape,
    "REVERSE_V2": reverse,
    "SHAPE": shape_of,
    "SLICE": slice_,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
    "ZEROS_LIKE": zeros_like,
}
