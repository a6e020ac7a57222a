"""Compact lines of the DSP kernels (nnacl_kernels/common/compact_lines.h): the same bytes as the NumPy reference with
biases, multipliers and shifts at their ends, and as few bytes as they promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built, need_target

from microlith.codegen import execute
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value

DOUBLE, SINGLE, UP, UP_BY_8 = 0, 1, 3, 4
"""Numbers of ``nnacl_base.h``."""

CONV = ("conv2d", 3, 3, 6, 13)
POINTWISE = ("conv2d", 1, 1, 9, 21)
DEPTHWISE = ("depthwise_conv2d", 3, 3, 11, 11)
COLUMN = ("depthwise_conv2d", 5, 1, 11, 11)
"""Op, height and width of the kernel, channels in and out: odd, and no multiples of four."""


def layer(
    kind: tuple[str, int, int, int, int], rounding: int, shifts: tuple[int, int], bias: int, x_zero: int, y_zero: int
) -> Graph:
    """One layer. The shifts of its channels lie from one to the other, the biases within +- ``bias`` with both ends."""
    op, height, width, inside, outside = kind
    rng = np.random.default_rng(height * width + inside)
    graph = Graph("layer", contract="single" if rounding == SINGLE else "tflite-double")
    value = Value("x", TensorType(DType.s8, (1, 7, 9, inside)), quant=Quant.per_tensor(0.05, x_zero))
    graph.inputs.append(value)
    depthwise = op == "depthwise_conv2d"
    shape = (1, height, width, outside) if depthwise else (outside, height, width, inside)
    weights = rng.integers(-127, 128, shape, np.int8)
    if depthwise:
        weights[..., 0], weights[..., 1] = 127, -127
    else:
        weights[0], weights[1] = 127, -127
    biases = rng.integers(-min(bias, 20000), min(bias, 20000), outside).astype(np.int32)
    biases[:2] = bias, -bias
    multipliers = rng.integers(1 << 30, 1 << 31, outside)
    multipliers[:3] = 1 << 30, (1 << 31) - 1, (1 << 30) + 1
    requant = np.stack([multipliers, np.linspace(*shifts, outside).round()]).astype(np.int32)
    attrs = {"rounding": rounding, "x_zero": x_zero, "y_zero": y_zero, "pad_left": width // 2, "pad_top": height // 2}
    attrs |= {"pad_right": width // 2, "pad_bottom": height // 2, "q_min": y_zero if y_zero < -100 else -128}
    if depthwise:
        attrs["groups"] = outside
    constants = [graph.constant(f"c{i}", array) for i, array in enumerate((weights, biases, requant))]
    value = graph.add(op, [value, *constants], attrs, name="layer", quant=Quant.per_tensor(0.1, y_zero)).output
    value.name = "y"
    graph.outputs = [value]
    return graph


def samples_of(graph: Graph) -> list[dict[str, np.ndarray]]:
    shape = graph.inputs[0].type.static_shape
    rng = np.random.default_rng(1)
    images = [np.full(shape, -128), np.full(shape, 127), rng.choice([-128, 127], shape)]
    images += [rng.integers(-128, 128, shape) for _ in range(3)]
    return [{"x": image.astype(np.int8)} for image in images]


def check(graph: Graph, folder: Path) -> str:
    """The answers of the generated project for its kernels."""
    samples = samples_of(graph)
    wanted = np.stack([evaluate(graph, sample)["y"] for sample in samples])
    assert len(np.unique(wanted)) > 50
    project = built(graph, "cortex-m4", folder)
    assert execute.run(project, samples).outputs["y"].tobytes() == wanted.tobytes()
    return (folder / "kernels" / "nnacl_needs.h").read_text()


@pytest.mark.parametrize("kind", [CONV, POINTWISE, DEPTHWISE, COLUMN], ids=["conv", "pointwise", "3x3", "column"])
@pytest.mark.parametrize(
    ("rounding", "shifts", "bias", "zeros"),
    [(UP, (-8, -6), 3000, (-128, -128)), (UP, (-14, -5), 60000, (-128, -3)), (SINGLE, (-9, -5), 30000, (17, 5))],
    ids=["relu", "spread", "single"],
)
def test_bytes_are_the_same(
    kind: tuple[str, int, int, int, int],
    rounding: int,
    shifts: tuple[int, int],
    bias: int,
    zeros: tuple[int, int],
    tmp_path: Path,
) -> None:
    need_target("cortex-m4")
    assert "NNACL_NEEDS_COMPACT = 1," in check(layer(kind, rounding, shifts, bias, *zeros), tmp_path / "project")


@pytest.mark.parametrize("kind", [CONV, COLUMN], ids=["conv", "column"])
@pytest.mark.parametrize(
    ("rounding", "shifts", "bias"),
    [(UP, (-8, -3), 3000), (UP, (-10, -6), 1 << 23), (DOUBLE, (-7, -6), 20000), (UP_BY_8, (-7, -6), 3000)],
    ids=["near shift", "large bias", "away from zero", "of both kinds"],
)
def test_what_has_no_compact_line_keeps_whole_words(
    kind: tuple[str, int, int, int, int], rounding: int, shifts: tuple[int, int], bias: int, tmp_path: Path
) -> None:
    need_target("cortex-m4")
    assert "NNACL_NEEDS_COMPACT = 0," in check(layer(kind, rounding, shifts, bias, -128, 3), tmp_path / "project")


def test_constants_are_few(tmp_path: Path) -> None:
    """At most six bytes for each channel, an odd last one once more, and two words."""
    need_target("cortex-m4")
    size = execute.measure_size(built(layer(DEPTHWISE, UP, (-8, -6), 3000, -128, -128), "cortex-m4", tmp_path / "p"))
    assert size.constants <= 99 + 11 * 6 + 8 + 4
