"""How many bytes of its inputs and outputs a node reads and writes: what a memory's speed is worth to a tensor.

Counted from shapes, for kernels that compute four positions of a convolution at a time and read a weight once for them,
as those for small machines do. The counts say which tensor matters more, not what a run costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .binding import BoundNode
from .ir import Value
from .nnacl_kernels import catalogue

_AT_ONCE = 4
"""Positions, or units of a dense layer, that share what they read."""


def bytes_read(item: BoundNode, nbytes: Mapping[Value, int]) -> list[int]:
    """Bytes that a run reads of each input of a node."""
    sizes = [0 if value is None else nbytes[value] for value in item.node.inputs]
    if item.node.subgraphs:
        return sizes
    fields = catalogue.read_params(item.node.op, item.params)
    macs = catalogue.macs(item.node.op, item.params)
    return _reads(item.node.op, fields, macs, sizes, sum(nbytes[value] for value in item.node.outputs))


def accesses_of_tensors(
    bound: Sequence[BoundNode],
    reads: Sequence[Sequence[int]],
    index_of: Mapping[Value, int],
    nbytes: Mapping[Value, int],
) -> list[int]:
    """Bytes of each tensor that a run reads and writes. ``reads``: what ``bytes_read`` says of each node."""
    accesses = [0] * len(index_of)
    for item, counts in zip(bound, reads, strict=True):
        for value, count in zip(item.node.inputs, counts, strict=True):
            if value is not None:
                accesses[index_of[value]] += count
        for value in item.node.outputs:
            accesses[index_of[value]] += nbytes[value]
    return accesses


def accesses_of_workspace(item: BoundNode, reads: Sequence[int], workspace: int) -> int:
    """Bytes that a run reads and writes of the workspace of a node."""
    if not workspace:
        return 0
    macs = 0 if item.node.subgraphs else catalogue.macs(item.node.op, item.params)
    if item.node.op == "conv2d" and reads:
        return 2 * reads[0] + macs // _AT_ONCE  # widened to 16 bits, and read for each pair of channels
    return max(2 * workspace, macs // 2)


def _reads(op: str, fields: Mapping[str, Any], macs: int, sizes: Sequence[int], result: int) -> list[int]:
    reads = list(sizes)
    if op == "conv2d" and len(reads) > 1:
        width = max(1, sizes[0] // max(1, fields["batch"] * fields["in_h"] * fields["in_w"] * fields["in_c"]))
        reads[0] = macs * width // max(1, fields["out_c"])
        reads[1] = max(sizes[1], macs // _AT_ONCE)
    elif op == "depthwise_conv2d" and len(reads) > 1:
        reads[1] = sizes[1] * max(1, fields["out_h"])
    elif op == "dense" and len(reads) > 1:
        reads[0] = sizes[0] * max(1, -(-fields["units"] // _AT_ONCE))
        reads[1] = sizes[1] * max(1, fields["rows"])
    elif op in ("max_pool2d", "avg_pool2d") and reads:
        reads[0] = max(sizes[0], result * fields["kernel_h"] * fields["kernel_w"])
    return reads
