"""Stripes of models that take images with their channels first: ONNX Runtime's numbers, with less memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built
from mlperf_tiny import SHARED
from onnx_images import image_network, images, scores

from microlith import convert
from microlith.binding import sized
from microlith.codegen import execute, generate
from microlith.errors import InputError, TargetError
from microlith.evaluate import evaluate
from microlith.row_rules import row_prefix
from microlith.stepwise import Executor
from microlith.stripes import can_arrive, stripe, stripe_arriving

NHWC = (0, 2, 3, 1)


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("height", [9, 40])
def test_every_division_gives_the_numbers_of_onnx_runtime(quantized: bool, height: int) -> None:
    model = image_network(quantized, height=height)
    graph = sized(convert(model), {"N": 1})
    (image,) = images(model, 1)
    wanted = scores(model, image)
    assert len(np.unique(wanted)) > 2
    prefix = row_prefix(graph)
    assert prefix.end is not None and prefix.end.op == "reduce_max"
    assert any(node.op == "transpose" for node in prefix.nodes)
    for length in range(1, len(prefix.nodes) + 1):
        for count in (2, 5):
            got = evaluate(stripe(graph, length, count), {"image": image})
            np.testing.assert_array_equal(got["scores"], wanted)


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
@pytest.mark.parametrize("quantized", [False, True])
def test_a_limit_of_ram(quantized: bool, target: str, tmp_path: Path) -> None:
    model = image_network(quantized)
    graph = convert(model, integer_borders=quantized)
    free = generate(graph, target, tmp_path / "free", sizes={"N": 1})
    limit = (free.arena_bytes + free.stack_bytes) * 3 // 4
    project = built(graph, target, tmp_path / "a", sizes={"N": 1}, ram_limit=limit)
    assert project.report["arena_bytes"] + project.report["stack_bytes"] <= limit
    assert project.report["stripes"]["stripes"] > 1 and project.report["macs"] <= free.macs
    samples = images(model, 3)
    dtype = graph.inputs[0].dtype.numpy
    result = execute.run(project, [{"image": image.astype(dtype)} for image in samples])
    for image, output in zip(samples, result.samples, strict=True):
        np.testing.assert_array_equal(output["scores"], scores(model, image))


def test_one_channel_arrives_by_rows(tmp_path: Path) -> None:
    model = image_network(True, channels=1)
    graph = convert(model)
    project = built(graph, "cortex-m4", tmp_path / "a", sizes={"N": 1}, input_by_rows=True)
    assert project.report["input_rows"]["rows"] == 40
    assert sum(rows for _, rows in project.report["input_rows"]["pieces"]) == 40
    assert execute.selftest(project).endswith("PASS\n")
    samples = images(model, 3)
    result = execute.run(project, [{"image": image} for image in samples])
    for image, output in zip(samples, result.samples, strict=True):
        np.testing.assert_array_equal(output["scores"], scores(model, image))


def test_several_channels_arrive_by_rows_once_they_are_last(tmp_path: Path) -> None:
    model = image_network(True)
    with pytest.raises(TargetError, match="its channels first") as error:
        generate(convert(model), "cortex-m4", tmp_path / "a", sizes={"N": 1}, input_by_rows=True)
    assert "--input-layout nhwc" in error.value.hint
    graph = convert(model, input_layout="nhwc")
    assert graph.inputs[0].shape == ("N", 40, 12, 3) and graph.inputs[0].name == "image"
    assert not any(node.op == "transpose" for node in graph.nodes)
    project = built(graph, "cortex-m4", tmp_path / "a", sizes={"N": 1}, input_by_rows=True)
    samples = images(model, 3)
    result = execute.run(project, [{"image": image.transpose(NHWC)} for image in samples])
    for image, output in zip(samples, result.samples, strict=True):
        np.testing.assert_array_equal(output["scores"], scores(model, image))


def test_a_limit_that_is_out_of_reach_says_what_would_help(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"the least that .* is [0-9,]+ \(they end at ReduceMax") as error:
        generate(convert(image_network(True)), "cortex-m4", tmp_path / "a", sizes={"N": 1}, ram_limit=500)
    assert "--input-layout nhwc" in error.value.hint and "--integer-io" in error.value.hint


def test_other_layouts_are_refused() -> None:
    with pytest.raises(InputError, match="there is no input layout 'hwcn'"):
        convert(image_network(False), input_layout="hwcn")
    with pytest.raises(InputError, match="no input is an image with the channels first"):
        convert(_channels_last(), input_layout="nhwc")


def _channels_last() -> bytes:
    """As exporters of TensorFlow write it: the model itself transposes its input."""
    model = image_network(False)
    first = model.graph.node[0]
    (old,) = model.graph.input
    old.type.tensor_type.shape.dim[1].dim_value, old.type.tensor_type.shape.dim[3].dim_value = 40, 3
    old.type.tensor_type.shape.dim[2].dim_value = 12
    import onnx

    turned = onnx.helper.make_node("Transpose", ["image"], ["turned"], perm=[0, 3, 1, 2])
    first.input[0] = "turned"
    model.graph.node.insert(0, turned)
    return model.SerializeToString()


@pytest.mark.parametrize("integer_borders", [False, True])
def test_layout_and_integers_go_together(integer_borders: bool) -> None:
    model = image_network(True, batch=1)
    graph = convert(model, input_layout="nhwc", integer_borders=integer_borders)
    (image,) = images(model, 1)
    (source,) = graph.inputs
    assert source.dtype.name == ("s8" if integer_borders else "f32") and can_arrive(graph) == ""
    given = image.transpose(NHWC).astype(source.dtype.numpy)
    np.testing.assert_array_equal(evaluate(graph, {"image": given})["scores"], scores(model, image))


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="the shared models are not there (MICROLITH_SHARED)")
@pytest.mark.parametrize(
    ("model", "layout"),
    [
        ("classification/mnist_rten.onnx", "keep"),
        ("classification/mnist_cntk.onnx", "keep"),
        ("detection/yunet_n_320_qdq_int8.onnx", "nhwc"),
        ("detection/ultraface_rfb_320_qoperator_u8.onnx", "keep"),
        ("enhancement/super_resolution_ort.onnx", "keep"),
    ],
)
def test_real_models_in_stripes(model: str, layout: str) -> None:
    graph = convert(SHARED / "models" / model, input_layout=layout)
    graph = sized(graph, {dim: 1 for dim in graph.inputs[0].shape if isinstance(dim, str)})
    (source,) = graph.inputs
    image = np.random.default_rng(1).random(source.type.static_shape).astype(np.float32)
    wanted = Executor(graph).run({source.name: image})
    length = len(row_prefix(graph).nodes)
    assert length > 3
    got = Executor(stripe(graph, length, 6)).run({source.name: image})
    for name, array in wanted.items():
        np.testing.assert_array_equal(got[name], array)
    if not can_arrive(graph):
        axis = row_prefix(graph).axes[source]
        striped, arrivals = stripe_arriving(graph, length, 6)
        pieces = {a.piece.name: np.take(image, range(a.begin, a.end), axis) for a in arrivals}
        for name, array in Executor(striped).run(pieces).items():
            np.testing.assert_array_equal(array, wanted[name])
