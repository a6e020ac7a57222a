"""``regions``: generated C whose tensors and constants lie in several memories, by how often they are accessed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from generated_projects import STRICT, built, need_target
from small_models import int8_cnn, residual

from microlith import targets
from microlith.cli.console import parse_size
from microlith.codegen import execute, generate
from microlith.codegen.memory_map import arenas_of, board_map
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.errors import InputError, TargetError
from microlith.evaluate import evaluate
from microlith.ir import Graph, State, TensorType, Value
from microlith.lower import Program, lower
from microlith.nnacl_kernels import planner
from microlith.regions import FAST, SLOW, USUAL, MemoryRegion, parse_region, place

REGIONS = (
    MemoryRegion("dtcm", 1024, FAST),
    MemoryRegion("sram", 8192),
    MemoryRegion("flash", 300, USUAL, read_only=True),
    MemoryRegion("qspi", 65536, SLOW, read_only=True),
)
WRITABLE = REGIONS[:2]


def random_graph(seed: int) -> Graph:
    """Additions and slices of random earlier results, some of which are outputs, and a state."""
    rng = np.random.default_rng(seed)
    graph = Graph("random")
    values = [Value("x", TensorType(DType.f32, (1, 8, 4, 8)))]
    graph.inputs.append(values[0])
    for number in range(12):
        a, b = (values[int(rng.integers(max(0, len(values) - 4), len(values)))] for _ in range(2))
        kind = int(rng.integers(3))
        if kind == 0:
            node = graph.add("relu", [a], name=f"relu{number}")
        elif kind == 1:
            node = graph.add("add", [a, b], name=f"add{number}")
        else:
            attrs = {"start": (0, 2, 0, 0), "size": (1, 4, 4, 8), "step": (1, 1, 1, 1)}
            half = graph.add("slice", [a], attrs, name=f"slice{number}")
            node = graph.add("concat", [half.output, half.output], {"axis": 1}, name=f"concat{number}")
        values.append(node.output)
    kept = Value("kept", TensorType(DType.f32, (1, 8, 4, 8)))
    last = graph.add("add", [values[-1], kept], name="last")
    graph.states.append(State(kept, last.output, np.zeros((1, 8, 4, 8), np.float32)))
    graph.outputs = [last.output, values[-3]]
    return graph


def small_lowered(graph: Graph, *regions: MemoryRegion) -> Program:
    return lower(graph, ["c"], alignment=8, overlap=True, regions=regions)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dtcm:64K:fast", MemoryRegion("dtcm", 65536, FAST)),
        ("SRAM1:1.5M", MemoryRegion("sram1", 1536 * 1024, USUAL)),
        ("flash:1M", MemoryRegion("flash", 1 << 20, USUAL, read_only=True)),
        ("qspi:8M:slow", MemoryRegion("qspi", 8 << 20, SLOW, read_only=True)),
        ("ext:8M:slow,rom", MemoryRegion("ext", 8 << 20, SLOW, read_only=True)),
        ("mram:100:ram", MemoryRegion("mram", 100, USUAL)),
        ("itcm:8K:fast,weights", MemoryRegion("itcm", 8192, FAST, weights=True)),
    ],
)
def test_what_users_write(text: str, wanted: MemoryRegion) -> None:
    assert parse_region(text, parse_size) == wanted


@pytest.mark.parametrize(
    "text", ["", "dtcm", "1a:5K", "a b:5K", "bss:5K", "x:0", "x:5Q", "x:5K:swift", "x:5K:rom,ram", "x:5K:rom,weights"]
)
def test_what_is_no_region(text: str) -> None:
    with pytest.raises(InputError):
        parse_region(text, parse_size)


@pytest.mark.parametrize("regions", [REGIONS[2:], (*WRITABLE, WRITABLE[0])])
def test_regions_that_contradict(regions: tuple[MemoryRegion, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        generate(int8_cnn(), "host", tmp_path / "a", regions=regions)


def test_tensors_that_are_accessed_most_lie_in_the_fast_memory() -> None:
    tensors = [planner.PlanTensor(size) for size in (64, 128, 32, 64, 256)]
    nodes = [planner.PlanNode((0, 1, 2, 3), (4,), workspace=16)]
    regions = (MemoryRegion("slow", 4096, SLOW), MemoryRegion("fast", 240, FAST))
    accesses = [64, 1280, 64, 640, 256]  # 1, 10, 2, 10 and 1 for a byte
    placed = place(tensors, nodes, [0, 1, 2, 3], [4], 8, regions, accesses, [160])
    assert [item.region.name for item in placed.regions] == ["fast", "slow"]
    assert placed.tensors == (1, 0, 0, 0, 1) and placed.workspaces == (0,)  # 128 + 32 + 64 + 16 bytes
    assert placed.regions[0].used == 240


def test_one_region_is_the_plan_of_one_memory() -> None:
    graph = residual(23)
    whole = lower(graph, ["c"], alignment=8, overlap=True)
    program = small_lowered(graph, MemoryRegion("sram", 1 << 20))
    assert program.arena_size == whole.arena_size
    assert [tensor.offset for tensor in program.tensors] == [tensor.offset for tensor in whole.tensors]


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_give_the_right_numbers(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed)
    regions = (MemoryRegion("a", 2100, FAST), MemoryRegion("b", 1024, USUAL), MemoryRegion("c", 1 << 16, SLOW))
    project = built(graph, "host", tmp_path / "a", regions=regions)
    assert len(project.report["regions"]) == 3
    samples = [draw_sample(graph, {}, seed) for seed in range(3)]
    states: dict[str, np.ndarray] = {}
    for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
        for name, wanted in evaluate(graph, sample, states).items():
            np.testing.assert_array_equal(outputs[name], wanted)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "riscv32"])
def test_sections_lie_in_memories_of_their_own_and_the_bytes_are_right(target: str, tmp_path: Path) -> None:
    graph = int8_cnn(height=31)
    project = built(graph, target, tmp_path / "a", regions=REGIONS, name="small")
    assert execute.selftest(project).endswith("PASS\n")
    samples = [draw_sample(graph, {}, seed) for seed in range(2)]
    for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
        for name, wanted in evaluate(graph, sample).items():
            np.testing.assert_array_equal(outputs[name], wanted)
    row = targets.get(target)
    assert row.board is not None
    listing = subprocess.run(
        [f"{row.tool_prefix}nm", project.program("selftest")], capture_output=True, text=True, check=True
    ).stdout
    address = {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines() if len(line.split()) == 3}
    (more,) = row.board.more
    assert more.origin <= address["arena_dtcm"] < more.origin + more.length
    assert row.board.ram.origin <= address["arena_sram"] < row.board.ram.origin + row.board.ram.length
    held = {region["name"]: region for region in project.report["regions"]}
    assert set(held) == {"dtcm", "sram", "flash", "qspi"} and held["flash"]["used"] <= 300
    link = (project.folder / "platform" / "link.ld").read_text()
    for name in ("flash", "qspi"):
        found = re.search(rf"MODEL_{name.upper()} \(r\) : ORIGIN = (0x\w+), LENGTH = (0x\w+)", link)
        assert found is not None
        for item in held[name]["constants"]:
            assert 0 <= address[item["name"]] - int(found[1], 16) < int(found[2], 16)
    size = execute.measure_size(project)
    assert size.constants == project.report["weight_bytes"] and size.code > 0


@pytest.mark.parametrize("target", ["cortex-m4", "riscv32"])
@pytest.mark.parametrize("with_flash", [True, False])
def test_constants_are_copied_into_what_activations_leave(target: str, with_flash: bool, tmp_path: Path) -> None:
    graph = int8_cnn(height=31)
    regions = (MemoryRegion("dtcm", 3000, FAST, weights=True), *(REGIONS[1:] if with_flash else REGIONS[1:2]))
    project = built(graph, target, tmp_path / "a", regions=regions, name="small")
    assert execute.selftest(project).endswith("PASS\n")
    held = {region["name"]: region for region in project.report["regions"]}
    hot = [item["name"] for item in held["dtcm"]["constants"]]
    assert hot and held["dtcm"]["used"] <= 3000
    row = targets.get(target)
    assert row.board is not None
    command = [f"{row.tool_prefix}nm", str(project.program("selftest"))]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    address = {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines() if len(line.split()) == 3}
    (more,) = row.board.more
    for name in hot:
        assert more.origin <= address[name] < more.origin + more.length
    copied = address["link_dtcm_constants_end"] - address["link_dtcm_constants_start"]
    assert copied >= sum(item["bytes"] for item in held["dtcm"]["constants"])
    flash = row.board.flash
    assert flash.origin <= address["link_dtcm_constants_load"] < flash.origin + flash.length
    size = execute.measure_size(project)
    assert size.constants == project.report["weight_bytes"] and 0 < size.code < 40_000


def test_a_memory_for_copies_alone(tmp_path: Path) -> None:
    regions = (
        MemoryRegion("sram", 8192, FAST),
        MemoryRegion("more", 512, USUAL, weights=True),
        MemoryRegion("flash", 65536, SLOW, read_only=True),
    )
    project = built(int8_cnn(height=31), "cortex-m4", tmp_path / "a", regions=regions, name="small")
    assert execute.selftest(project).endswith("PASS\n")
    (held,) = (region for region in project.report["regions"] if region["name"] == "more")
    assert held["constants"] and not held["tensors"]


def test_cmake_builds_it_too(tmp_path: Path) -> None:
    need_target("cortex-m4")
    generate(int8_cnn(), "cortex-m4", tmp_path / "a", regions=REGIONS, project="cmake")
    project = execute.Project.open(tmp_path / "a")
    execute.build(project, variables={"WARNINGS": STRICT})
    assert execute.selftest(project).endswith("PASS\n")


def test_constants_that_are_read_most_lie_in_the_fast_flash(tmp_path: Path) -> None:
    report = generate(int8_cnn(), "cortex-m4", tmp_path / "a", regions=REGIONS)
    constants = {region["name"]: region["constants"] for region in report.regions if "constants" in region}
    assert constants["flash"] and constants["qspi"]
    least = min(item["reads"] / item["bytes"] for item in constants["flash"])
    room = 300 - sum(-(-item["bytes"] // 8) * 8 for item in constants["flash"])
    assert all(item["reads"] / item["bytes"] <= least or item["bytes"] > room for item in constants["qspi"])


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ((MemoryRegion("dtcm", 64, FAST), MemoryRegion("sram", 64)), "cannot hold the activations: [0-9,]+ bytes"),
        ((MemoryRegion("sram", 100),), "'sram' cannot hold the activations"),
        ((MemoryRegion("sram", 8192), MemoryRegion("flash", 100, read_only=True)), "the constants take [0-9,]+ bytes"),
    ],
)
def test_overfull_regions(regions: tuple[MemoryRegion, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=message) as error:
        generate(int8_cnn(height=31), "cortex-m4", tmp_path / "a", regions=regions)
    assert error.value.hint and not (tmp_path / "a").exists()


def test_boards_without_room() -> None:
    program = small_lowered(int8_cnn(), MemoryRegion("sram", 8192))
    arenas = arenas_of(program)
    board = targets.get("cortex-m4").board
    assert board is not None
    tiny = type(board)(board.machine, board.vectors, board.flash, targets.Region(0x20000000, 64))
    with pytest.raises(TargetError, match="has no memory for the region 'sram'"):
        board_map(tiny, arenas, (), "model")


def test_a_project_without_our_linker_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no linker script") as error:
        generate(int8_cnn(), "cortex-m4", tmp_path / "a", regions=REGIONS, project="zephyr")
    assert error.value.hint


def test_every_tensor_lies_inside_its_region() -> None:
    for seed in range(6):
        program = small_lowered(random_graph(seed), MemoryRegion("a", 1100, FAST), MemoryRegion("b", 1 << 16))
        for tensor in program.tensors:
            if tensor.data is None and tensor.offset is not None:
                assert tensor.offset + tensor.nbytes <= program.regions[tensor.region].used
