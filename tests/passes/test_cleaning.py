"""Passes that take things out: constants, no-ops, duplicates, dead code, pairs of quantizations."""

from __future__ import annotations

import numpy as np
import pytest
from pass_checks import body, dedent, finish, new_graph, numbers, ops_of, run_pass

from microlith.converter.passes import (
    dequantize_constants,
    fold_constants,
    merge_duplicates,
    remove_dead_code,
    remove_identities,
    remove_quantize_pairs,
    transposes_of_ones,
)
from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value


def test_fold_constants() -> None:
    graph = new_graph(x=(2, 3))
    product = graph.add("mul", [graph.constant("a", np.float32([1, 2, 3])), graph.constant("b", np.float32(2))])
    finish(graph, y=graph.add("add", [graph.inputs[0], product.output]).output)
    assert run_pass(fold_constants, graph)
    assert body(graph) == "%y: f32[2,3] = add(%x, mul_0: f32[3] [2, 4, 6])"


def test_fold_constants_leaves_outputs() -> None:
    graph = new_graph(x=(1,))
    constant = graph.constant("a", np.float32([1]))
    finish(graph, y=graph.add("neg", [constant]).output, z=graph.add("neg", [graph.inputs[0]]).output)
    assert not run_pass(fold_constants, graph)


def test_fold_constants_waits_for_quantization() -> None:
    graph = new_graph()
    x = graph.constant("x", np.array([1, 2], np.int8), Quant.per_tensor(0.5, 1))
    graph.outputs = [graph.add("dequantize", [x], output_names=["y"]).output]
    relu = graph.add("relu", [graph.outputs[0]])
    graph.outputs = [relu.output]
    assert not fold_constants.run(graph)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("reshape", {"shape": (2, 3)}),
        ("reshape", {"shape": (0, -1)}),
        ("transpose", {"perm": (0, 1)}),
        ("cast", {"to": DType.f32.value}),
        ("concat", {"axis": 0}),
        ("slice", {"start": (0, 0), "size": (2, 3), "step": (1, 1)}),
        ("pad", {"before": (0, 0), "after": (0, 0)}),
        ("expand", {"shape": (2, 3)}),
        ("clip", {}),
    ],
)
def test_identities_go(op: str, attrs: dict[str, object]) -> None:
    graph = new_graph(x=(2, 3))
    same = graph.add(op, [graph.inputs[0]], attrs)
    finish(graph, y=graph.add("neg", [same.output]).output)
    assert run_pass(remove_identities, graph)
    assert body(graph) == "%y: f32[2,3] = neg(%x)"


def test_identity_between_input_and_output_stays() -> None:
    graph = new_graph(x=(2, 3))
    finish(graph, y=graph.add("reshape", [graph.inputs[0]], {"shape": (2, 3)}).output)
    assert not run_pass(remove_identities, graph)


def test_identity_gives_its_output_name_away() -> None:
    graph = new_graph(x=(2, 3))
    inner = graph.add("neg", [graph.inputs[0]])
    finish(graph, y=graph.add("reshape", [inner.output], {"shape": (2, 3)}).output)
    assert run_pass(remove_identities, graph)
    assert body(graph) == "%y: f32[2,3] = neg(%x)"


def test_two_outputs_of_one_value_stay_two() -> None:
    graph = new_graph(x=(2, 3))
    inner = graph.add("neg", [graph.inputs[0]])
    copy = graph.add("reshape", [inner.output], {"shape": (2, 3)})
    finish(graph, y=inner.output, z=copy.output)
    assert not run_pass(remove_identities, graph)


def test_a_reversing_slice_is_no_identity() -> None:
    graph = new_graph(x=(3,))
    finish(graph, y=graph.add("slice", [graph.inputs[0]], {"start": (2,), "size": (3,), "step": (-1,)}).output)
    assert not run_pass(remove_identities, graph)


def test_chains_of_reshapes_become_one() -> None:
    graph = new_graph(x=("n", 4, 6))
    first = graph.add("reshape", [graph.inputs[0]], {"shape": (0, 24)})
    second = graph.add("reshape", [first.output], {"shape": (-1, 2, 12)})
    finish(graph, y=second.output)
    assert run_pass(remove_identities, graph)
    assert body(graph) == "%y: f32[n,2,12] = reshape(%x) {shape=[0, 2, 12]}"


def test_moving_ones_is_a_reshape() -> None:
    graph = new_graph(x=("n", 1, 5, 6))
    finish(graph, y=graph.add("transpose", [graph.inputs[0]], {"perm": (0, 2, 3, 1)}).output)
    assert run_pass(transposes_of_ones, graph)
    assert body(graph) == "%y: f32[n,5,6,1] = reshape(%x) {shape=[0, 5, 6, 1]}"


