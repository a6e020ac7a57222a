"""Fused elementwise layers in generated C: the bits of the runtime, where they are loops and where they are steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from elementwise_graphs import feeds_of, random_graph, same_bits
from generated_projects import built

import microlith
from microlith import modelfile
from microlith.codegen import execute
from microlith.codegen.fused_layers import LOOPS_FILE
from microlith.converter.passes import fuse_elementwise
from microlith.converter.passes.unique_names import make_names_unique
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue
from microlith.ops import fused
from microlith.size_ranges import SizeRange


def _fused(seed: int, shape: tuple[int | str, ...]) -> Graph:
    graph = random_graph(seed, shape)
    assert fuse_elementwise.run(graph)
    return graph


def _held(graph: Graph, target: str, isa: str, folder: Path, samples: list[dict[str, np.ndarray]]) -> execute.Project:
    """Holds a project against the runtime."""
    modelfile.save(graph, folder / "m.lith")
    project = built(graph, target, folder / "project", name="model")
    assert "PASS" in execute.selftest(project)
    with microlith.load(folder / "m.lith", isa=isa) as model:
        for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
            for name, array in model.run(sample).items():
                assert same_bits(outputs[name], array), name
    return project


@pytest.mark.parametrize("seed", range(4))
def test_on_the_host(seed: int, tmp_path: Path) -> None:
    graph = _fused(200 + seed, (2, 5, 4, 3) if seed % 2 else (3, 400))
    _held(graph, "host", "c", tmp_path, [feeds_of(graph, n) for n in range(2)])


@pytest.mark.skipif("avx2" not in catalogue.detected_isa(), reason="this machine has no AVX2")
def test_with_avx2(tmp_path: Path) -> None:
    graph = _fused(3, (2, 300, 7))
    project = _held(graph, "host-avx2", "c,avx2", tmp_path, [feeds_of(graph, n) for n in range(2)])
    assert not (project.folder / "kernels" / LOOPS_FILE).exists()
    table = (project.folder / "kernels" / fused.FUNCTIONS_FILE).read_text()
    steps = {fused.decode(step).function.op for node in graph.nodes for step in node.attrs.get("steps", ())}
    assert {line.split(", ")[1] for line in table.splitlines() if line.startswith("NNACL")} == steps


@pytest.mark.parametrize(("target", "seed"), [("cortex-m4", 5), ("arm64-linux", 6)])
def test_on_an_emulator(target: str, seed: int, tmp_path: Path) -> None:
    graph = _fused(seed, (2, 6, 5))
    _held(graph, target, "c", tmp_path, [feeds_of(graph)])


def test_sizes_with_a_range(tmp_path: Path) -> None:
    graph = _fused(7, ("batch", "seq", 4))
    graph.ranges = {"batch": SizeRange(1, 2), "seq": SizeRange(1, 17)}
    samples = [feeds_of(graph, batch=batch, seq=seq) for batch in (1, 2) for seq in (1, 2, 9, 17)]
    _held(graph, "host", "c", tmp_path, samples)


def _gate() -> Graph:
    """x * sigmoid(0.5 x + v), for a vector v."""
    graph = Graph("gate")
    graph.inputs = [Value("x", TensorType(DType.f32, (4, 6)))]
    (x,) = graph.inputs
    half, v = graph.constant("half", np.float32(0.5)), graph.constant("v", np.arange(6, dtype=np.float32))
    inner = graph.add("add", [graph.add("mul", [x, half]).output, v]).output
    out = graph.add("mul", [x, graph.add("sigmoid", [inner]).output]).output
    out.name = "y"
    graph.outputs = [out]
    fuse_elementwise.run(graph)
    return graph


def test_a_loop_is_readable(tmp_path: Path) -> None:
    project = _held(_gate(), "host", "c", tmp_path, [feeds_of(_gate())])
    text = (project.folder / "kernels" / LOOPS_FILE).read_text()
    assert text.endswith("""\
