"""The options of ``microlith convert`` that quantize a model, and what is printed about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from microlith.errors import InputError

from .console import bytes_text, console, count_text, plural
from .picture_options import take_picture_flags

if TYPE_CHECKING:
    from microlith.converter.quantize import QuantizeOptions, QuantReport
    from microlith.costs import CostFunction

PANEL = "Quantization"


def _option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=PANEL)


Quantize = Annotated[
    str | None,
    _option(
        "--quantize",
        "-q",
        metavar="SCHEME",
        help="int8, 16x8, float16, bfloat16, weights-int8, weights-int4 or dynamic.",
    ),
]
Compute = Annotated[
    str | None,
    _option(
        "--compute",
        metavar="TYPE",
        help="float32; or float16, bfloat16 with weights of that type: arithmetic in it, too.",
    ),
]
Config = Annotated[Path | None, _option("--quantize-config", help="A TOML file with these options.")]
Calibrate = Annotated[
    str | None,
    _option(
        "--calibrate",
        metavar="DATA",
        help="Sample inputs: .npz, .npy, a folder of .npy, .bin or images, module:function.",
    ),
]
Samples = Annotated[int | None, _option("--samples", help="Read no more calibration samples than this.")]
Observer = Annotated[
    str | None, _option("--observer", help="auto, min-max, moving-average, percentile, entropy or mse.")
]
Percentile = Annotated[float | None, _option("--percentile", help="Per cent that the percentile observer keeps.")]
Rounding = Annotated[str | None, _option("--rounding", help="Of weights: auto, nearest or adaptive.")]
BiasCorrection = Annotated[
    bool | None, _option("--bias-correction/--no-bias-correction", help="Take the mean error of weights off the bias.")
]
Equalize = Annotated[
    bool | None, _option("--equalize/--no-equalize", help="Cross-layer equalization. Default: if it helps.")
]
Smooth = Annotated[float | None, _option("--smooth", help="SmoothQuant exponent, 0 to 1; 0: off. Default: the best.")]
FloatLayers = Annotated[
    list[str] | None,
    _option("--float-layer", metavar="PATTERN", help="Leave such layers in floating point. Repeatable."),
]
WideLayers = Annotated[
    list[str] | None,
    _option("--wide-layer", metavar="PATTERN", help="Give such layers 16-bit activations. Repeatable."),
]
RequireInt8 = Annotated[bool, _option("--require-int8", help="Fail if a layer stays in floating point.")]
Group = Annotated[int | None, _option("--group", help="Weights that share a scale in weights-int4.")]
MaxFlash = Annotated[
    str | None,
    _option(
        "--max-flash",
        metavar="SIZE",
        help="Choose bits per layer within this size, such as 256KB, of constants; "
        "with --target of constants and kernels.",
    ),
]
MaxRam = Annotated[
    str | None, _option("--max-ram", metavar="SIZE", help="Choose bits per layer within this arena on the --target.")
]
MaxInstructions = Annotated[
    str | None,
    _option(
        "--max-instructions",
        metavar="COUNT",
        help="Choose bits per layer within so many instructions of a run on the --target (a Cortex-M), such as 20M.",
    ),
]
Target = Annotated[
    str | None, _option("--target", metavar="NAME", help="The machine whose flash, RAM and instructions budgets count.")
]
MaxDrop = Annotated[
    str | None,
    _option("--max-drop", metavar="SHARE", help="Choose bits per layer so that outputs (or accuracy) lose no more."),
]
Labels = Annotated[
    str | None, _option("--labels", metavar="FILE", help="Classes of the samples: --max-drop is then lost accuracy.")
]
Report = Annotated[Path | None, _option("--report", help="Write what was done to this file, as JSON.")]


def parse_options(config: Path | None, flags: dict[str, Any]) -> QuantizeOptions | None:
    """The options of flags and file; a flag counts more. None when nothing is to be quantized."""
    from microlith.converter.quantize.config import load_config, make_options, parse_limit

    given: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    images = take_picture_flags(given)
    if config is None and "scheme" not in given:
        wrong = [name for name, value in {**given, **images}.items() if value is not False]
        if wrong:
            raise InputError(
                f"--{wrong[0].replace('_', '-')} is for quantization", hint="add --quantize int8, or --quantize-config"
            )
        return None
    for name, value in given.items():
        given[name] = parse_limit(name, value, f"--{name.replace('_', '-')}")
    for name in ("float_layers", "wide_layers"):
        if name in given:
            given[name] = tuple(given[name])
    if given.get("require_int8") is False:
        del given["require_int8"]
    values: dict[str, Any] = {} if config is None else load_config(config)
    pictures: dict[str, Any] = {**values.pop("images", {}), **images}
    merged = {**values, **given}
    target = merged.pop("target", None)
    if target is not None:
        merged["costs"] = _costs(target, merged)
    options = make_options({**merged, "images": pictures})
    options.check()  # before the model is read
    return options


def _costs(target: str, options: dict[str, Any]) -> CostFunction:
    """What graphs cost on a target. Raises InputError for budgets that say nothing about it."""
    from microlith.codegen.graph_costs import costs_on, counts_instructions

    costs = costs_on(target)
    if options.get("max_instructions") is not None and not counts_instructions(target):
        raise InputError(
            f"--max-instructions: instructions are known for Cortex-M alone, not for '{target}'",
            hint="--target cortex-m4 or cortex-m55; or --max-flash, --max-ram",
        )
    return costs


def print_report(report: QuantReport, explain: bool) -> None:
    """Choices, figures and the layers in floating point; with ``explain`` all that was tried."""
    if explain and report.candidates:
        table = Table("tried", "SQNR", title="Quantization")
        for item in report.candidates:
            label = ", ".join(f"{key} {value}" for key, value in item.items() if key != "sqnr")
            table.add_row(label, f"{item['sqnr']:.2f} dB")
        console.print(table)
    chosen = ", ".join(f"{name} {value}" for name, value in report.choices.items())
    figures = [f"{report.scheme}, contract {report.contract}"]
    if report.samples:
        figures.append(f"{plural(report.samples, 'sample')}")
    if chosen:
        figures.append(chosen)
    if report.sqnr is not None:
        figures.append(f"outputs at {report.sqnr:.1f} dB SQNR")
    if report.accuracy is not None and report.float_accuracy is not None:
        figures.append(f"accuracy {100 * report.float_accuracy:.2f}% -> {100 * report.accuracy:.2f}%")
    figures.append(f"constants {bytes_text(report.float_bytes)} -> {bytes_text(report.constant_bytes)}")
    if report.flash is not None:
        figures.append(f"on the target {bytes_text(report.flash)} of flash")
    if report.ram is not None:
        figures.append(f"{bytes_text(report.ram)} of RAM")
    if report.instructions is not None:
        figures.append(f"about {count_text(int(report.instructions))} instructions")
    console.print("[bold]quantized[/bold]: " + "; ".join(figures), highlight=False)
    chosen_layers = [layer for layer in report.layers if layer.noise is not None]
    if chosen_layers:
        table = Table("layer", "op", "numbers", "bytes", "RAM", "instructions", "why", title="Bits of each layer")
        for layer in chosen_layers:
            costs = ["" if item is None else count_text(int(item)) for item in (layer.ram, layer.instructions)]
            table.add_row(layer.name, layer.op, layer.numbers, f"{layer.constant_bytes:,}", *costs, layer.reason)
        console.print(table)
    for note in report.notes:
        console.print(f"[bold]without effect[/bold]: {escape(note)}", highlight=False)
    for remark in report.remarks:
        console.print(f"[bold]note[/bold]: {escape(remark)}", highlight=False)
    if report.floats:
        where = "single precision" if report.choices.get("compute") == "float16" else "floating point"
        table = Table("layer", "op", "why", title=f"{plural(len(report.floats), 'layer')} in {where}")
        for layer in report.floats:
            table.add_row(layer.name, layer.op, layer.reason)
        console.print(table)
