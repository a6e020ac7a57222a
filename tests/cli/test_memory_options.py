"""Options of ``codegen`` and ``convert`` about memory: what they say, and what they say to mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .conftest import Cli
from .test_mistakes import assert_clear


@pytest.fixture
def image_file(tmp_path: Path) -> Path:
    """A convolution over an image with its channels first."""
    kernel = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "kernel")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "kernel"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        "image",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 16])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4, 30, 14])],
        [kernel],
    )
    path = tmp_path / "image.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_input_layout_is_told(cli: Cli, image_file: Path, tmp_path: Path) -> None:
    done = cli("convert", image_file, "--input-layout", "nhwc", "-o", tmp_path / "a.lith")
    assert done.code == 0 and "input 'image' takes f32[1,32,16,3] (rows, columns, channels)" in done.out
    done = cli("codegen", image_file, "--input-layout", "nhwc", "--input-by-rows", "-t", "host", "-o", tmp_path / "a")
    assert done.code == 0 and "input 'image' takes f32[1,32,16,3]" in done.out


def test_input_layout_mistakes(cli: Cli, image_file: Path, lith_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "a"
    assert_clear(cli("convert", image_file, "--input-layout", "chw"), "no input layout 'chw'", "keep, nhwc")
    code = ["codegen", "-t", "host", "-o", output]
    assert_clear(cli(*code, lith_file, "--input-layout", "nhwc"), "--input-layout is for .onnx", "microlith convert")
    assert_clear(cli(*code, image_file, "--input-by-rows"), "its channels first", "--input-layout nhwc")
    assert not output.exists()
