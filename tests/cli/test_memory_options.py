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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--ram-limit 0", "a limit of 0 bytes"),
        ("--ram-limit -5", "--ram-limit -5: expected a size"),
        ("--ram-limit 5X", "--ram-limit 5X: expected a size"),
        ("--ram-limit 100", "the limit is 100"),
        ("--region x:0", "at least one byte"),
        ("--region x", "at least one byte"),
        ("--region x:-5", "expected a size"),
        ("--region x:99999999G", "can address no more than 4,294,967,296"),
        ("--region x:3G --region y:3G", "can address no more than"),
        ("--region x:10K --region X:20K", "the region 'x' is given twice"),
        ("--region x:10K:swift", "'swift' is not known"),
        ("--region x:10K:fast,slow", "cannot be both fast and slow"),
        ("--region x:10K:rom:ram", "cannot be both ram and rom"),
        ("--region flash:1M", "no region can hold activations"),
        ("--region bss:1K", "no name that C and the linker allow"),
        ("--region x:16", "cannot hold the activations"),
        ("--region x:16 --ram-limit 1M", "even in stripes"),
        ("--region x:64K --project arduino", "no linker script of ours"),
    ],
)
def test_limits_and_regions_that_make_no_sense(
    cli: Cli, image_file: Path, tmp_path: Path, options: str, words: str
) -> None:
    output = tmp_path / "a"
    assert_clear(cli("codegen", image_file, "-t", "cortex-m4", "-o", output, *options.split()), words)
    assert not output.exists()


def test_a_limit_that_is_ample(cli: Cli, image_file: Path, tmp_path: Path) -> None:
    done = cli("codegen", image_file, "-t", "cortex-m4", "-o", tmp_path / "a", "--ram-limit", "99999999G")
    assert done.code == 0 and "stripe" not in done.out
