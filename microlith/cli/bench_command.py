"""microlith bench"""

from __future__ import annotations

import statistics
import time
from typing import Annotated, Any

import typer
from rich.table import Table

from .console import (
    JsonOption,
    LithArgument,
    RunShapeOption,
    bytes_text,
    console,
    count_text,
    existing,
    noise_for,
    print_json,
    progress_bar,
)
from .ops_option import OpsOption

NAME = "bench"
EXAMPLE = "microlith bench model.lith --threads 2 --profile"


def command(
    model: LithArgument,
    shapes: RunShapeOption = None,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Threads.")] = 1,
    isa: Annotated[str | None, typer.Option(help="Use only these instruction sets, as in c or c,avx2.")] = None,
    winograd: Annotated[
        bool, typer.Option("--winograd/--no-winograd", help="Let float32 convolutions use Winograd's algorithm.")
    ] = True,
    repeat: Annotated[int, typer.Option(min=1, help="Measured runs.")] = 50,
    warmup: Annotated[int, typer.Option(min=0, help="Runs before measuring.")] = 5,
    profile: Annotated[bool, typer.Option("--profile", help="Show the time of each layer.")] = False,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how long a .lith model takes in the C runtime on this machine, on seeded noise."""
    from microlith import load

    with load(existing(model), threads=threads, isa=isa, winograd=winograd) as session:
        inputs = noise_for(((spec.name, spec.shape, spec.dtype) for spec in session.inputs), shapes, 0)
        times: list[int] = []
        with progress_bar(f"bench {model.name}") as advance:
            for index in range(warmup + repeat):
                start = time.perf_counter_ns()
                session.run(inputs)
                if index >= warmup:
                    times.append(time.perf_counter_ns() - start)
                advance(index + 1, warmup + repeat)
        layers = session.profile(inputs) if profile else []
        arena = session.arena_bytes
    median = statistics.median(times)
    report: dict[str, Any] = {
        "model": str(model),
        "threads": threads,
        "isa": isa,
        "repeat": repeat,
        "median_ns": median,
        "min_ns": min(times),
        "p90_ns": sorted(times)[min(len(times) - 1, len(times) * 9 // 10)],
        "arena_bytes": arena,
        "layers": [
            {"name": layer.name, "op": layer.op, "kernel": layer.kernel, "ns": layer.ns, "macs": layer.macs}
            for layer in layers
        ],
    }
    if as_json:
        print_json(report)
        return
    console.print(
        f"[bold]{model.name}[/bold]: median {median / 1e3:.1f} us, fastest {min(times) / 1e3:.1f} us, "
        f"90 % under {report['p90_ns'] / 1e3:.1f} us ({repeat} runs, {threads} thread{'s' if threads > 1 else ''}), "
        f"arena {bytes_text(arena)}",
        highlight=False,
    )
    if layers:
        total = sum(layer.ns for layer in layers) or 1
        table = Table("#", "op", "name", "kernel", "us", "%", "MACs", "GMAC/s", title="One run, layer by layer")
        for index, layer in enumerate(layers):
            speed = f"{layer.macs / layer.ns:.2f}" if layer.macs and layer.ns else ""
            table.add_row(
                str(index),
                layer.op,
                layer.name,
                layer.kernel,
                f"{layer.ns / 1e3:.1f}",
                f"{100 * layer.ns / total:.1f}",
                count_text(layer.macs) if layer.macs else "",
                speed,
            )
        console.print(table)
