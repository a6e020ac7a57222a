"""Compact lines of the DSP kernels (nnacl_kernels/common/compact_lines.h): the same bytes as the NumPy reference with
biases, multipliers and shifts at their ends, and as few bytes as they promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built, need_target

from microlith import numerics, targets
from microlith.codegen import execute, generate, ramlimit, variants
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.lower import Call, Program, lower
from microlith.nnacl_kernels import needs
from microlith.regions import MemoryRegion

DOUBLE, SINGLE, UP, UP_BY_8 = 0, 1, 3, 4
"""Numbers of ``nnacl_base.h``."""

CONV = ("conv2d", 3, 3, 6, 13)
POINTWISE = ("conv2d", 1, 1, 9, 21)
DEPTHWISE = ("depthwise_conv2d", 3, 3, 11, 11)
COLUMN = ("depthwise_conv2d", 5, 1, 11, 11)
"""Op, height and width of the kernel, channels in and out: odd, and no multiples of four."""


@pytest.fixture(autouse=True)
def keep_compact_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single layers are too small for the code that unpacks lines to pay."""
    monkeypatch.setattr(variants, "choose", lambda program, *_: program)


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


def lowered(graph: Graph, without: frozenset[str] = frozenset()) -> Program:
    row = targets.get("cortex-m4")
    return lower(graph, row.isa, alignment=row.alignment, overlap=True, without=without)


def fields_of(call: Call) -> list[tuple[int, int, int, int]]:
    """Of each channel its bias, and what is added to 256 times the accumulator, multiplier and offset of its line, as
    compact_lines.h says it."""
    data = call.packed[1]
    head = int.from_bytes(data[:4], "little")
    assert head & 15 == 12
    bias_bits, centre, shifts = head >> 4 & 31, head >> 9 & 15, head >> 13 & 7
    least, bits, grid = head >> 16 & 15, (head >> 20 & 15) + 15, head >> 24 & 31
    sloped, single, zero = head >> 29 & 1, head >> 31, int(call.fields["y_zero"])
    stream, found = int.from_bytes(data[4:], "little"), []
    for _ in range(call.fields["out_c"]):
        further = stream % (1 << shifts)
        own_bias, own_bits = bias_bits + sloped * further, bits - sloped * further
        bias = (stream >> shifts) % (1 << own_bias) - ((centre << own_bias) >> 4)
        mantissa = (1 << 30) + ((stream >> shifts + own_bias) % (1 << own_bits) << 30 - own_bits)
        mantissa += (grid << 30 - own_bits) >> 5
        right = least + further
        more = 0 if single or right <= 6 else (1 << 31) // (mantissa >> 7)
        half = (1 << 11) + (0 if single else 64 >> right)
        found.append((bias, more, mantissa >> right, zero * 4096 + half))
        stream >>= shifts + bias_bits + bits
    return found


@pytest.mark.parametrize("kind", [CONV, POINTWISE, DEPTHWISE, COLUMN], ids=["conv", "pointwise", "3x3", "column"])
@pytest.mark.parametrize(
    ("rounding", "shifts", "bias", "zeros"),
    [
        (UP, (-8, -6), 3000, (-128, -128)),
        (UP, (-9, -6), 17, (-128, 5)),
        (UP, (-14, -5), 60000, (-128, -3)),
        (SINGLE, (-9, -5), 30000, (17, 5)),
        (SINGLE, (-10, -6), 30000, (-3, -128)),
    ],
)
def test_every_accumulator_is_requantized_as_the_contract_says(
    kind: tuple[str, int, int, int, int], rounding: int, shifts: tuple[int, int], bias: int, zeros: tuple[int, int]
) -> None:
    graph = layer(kind, rounding, shifts, bias, *zeros)
    (call,) = lowered(graph).calls
    assert call.kernel is not None and call.kernel.symbol in needs.COMPACT
    weights, biases, requant = (value.data for value in graph.nodes[0].inputs[1:] if value is not None)
    assert weights is not None and biases is not None and requant is not None
    depthwise = kind[0] == "depthwise_conv2d"
    columns = weights.reshape(-1, weights.shape[-1]).T if depthwise else weights.reshape(len(weights), -1)
    folded = int.from_bytes(call.packed[1][:4], "little") >> 30 & 1
    for channel, (found, more, multiplier, offset) in enumerate(fields_of(call)):
        w, b = columns[channel].astype(np.int64), int(biases[channel])
        assert found == (b - zeros[0] * w.sum() if folded else b)
        ends = np.sort(np.stack([w * (-128 - zeros[0]), w * (127 - zeros[0])]), axis=0).sum(axis=1) + b
        sums = np.arange(ends[0], ends[1] + 1)
        line = (((256 * sums + more) * multiplier >> 32) + offset) >> 12
        wanted = numerics.requantize(sums, requant[0][channel], requant[1][channel], rounding) + zeros[1]
        least = int(call.fields["q_min"])
        np.testing.assert_array_equal(np.clip(line, least, 127), np.clip(wanted, least, 127))


def kernels_of(folder: Path) -> set[str]:
    return {path.name for path in (folder / "kernels" / "conv").glob("*_s8_*dsp.c")}


@pytest.mark.parametrize("kind", [POINTWISE, COLUMN], ids=["pointwise", "column"])
def test_where_memory_does_not_suffice_lines_stay_in_words(
    kind: tuple[str, int, int, int, int], tmp_path: Path
) -> None:
    graph = layer(kind, UP, (-8, -6), 3000, -128, -128)
    roomy, tight = lowered(graph), lowered(graph, needs.COMPACT)
    assert tight.arena_size < roomy.arena_size
    compact, words = f"{kind[0]}_s8_compact_dsp.c", f"{kind[0]}_s8_dsp.c"
    report = generate(graph, "cortex-m4", tmp_path / "a", ram_limit=ramlimit.ram_bytes(roomy))
    assert kernels_of(tmp_path / "a") == {compact} and report.arena_bytes == roomy.arena_size
    report = generate(graph, "cortex-m4", tmp_path / "b", ram_limit=ramlimit.ram_bytes(roomy) - 1)
    assert kernels_of(tmp_path / "b") == {words} and report.arena_bytes == tight.arena_size and report.stripes is None
    for name, size, kernel in ("c", roomy.arena_size, compact), ("d", tight.arena_size, words):
        generate(graph, "cortex-m4", tmp_path / name, regions=[MemoryRegion("sram", size)])
        assert kernels_of(tmp_path / name) == {kernel}


def test_small_layers_keep_their_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    generate(layer(POINTWISE, UP, (-8, -6), 3000, -128, -128), "cortex-m4", tmp_path / "a")
    assert kernels_of(tmp_path / "a") == {"conv2d_s8_dsp.c"}


def test_constants_are_few(tmp_path: Path) -> None:
    """At most six bytes for each channel, an odd last one once more, and two words."""
    need_target("cortex-m4")
    size = execute.measure_size(built(layer(DEPTHWISE, UP, (-8, -6), 3000, -128, -128), "cortex-m4", tmp_path / "p"))
    assert size.constants <= 99 + 11 * 6 + 8 + 4
