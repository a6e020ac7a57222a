"""microlith convert"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from . import picture_options as pictures
from . import quantize_options as q
from .console import (
    ForeignArgument,
    InputLayoutOption,
    JsonOption,
    ShapeOption,
    bytes_text,
    console,
    convert_with_progress,
    count_text,
    has_identifier,
    parse_shapes,
    plural,
    print_inputs,
    print_json,
    print_not_finite,
)
from .constants import ConstantOption, parse_constants
from .label_notes import print_labels
from .ops_option import OpsOption

if TYPE_CHECKING:
    from microlith.converter.quantize import QuantReport

NAME = "convert"
EXAMPLE = "microlith convert mobilenet.onnx -o mobilenet.lith --input x:1,3,224,224"


def command(
    model: ForeignArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write. Default: the model's name with .lith.")
    ] = None,
    shapes: ShapeOption = None,
    constants: ConstantOption = None,
    head: Annotated[
        str,
        typer.Option(
            "--head",
            help="What outputs give: keep (as in the model), logits (what goes into the last softmax), "
            "softmax (added where there is none), argmax (the position of the largest).",
        ),
    ] = "keep",
    integer_borders: Annotated[
        bool,
        typer.Option(
            "--integer-io", help="Inputs and outputs that the model quantizes and dequantizes itself become integers."
        ),
    ] = False,
    input_layout: InputLayoutOption = "keep",
    stream: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            help="The input is a window that slides over time: a step takes its next rows only, and computes nothing "
            "twice.",
        ),
    ] = None,
    qdq: Annotated[
        str,
        typer.Option(
            "--qdq",
            help="What becomes of a float op of an ONNX model between DequantizeLinear and QuantizeLinear: integers "
            "(the op on integers), or as-written (all three, with the bytes of ONNX Runtime; slow, and weights take "
            "four times the space).",
        ),
    ] = "integers",
    skip_passes: Annotated[
        list[str] | None,
        typer.Option("--skip-pass", help="Leave out an optional pass, for debugging: fuse_elementwise."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Tell what each pass changed.")] = False,
    prepack_for: Annotated[
        str | None,
        typer.Option(
            "--prepack",
            help="Also store the weights as the kernels of a machine want them, so that it opens the file at once: "
            "x86-avx2, x86-avxvnni, x86-avx512, arm64-neon, arm64-dotprod or arm64-i8mm. The file grows by about its "
            "size.",
        ),
    ] = None,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
    quantize: q.Quantize = None,
    quantize_config: q.Config = None,
    calibrate: q.Calibrate = None,
    samples: q.Samples = None,
    compute: q.Compute = None,
    observer: q.Observer = None,
    percentile: q.Percentile = None,
    rounding: q.Rounding = None,
    bias_correction: q.BiasCorrection = None,
    equalize: q.Equalize = None,
    smooth: q.Smooth = None,
    float_layer: q.FloatLayers = None,
    wide_layer: q.WideLayers = None,
    require_int8: q.RequireInt8 = False,
    group: q.Group = None,
    max_flash: q.MaxFlash = None,
    max_ram: q.MaxRam = None,
    max_instructions: q.MaxInstructions = None,
    target: q.Target = None,
    max_drop: q.MaxDrop = None,
    labels: q.Labels = None,
    mean: pictures.Mean = None,
    std: pictures.Std = None,
    pixel_scale: pictures.PixelScale = None,
    resize: pictures.Resize = None,
    crop: pictures.Crop = None,
    layout: pictures.Layout = None,
    bgr: pictures.Bgr = None,
    report_file: q.Report = None,
) -> None:
    """Convert an ONNX or TFLite model into a .lith file, and quantize it on the way if wanted."""
    flags = {
        "scheme": quantize,
        "calibrate": calibrate,
        "samples": samples,
        "compute": compute,
        "observer": observer,
        "percentile": percentile,
        "rounding": rounding,
        "bias_correction": bias_correction,
        "equalize": equalize,
        "smooth": smooth,
        "float_layers": float_layer,
        "wide_layers": wide_layer,
        "require_int8": require_int8,
        "group": group,
        "max_flash": max_flash,
        "max_ram": max_ram,
        "max_instructions": max_instructions,
        "target": target,
        "max_drop": max_drop,
        "labels": labels,
        "mean": mean,
        "std": std,
        "scale": pixel_scale,
        "resize": resize,
        "crop": crop,
        "layout": layout,
        "bgr": bgr,
    }
    from microlith import modelfile
    from microlith.binding import is_open, needs_sizes
    from microlith.converter.as_written import of_their_own
    from microlith.errors import InputError
    from microlith.files import require_writable, write_atomically
    from microlith.finite import not_finite
    from microlith.ir import all_graphs
    from microlith.lower import lower
    from microlith.nnacl_kernels import catalogue
    from microlith.prepack import TARGETS, prepack
    from microlith.texts import labels_in

    if has_identifier(model):
        raise InputError("is a .lith file already", where=str(model), hint="use it with run, codegen or inspect")
    path = output or model.with_suffix(".lith")
    if path.exists() and path.samefile(model):
        raise InputError("the output would replace the model", where=str(path), hint="name another file with --output")
    if prepack_for is not None and prepack_for not in TARGETS:
        raise InputError(f"--prepack does not know '{prepack_for}'", hint=f"one of {', '.join(TARGETS)}")
    require_writable(path)
    quantization = q.parse_options(quantize_config, flags)
    if report_file is not None and quantization is None:
        raise InputError("--report is for quantization", hint="add --quantize int8, or --quantize-config")
    if report_file is not None and quantization is not None:
        require_writable(report_file)
        used = {"output": path, "model": model, "calibration data": quantization.calibrate}
        for what, other in used.items():
            if other is not None and Path(other).resolve() == report_file.resolve():
                raise InputError(
                    f"the report would replace the {what}", where=str(report_file), hint="name another file"
                )
    summaries: list[QuantReport] = []
    steps: list[dict[str, object]] = []

    def observe(name: str, changed: bool, before: int, after: int) -> None:
        steps.append({"pass": name, "changed": changed, "nodes_before": before, "nodes_after": after})

    graph = convert_with_progress(
        model,
        parse_shapes(shapes),
        constants=parse_constants(constants),
        observer=observe,
        head=head,
        integer_borders=integer_borders,
        input_layout=input_layout,
        stream_rows=stream,
        quantization=quantization,
        report=summaries.append,
        skip_passes=skip_passes or (),
        qdq=qdq,
    )
    own = of_their_own(graph) if qdq == "as-written" else {}
    packed = prepack(graph, prepack_for) if prepack_for is not None else None
    size = modelfile.save(graph, path, packed)
    program = None if is_open(graph) else lower(graph, catalogue.detected_isa(), alignment=64, runnable=True)
    doubtful = [item for part in all_graphs(graph) for item in not_finite(part)]
    constant_bytes = sum(value.type.nbytes for value in graph.constants())
    report = {
        "output": str(path),
        "file_bytes": size,
        "nodes": len(graph.nodes),
        "macs": None if program is None else program.macs,
        "constant_bytes": constant_bytes if program is None else program.constant_bytes,
        "arena_bytes": None if program is None else program.arena_size,
        "arena_lower_bound": None if program is None else program.arena_lower_bound,
        "contract": graph.contract,
        "ranges": {name: item.as_list() for name, item in graph.ranges.items()},
        "prepacked": None if packed is None else {"target": packed.target, "constants": len(packed.inputs)},
        "labels": labels_in(graph.metadata),
        "computed_otherwise": own,
        "not_finite": [dataclasses.asdict(item) for item in doubtful],
        "passes": steps,
        "quantization": summaries[0].as_dict() if summaries else None,
    }
    if report_file is not None:
        text = json.dumps(report["quantization"], indent=2)
        write_atomically(report_file, lambda file: file.write(text.encode()))
    if as_json:
        print_json(report)
        return
    if explain:
        table = Table("pass", "changed", "nodes", title="Passes")
        for step in steps:
            table.add_row(
                str(step["pass"]), "yes" if step["changed"] else "", f"{step['nodes_before']} -> {step['nodes_after']}"
            )
        console.print(table)
    if input_layout != "keep":
        print_inputs(graph)
    if summaries:
        q.print_report(summaries[0], explain)
    spelled = ", ".join(f"{name} from {item}" for name, item in graph.ranges.items())
    costs = f"sizes are known at run time only{': ' + spelled if spelled else ''}"
    if not needs_sizes(graph):
        costs = "subgraphs, for which the runtime allocates as it runs"
    if program is not None:
        costs = (
            f"{count_text(program.macs)} MACs, arena of the runtime on this machine "
            f"{bytes_text(program.arena_size)} (lower bound {bytes_text(program.arena_lower_bound)})"
        )
    if packed is not None:
        costs += f", {plural(len(packed.inputs), 'constant')} packed for {packed.target}"
    console.print(
        f"[bold]{path}[/bold]: {plural(len(graph.nodes), 'node')}, {bytes_text(size)}, {costs}",
        highlight=False,
    )
    if own:
        names = ", ".join(f"{name} ({count})" for name, count in own.items())
        console.print(
            f"[yellow]note[/yellow]: not in the steps of ONNX Runtime, so that bits may differ: {escape(names)}",
            highlight=False,
        )
    print_not_finite(doubtful)
    print_labels(graph, 5)
