# SPDX-License-Identifier: Apache-2.0
"""microlith compare"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from microlith.errors import InputError

from . import picture_options as pictures
from .console import JsonOption, ShapeOption, console, noise_for, parse_run_shapes, plural, print_json, progress_bar

if TYPE_CHECKING:
    from microlith.compare import Breach, Engine, Report
    from microlith.compare.engines import Port

NAME = "compare"
EXAMPLE = "microlith compare model.onnx model.lith --data samples.npz --min-sqnr 30 --html report.html"

NOISE_SAMPLES = 3

Subject = Annotated[
    str,
    typer.Argument(
        help="A model, or MODEL@ENGINE: original, reference, runtime, runtime-c, c, or a target.", show_default=False
    ),
]


def command(
    a: Subject,
    b: Subject,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", help="Samples: .npz, .npy, a folder of arrays or images, module:function. Default: noise."
        ),
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Use so many samples at most.")] = None,
    shapes: ShapeOption = None,
    min_sqnr: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]DB", help="SQNR that the outputs, or tensors by NAME (* and ?), must have."),
    ] = None,
    min_cosine: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]X", help="Cosine that they must have.")
    ] = None,
    max_error: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]X", help="Largest absolute error that they may have.")
    ] = None,
    max_saturation: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]X", help="Part of their integers that may be saturated.")
    ] = None,
    isolate: Annotated[
        int, typer.Option(min=0, help="Samples on which each layer is also judged alone; takes time.")
    ] = 1,
    layers: Annotated[int, typer.Option(min=0, help="Print the outputs and so many of the worst layers; 0: all.")] = 20,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a report, one HTML file.")] = None,
    as_json: JsonOption = False,
    mean: pictures.Mean = None,
    std: pictures.Std = None,
    pixel_scale: pictures.PixelScale = None,
    resize: pictures.Resize = None,
    crop: pictures.Crop = None,
    layout: pictures.Layout = None,
    bgr: pictures.Bgr = None,
) -> None:
    """Hold B against A, tensor by tensor: how far apart, where it begins, and why.

    Exit code 1 when a threshold is not kept, 2 when they could not be compared. All of it is explained in
    docs/compare.md.
    """
    from microlith.compare import agreed_ports, compare, load_samples, open_engine, parse_threshold
    from microlith.files import require_writable

    given = {
        "mean": mean,
        "std": std,
        "scale": pixel_scale,
        "resize": resize,
        "crop": crop,
        "layout": layout,
        "bgr": bgr,
    }
    images = pictures.take_picture_flags(given)
    if images and data is None:
        raise InputError("options for pictures without pictures", hint="name their folder with --data")
    options = {
        "--min-sqnr": min_sqnr,
        "--min-cosine": min_cosine,
        "--max-error": max_error,
        "--max-saturation": max_saturation,
    }
    thresholds = [parse_threshold(option, text) for option, texts in options.items() for text in texts or ()]
    if html is not None:
        require_writable(html)
        for what, text in (("model A", a), ("model B", b), ("data", data)):
            if text is not None and _names(text, html):
                raise InputError(f"the page would replace the {what}", where=str(html), hint="name another file")
    opened: list[Engine] = []
    try:
        with progress_bar("compare") as advance:
            for text in (a, b):
                advance(0, None, f"opening {text}")
                opened.append(open_engine(text, shapes=parse_run_shapes(shapes) or None))
            first, second = opened
            where = f"{first.label} and {second.label}"
            ports = agreed_ports(first.inputs, second.inputs, parse_run_shapes(shapes), where)
            feeds = load_samples(data, ports, samples, images) if data is not None else _noise(ports, samples, shapes)
            report = compare(
                first,
                second,
                islice(feeds, samples),
                isolate=isolate,
                data=Path(data).name if data is not None else "seeded noise",
                progress=lambda done, text: advance(done, None, f"{text}, {plural(done, 'sample')} done"),
            )
        breaches = report.check(thresholds)
    finally:
        for engine in opened:
            engine.close()
    if html is not None:
        _write_page(html, report, breaches)
    if as_json:
        print_json(report.as_json(breaches))
    else:
        _print(report, breaches, layers)
    if breaches:
        raise typer.Exit(1)


def _noise(ports: Sequence[Port], samples: int | None, shapes: Sequence[str] | None) -> Iterator[dict[str, np.ndarray]]:
    inputs = [(port.name, port.shape, port.dtype) for port in ports]
    is_open = any(not isinstance(dim, int) or dim < 0 for port in ports for dim in port.shape)
    for sample in range(samples or NOISE_SAMPLES):
        yield noise_for(inputs, shapes if is_open else None, 100 * sample)


def _names(text: str, file: Path) -> bool:
    """Whether an argument, perhaps with an engine behind ``@``, names this file."""
    return any(Path(part).resolve() == file.resolve() for part in (text, text.rpartition("@")[0]) if part)


def _write_page(path: Path, report: Report, breaches: Sequence[Breach]) -> None:
    from microlith.compare.page import render
    from microlith.files import write_atomically

    page = render(report, breaches)
    write_atomically(path, lambda file: file.write(page))


def _print(report: Report, breaches: Sequence[Breach], most: int) -> None:
    from microlith.compare.page import decibels, number, percent

    worst = sorted(report.layers, key=lambda layer: layer.numbers.sqnr)[: most or None]
    shown = {layer.number for layer in [*worst, *report.outputs]}
    table = Table("tensor", "op", title=f"{report.b} against {report.a}, {plural(report.samples, 'sample')}")
    for title in ("SQNR dB", "own dB", "cosine", "max error", "saturated"):
        table.add_column(title, justify="right")
    for title in ("range", "causes"):
        table.add_column(title)
    for layer in report.layers:
        if layer.number in shown:
            n = layer.numbers
            low, high = (number(limit) for limit in n.b_range)
            table.add_row(
                escape(f"{layer.name} (output)" if layer.match.b.is_output else layer.name),
                f"{layer.match.b.op} {layer.match.b.dtype}",
                decibels(n.sqnr),
                "" if layer.alone is None else decibels(layer.alone.sqnr),
                f"{n.cosine:.6f}",
                number(n.max_error),
                percent(n.saturation),
                f"{low} to {high}" if n.count else "",
                ", ".join(cause.tag for cause in layer.causes),
            )
    console.print(table)
    equal = sum(layer.numbers.equal for layer in report.layers)
    console.print(
        f"{plural(len(report.layers), 'tensor')} compared, {equal} equal, {len(shown)} shown; "
        f"{len(report.unmatched)} without a counterpart",
        highlight=False,
    )
    for name, reason in report.left_out.items():
        console.print(f"left out: {escape(name)}: {reason}", highlight=False)
    for breach in breaches:
        console.print(f"[bold red]not kept:[/bold red] {escape(str(breach))}", highlight=False)
