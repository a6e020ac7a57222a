"""Weights in the layouts of one machine's kernels, made when a model is converted instead of when it is opened.

The plan halves of the kernels pack for any machine on any other. A runtime whose kernels want the same layouts maps
them from the file; any other one packs the plain weights, which the file has as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .binding import stored_params
from .errors import InputError
from .ir import Graph, Node
from .nnacl_kernels import catalogue

TARGETS = {
    "x86-avx2": ("avx2", "sse41", "c"),
    "x86-avxvnni": ("avxvnni", "avx2", "sse41", "c"),
    "x86-avx512": ("vbmi", "vnni", "avx512", "avx2", "sse41", "c"),
    "arm64-neon": ("neon", "c"),
    "arm64-dotprod": ("dotprod", "neon", "c"),
    "arm64-i8mm": ("i8mm", "dotprod", "neon", "c"),
}
"""Names of ``--prepack``: the instruction sets that kernels are chosen from. ``x86-avx512`` is that with VNNI and VBMI,
which all processors since Ice Lake and Zen 4 have."""

_OPS = ("conv2d", "depthwise_conv2d", "dense")
"""Ops whose packed weights the runtime takes from a file."""


@dataclass(frozen=True)
class PackedInput:
    """Constant input ``input`` of node ``node`` as ``kernel`` wants it: uint8 [bytes]."""

    node: int
    input: int
    kernel: str
    data: np.ndarray


@dataclass(frozen=True)
class PackedWeights:
    target: str
    inputs: tuple[PackedInput, ...]


def prepack(graph: Graph, target: str) -> PackedWeights:
    """The packed weights of a graph for a machine of ``TARGETS``.

    Raises InputError for another target, and when there is nothing to pack: no convolution or dense layer whose sizes
    are known.
    """
    if target not in TARGETS:
        raise InputError(f"--prepack does not know '{target}'", hint=f"one of {', '.join(TARGETS)}")
    found = [
        item
        for index, (node, params) in enumerate(zip(graph.nodes, stored_params(graph), strict=True))
        if node.op in _OPS and all(value is None or value.type.is_static for value in (*node.inputs, *node.outputs))
        for item in _pack_node(index, node, params, TARGETS[target])
    ]
    if not found:
        raise InputError(
            f"there is nothing to pack: kernels for {target} take all weights as they are, or sizes are open",
            hint="leave out --prepack, or give the sizes of open inputs with --input",
        )
    return PackedWeights(target, tuple(found))


def _pack_node(index: int, node: Node, params: bytes, isa: tuple[str, ...]) -> list[PackedInput]:
    constants = [None if value is None else value.data for value in node.inputs]
    kernel = _choose(node, params, isa)
    if kernel is None:
        return []
    found = []
    for place, constant in enumerate(constants):
        data = None if constant is None else catalogue.pack(kernel, params, place, constants)
        if data is not None:
            found.append(PackedInput(index, place, kernel.symbol, np.frombuffer(data, np.uint8)))
    return found


def _choose(node: Node, params: bytes, isa: tuple[str, ...]) -> catalogue.Kernel | None:
    """The kernel that a runtime on such a machine binds, by the rule of ``runtime/src/bind.c``."""
    assert node.inputs[0] is not None
    dtype = node.inputs[0].type.dtype.value
    for kernel in catalogue.kernels():
        fits = kernel.op == node.op and kernel.dtype in (dtype, catalogue.ANY_DTYPE) and kernel.isa in isa
        if fits and catalogue.accepts(kernel, params):
            varying = [i for i, value in enumerate(node.inputs) if value is not None and value.data is None]
            if not any(catalogue.packed_size(kernel, params, place) for place in varying):
                return kernel
    return None
