"""Chains and trees of elementwise ops: which are fused, and that the results are those of the ops, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from elementwise_graphs import feeds_of, random_graph, same_bits
from onnx import TensorProto, helper, numpy_helper
from pass_checks import body, dedent, finish, new_graph, numbers, ops_of, run_pass
from tflite_builder import TfliteBuilder

from microlith import load, modelfile
from microlith.codegen.fused_layers import expanded
from microlith.converter import convert
from microlith.converter.passes import fuse_elementwise
from microlith.errors import InputError, MicrolithError
from microlith.ir import Graph
from microlith.nnacl_kernels import catalogue
from microlith.ops import fused


def formulas(graph: Graph) -> list[str]:
    return [fused.formula(node.attrs) for node in graph.nodes if node.op == fused.NAME]


def runs(graph: Graph, folder: Path, feeds: dict[str, np.ndarray], **options: object) -> dict[str, np.ndarray]:
    modelfile.save(graph, folder / "m.lith")
    with load(folder / "m.lith", **options) as model:
        return dict(model.run(feeds))


def test_a_chain() -> None:
    graph = new_graph(x=(2, 3))
    t = graph.add("mul", [graph.inputs[0], graph.constant("two", np.float32(2))]).output
    t = graph.add("add", [t, graph.constant("v", numbers(3))], {"clamp_min": 0.0, "clamp_max": 6.0}).output
    finish(graph, y=graph.add("tanh", [t]).output)
    assert run_pass(fuse_elementwise, graph)
    assert formulas(graph) == ["tanh(clip(add(mul(x0, 2), x1), 0, 6))"]
    assert [value.name for value in graph.nodes[0].inputs if value] == ["x", "v"]


def test_a_value_that_is_used_twice() -> None:
    graph = new_graph(x=(4,))
    t = graph.add("add", [graph.inputs[0], graph.constant("one", np.float32(1))]).output
    finish(graph, y=graph.add("mul", [graph.add("sigmoid", [t]).output, t]).output)
    assert run_pass(fuse_elementwise, graph)
    assert formulas(graph) == ["t0 = add(x0, 1); mul(sigmoid(t0), t0)"]


def test_what_others_use_stays() -> None:
    graph = new_graph(x=(4,))
    a = graph.add("tanh", [graph.inputs[0]]).output
    b = graph.add("abs", [a]).output
    finish(graph, y=graph.add("mul", [b, a]).output, z=a)
    assert run_pass(fuse_elementwise, graph)
    assert ops_of(graph) == ["tanh", fused.NAME]
    assert formulas(graph) == ["mul(abs(x0), x0)"]


def test_nothing_is_computed_at_a_larger_shape() -> None:
    graph = new_graph(x=(8, 5), gate=(1, 5))
    gate = graph.add("sigmoid", [graph.inputs[1]]).output
    finish(graph, y=graph.add("mul", [graph.inputs[0], gate]).output)
    before = body(graph)
    assert not run_pass(fuse_elementwise, graph)
    assert body(graph) == before


def test_single_ops_and_integers_stay() -> None:
    graph = new_graph(x=(2, 3))
    s = graph.add("cast", [graph.inputs[0]], {"to": 5}).output
    t = graph.add("mul", [graph.add("add", [s, s]).output, s]).output
    finish(graph, y=graph.add("cast", [t], {"to": 0}).output, z=graph.add("relu", [graph.inputs[0]]).output)
    before = body(graph)
    assert not run_pass(fuse_elementwise, graph)
    assert body(graph) == before


def test_conditions_are_inside_and_outside() -> None:
    graph = new_graph(x=(2, 3), y=(2, 3))
    x, y = graph.inputs
    test = graph.add("greater", [x, y]).output
    chosen = graph.add("where", [test, x, graph.constant("zero", np.float32(0))]).output
    finish(graph, out=graph.add("exp", [chosen]).output)
    assert run_pass(fuse_elementwise, graph)
    assert formulas(graph) == ["exp(where(greater(x0, x1), x0, 0))"]


def test_long_chains_are_divided() -> None:
    graph = new_graph(x=(2, 3))
    t = graph.inputs[0]
    for _ in range(40):
        t = graph.add("sin", [t]).output
    finish(graph, y=t)
    assert run_pass(fuse_elementwise, graph)
    assert [node.attrs["step_count"] for node in graph.nodes] == [8, 16, 16]


def test_a_sum_does_not_hold_what_it_adds() -> None:
    """Each product is made of much; were all added at the end, all would be kept until then."""
    graph = new_graph(x=(4, 4))
    total = None
    for index in range(5):
        weights = graph.constant(f"w{index}", numbers(4, 4, seed=index))
        part = graph.add("matmul", [graph.inputs[0], weights]).output
        total = part if total is None else graph.add("add", [total, part]).output
    assert total is not None
    finish(graph, y=total)
    assert not run_pass(fuse_elementwise, graph)


def test_a_region_runs_as_soon_as_it_can() -> None:
    """What lies between its ops does not keep both inputs of the sum."""
    graph = new_graph(x=(4, 4), y=(4, 4))
    x, y = (graph.add("transpose", [value], {"perm": (1, 0)}).output for value in graph.inputs)
    total = graph.add("add", [x, y]).output
    foreign = graph.add("softmax", [graph.inputs[0]], {"axis": 1}).output
    finish(graph, y_=graph.add("tanh", [total]).output, z=foreign)
    assert run_pass(fuse_elementwise, graph)
    assert ops_of(graph) == ["transpose", "transpose", fused.NAME, "softmax"]


def test_text() -> None:
    graph = new_graph(x=(2, 3))
    finish(graph, y=graph.add("abs", [graph.add("neg", [graph.inputs[0]]).output]).output)
    run_pass(fuse_elementwise, graph)
    zero = 32 << 16 | 32 << 24
    steps = [fused.BY_OP["neg"].number | zero, fused.BY_OP["abs"].number | 8 << 8 | zero]
    assert body(graph) == dedent(f"%y: f32[2,3] = fused_elementwise(%x) {{steps={steps}, constants=[0]}}")


@pytest.mark.parametrize("seed", range(40))
def test_the_bits_are_those_of_the_ops(seed: int, tmp_path: Path) -> None:
    shape = [(2, 5, 7, 3), (3, 40, 9), (700, 65), (2, 3, 1100), (1, 1, 1)][seed % 5]
    graph = random_graph(seed, shape)
    twin = graph.copy()
    assert fuse_elementwise.run(twin)
    feeds = feeds_of(graph)
    for isa in ("c", None):
        wanted = runs(graph, tmp_path, feeds, isa=isa)
        for threads in (1, 3):
            got = runs(twin, tmp_path, feeds, isa=isa, threads=threads)
            for name, array in wanted.items():
                assert same_bits(got[name], array), (name, isa, threads, formulas(twin))


@pytest.mark.parametrize("seed", range(8))
def test_open_sizes(seed: int, tmp_path: Path) -> None:
    graph = random_graph(100 + seed, ("batch", 3, "seq", 4))
    twin = graph.copy()
    fuse_elementwise.run(twin)
    for sizes in ({"batch": 1, "seq": 1}, {"batch": 2, "seq": 1}, {"batch": 1, "seq": 33}, {"batch": 3, "seq": 20}):
        feeds = feeds_of(graph, **sizes)
        wanted, got = runs(graph, tmp_path, feeds), runs(twin, tmp_path, feeds)
        for name, array in wanted.items():
            assert same_bits(got[name], array), (name, sizes, formulas(twin))


@pytest.mark.parametrize("seed", range(6))
def test_a_fused_graph_can_be_taken_apart(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed)
    twin = graph.copy()
    fuse_elementwise.run(twin)
    apart = expanded(twin)
    assert fused.NAME not in ops_of(apart)
    assert sorted(ops_of(apart)) == sorted(ops_of(graph))
    feeds = feeds_of(graph)
    wanted, got = runs(graph, tmp_path, feeds), runs(apart, tmp_path, feeds)
    assert all(same_bits(got[name], array) for name, array in wanted.items())


def _onnx_model() -> onnx.ModelProto:
    """A gate as exporters spell it, with a residual, between two matrix products."""
    weights = [numpy_helper.from_array(numbers(6, 6, seed=n), f"w{n}") for n in range(2)]
    others = {"bias": numbers(6, seed=3), "half": np.float32(0.5), "low": np.float32(-0.25)}
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Mul", ["a", "half"], ["b"]),
        helper.make_node("Add", ["b", "bias"], ["c"]),
        helper.make_node("Tanh", ["c"], ["d"]),
        helper.make_node("Max", ["d", "low"], ["e"]),
        helper.make_node("Mul", ["e", "b"], ["f"]),
        helper.make_node("MatMul", ["f", "w1"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 6])],
        [*weights, *(numpy_helper.from_array(np.asarray(array), name) for name, array in others.items())],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def test_an_onnx_model(tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime, which gives the expected results, is not installed")
    proto = _onnx_model()
    graph = convert(proto)
    assert len(formulas(graph)) == 1
    x = numbers(5, 6, seed=9)
    (wanted,) = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(runs(graph, tmp_path, {"x": x})["y"], wanted, rtol=1e-5, atol=1e-6)
    apart = convert(proto, skip_passes=["fuse_elementwise"])
    assert formulas(apart) == []
    assert runs(apart, tmp_path, {"x": x})["y"].tobytes() == runs(graph, tmp_path, {"x": x})["y"].tobytes()


def test_a_tflite_model(tmp_path: Path) -> None:
    build = TfliteBuilder()
    x, y = build.input((1, 4, 4, 3)), build.tensor((1, 4, 4, 3))
    squared = build.tensor((1, 4, 4, 3))
    out = build.output((1, 4, 4, 3))
    bias = build.constant(numbers(3))
    build.operator("ADD", [x, bias], [y], "AddOptions")
    build.operator("LOGISTIC", [y], [squared])
    build.operator("MUL", [squared, y], [out], "MulOptions")
    graph = convert(build.build())
    data = numbers(1, 4, 4, 3, seed=4)
    got = runs(graph, tmp_path, {graph.inputs[0].name: data})[graph.outputs[0].name]
    shifted = data.astype(np.float64) + numbers(3)
    np.testing.assert_allclose(got, shifted / (1 + np.exp(-shifted)), rtol=1e-5, atol=1e-6)
    assert len(graph.nodes) <= 2


def test_only_optional_passes_can_be_left_out() -> None:
    with pytest.raises(InputError, match="'layout' cannot be left out"):
        convert(_onnx_model(), skip_passes=["layout"])


def test_damaged_programs_are_refused(tmp_path: Path) -> None:
    """Whatever bytes stand in the place of a program: refused, or a program."""
    graph = random_graph(2)
    fuse_elementwise.run(graph)
    modelfile.save(graph, tmp_path / "m.lith")
    data = (tmp_path / "m.lith").read_bytes()
    feeds = feeds_of(graph)
    rng = np.random.default_rng(0)
    node = next(node for node in graph.nodes if node.op == fused.NAME)
    inputs = [catalogue.Tensor(value.dtype.value, value.type.static_shape) for value in node.inputs if value]
    params, _ = catalogue.make_params(node.op, node.attrs, inputs)
    start = data.index(params)
    refused = accepted = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            # mostly the steps, since hardly anything but a constant may be another number there
            place = int(rng.integers(8, 8 + 4 * 16)) if rng.integers(4) else int(rng.integers(len(params)))
            damaged[start + place] = int(rng.integers(256)) if rng.integers(2) else int(rng.integers(40))
        try:
            with load(bytes(damaged)) as model:
                model.run(feeds)
            accepted += 1
        except MicrolithError:
            refused += 1
    assert refused > 1000
    assert accepted > 10


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "step_count is outside 1 .. 16"),
        ([200], "no known function"),
        ([0 | 9 << 8], "a step that is not before"),
        ([0 | 5 << 8], "an input that the node does not have"),
        ([0 | 33 << 8], "no constant of the program"),
        ([0 | 1 << 24], "more operands than its function"),
        ([11 | 0 << 8], "alpha or beta of a step is not a constant"),
        ([0, 0], "nobody uses the result of a step"),
        ([55], "the result of the program is not f32"),
        ([61], "the wrong type"),
        ([0, 65 | 8 << 8], "the wrong type"),
    ],
)
def test_refusals(steps: list[int], message: str) -> None:
    attrs = {"steps": steps, "step_count": len(steps), "constants": [0.0], "constant_count": 1}
    with pytest.raises(catalogue.PlanError, match=message):
        catalogue.make_params(fused.NAME, attrs, [catalogue.Tensor(0, (2, 3)), catalogue.Tensor(0, (3,))])


def test_every_function_has_the_kernels_that_the_table_names() -> None:
    """A step calls the best kernel of its op. An instruction set of the runtime that has some needs one for programs
    (generated code for other ones takes them apart)."""
    best_first = ("avx512", "avx2", "neon", "c")
    rows = {(row.op, row.isa) for row in catalogue.kernels() if row.dtype in (0, 7) and row.isa in best_first}
    known = {isa for op, isa in rows if op == fused.NAME}
    assert [function.number for function in fused.FUNCTIONS.values()] == list(range(len(fused.FUNCTIONS)))
    for function in fused.FUNCTIONS.values():
        found = {isa for op, isa in rows if op == function.op}
        assert found <= known, f"{function.op}: {found - known} has no kernel for fused_elementwise"
        for isa in known:
            allowed = best_first[best_first.index(isa) :]
            assert function.best[isa] == next(item for item in allowed if item in found), (function.op, isa)
