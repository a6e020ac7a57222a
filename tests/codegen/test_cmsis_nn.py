"""Generated code that calls CMSIS-NN: with a double of it everywhere, with the library itself where CMSIS_NN_DIR names
it."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_models
from generated_projects import STRICT, need, need_target

from microlith.codegen import cmsis_nn, execute, generate
from microlith.dtypes import DType
from microlith.errors import TargetError
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.nnacl_kernels import catalogue
from microlith.numerics import quantize_multipliers

DOUBLE = Path(__file__).parent / "cmsis_nn_double"
REAL = os.environ.get("CMSIS_NN_DIR")
LIBRARIES = {"double": DOUBLE} | ({"real": Path(REAL)} if REAL else {})


def all_ops(contract: str = "tflite-double") -> Graph:
    """Every op that CMSIS-NN serves, with one between them that it does not."""
    rng = np.random.default_rng(5)
    graph = Graph("all ops", contract=contract)
    x = Value("input", TensorType(DType.s8, (1, 9, 8, 4)), quant=Quant.per_tensor(0.05, 3))
    graph.inputs.append(x)
    rounding = ("tflite-double", "single").index(contract)

    def layer(op: str, value: Value, shape: tuple[int, ...], units: int, scales: Any, attrs: dict[str, int]) -> Value:
        name = f"{op}{len(graph.nodes)}"
        operands = [
            graph.constant(f"{name}/w", rng.integers(-127, 128, shape, np.int8)),
            graph.constant(f"{name}/b", rng.integers(-2000, 2000, units, np.int32)),
            graph.constant(f"{name}/m", quantize_multipliers(np.broadcast_to(scales, units).astype(np.float64))),
        ]
        quant = Quant.per_tensor(0.1, attrs["y_zero"])
        return graph.add(op, [value, *operands], {**attrs, "rounding": rounding}, name=name, quant=quant).output

    same = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    scales = rng.uniform(0.0005, 0.002, 8)
    a = layer("conv2d", x, (8, 3, 3, 4), 8, scales, {**same, "x_zero": 3, "y_zero": -7})
    b = layer(
        "depthwise_conv2d",
        a,
        (1, 5, 3, 8),
        8,
        scales * 3,
        {"pad_top": 2, "pad_bottom": 2, "pad_left": 1, "pad_right": 1, "groups": 8, "x_zero": -7, "y_zero": -7},
    )
    mults = {"a_mult": 1 << 30, "a_shift": 0, "b_mult": 1518500250, "b_shift": -1, "y_mult": 1700000000, "y_shift": -18}
    zeros = {"a_zero": -7, "b_zero": -7, "y_zero": 4, "rounding": rounding}
    c = graph.add(
        "add", [a, b], {**mults, **zeros, "left_shift": 20}, name="add", quant=Quant.per_tensor(0.1, 4)
    ).output
    scaled = {"y_mult": 1300000000, "y_shift": -5, "a_zero": 4, "b_zero": -7, "y_zero": 2, "rounding": rounding}
    d = graph.add("mul", [c, b], scaled, name="mul", quant=Quant.per_tensor(0.1, 2)).output
    pool = {"kernel_h": 3, "kernel_w": 3, "stride_h": 2, "stride_w": 2, "rounding": rounding}
    e = graph.add("avg_pool2d", [d], {**pool, "x_zero": 2, "y_zero": 2}, name="avg").output
    f = graph.add(
        "max_pool2d", [e], {**pool, "kernel_h": 2, "kernel_w": 2, "stride_h": 1, "stride_w": 1}, name="max"
    ).output
    g = graph.add("reshape", [f], {"rank": 2, "shape": [1, -1]}, name="flat").output
    count = int(np.prod(g.type.static_shape)) if g.type.is_static else 48
    h = layer("dense", g, (10, count), 10, 0.001, {"x_zero": 2, "y_zero": 0})
    i = layer("dense", h, (6, 10), 6, rng.uniform(0.001, 0.003, 6), {"x_zero": 0, "y_zero": 5})
    i.name = "output"
    graph.outputs = [i]
    return graph


def built(graph: Graph, target: str, folder: Path, library: Path) -> execute.Project:
    need_target(target)
    generate(graph, target, folder, kernels="cmsis-nn", project="make")
    project = execute.Project.open(folder)
    flags = f"-I{catalogue.ROOT}" if library == DOUBLE else ""
    settings = {"WARNINGS": STRICT, "CMSIS_NN_DIR": str(library), "CMSIS_NN_CFLAGS": flags}
    execute.build(project, variables=settings)
    return project


def kernels_of(folder: Path) -> list[str]:
    table = json.loads((folder / "report.json").read_text())["layer_table"]
    return [layer["kernel"] for layer in table if layer["kernel"]]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("contract", "target"),
    [("tflite-double", "cortex-m4"), ("single", "cortex-m4"), ("tflite-double", "cortex-m55")],
)
def test_the_same_bytes_as_the_reference(contract: str, target: str, library: str, tmp_path: Path) -> None:
    project = built(all_ops(contract), target, tmp_path / "a", LIBRARIES[library])
    assert [name.removeprefix("nnacl_") for name in kernels_of(project.folder)] == [
        "conv2d_s8_cmsisnn",
        "depthwise_conv2d_s8_cmsisnn",
        "add_s8_cmsisnn",
        "mul_s8_cmsisnn",
        "avg_pool2d_s8_cmsisnn",
        "max_pool2d_s8_cmsisnn",
        "dense_s8_cmsisnn",
        "dense_channels_s8_cmsisnn",
    ]
    assert execute.selftest(project).endswith("PASS\n")


@pytest.mark.parametrize("library", LIBRARIES)
def test_cmake(library: str, tmp_path: Path) -> None:
    need("cmake")
    need_target("cortex-m4")
    generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a", kernels="cmsis-nn", project="cmake")
    options = [f"-DCMSIS_NN_DIR={LIBRARIES[library]}", f"-DCMSIS_NN_CFLAGS=-I{catalogue.ROOT}"]
    configured = ["cmake", "-S", tmp_path / "a", "-B", tmp_path / "b", *options]
    subprocess.run(configured, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", tmp_path / "b"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ctest", "--test-dir", tmp_path / "b", "--no-tests=error"], check=True, stdout=subprocess.DEVNULL)


def test_build_without_the_library_says_what_is_missing(tmp_path: Path) -> None:
    need_target("cortex-m4")
    generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a", kernels="cmsis-nn")
    without = {name: value for name, value in os.environ.items() if name != "CMSIS_NN_DIR"}
    for command in (["make", "-C", "a"], ["cmake", "-S", "a", "-B", "b"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=without)
        assert done.returncode != 0 and "CMSIS_NN_DIR has to name" in done.stderr
    assert subprocess.run(["make", "-s", "-C", "a", "clean"], cwd=tmp_path).returncode == 0


def test_other_layers_keep_our_kernels(tmp_path: Path) -> None:
    """Padding that is not TFLite's, and floats."""
    graph = small_models.int8_cnn()
    graph.nodes[0].attrs.update(pad_top=0, pad_bottom=2)
    generate(graph, "cortex-m4", tmp_path / "a", kernels="cmsis-nn")
    assert kernels_of(tmp_path / "a")[0] == "nnacl_conv2d_s8_dsp"
    generate(small_models.float_cnn(), "cortex-m4", tmp_path / "b", kernels="cmsis-nn")
    assert not any("cmsisnn" in kernel for kernel in kernels_of(tmp_path / "b"))
    assert "CMSIS_NN" not in (tmp_path / "b" / "Makefile").read_text()