def test_widening_before_a_cast_goes() -> None:
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (3,)))])
    wide = graph.add("cast", [graph.inputs[0]], {"to": DType.s32.value})
    finish(graph, y=graph.add("cast", [wide.output], {"to": DType.f32.value}).output)
    assert run_pass(remove_identities, graph)
    assert ops_of(graph) == ["cast"]


def test_narrowing_before_a_cast_stays() -> None:
    graph = new_graph(x=(3,))
    narrow = graph.add("cast", [graph.inputs[0]], {"to": DType.s8.value})
    finish(graph, y=graph.add("cast", [narrow.output], {"to": DType.f32.value}).output)
    assert not run_pass(remove_identities, graph)


def test_equal_constants_and_nodes_merge() -> None:
    graph = new_graph(x=(2, 3))
    x = graph.inputs[0]
    a = graph.add("add", [x, graph.constant("one", np.float32([1, 1, 1]))])
    b = graph.add("add", [x, graph.constant("also_one", np.float32([1, 1, 1]))])
    other = graph.add("add", [x, graph.constant("vector", np.float32([[1, 1, 1]]))])
    sums = graph.add("mul", [a.output, b.output])
    finish(graph, y=graph.add("mul", [sums.output, other.output]).output)
    assert run_pass(merge_duplicates, graph)
    assert body(graph) == dedent(
        """
        %add_0: f32[2,3] = add(%x, one: f32[3] [1, 1, 1])
        %add_0_2: f32[2,3] = add(%x, vector: f32[1,3] [1, 1, 1])
        %mul_0: f32[2,3] = mul(%add_0, %add_0)
        %y: f32[2,3] = mul(%mul_0, %add_0_2)
        """
    ).replace("add_0_2", graph.nodes[1].output.name)


def test_equal_outputs_stay_apart() -> None:
    graph = new_graph(x=(2,))
    a, b = (graph.add("neg", [graph.inputs[0]]) for _ in range(2))
    finish(graph, y=a.output, z=b.output)
    assert not run_pass(merge_duplicates, graph)


def test_constants_of_equal_bytes_and_other_type_stay() -> None:
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s32, (2,)))])
    total = graph.add("add", [graph.inputs[0], graph.constant("i", np.zeros(2, np.int32))])
    real = graph.add("cast", [total.output], {"to": DType.f32.value})
    finish(graph, y=graph.add("add", [real.output, graph.constant("f", np.zeros(2, np.float32))]).output)
    assert not run_pass(merge_duplicates, graph)


def test_dead_code_goes() -> None:
    graph = new_graph(x=(2,), unused=(3,))
    graph.add("exp", [graph.add("neg", [graph.inputs[0]]).output])
    finish(graph, y=graph.add("abs", [graph.inputs[0]]).output)
    assert run_pass(remove_dead_code, graph)
    assert ops_of(graph) == ["abs"]


def _quantized_pair(y_quant: Quant, dtype: DType = DType.s8) -> Graph:
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (4,)), quant=Quant.per_tensor(0.5, 3))])
    real = graph.add("dequantize", [graph.inputs[0]])
    node = graph.add("quantize", [real.output], {"to": dtype.value}, quant=y_quant)
    y = graph.add("reshape", [node.output], {"shape": (2, 2)}, quant=y_quant)
    return finish(graph, y=y.output)


def test_a_quantization_of_the_same_integers_goes() -> None:
    graph = _quantized_pair(Quant.per_tensor(0.5, 3))
    assert remove_quantize_pairs.run(graph)
    assert ops_of(graph) == ["reshape"]
    assert not remove_quantize_pairs.run(graph)


def test_another_quantization_is_requantize() -> None:
    graph = _quantized_pair(Quant.per_tensor(0.25, -1), DType.u8)
    assert remove_quantize_pairs.run(graph)
    assert ops_of(graph) == ["requantize", "reshape"]
    assert graph.nodes[0].output.quant == Quant.per_tensor(0.25, -1)
    assert graph.nodes[0].output.dtype is DType.u8


def test_another_quantization_stays_under_the_contract_of_tflite() -> None:
    graph = _quantized_pair(Quant.per_tensor(0.25, -1), DType.u8)
    graph.contract = "tflite-double"
    assert not remove_quantize_pairs.run(graph)


def test_integer_weights_of_float_ops_become_floats() -> None:
    graph = new_graph(x=(2, 3))
    quant = Quant(np.float32([0.5, 2.0]), np.array([1, 0]), axis=0)
    weights = graph.constant("w", np.array([[1, 2, 3], [4, 5, 6]], np.int8), quant)
    real = graph.add("dequantize", [weights])
    finish(graph, y=graph.add("dense", [graph.inputs[0], real.output]).output)
    assert dequantize_constants.run(graph)
    assert ops_of(graph) == ["dense"]
    data = graph.nodes[0].input(1).data
    assert data is not None
    np.testing.assert_array_equal(data, np.float32([[0, 0.5, 1], [8, 10, 12]]))
    assert numbers(1).dtype == data.dtype