/* mul(x0, sigmoid(add(mul(x0, 0.5), x1))) */
NNACL_DECLARE(nnacl_fused_0_f32_c);
void nnacl_fused_0_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[])
{
    const nnacl_fused_params *p = params;
    const float *x0 = in[0];
    const float *x1 = in[1];
    float *y = out[0];
    int32_t i = 0;
    (void)ctx;
    for (int32_t a = 0; a < p->dims[0]; a++) {
        for (int32_t b = 0; b < p->dims[1]; b++, i++) {
            const float t0 = x0[i] * 0.5f;
            const float t1 = t0 + x1[b];
            const float t2 = nnacl_sigmoid_f32(t1);
            y[i] = x0[i] * t2;
        }
    }
}
""")
    assert "mul(x0, sigmoid(add(mul(x0, 0.5), x1)))" in (project.folder / "model.c").read_text()


def test_a_board_needs_no_more_memory_than_for_the_ops(tmp_path: Path) -> None:
    """Of a sum of products, each is made and added before the next where its ops stand apart."""
    graph = Graph("sum")
    graph.inputs = [Value("x", TensorType(DType.f32, (16, 16)))]
    parts = []
    for index in range(6):
        weights = np.random.default_rng(index).standard_normal((16, 16)).astype(np.float32)
        parts.append(graph.add("matmul", [graph.inputs[0], graph.constant(f"w{index}", weights)]).output)
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("add", [total, part]).output
    total.name = "y"
    graph.outputs = [total]
    plain = microlith.generate(graph, "cortex-m4", tmp_path / "a", name="model")
    assert fuse_elementwise.run(graph)
    assert microlith.generate(graph, "cortex-m4", tmp_path / "b", name="model").arena_bytes <= plain.arena_bytes
    assert microlith.generate(graph, "host", tmp_path / "c", name="model").layers < plain.layers


def test_in_stripes(tmp_path: Path) -> None:
    """Layers that were fused do not end the layers that can run in stripes."""
    graph = Graph("stripes")
    graph.inputs = [Value("x", TensorType(DType.f32, (1, 32, 16, 2)))]
    rng = np.random.default_rng(0)
    t = graph.inputs[0]
    for index, (channels, stride) in enumerate(((8, 1), (4, 2), (2, 2))):
        weights = rng.uniform(-1, 1, (channels, 3, 3, t.shape[-1])).astype(np.float32)
        attrs = {"stride_h": stride, "stride_w": stride, "pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
        t = graph.add("conv2d", [t, graph.constant(f"w{index}", weights)], attrs).output
        slope = graph.constant(f"s{index}", rng.uniform(0, 1, channels).astype(np.float32))
        t = graph.add("tanh", [graph.add("prelu", [t, slope]).output]).output
    t.name = "y"
    graph.outputs = [t]
    assert fuse_elementwise.run(graph)
    make_names_unique(graph)
    whole = microlith.generate(graph, "host", tmp_path / "whole", name="model")
    limit = (whole.arena_bytes + whole.stack_bytes) * 2 // 3
    project = built(graph, "host", tmp_path / "striped", name="model", ram_limit=limit)
    modelfile.save(graph, tmp_path / "m.lith")
    feeds = feeds_of(graph)
    with microlith.load(tmp_path / "m.lith", isa="c") as model:
        wanted = model.run(feeds)["y"]
    assert execute.run(project, [feeds]).samples[0]["y"].tobytes() == wanted.tobytes()


def test_vector_kernels_are_not_given_up(tmp_path: Path) -> None:
    """MVE has kernels for sums and products, and none for programs; a loop is for what has no such kernels."""
    graph = Graph("m")
    graph.inputs = [Value("x", TensorType(DType.f32, (4, 6)))]
    (x,) = graph.inputs
    scaled = graph.add("mul", [x, graph.constant("c", np.float32(0.5))]).output
    out = graph.add("add", [scaled, graph.constant("v", np.arange(6, dtype=np.float32))], {"clamp_min": 0.0}).output
    out.name = "y"
    graph.outputs = [out]
    assert fuse_elementwise.run(graph)
    layers = {}
    for name, model, target in (("a", graph, "cortex-m55"), ("b", graph, "cortex-m3"), ("c", _gate(), "cortex-m55")):
        layers[name] = microlith.generate(model, target, tmp_path / name, name="model").layers
    assert layers == {"a": 2, "b": 1, "c": 1}
