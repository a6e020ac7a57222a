"""Models of 4, 2 and 1 bits: sizes of file and flash, and the same bytes from runtime, generated C and emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated_projects import built, need_target

from microlith import modelfile, runtime
from microlith.codegen import execute, generate
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.numerics import SINGLE, quantize_multipliers
from microlith.ops.compressed import pack_codes

CODES = {1: (-1, 2), 2: (-3, 2), 4: (-8, 1)}
"""Bits: offset and step."""

LAYERS = (("conv", 3, 3, 12, 24), ("pointwise", 1, 1, 24, 40), ("dense", 8, 10, 40, 33))
"""Name, height and width of the kernel (of the image, in front of the dense layer), channels in and out."""

WEIGHTS = sum(h * w * inside * outside for _, h, w, inside, outside in LAYERS)
CHANNELS = sum(layer[4] for layer in LAYERS)


def packed_cnn(bits: int, real: bool, seed: int = 0) -> Graph:
    """A convolution of 3 x 3, one of 1 x 1 and a dense layer with weights of so many bits."""
    rng = np.random.default_rng(seed)
    graph = Graph(f"cnn{bits}{'f' if real else 'q'}", contract="single")
    quant = None if real else Quant.per_tensor(0.05, -3)
    value = Value("x", TensorType(DType.f32 if real else DType.s8, (1, 8, 10, 12)), quant=quant)
    graph.inputs.append(value)
    offset, step = CODES[bits]
    for name, height, width, inside, outside in LAYERS:
        depth = height * width * inside
        stored = pack_codes(rng.integers(0, 1 << bits, (outside, depth)), bits)
        attrs: dict[str, Any] = {"bits": bits, "offset": offset, "step": step}
        if real:
            bias, last = rng.normal(0, 0.1, outside).astype(np.float32), rng.uniform(0.5, 1, (outside, 1)) / depth
            last = last.astype(np.float32)
        else:
            bias = rng.integers(-900, 900, outside, np.int32)
            last = quantize_multipliers(rng.uniform(1.0, 2.0, outside) / np.sqrt(depth) / (0.5 * (1 << bits)))
            attrs |= {"x_zero": -3, "y_zero": -3, "rounding": SINGLE, "q_min": -100}
        if name == "dense":
            shape = {"rank": 2, "shape": [1, -1]}
            value = graph.add("reshape", [value], shape, name="flatten", quant=quant).output
        else:
            edge = height // 2
            attrs |= {"kernel_h": height, "kernel_w": width}
            attrs |= {f"pad_{side}": edge for side in ("top", "left", "bottom", "right")}
        constants = [graph.constant(f"{name}_{i}", array) for i, array in enumerate((stored, bias, last))]
        op = "dense_compressed" if name == "dense" else "conv2d_compressed"
        value = graph.add(op, [value, *constants], attrs, name=name, quant=quant).output
    value.name = "y"
    graph.outputs = [value]
    return graph


def depthwise(bits: int, channels: int = 13, square: bool = False) -> Graph:
    """One convolution for each channel; ``square``: of 3 x 3, for which there are kernels."""
    rng = np.random.default_rng(bits)
    graph = Graph("square" if square else "depthwise", contract="single")
    quant = Quant.per_tensor(0.05, 5)
    value = Value("x", TensorType(DType.s8, (2, 7, 6, channels)), quant=quant)
    graph.inputs.append(value)
    offset, step = CODES[bits]
    constants = [
        graph.constant("w", pack_codes(rng.integers(0, 1 << bits, (channels, 9 if square else 15)), bits)),
        None,
        graph.constant("r", quantize_multipliers(rng.uniform(0.05, 0.1, channels))),
    ]
    attrs = {"bits": bits, "offset": offset, "step": step, "x_zero": 5, "rounding": SINGLE, "groups": channels}
    attrs |= {"kernel_w": 3, "pad_left": 1}
    attrs |= {"kernel_h": 3} if square else {"kernel_h": 5, "pad_top": 2, "stride_h": 2, "dilation_w": 2}
    node = graph.add("conv2d_compressed", [value, *constants], attrs, quant=quant, output_names=["y"])
    graph.outputs = [node.output]
    return graph


def in_runtime(graph: Graph, samples: list[dict[str, np.ndarray]], folder: Path) -> np.ndarray:
    modelfile.save(graph, folder / "model.lith")
    model = runtime.load(folder / "model.lith")
    return np.stack([model.run(sample)["y"] for sample in samples])


def samples_of(graph: Graph) -> list[dict[str, np.ndarray]]:
    return [draw_sample(graph, {}, seed=seed) for seed in range(3)]


@pytest.mark.parametrize("bits", CODES)
@pytest.mark.parametrize(
    "target", ["host", "cortex-m4", "cortex-m55", pytest.param("host-avx2", marks=pytest.mark.slow)]
)
def test_integers_are_the_same_bytes(target: str, bits: int, tmp_path: Path) -> None:
    need_target(target)
    for graph in (packed_cnn(bits, real=False), depthwise(bits), depthwise(bits, square=True)):
        samples = samples_of(graph)
        wanted = np.stack([evaluate(graph, sample)["y"] for sample in samples])
        assert len(np.unique(wanted)) > 20
        np.testing.assert_array_equal(in_runtime(graph, samples, tmp_path), wanted)
        project = built(graph, target, tmp_path / f"{graph.name}_{target}")
        assert execute.run(project, samples).outputs["y"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("bits", CODES)
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_real_numbers_are_the_same_bits(target: str, bits: int, tmp_path: Path) -> None:
    """The runtime takes its best kernels: those for AVX2 add up as those in C do."""
    need_target(target)
    graph = packed_cnn(bits, real=True)
    samples = samples_of(graph)
    wanted = in_runtime(graph, samples, tmp_path)
    np.testing.assert_allclose(wanted, np.stack([evaluate(graph, s)["y"] for s in samples]), rtol=1e-4, atol=1e-5)
    project = built(graph, target, tmp_path / f"{graph.name}_{target}")
    assert execute.run(project, samples).outputs["y"].tobytes() == wanted.tobytes()


HEAD = 16
"""Bytes of each channel beside its weights: bias and scale, multiplier or line; and rows filled up to whole words."""

FILE = 2600
"""Bytes of a .lith file that are no constants: names, shapes, parameters, the alignment of buffers to 64."""


@pytest.mark.parametrize("real", [False, True], ids=["int8", "float32"])
@pytest.mark.parametrize("bits", CODES)
def test_bits_shrink_file_and_flash(bits: int, real: bool, tmp_path: Path) -> None:
    """Within 10 % of 1/8, 1/16 and 1/32 of the float weights, plus what stands above."""
    graph = packed_cnn(bits, real)
    modelfile.save(graph, tmp_path / "model.lith")
    most = 1.1 * (4 * WEIGHTS) * bits / 32 + CHANNELS * HEAD
    assert (tmp_path / "model.lith").stat().st_size <= most + FILE
    size = execute.measure_size(built(graph, "cortex-m4", tmp_path / "m4"))
    assert size.constants <= most
    assert size.constants >= WEIGHTS * bits / 8


def test_only_the_code_for_the_bits_of_a_model_is_compiled(tmp_path: Path) -> None:
    sizes = [
        execute.measure_size(built(packed_cnn(bits, real=False), "cortex-m4", tmp_path / str(bits))).code
        for bits in CODES
    ]
    symbols = (tmp_path / "4" / "kernels" / "nnacl_needs.h").read_text()
    assert "NNACL_NEEDS_BITS = 16," in symbols
    assert max(sizes) - min(sizes) < 1500


def wide_middle() -> Graph:
    """Two convolutions of 3 x 3 with most of the numbers between them."""
    rng = np.random.default_rng(3)
    graph = Graph("wide", contract="single")
    quant = Quant.per_tensor(0.05, -3)
    value = Value("x", TensorType(DType.s8, (1, 24, 16, 4)), quant=quant)
    graph.inputs.append(value)
    for name, inside, outside, stride in (("first", 4, 16, 1), ("second", 16, 8, 2)):
        attrs = {"bits": 2, "offset": -3, "step": 2, "x_zero": -3, "y_zero": -3, "rounding": SINGLE}
        attrs |= {"kernel_h": 3, "kernel_w": 3, "stride_h": stride, "stride_w": stride}
        attrs |= {f"pad_{side}": 1 for side in ("top", "left", "bottom", "right")}
        stored = pack_codes(rng.integers(0, 4, (outside, 9 * inside)), 2)
        requant = quantize_multipliers(rng.uniform(0.4, 0.8, outside) / np.sqrt(9 * inside))
        inputs = [value, graph.constant(f"{name}_w", stored), None, graph.constant(f"{name}_r", requant)]
        value = graph.add("conv2d_compressed", inputs, attrs, name=name, quant=quant).output
    value.name = "y"
    graph.outputs = [value]
    return graph


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_stripes_give_the_same_bytes(target: str, tmp_path: Path) -> None:
    """A limit of RAM below what the layers need one after another."""
    need_target(target)
    graph = wide_middle()
    samples = samples_of(graph)
    wanted = np.stack([evaluate(graph, sample)["y"] for sample in samples])
    free = generate(graph, target, tmp_path / "free")
    limit = free.arena_bytes + free.stack_bytes - 1
    report = generate(graph, target, tmp_path / "striped", ram_limit=limit)
    assert report.stripes is not None and report.arena_bytes + report.stack_bytes <= limit
    project = execute.Project.open(tmp_path / "striped")
    execute.build(project)
    assert execute.run(project, samples).outputs["y"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("bits", CODES)
def test_mve_has_kernels_for_four_bits_and_two(bits: int, tmp_path: Path) -> None:
    """Of codes one apart. Others, and single bits, are left to the DSP extension, but for one channel at a time."""
    for graph, own in ((packed_cnn(bits, real=False), bits == 4), (depthwise(bits, square=True), True)):
        report = generate(graph, "cortex-m55", tmp_path / graph.name)
        kernels = [row["kernel"] for row in report.layer_table if "compressed" in (row["kernel"] or "")]
        assert kernels and all(name.endswith("_mve" if own else "_dsp") for name in kernels)
