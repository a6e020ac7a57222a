"""Models of QuantizeLinear and DequantizeLinear computed as they are written, with the bytes of ONNX Runtime.

Most ops have one right result for each element: those that move, choose or compare elements, and those of one rounding.
Of sums the frontend makes ops with ONNX Runtime's order (``nnacl_kernels/ordered/ordered.h``). The rest is computed as
in every model; ``of_their_own`` tells what that is.
"""

from __future__ import annotations

from collections import Counter

from ..ir import Graph, all_graphs
from .passes.unsigned_bytes import is_mover

_ROUNDED_ONCE = frozenset(
    "abs add avg_pool2d_ordered cast ceil clip col2im conv2d_ordered dequantize div floor leaky_relu lut "
    "matmul_ordered max mean_ordered min mul neg prelu reciprocal relu requantize round sigmoid_ordered sign sqrt "
    "square sub tanh_ordered thresholded_relu where".split()
)
_CHOSEN = frozenset(
    "argmax argmin max_pool2d max_pool_nd pad reduce_max reduce_min scatter_elements scatter_nd split top_k".split()
)


def of_their_own(graph: Graph) -> dict[str, int]:
    """The operators of the model whose sums or functions ONNX Runtime may round differently, and how many there are.

    Functions of one element between integers of 8 bits do not count: a difference of the last bit is lost there but
    next to a tie, and no case of it is known.
    """
    found: Counter[str] = Counter()
    for part in all_graphs(graph):
        for node in part.nodes:
            if node.subgraphs or not any(value.dtype.is_float for value in node.outputs):
                continue
            if node.op in _ROUNDED_ONCE | _CHOSEN or is_mover(node):
                continue
            found[node.source or node.op] += 1
    return dict(found)
