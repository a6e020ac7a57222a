"""Takes out transposes: they sink towards the outputs until they meet their inverse, or become part of weights.

A model from a channels-first framework arrives with a pair of transposes around every convolution and pool. Each
transpose moves behind the op that reads it when all of the op's inputs can go along; two that meet become one, or
none. Where only some inputs are transposed the move is made when it lowers the number of bytes that are moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Dim, Graph, Node, Quant, Value
from ...rewrite import is_output, only_user
from .edits import moved_quant, rebuild, substitute, takes_data
from .layout_rules import (
    BROADCASTING,
    ELEMENTWISE,
    RULES,
    Moved,
    Perm,
    compose,
    inverse,
    shuffle_parts,
    sizes_for,
    swap_reshape,
)

MAX_SWEEPS = 20
"""Each sweep follows a transpose through the whole graph; more than a few are needed only where branches wait."""

LOOK_AHEAD = 6
"""How many elementwise ops a move may look past for the inverse that it would meet."""


def run(graph: Graph) -> bool:
    changed = False
    for _ in range(MAX_SWEEPS):
        moved = False
        for node in list(graph.nodes):
            if node.op == "transpose":
                moved |= _join(graph, node) or _lift_through_reshape(graph, node)
            else:
                moved |= _sink(graph, node) or _split_shuffle(graph, node) or _absorb(graph, node)
        moved |= graph.remove_dead()
        if not moved:
            break
        changed = True
    for node in list(graph.nodes):
        changed |= node.op == "transpose" and _share(graph, node)
    graph.remove_dead()
    return changed


def _source(value: Value | None) -> Node | None:
    """The transpose that makes a value."""
    return value.producer if value is not None and value.producer and value.producer.op == "transpose" else None


def _perm(node: Node) -> Perm:
    return tuple(node.attrs["perm"])


def _join(graph: Graph, node: Node) -> bool:
    """A transpose of a transpose becomes one, or none."""
    inner = _source(node.input(0))
    perm = _perm(node) if inner is None else compose(_perm(inner), _perm(node))
    x = node.input(0) if inner is None else inner.input(0)
    if perm == tuple(sorted(perm)):
        return substitute(graph, node.output, x)
    if inner is None:
        return False
    node.attrs["perm"] = perm
    node.set_input(0, x)
    return True


def _sink(graph: Graph, node: Node) -> bool:
    """Moves the transposes in front of a node behind it."""
    rule = RULES.get(node.op)
    if rule is None or len(node.outputs) != 1 or takes_data(node):
        return False
    data = _data_inputs(node)
    sources = [source for source in (_source(node.inputs[index]) for index in data) if source is not None]
    if not sources:
        return False
    perm = _perm(sources[0])
    if node.op in BROADCASTING and len(perm) != len(node.output.shape):
        return False
    moved = rule(node, perm)
    if moved is None or not _pays(graph, node, data, perm, moved):
        return False
    inputs = [_transposed_back(graph, node, index, perm, index in data) for index in range(len(node.inputs))]
    made = rebuild(graph, node, node.op, inputs, {**node.attrs, **moved.attrs})
    _carry_quant(node.output.quant, made, inverse(moved.perm))
    result = made
    if moved.perm != tuple(sorted(moved.perm)):
        result = rebuild(graph, node, "transpose", [made], {"perm": moved.perm}, quant_from=node.output)
    return substitute(graph, node.output, result)


def _split_shuffle(graph: Graph, node: Node) -> bool:
    """Takes apart a transpose that mixes what the reshape behind it merges: one that only shuffles inside of that, and
    one that goes on behind the reshape, where it is known to meet its inverse."""
    source = _source(node.input(0)) if node.op == "reshape" and not takes_data(node) else None
    if source is None or node.output.quant is not None or not node.output.type.is_static:
        return False
    parts = shuffle_parts(source.output.shape, node.output.shape, _perm(source))
    if parts is None:
        return False
    inside, shape, outside = parts
    if not any(_leads_back(graph, user, outside, LOOK_AHEAD) for user in node.output.users):
        return False
    mixed = rebuild(graph, node, "transpose", [source.input(0)], {"perm": inside})
    flat = rebuild(graph, node, "reshape", [mixed], {"shape": shape})
    return substitute(graph, node.output, rebuild(graph, node, "transpose", [flat], {"perm": outside}))


def _leads_back(graph: Graph, node: Node, perm: Perm, depth: int) -> bool:
    """Whether a transpose by ``perm`` that moves on meets its inverse, or a concat that other values reach by it."""
    if node.op == "transpose":
        return _perm(node) == inverse(perm)
    if depth == 0 or takes_data(node) or node.op not in ELEMENTWISE | BROADCASTING | {"slice", "concat"}:
        return False
    sources = [_source(value) for value in node.inputs]
    if node.op == "concat" and any(source is not None and _perm(source) == perm for source in sources):
        return True
    return any(_leads_back(graph, user, perm, depth - 1) for user in node.output.users)


def _data_inputs(node: Node) -> Sequence[int]:
    """The inputs whose axes a permutation concerns."""
    if node.op in BROADCASTING or node.op == "concat":
        return range(len(node.inputs))
    return (0,)


def _pays(graph: Graph, node: Node, data: Sequence[int], perm: Perm, moved: Moved) -> bool:
    """Whether fewer bytes are transposed once the node reads what ``perm`` was applied to."""
    saved = spent = 0
    useful, others = False, False
    for value in {id(v): v for v in (node.inputs[index] for index in data) if v is not None}.values():
        source = _source(value)
        if source is not None and _perm(source) == perm:
            moves = not _is_free(value.shape, perm)
            saved += _bytes(value) if moves and only_user(graph, value) is node else 0
            useful |= moves
        elif not value.is_constant and not _is_free(value.shape, perm):
            spent += _bytes(value)
        else:
            others |= not value.is_constant
    back = inverse(moved.perm)
    meets = [_meets(graph, user, back, LOOK_AHEAD) for user in node.output.users]
    if spent == 0:
        # Where only sizes of 1 change places for all inputs, each sweep would hand the transpose to the other one.
        return useful or not others or any(meets)
    if not all(meets) or is_output(graph, node.output):
        spent += _bytes(node.output)
    if any(meets):
        saved += _bytes(node.output)
    return spent < saved


def _meets(graph: Graph, node: Node, perm: Perm, depth: int) -> bool:
    """Whether a transpose by ``perm`` follows, at most some elementwise ops further on."""
    if node.op == "transpose":
        return _perm(node) == perm
    if depth == 0 or node.op not in ELEMENTWISE | BROADCASTING or is_output(graph, node.output):
        return False
    users = node.output.users
    return bool(users) and all(_meets(graph, user, perm, depth - 1) for user in users)


def _bytes(value: Value) -> int:
    return int(np.prod([dim if isinstance(dim, int) else 1 for dim in value.shape], dtype=np.int64)) * value.dtype.size


def _is_free(shape: Sequence[Dim], perm: Perm) -> bool:
    """Whether transposing (back) moves nothing but sizes of 1; a lower rank broadcasts from the right."""
    padded = [1] * (len(perm) - len(shape)) + list(shape)
    order = [axis for axis in inverse(perm) if padded[axis] != 1]
    return order == sorted(order)


def _transposed_back(graph: Graph, node: Node, index: int, perm: Perm, is_data: bool) -> Value | None:
    """Input ``index`` as it was before ``perm``."""
    value = node.inputs[index]
    if value is None or not is_data:
        return value
    source = _source(value)
    if source is not None and _perm(source) == perm:
        return source.input(0)
    count = _bytes(value) // value.dtype.size
    if node.op in BROADCASTING and count == 1 and all(dim == 1 for dim in value.shape):
        return value
    back, shape = inverse(perm), [1] * (len(perm) - len(value.shape)) + list(value.shape)
    if value.data is not None:
        data = value.data.reshape(value.data.shape if len(shape) == value.data.ndim else [int(dim) for dim in shape])
        data = data.transpose(back)
        while node.op in BROADCASTING and data.ndim > 1 and data.shape[0] == 1:
            data = data[0]
        constant = graph.constant(value.name, data)
        if data.ndim == len(back):
            constant.decoded_from = moved_quant(value.decoded_from, back)
        _carry_quant(value.quant, constant, back)
        return constant
    if len(shape) != len(value.shape):
        ones = (1 << len(shape) - len(value.shape)) - 1
        value = rebuild(graph, node, "unsqueeze", [value], {"axes": ones}, quant_from=value)
    made = rebuild(graph, node, "transpose", [value], {"perm": back})
    _carry_quant(value.quant, made, back)
    return made


def _carry_quant(quant: Quant | None, value: Value, perm: Perm) -> None:
    """Gives ``value`` the quantization of what it is the transpose (by ``perm``) of."""
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scale, quant.zero_point, perm.index(quant.axis)) if quant.axis < len(perm) else quant
    value.quant = quant


def _lift_through_reshape(graph: Graph, node: Node) -> bool:
    """Moves a transpose in front of a reshape that has a transpose in front of it: the two then become one."""
    reshape = node.input(0).producer
    if reshape is None or reshape.op != "reshape" or _source(reshape.input(0)) is None:
        return False
    if only_user(graph, reshape.output) is not node or takes_data(reshape):
        return False
    if any(_leads_back(graph, user, _perm(node), LOOK_AHEAD) for user in node.output.users):
        return False
    before, after = reshape.input(0), node.output
    swapped = swap_reshape(reshape.output.shape, before.shape, inverse(_perm(node)))
    if swapped is None:
        return False
    _, order = swapped
    shape = sizes_for([before.shape[axis] for axis in inverse(order)], after.shape)
    if shape is None:
        return False
    turned = rebuild(graph, node, "transpose", [before], {"perm": inverse(order)})
    _carry_quant(before.quant if after.quant is not None else None, turned, inverse(order))
    made = rebuild(graph, node, "reshape", [turned], {"shape": shape}, quant_from=after)
    return substitute(graph, after, made)


def _absorb(graph: Graph, node: Node) -> bool:
    """A transpose in front of a matrix product becomes an order of its weights, or a flag."""
    if node.op == "matmul":
        return _absorb_into_flags(node)
    return node.op == "dense" and _absorb_into_columns(graph, node)


def _absorb_into_flags(node: Node) -> bool:
    """A transpose of the last two axes only becomes ``transpose_a`` or ``transpose_b``."""
    for index, flag in ((0, "transpose_a"), (1, "transpose_b")):
        source = _source(node.input(index))
        if source is None:
            continue
        perm = _perm(source)
        if perm == (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2):
            node.set_input(index, source.input(0))
            node.attrs[flag] = 1 - node.attrs[flag]
            return True
    return False


def _absorb_into_columns(graph: Graph, node: Node) -> bool:
    """``dense(reshape(transpose(x)))`` that flattens all but the first axis: the columns of the weights go along."""
    reshape = node.input(0).producer
    weights = node.input(1)
    if reshape is None or reshape.op != "reshape" or weights.data is None:
        return False
    source = _source(reshape.input(0))
    if source is None or only_user(graph, reshape.output) is not node or len(reshape.output.shape) != 2:
        return False
    perm, shape = _perm(source), reshape.input(0).shape
    inner = [dim for dim in shape[1:] if isinstance(dim, int)]
    if perm[0] != 0 or len(inner) != len(shape) - 1 or reshape.output.shape != (shape[0], int(np.prod(inner))):
        return False
    order = [axis - 1 for axis in inverse(perm)[1:]]
    units = weights.data.shape[0]
    data = weights.data.reshape(units, *inner).transpose(0, *(axis + 1 for axis in order)).reshape(units, -1)
    if weights.quant is not None and weights.quant.axis == 1:
        return False
    flat = rebuild(
        graph, reshape, "reshape", [source.input(0)], {"shape": (0, data.shape[1])}, quant_from=node.input(0)
    )
    node.set_input(0, flat)
    constant = graph.constant(weights.name, data, weights.quant)
    if weights.decoded_from is not None and weights.decoded_from.axis != 1:
        constant.decoded_from = weights.decoded_from
    node.set_input(1, constant)
    return True


def _share(graph: Graph, node: Node) -> bool:
    """A transpose left behind an elementwise op goes in front of it when the op's input is transposed alike anyway."""
    inner = node.input(0).producer
    if inner is None or inner.op not in ELEMENTWISE or only_user(graph, node.input(0)) is not node:
        return False
    for twin in inner.input(0).users:
        if twin.op == "transpose" and _perm(twin) == _perm(node) and graph.nodes.index(twin) < graph.nodes.index(node):
            made = rebuild(graph, node, inner.op, [twin.output, *inner.inputs[1:]], inner.attrs, quant_from=node.output)
            return substitute(graph, node.output, made)
    return False
