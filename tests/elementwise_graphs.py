"""Random graphs of elementwise ops, for the tests of what fuses them."""

from __future__ import annotations

import numpy as np

from microlith.converter.passes.unique_names import make_names_unique
from microlith.dtypes import DType
from microlith.ir import Dim, Graph, TensorType, Value
from microlith.ops.fused import BY_OP, Function
from microlith.verify import verify

ATTRS = {
    "clip": {"alpha": -0.5, "beta": 0.75},
    "leaky_relu": {"alpha": 0.1},
    "hard_sigmoid": {"alpha": 0.25, "beta": 0.5},
    "gelu": {"alpha": 1.0},
    "elu": {"alpha": 0.7},
    "selu": {"alpha": 1.6, "beta": 1.05},
    "celu": {"alpha": 0.8},
    "swish": {"alpha": 1.3},
    "shrink": {"alpha": 0.4, "beta": 0.1},
    "thresholded_relu": {"alpha": 0.3},
}
UNARY = [function for function in BY_OP.values() if function.kind == "UNARY"]
TRUTH = [function for function in BY_OP.values() if function.gives_b8]
REAL = [function for function in BY_OP.values() if function.kind == "BINARY"]


def random_graph(seed: int, shape: tuple[Dim, ...] = (2, 5, 7, 3)) -> Graph:
    """Some twelve ops over tensors of the shape ``shape``, a vector, a scale for each place or image, and constants;
    what nobody uses is an output."""
    rng = np.random.default_rng(seed)
    graph = Graph("g")
    first, last = (shape[0], *(1 for _ in shape[1:])), (*shape[:-1], 1)
    shapes: dict[str, tuple[Dim, ...]] = {"x": shape, "y": shape, "v": shape[-1:], "s": first, "r": last}
    known = {name: Value(name, TensorType(DType.f32, sizes)) for name, sizes in shapes.items()}
    mask = Value("m", TensorType(DType.b8, shape if rng.integers(2) else shape[-1:]))
    graph.inputs = [*known.values(), mask]
    full = [known["x"], known["y"]]
    truths: list[Value] = []

    def operand() -> Value:
        if rng.integers(5) == 0:
            return graph.constant("c", np.float32(rng.uniform(-2, 2)))
        others = list(known.values())[2:]
        return others[int(rng.integers(3))] if rng.integers(3) == 0 else full[int(rng.integers(len(full)))]

    def apply(function: Function, *inputs: Value) -> Value:
        attrs = dict(ATTRS.get(function.op, {}))
        if function.kind == "BINARY" and rng.integers(5) == 0:
            attrs = {"clamp_min": 0.0, "clamp_max": float(rng.choice([6.0, np.inf]))}
        return graph.add(function.op, inputs, attrs).output

    for _ in range(12):
        recent = full[-1] if rng.integers(4) else full[int(rng.integers(len(full)))]
        kind = rng.integers(10)
        if kind < 4:
            full.append(apply(UNARY[int(rng.integers(len(UNARY)))], recent))
        elif kind < 8:
            pair = [recent, operand()]
            rng.shuffle(pair)  # type: ignore[arg-type]
            full.append(apply(REAL[int(rng.integers(len(REAL)))], *pair))
        else:
            function = TRUTH[int(rng.integers(len(TRUTH)))]
            given = truths[-1] if truths and truths[-1].shape == shape else mask
            if function.takes_b8[0]:
                other = apply(BY_OP["less"], recent, operand())
                truth = apply(function, *([given, other][: function.operands]))
            else:
                truth = apply(function, *([recent, operand()][: function.operands]))
            truths.append(truth)
            full.append(apply(BY_OP["where"], truth, recent, operand()))
    graph.outputs = [
        value for node in graph.nodes for value in node.outputs if not value.uses and value.dtype is DType.f32
    ]
    for number, value in enumerate(graph.outputs):
        value.name = f"out{number}"
    graph.remove_dead()
    make_names_unique(graph)
    verify(graph)
    return graph


def feeds_of(graph: Graph, seed: int = 0, **sizes: int) -> dict[str, np.ndarray]:
    """Inputs for a graph."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in graph.inputs:
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in value.shape]
        real = rng.uniform(-3, 3, shape).astype(np.float32)
        feeds[value.name] = real > 0 if value.dtype is DType.b8 else real
    return feeds


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two results are the same; which of the many NaN one is does not count."""
    both = np.isnan(a) & np.isnan(b)
    return a.shape == b.shape and np.where(both, 0, a).tobytes() == np.where(both, 0, b).tobytes()