def test_the_graph_of_the_caller_stays(tmp_path: Path) -> None:
    graph = all_ops()
    for node in graph.nodes:
        if node.op in ("conv2d", "dense"):
            node.attrs["rounding"] = 3
    generate(graph, "cortex-m4", tmp_path / "a", kernels="cmsis-nn")
    assert {node.attrs["rounding"] for node in graph.nodes if node.op in ("conv2d", "dense")} == {3}


@pytest.mark.parametrize(
    ("target", "kind", "message"),
    [
        ("host", "make", r"CMSIS-NN is for Cortex-M, not for x86-64"),
        ("riscv32", "make", r"CMSIS-NN is for Cortex-M, not for RISC-V"),
        ("cortex-m4", "arduino", r"an Arduino library cannot depend on CMSIS-NN(.|\n)*cmsis-pack"),
        ("cortex-m4", "platformio", r"a PlatformIO library cannot depend on CMSIS-NN"),
    ],
)
def test_refused(target: str, kind: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=message):
        generate(small_models.int8_cnn(), target, tmp_path / "a", kernels="cmsis-nn", project=kind)
    assert not list(tmp_path.iterdir())


def test_ecosystems_that_have_the_library_name_it(tmp_path: Path) -> None:
    generate(small_models.int8_cnn(), "cortex-m55", tmp_path / "z", kernels="cmsis-nn", project="zephyr")
    assert "select CMSIS_NN_CONVOLUTION" in (tmp_path / "z" / "zephyr" / "Kconfig").read_text()
    generate(small_models.int8_cnn(), "cortex-m55", tmp_path / "p", kernels="cmsis-nn", project="cmsis-pack")
    text = (tmp_path / "p" / "Microlith.int8_cnn.pdsc").read_text()
    assert '<require Cclass="CMSIS" Cgroup="NN Lib"/>' in text


# --- buffers, against the functions of the library ----------------------------------------------------------------

