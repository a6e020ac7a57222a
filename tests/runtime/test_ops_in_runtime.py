"""Every op, as a model of one node, against its reference: from a file, in the C runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lith_models import one_node

import microlith
from microlith import modelfile, ops
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.nnacl_kernels import catalogue
from microlith.verify import verify

SEEDS = 4


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
                        finite = np.abs(expected[np.isfinite(expected)]).astype(np.float64)
                        tolerance = opdef.tolerance_of(DType.from_numpy(expected.dtype))
                        np.testing.assert_allclose(
                            results[key].astype(np.float64),
                            expected.astype(np.float64),
                            rtol=0,
                            atol=tolerance.absolute + tolerance.relative * finite.max(initial=0),
                            err_msg=f"seed {seed}",
                        )


@pytest.mark.parametrize("name", [opdef.name for opdef in ops.all_ops()])
def test_attributes_come_back_from_a_file(name: str, tmp_path: Path) -> None:
    for seed in range(3 * SEEDS):
        graph, _ = one_node(ops.get(name), seed, False)
        modelfile.save(graph, tmp_path / "op.lith")
        loaded = modelfile.load(tmp_path / "op.lith")
        verify(loaded)
        attrs = loaded.nodes[0].attrs
        for key, value in graph.nodes[0].attrs.items():
            if isinstance(value, int | float):
                assert attrs[key] == np.float32(value) if isinstance(value, float) else attrs[key] == value, key
                continue
            given, read = np.asarray(value), np.asarray(attrs[key])
            given = given.astype(np.float32) if given.size and given.dtype.kind == "f" else given
            np.testing.assert_array_equal(read[: given.size], given, err_msg=f"{key}, seed {seed}")
            assert not read[given.size :].any(), key  # what was not given is zero
