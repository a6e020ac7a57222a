"""A border of zeros (of the zero point, where integers stand for numbers) becomes the padding of the convolution behind
it, one of minus infinity that of a max pool."""

from __future__ import annotations

import math

from ...ir import Graph, Node, Value
from ...rewrite import only_user
from .edits import is_float, rebuild, reshape_to, substitute, takes_data

CONSTANT_MODE = 0
POOLS = ("max_pool2d", "avg_pool2d")


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "pad" and not takes_data(node) and node.attrs["mode"] == CONSTANT_MODE:
            changed |= _widen(graph, node) if len(node.output.shape) == 3 else False
    for node in list(graph.nodes):
        if (
            node.op == "pad"
            and not takes_data(node)
            and node.attrs["mode"] == CONSTANT_MODE
            and len(node.output.shape) == 4
        ):
            changed |= _fold(graph, node)
    return changed


def _widen(graph: Graph, node: Node) -> bool:
    """A border in three dimensions, in front of a reshape that puts in a fourth one of 1, goes behind it."""
    view = only_user(graph, node.output)
    if view is None or view.op != "reshape" or takes_data(view) or len(view.output.shape) != 4:
        return False
    shape, wide = node.output.shape, view.output.shape
    places = [place for place in range(4) if wide[place] == 1 and wide[:place] + wide[place + 1 :] == shape]
    if not places or node.input(0).quant != node.output.quant or view.output.quant != node.output.quant:
        return False
    place = places[-1]
    x = node.input(0)
    wanted = reshape_to(x, (*x.shape[:place], 1, *x.shape[place:]))
    if wanted is None:
        return False
    inner = rebuild(graph, node, "reshape", [x], {"shape": wanted}, quant_from=node.output)
    attrs = dict(node.attrs)
    for name in ("before", "after"):
        amounts = list(node.attrs[name])
        attrs[name] = (*amounts[:place], 0, *amounts[place:])
    padded = graph.add(
        "pad",
        [inner, *node.inputs[1:]],
        attrs,
        name=node.name,
        before=node,
        source=node.source,
        quant=node.output.quant,
    )
    padded.output.name = f"{view.output.name}_padded"
    if not substitute(graph, view.output, padded.output):
        return False
    graph.remove(node)
    return True


def _fold(graph: Graph, node: Node) -> bool:
    user = only_user(graph, node.output)
    turn = user if user is not None and user.op == "transpose" else None
    layer = user if turn is None else only_user(graph, turn.output)
    shown = node.output if turn is None else turn.output
    if layer is None or layer.input(0) is not shown or not _same_border(node, layer):
        return False
    perm = range(4) if turn is None else turn.attrs["perm"]
    before = [node.attrs["before"][axis] for axis in perm]
    after = [node.attrs["after"][axis] for axis in perm]
    if min(before[1:3] + after[1:3]) < 0:
        return False
    if any(before[axis] or after[axis] for axis in (0, 3)) or node.input(0).quant != shown.quant:
        return False
    amounts = dict(zip(("top", "left", "bottom", "right"), (*before[1:3], *after[1:3]), strict=True))
    pads = {f"pad_{side}": layer.attrs[f"pad_{side}"] + amount for side, amount in amounts.items()}
    if layer.op in POOLS and not _has_data_in_every_window(layer, pads):
        return False
    layer.attrs.update(pads)
    if layer.op == "avg_pool2d":
        layer.attrs["count_include_pad"] = 1
    x = node.input(0)
    if turn is not None:
        x = rebuild(graph, turn, "transpose", [x], turn.attrs, quant_from=turn.output)
    layer.set_input(0, x)
    if turn is not None:
        graph.remove(turn)
    graph.remove(node)
    return True


def _has_data_in_every_window(layer: Node, pads: dict[str, int]) -> bool:
    """A pool wants padding narrower than its window."""
    sides = (("h", "top", "bottom"), ("w", "left", "right"))
    return all(
        max(pads[f"pad_{low}"], pads[f"pad_{high}"])
        <= layer.attrs[f"dilation_{axis}"] * (layer.attrs[f"kernel_{axis}"] - 1)
        for axis, low, high in sides
    )


def _is_never_negative(value: Value) -> bool:
    """Whether a value is made by an op whose results are not below 0."""
    node = value.producer
    while node is not None and node.op in ("transpose", "reshape"):
        node = node.input(0).producer
    if node is None:
        return False
    if node.op == "clip":
        return bool(node.attrs["alpha"] >= 0.0)
    return node.op in ("relu", "sigmoid", "hard_sigmoid", "exp", "square", "abs", "softplus") or bool(
        node.attrs.get("clamp_min", -math.inf) >= 0.0
    )


def _same_border(node: Node, layer: Node) -> bool:
    """Whether the layer's own padding means what the border holds."""
    value = node.optional_input(1)
    filler = 0.0 if value is None else None if value.data is None else float(value.data.reshape(-1)[0])
    if layer.op in ("conv2d", "depthwise_conv2d"):
        quant = node.input(0).quant
        if quant is None:
            return filler == 0.0
        return value is None or (quant.is_per_tensor and filler == float(quant.zero_point[0]))
    if layer.op == "max_pool2d" and layer.attrs["kernel_h"]:
        # Where nothing is negative, the largest number of a window with 0 is that of its own elements.
        return filler == -math.inf or (filler == 0.0 and is_float(node) and _is_never_negative(node.input(0)))
    if layer.op == "avg_pool2d" and layer.attrs["kernel_h"] and node.input(0).quant is None:
        pads = any(layer.attrs[f"pad_{side}"] for side in ("top", "left", "bottom", "right"))
        extra = layer.attrs["extra_bottom"] or layer.attrs["extra_right"]
        return filler == 0.0 and not extra and (not pads or layer.attrs["count_include_pad"] == 1)
    return False