SIZES = r"""
#include "arm_nnfunctions.h"
int conv(const int32_t *a, int mve)
{
    const cmsis_nn_conv_params p = {.stride = {a[0], a[0]}, .padding = {a[1], a[2]}, .dilation = {a[3], a[3]}};
    const cmsis_nn_dims x = {1, a[4], a[5], a[6]}, w = {a[7], a[8], a[9], a[6]}, y = {1, a[10], a[11], a[7]};
    return mve ? arm_convolve_wrapper_s8_get_buffer_size_mve(&p, &x, &w, &y)
               : arm_convolve_wrapper_s8_get_buffer_size_dsp(&p, &x, &w, &y);
}
int wide(const int32_t *a, int mve)
{
    const cmsis_nn_conv_params p = {.stride = {a[0], a[0]}, .padding = {a[1], a[2]}, .dilation = {a[3], a[3]}};
    const cmsis_nn_dims x = {1, a[4], a[5], a[6]}, w = {a[7], a[8], a[9], a[6]}, y = {1, a[10], a[11], a[7]};
    return mve ? arm_convolve_wrapper_s16_get_buffer_size_mve(&p, &x, &w, &y)
               : arm_convolve_wrapper_s16_get_buffer_size_dsp(&p, &x, &w, &y);
}
int depthwise(const int32_t *a, int mve)
{
    const cmsis_nn_dw_conv_params p = {
        .ch_mult = a[7] / a[6], .stride = {a[0], a[0]}, .padding = {a[1], a[2]}, .dilation = {a[3], a[3]}};
    const cmsis_nn_dims x = {1, a[4], a[5], a[6]}, w = {1, a[8], a[9], a[7]}, y = {1, a[10], a[11], a[7]};
    return mve ? arm_depthwise_conv_wrapper_s8_get_buffer_size_mve(&p, &x, &w, &y)
               : arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp(&p, &x, &w, &y);
}
int average(const int32_t *a, int mve)
{
    return mve ? arm_avgpool_s8_get_buffer_size_mve(a[11], a[6]) : arm_avgpool_s8_get_buffer_size_dsp(a[11], a[6]);
}
"""


@pytest.mark.skipif(REAL is None, reason="CMSIS_NN_DIR names no copy of CMSIS-NN")
def test_buffers_are_those_that_the_library_asks_for(tmp_path: Path) -> None:
    need("gcc")
    (tmp_path / "sizes.c").write_text(SIZES)
    root = Path(str(REAL))
    sources = [str(path) for path in root.glob("Source/*/*get_buffer_sizes_s*.c")]
    command = ["gcc", "-shared", "-fPIC", "-w", f"-I{root}/Include", "sizes.c", *sources, "-o", "sizes.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "sizes.so"))
    compared = 0
    for height, kernel, stride, channels, dilation in itertools.product(
        (1, 7, 9), (1, 2, 3, 5), (1, 2), (1, 3, 4, 16), (1, 2)
    ):
        for valid in (False, True):
            p = shapes(height, 10, kernel, stride, channels, dilation, valid)
            if p is None:
                continue
            words = ("stride_w", "pad_left", "pad_top", "dilation_w", "in_h", "in_w", "in_c", "out_c", "kernel_h")
            array = (ctypes.c_int32 * 12)(*(p[word] for word in (*words, "kernel_w", "out_h", "out_w")))
            for core in ("dsp", "mve"):
                deep = {**p, "out_c": channels * (12 if channels == 1 else 1)}
                other = (ctypes.c_int32 * 12)(*array)
                other[7] = deep["out_c"]
                mve = core == "mve"
                assert cmsis_nn.conv_buffer(p, core) == library.conv(array, mve), (p, core)
                assert cmsis_nn.wide_conv_buffer(p, core) == library.wide(array, mve), (p, core)
                assert cmsis_nn.depthwise_buffer(deep, core) == library.depthwise(other, mve), (deep, core)
                assert cmsis_nn.average_buffer({"channels": channels}, core) == library.average(array, mve)
                compared += 1
    assert compared > 300


def shapes(
    height: int, width: int, kernel: int, stride: int, channels: int, dilation: int, valid: bool
) -> dict[str, int] | None:
    """The parameters of a convolution under SAME or VALID padding; a row has a kernel of one row."""
    p = {"stride_h": stride, "stride_w": stride, "dilation_h": dilation, "dilation_w": dilation, "batch": 1}
    p |= {"in_c": channels, "out_c": 8}
    for side, size, taps in (("h", height, 1 if height == 1 else kernel), ("w", width, kernel)):
        reach = (taps - 1) * dilation + 1
        out = (size - reach) // stride + 1 if valid else -(-size // stride)
        if out < 1:
            return None
        pad = max(0, (out - 1) * stride + reach - size)
        p |= {f"in_{side}": size, f"out_{side}": out, f"kernel_{side}": taps}
        p |= {"pad_top" if side == "h" else "pad_left": pad // 2}
    return p
