"""Models that cannot be converted: one clear error each, and never a crash."""

from __future__ import annotations

import contextlib
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import check, converted, make_model, numbers, save

from microlith.converter import convert
from microlith.converter.frontends.onnx import ROWS
from microlith.errors import InputError, MicrolithError, ModelFormatError, ShapeError, UnsupportedError


def small_model() -> onnx.ModelProto:
    """A little of everything: convolution, pool, shapes, logic, reductions, a product."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["t0"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["t0", "g", "g", "g", "v"], ["t1"]),
        helper.make_node("Clip", ["t1", "low", "high"], ["t2"]),
        helper.make_node("MaxPool", ["t2"], ["t3"], kernel_shape=[2, 2], ceil_mode=1),
        helper.make_node("Resize", ["t3", "", "scales"], ["t4"], mode="nearest"),
        helper.make_node("Pad", ["t4", "pads"], ["t5"], mode="reflect"),
        helper.make_node("Slice", ["t5", "starts", "ends", "axes"], ["t6"]),
        helper.make_node("Split", ["t6", "parts"], ["t7", "t8"], axis=1),
        helper.make_node("Concat", ["t8", "t7"], ["t9"], axis=1),
        helper.make_node("ReduceMean", ["t9"], ["t10"], axes=[2, 3], keepdims=0),
        helper.make_node("Shape", ["t10"], ["shape"]),
        helper.make_node("Reshape", ["t10", "shape"], ["t11"]),
        helper.make_node("Gemm", ["t11", "m"], ["t12"], transB=1),
        helper.make_node("Greater", ["t12", "low"], ["mask"]),
        helper.make_node("Where", ["mask", "t12", "low"], ["t13"]),
        helper.make_node("LayerNormalization", ["t13", "ln"], ["t14"]),
        helper.make_node("Softmax", ["t14"], ["y"], axis=-1),
    ]
    constants = {
        "w": numbers(4, 2, 3, 3),
        "b": numbers(4),
        "g": numbers(4),
        "v": numbers(4, low=0.1),
        "low": np.float32(0),
        "high": np.float32(6),
        "scales": np.float32([1, 1, 2, 2]),
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        "starts": np.array([0, 1]),
        "ends": np.array([4, -1]),
        "axes": np.array([1, 2]),
        "parts": np.array([1, 3]),
        "m": numbers(5, 4),
        "ln": numbers(5),
    }
    return make_model(nodes, {"x": (1, 2, 8, 8)}, ["y"], constants)


def error_of(model: onnx.ModelProto, folder: Path, **options: object) -> MicrolithError:
    with pytest.raises(MicrolithError) as caught:
        converted(model, folder, **options)
    return caught.value


def test_small_model_converts(tmp_path: Path) -> None:
    assert converted(small_model(), tmp_path).outputs[0].shape == (1, 5)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        convert(tmp_path / "none.onnx")


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a model", b"\x08\x07"])
def test_files_that_are_no_models(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelFormatError) as caught:
        convert(path)
    assert str(path) in str(caught.value)


def test_unknown_suffix(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(b"hello")
    with pytest.raises(ModelFormatError, match="neither an ONNX nor a TFLite model"):
        convert(path)


def test_a_model_without_a_suffix(tmp_path: Path) -> None:
    assert convert(save(small_model(), tmp_path, "model")).outputs[0].shape == (1, 5)


def test_all_unsupported_nodes_are_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["h"], name="recurrent", direction="sideways"),
        helper.make_node("Relu", ["h"], ["t"]),
        helper.make_node("Multinomial", ["t"], ["n"], name="holes"),
        helper.make_node("Conv", ["image", "k"], ["c"], name="conv", auto_pad="SOMEHOW"),
        helper.make_node("Magic", ["c"], ["m"], name="spell", domain="com.example"),
        helper.make_node("Pad", ["image", "pads"], ["y"], name="pad", mode="somehow"),
        helper.make_node("Nonsense", ["image"], ["z"], name="nonsense"),
    ]
    constants = {
        "w": numbers(1, 12, 2),
        "r": numbers(1, 12, 3),
        "k": numbers(1, 3, 3, 3),
        "pads": np.zeros(8, np.int64),
    }
    model = make_model(
        nodes, {"x": (4, 1, 2), "image": (1, 3, 8, 8)}, ["y", "n", "m", "z"], constants, 19, domains=["com.example"]
    )
    error = error_of(model, tmp_path)
    assert isinstance(error, UnsupportedError)
    found = {item.node: (item.op, item.reason) for item in error.items}
    assert set(found) == {"recurrent", "holes", "conv", "spell", "pad", "nonsense"}
    assert found["conv"] == ("Conv", "attribute 'auto_pad' is 'SOMEHOW'")
    assert found["spell"][0] == "com.example.Magic"
    assert "has no such operator" in found["nonsense"][1]
    assert "TFLite" in next(item.hint for item in error.items if item.node == "nonsense")
    assert str(error).count("\n") >= 6


def test_two_hundred_unsupported_nodes(tmp_path: Path) -> None:
    names = ["x", *(f"t{i}" for i in range(200))]
    nodes = [helper.make_node("Multinomial", [names[i]], [names[i + 1]], name=f"n{i}") for i in range(200)]
    error = error_of(make_model(nodes, {"x": (2, 3)}, ["t199"]), tmp_path)
    assert isinstance(error, UnsupportedError)
    assert len(error.items) == 200


@pytest.mark.parametrize(
    ("op", "attrs", "reason"),
    [
        ("MaxPool", {"kernel_shape": [2, 2], "storage_order": 0}, None),
        ("MaxPool", {"kernel_shape": [2]}, "attribute 'kernel_shape' is [2], expected 2 sizes"),
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [0, 1]}, "attribute 'strides' is [0, 1]"),
        ("MaxPool", {"kernel_shape": [2, 2], "pads": [0, 0, -1, 0]}, "attribute 'pads'"),
        ("MaxPool", {"kernel_shape": "two"}, "attribute 'kernel_shape' has the wrong type"),
        ("MaxPool", {"kernel_shape": [2, 2], "surprise": 3}, "attribute 'surprise' is not supported"),
        ("MaxPool", {"kernel_shape": [100, 2]}, "does not fit"),
        ("Transpose", {"perm": [0, 1, 1, 3]}, "attribute 'perm' is [0, 1, 1, 3]"),
        ("Softmax", {"axis": 7}, "attribute 'axis' is 7, outside of the 4 dimensions"),
        ("Flatten", {"axis": -9}, "attribute 'axis' is -9"),
        ("Cast", {"to": 8}, "element type STRING is not supported"),
        ("Cast", {"to": 999}, "element type 999 is unknown"),
        ("DepthToSpace", {"blocksize": 5}, "3 channels do not divide by 5 squared"),
    ],
)
def test_bad_attributes(op: str, attrs: dict[str, object], reason: str | None, tmp_path: Path) -> None:
    model = make_model([helper.make_node(op, ["x"], ["y"], name="n", **attrs)], {"x": (1, 3, 8, 8)}, ["y"])
    if reason is None:
        converted(model, tmp_path)
        return
    error = error_of(model, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert reason in error.items[0].reason


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="n")
    error = error_of(make_model([node], {"x": (1, 3, 8, 8)}, ["y"], {"w": numbers(4, 2, 3, 3)}), tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "does not fit 3 input channels" in error.items[0].reason


def test_types_that_do_not_fit(tmp_path: Path) -> None:
    node = helper.make_node("Add", ["x", "i"], ["y"], name="n")
    error = error_of(make_model([node], {"x": (3,), "i": (3,)}, ["y"], types={"i": TensorProto.INT64}), tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "f32" in str(error)
    assert "s64" in str(error)


def test_integers_where_real_numbers_belong(tmp_path: Path) -> None:
    """In front of it a constant, so that it would be computed at conversion."""
    data = numpy_helper.from_array(np.arange(3, dtype=np.int8))
    constant = helper.make_node("Constant", [], ["c"], value=data)
    nodes = [
        constant,
        helper.make_node("LogSoftmax", ["c"], ["p"], name="n"),
        helper.make_node("Add", ["x", "p"], ["y"]),
    ]
    error = error_of(make_model(nodes, {"x": (3,)}, ["y"]), tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "expected real numbers" in error.items[0].reason


@pytest.mark.parametrize("elem_type", [TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.BFLOAT16])
def test_input_types_without_a_row(elem_type: int, tmp_path: Path) -> None:
    model = make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": (3,)}, ["y"], types={"x": elem_type})
    error = error_of(model, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert any(item.node == "x" and TensorProto.DataType.Name(elem_type) in item.reason for item in error.items)


def test_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (3,)}, ["y"])
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    model.graph.input.append(sequence)
    error = error_of(model, tmp_path)
    assert "only tensors are supported" in str(error)


def test_input_without_a_shape(tmp_path: Path) -> None:
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (3,)}, ["y"])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    error = error_of(model, tmp_path)
    assert isinstance(error, ShapeError)
    assert "--input x:" in error.hint
    assert converted(model, tmp_path, inputs={"x": (2, 5)}).outputs[0].shape == (2, 5)


def test_a_size_that_must_be_known(tmp_path: Path) -> None:
    """The channels of a normalization whose scale is an input too: nothing in the model tells them."""
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], name="n", num_groups=2)
    model = make_model([node], {"x": (1, "c", 4, 4), "s": ("c",), "b": ("c",)}, ["y"], opset=21)
    error = error_of(model, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "must be known" in error.items[0].reason
    assert "--input" in error.items[0].hint
    sizes = {"x": (1, 4, 4, 4), "s": (4,), "b": (4,)}
    assert converted(model, tmp_path, inputs=sizes).outputs[0].shape == (1, 4, 4, 4)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"xx": (1, 2, 8, 8)}, "the model has no input 'xx'"),
        ({"x": (1, 2, 8)}, "cannot have the shape"),
        ({"x": (1, 2, 9, 8)}, "cannot have the shape"),
        ({"x": (0, 2, 8, 8)}, "cannot have the shape"),
    ],
)
def test_given_shapes_that_do_not_fit(given: dict[str, tuple[int, ...]], reason: str, tmp_path: Path) -> None:
    error = error_of(small_model(), tmp_path, inputs=given)
    assert isinstance(error, InputError)
    assert reason in error.what


@pytest.mark.parametrize("shape", [-3, 3, "123", (1, -2), (1, 2.5), (1, None), (2**31,)], ids=str)
def test_given_shapes_that_are_no_shapes(shape: Any, tmp_path: Path) -> None:
    error = error_of(small_model(), tmp_path, inputs={"x": shape})
    assert isinstance(error, InputError)
    assert "'x'" in error.what
    assert "no sequence of sizes" in error.what


@pytest.mark.parametrize("text", [b"batch", b"Greater", b"ln", b"pads", b"mode"])
def test_text_that_is_no_utf8(text: bytes, tmp_path: Path) -> None:
    model = small_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    content = model.SerializeToString()
    assert text in content
    path = tmp_path / "model.onnx"
    path.write_bytes(content.replace(text, text[:-1] + b"\xf1"))
    with pytest.raises(ModelFormatError, match="damaged"):
        convert(path)


def test_the_weights_tell_the_channels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 4, 9, 8)).astype(np.float32), rng.normal(size=(6, 2, 3, 3)).astype(np.float32)
    for op, weights, group in (("Conv", w, 2), ("Conv", w[:4, :1], 4), ("ConvTranspose", w[:4], 2)):
        node = helper.make_node(op, ["x", "w"], ["y"], group=group)
        check(make_model([node], {"x": ("n", "c", "h", "w")}, ["y"], {"w": weights}), tmp_path, {"x": x}, 1e-5)


def test_one_symbol_with_two_sizes(tmp_path: Path) -> None:
    model = make_model([helper.make_node("Add", ["a", "b"], ["y"])], {"a": ("n",), "b": ("n",)}, ["y"])
    error = error_of(model, tmp_path, inputs={"a": (2,), "b": (3,)})
    assert "the size 'n' is both 2 and 3" in str(error)
    assert converted(model, tmp_path, inputs={"a": (4,)}).inputs[1].shape == (4,)


def test_unknown_contract(tmp_path: Path) -> None:
    assert "no rounding contract 'loose'" in str(error_of(small_model(), tmp_path, contract="loose"))
    assert converted(small_model(), tmp_path, contract="single").contract == "single"


@pytest.mark.parametrize("opset", [0, 99])
def test_opsets_out_of_range(opset: int, tmp_path: Path) -> None:
    model = small_model()
    model.opset_import[0].version = opset
    assert isinstance(error_of(model, tmp_path), ModelFormatError)


def test_missing_external_data(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(small_model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelFormatError, match="external data") as caught:
        convert(path)
    assert caught.value.hint


def test_short_external_data(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(small_model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    data = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFormatError):
        convert(path)


def test_external_data_outside_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(small_model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../../../etc/passwd"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelFormatError, match="external data"):
        convert(path)


@pytest.mark.parametrize("name", ["used", "output"])
def test_values_that_nobody_computes(name: str, tmp_path: Path) -> None:
    model = make_model([helper.make_node("Relu", ["ghost" if name == "used" else "x"], ["y"])], {"x": (3,)}, ["y"])
    if name == "output":
        model.graph.output[0].name = "ghost"
    error = error_of(model, tmp_path)
    assert isinstance(error, ModelFormatError)
    assert "'ghost'" in str(error)


def test_a_value_computed_twice(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]
    assert "a second time" in str(error_of(make_model(nodes, {"x": (3,)}, ["y"]), tmp_path))


def test_a_constant_too_large_to_compute(tmp_path: Path) -> None:
    """A few bytes that ask for terabytes."""
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("Add", ["x", "c"], ["y"]),
        helper.make_node("Tile", ["x", "s"], ["z"]),
    ]
    model = make_model(nodes, {"x": (3, 3)}, ["y", "z"], {"s": np.array([1 << 20, 1 << 20])})
    assert isinstance(error_of(model, tmp_path), UnsupportedError)


def convert_or_refuse(data: bytes, folder: Path) -> bool:
    """Whether the bytes convert; anything but a MicrolithError fails the test."""
    path = folder / "mutated.onnx"
    path.write_bytes(data)
    try:
        convert(path)
    except MicrolithError as error:
        assert str(error)
        return False
    return True


def test_truncated_files(tmp_path: Path) -> None:
    data = small_model().SerializeToString()
    for length in range(0, len(data), 11):
        convert_or_refuse(data[:length], tmp_path)


def test_mutated_bytes(tmp_path: Path) -> None:
    data = small_model().SerializeToString()
    rng = random.Random(0)
    for _ in range(1500):
        mutated = bytearray(data)
        place, length = rng.randrange(len(data)), rng.randrange(1, 30)
        match rng.randrange(3):
            case 0:
                for _ in range(rng.randrange(1, 6)):
                    mutated[rng.randrange(len(mutated))] = rng.randrange(256)
            case 1:
                del mutated[place : place + length]
            case _:
                source = rng.randrange(len(data))
                mutated[place:place] = data[source : source + length]
        convert_or_refuse(bytes(mutated), tmp_path)


ODD_NUMBERS = (0, -1, 1, 2, 3, 7, -2, 255, 2**31 - 1, -(2**31), 2**62, -(2**63))


def mutate(model: onnx.ModelProto, rng: random.Random) -> None:
    """One change that leaves the file readable: an attribute, an edge, a shape, a type, an operator."""
    graph = model.graph
    node, tensor = rng.choice(graph.node), rng.choice(graph.initializer)
    attribute = rng.choice(node.attribute) if node.attribute else None
    match rng.randrange(10):
        case 0 if attribute is not None:
            attribute.i, attribute.f, attribute.s = rng.choice(ODD_NUMBERS), float("nan"), b"\xff?"
            if attribute.ints:
                attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(ODD_NUMBERS)
        case 1 if attribute is not None:
            node.attribute.remove(attribute)
        case 2 if attribute is not None:
            attribute.type = rng.randrange(15)
        case 3:
            node.input[rng.randrange(len(node.input))] = ""
        case 4:
            names = [*node.input, *(item.name for item in graph.initializer), "x"]
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
        case 5:
            node.op_type = rng.choice(sorted(ROWS))
        case 6 if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(ODD_NUMBERS)
        case 7:
            tensor.data_type = rng.randrange(30)
        case 8:
            dim = rng.choice(graph.input[0].type.tensor_type.shape.dim)
            dim.dim_value = rng.choice(ODD_NUMBERS)
        case _:
            model.opset_import[0].version = rng.randrange(1, 30)


def test_mutated_models(tmp_path: Path) -> None:
    rng = random.Random(1)
    original = small_model()
    for _ in range(1500):
        model = onnx.ModelProto()
        model.CopyFrom(original)
        for _ in range(rng.randrange(1, 4)):
            mutate(model, rng)
        convert_or_refuse(model.SerializeToString(), tmp_path)


def test_nothing_is_written(tmp_path: Path) -> None:
    path = save(small_model(), tmp_path)
    convert(path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.onnx"]


def test_a_size_of_zero_is_a_size(tmp_path: Path) -> None:
    """Some exporters write it where they know none, so that it can be chosen as well."""
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (0, 4)}, ["y"])
    assert converted(model, tmp_path).inputs[0].shape == (0, 4)
    assert converted(model, tmp_path, inputs={"x": (2, 4)}).inputs[0].shape == (2, 4)


@pytest.mark.parametrize(
    ("node", "inputs", "types"),
    [
        (helper.make_node("Expand", ["x", "s"], ["y"]), {"x": (3, 1), "s": (2**31 - 1,)}, {"s": TensorProto.INT64}),
        (
            helper.make_node("Clip", ["x", "", "m"], ["y"]),
            {"x": (3, 4, 2**31 - 1), "m": ()},
            {"x": TensorProto.INT8, "m": TensorProto.INT8, "y": TensorProto.INT8},
        ),
    ],
)
def test_huge_sizes_cost_nothing(
    node: onnx.NodeProto, inputs: dict[str, tuple[int, ...]], types: dict[str, int]
) -> None:
    """Nothing is done once for each element of a shape that a file only states."""
    start = time.monotonic()
    with contextlib.suppress(MicrolithError):
        convert(make_model([node], inputs, ["y"], types=types))
    assert time.monotonic() - start < 10
