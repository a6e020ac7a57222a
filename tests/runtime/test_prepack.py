"""Weights that the file holds as kernels want them: read from it where they fit, and packed anew where not."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from lith_models import Build, inputs_for

import microlith
from microlith import model_generated as fb
from microlith import modelfile
from microlith.dtypes import DType
from microlith.errors import InputError, ModelFormatError
from microlith.ir import Graph
from microlith.nnacl_kernels import catalogue
from microlith.prepack import TARGETS, prepack

MACHINES = {name: isa for name, isa in TARGETS.items() if set(isa) <= set(catalogue.detected_isa())}


def graph_of(real: bool) -> Graph:
    """A convolution by Winograd, a depthwise one, one of 1 x 1 and a dense layer; or two convolutions of int8."""
    b = Build("net")
    if real:
        x = b.input("x", (1, 24, 24, 16))
        pads = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
        y = b.op("conv2d", x, b.noise(32, 3, 3, 16), b.noise(32), **pads)
        y = b.op("depthwise_conv2d", y, b.noise(1, 3, 3, 32), None, groups=32)
        y = b.op("conv2d", y, b.noise(48, 1, 1, 32), b.noise(48))
        y = b.op("reshape", y, shape=(1, 22 * 22 * 48), rank=2)
        return b.outputs(b.op("dense", y, b.noise(10, 22 * 22 * 48), b.noise(10), output="y"))
    x = b.input("x", (1, 16, 16, 8), DType.s8)
    y = b.op("conv2d", x, *b.integers(16, 3, 3, 8), x_zero=-3, y_zero=5, rounding=1)
    return b.outputs(b.op("conv2d", y, *b.integers(24, 1, 1, 16), x_zero=5, y_zero=1, rounding=1, output="y"))


def model_of(path: Path, target: str, real: bool = True) -> Graph:
    graph = graph_of(real)
    modelfile.save(graph, path, prepack(graph, target))
    return graph


@pytest.mark.skipif(not MACHINES, reason="this machine has none of the instruction sets of --prepack")
@pytest.mark.parametrize("real", [True, False], ids=["float32", "int8"])
def test_same_bits_without_packing(tmp_path: Path, real: bool) -> None:
    for target, isa in MACHINES.items():
        path, plain = tmp_path / f"{target}.lith", tmp_path / "plain.lith"
        graph = model_of(path, target, real)
        modelfile.save(graph, plain)
        expected = microlith.load(plain, isa=isa)
        model = microlith.load(path, isa=isa)
        facts = model.prepacked
        assert facts and facts.target == target and facts.used == facts.count > 1
        assert model.memory.packed == 0 < expected.memory.packed and expected.prepacked is None
        inputs = inputs_for(graph)
        np.testing.assert_array_equal(model.run(inputs)["y"], expected.run(inputs)["y"])
        # Python reads the plain weights
        assert modelfile.load(path).nodes[0].op == "conv2d"


def test_other_machines_pack_anew(tmp_path: Path) -> None:
    for target in ("x86-avx2", "arm64-i8mm"):
        path = tmp_path / f"{target}.lith"
        graph = model_of(path, target, real=False)
        model = microlith.load(path, isa="c")
        facts = model.prepacked
        assert facts and facts.target == target and facts.count > facts.used == 0
        expected = microlith.load(path).run(inputs_for(graph))["y"]
        np.testing.assert_array_equal(model.run(inputs_for(graph))["y"], expected)


def altered(path: Path, change: Callable[[fb.ModelT], None]) -> bytes:
    data = path.read_bytes()
    model = fb.ModelT.InitFromObj(fb.Model.GetRootAs(data, 0))
    change(model)
    start = model.dataOffset
    model.dataOffset += 1024
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), file_identifier=modelfile.IDENTIFIER)
    table = bytes(builder.Output())
    assert len(table) <= model.dataOffset
    return table.ljust(model.dataOffset, b"\0") + data[start:]


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.lith"
    model_of(path, "x86-avx2", real=False)

    def node(model: fb.ModelT) -> None:
        model.packed[0].node = 99

    def number(model: fb.ModelT) -> None:
        model.packed[0].input = 1 << 20

    def buffer(model: fb.ModelT) -> None:
        model.packed[1].buffer = 1000

    def order(model: fb.ModelT) -> None:
        model.packed.reverse()

    def twice(model: fb.ModelT) -> None:
        model.packed[1] = model.packed[0]

    def extent(model: fb.ModelT) -> None:
        model.buffers[model.packed[0].buffer].size = 1 << 40

    for change in (node, number, buffer, order, twice, extent):
        with pytest.raises(ModelFormatError, match="packed weights"):
            microlith.load(altered(path, change))


def test_what_does_not_fit_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "model.lith"
    target = next(iter(MACHINES), "x86-avx2")
    graph = model_of(path, target, real=False)

    def layout(model: fb.ModelT) -> None:
        model.packedLayout += 1

    def kernel(model: fb.ModelT) -> None:
        for item in model.packed:
            item.kernel = "nnacl_of_another_build"

    def size(model: fb.ModelT) -> None:
        for item in model.packed:
            model.buffers[item.buffer].size -= 64

    expected = microlith.load(path).run(inputs_for(graph))["y"]
    for change in (layout, kernel, size):
        (tmp_path / "other.lith").write_bytes(altered(path, change))
        model = microlith.load(tmp_path / "other.lith", isa=TARGETS[target] if target in MACHINES else None)
        facts = model.prepacked
        assert facts and facts.used == 0 < facts.count
        np.testing.assert_array_equal(model.run(inputs_for(graph))["y"], expected)


def test_what_cannot_be_packed() -> None:
    with pytest.raises(InputError, match="does not know 'x87'"):
        prepack(graph_of(True), "x87")
    b = Build("add")
    x = b.input("x", (4,))
    with pytest.raises(InputError, match="nothing to pack"):
        prepack(b.outputs(b.op("add", x, x, output="y")), "x86-avx2")


LAYOUTS = {
    "nnacl_conv2d_winograd_f32_avx2": 567075848,
    "nnacl_conv2d_f32_avx2": 462397536,
    "nnacl_dense_f32_avx2": 1353367903,
    "nnacl_conv2d_s8_avx2": 2311732068,
    "nnacl_conv2d_winograd_f32_avx512": 567075848,
    "nnacl_conv2d_f32_avx512": 462397536,
    "nnacl_dense_f32_avx512": 1353367903,
    "nnacl_conv2d_lines_s8_vnni": 981868580,
    "nnacl_conv2d_s8_vnni": 2064612418,
    "nnacl_conv2d_s8_avxvnni": 3673883102,
    "nnacl_conv2d_s8_neon": 561053542,
    "nnacl_conv2d_s8_dotprod": 2936493174,
    "nnacl_conv2d_s8_i8mm": 1508979339,
}
"""Checksums of the packed weights of both graphs, by kernel."""


def checksums() -> dict[str, int]:
    packed: dict[str, bytes] = {}
    for target in TARGETS:
        found: dict[str, bytes] = {}
        for real in (True, False):
            with contextlib.suppress(InputError):  # kernels that take the weights as they are
                for item in prepack(graph_of(real), target).inputs:
                    found[item.kernel] = found.get(item.kernel, b"") + item.data.tobytes()
        packed = found | packed
    return {kernel: zlib.crc32(data) for kernel, data in packed.items()}


def test_new_layouts_have_a_new_number() -> None:
    """If this fails because a kernel packs otherwise than before, NNACL_PACKED_LAYOUT (nnacl_kernels.h, catalogue.py)
    has to grow, and with it the checksums here."""
    found = checksums()
    assert catalogue.PACKED_LAYOUT == 1
    assert {kernel: found.get(kernel, known) for kernel, known in LAYOUTS.items()} == LAYOUTS
