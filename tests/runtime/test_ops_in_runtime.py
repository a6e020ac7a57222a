"""Every op, as a model of one node, against its reference: from a file, in the C runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microlith
from microlith import modelfile, ops
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue

SEEDS = 4


def one_node(opdef: ops.OpDef, seed: int, constants: bool) -> tuple[Graph, dict[str, np.ndarray]]:
    """A sample of an op as a graph. Input 0 is a graph input; the others are constants, or inputs too."""
    sample = opdef.samples(np.random.default_rng(seed))
    graph = Graph(opdef.name)
    given: dict[str, np.ndarray] = {}
    values: list[Value | None] = []
    for index, array in enumerate(sample.inputs):
        if array is None:
            values.append(None)
        elif constants and index > 0:
            values.append(graph.constant(f"c{index}", np.asarray(array)))
        else:
            given[f"x{index}"] = np.asarray(array)
            type = TensorType(DType.from_numpy(given[f"x{index}"].dtype), given[f"x{index}"].shape)
            values.append(Value(f"x{index}", type))
            graph.inputs.append(values[-1])
    graph.outputs = list(graph.add(opdef.name, values, sample.attrs, name="node").outputs)
    return graph, given


@pytest.mark.parametrize("name", [opdef.name for opdef in ops.all_ops()])
def test_op(name: str, tmp_path: Path) -> None:
    assert name in catalogue.ops()
    opdef = ops.get(name)
    for seed in range(SEEDS):
        for constants in (True, False):
            graph, given = one_node(opdef, seed, constants)
            modelfile.save(graph, tmp_path / "op.lith")
            for isa, threads in (("c", 1), (None, 3)):
                results = microlith.load(tmp_path / "op.lith", isa=isa, threads=threads).run(given)
                for key, expected in evaluate(graph, given).items():
                    assert results[key].shape == expected.shape
                    if expected.dtype.kind != "f":
                        np.testing.assert_array_equal(results[key], expected, err_msg=f"seed {seed}")
                    elif expected.size:
                        finite = np.abs(expected[np.isfinite(expected)])
                        np.testing.assert_allclose(
                            results[key].astype(np.float64),
                            expected.astype(np.float64),
                            rtol=0,
                            atol=opdef.tolerance.absolute + opdef.tolerance.relative * finite.max(initial=0),
                            err_msg=f"seed {seed}",
                        )
