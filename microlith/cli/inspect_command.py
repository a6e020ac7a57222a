"""microlith inspect"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from .console import (
    JsonOption,
    ModelArgument,
    ShapeOption,
    bytes_text,
    console,
    count_text,
    open_graph,
    print_float_layers,
    print_json,
)
from .constants import ConstantOption
from .label_notes import print_labels
from .ops_option import OpsOption

if TYPE_CHECKING:
    from microlith.ir import Graph

NAME = "inspect"
EXAMPLE = "microlith inspect model.lith"


def command(
    model: ModelArgument,
    shapes: ShapeOption = None,
    constants: ConstantOption = None,
    as_text: Annotated[bool, typer.Option("--text", help="Print the graph in its text form.")] = False,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is in a model: inputs, outputs, layers, sizes. Other formats than .lith are converted in memory."""
    from microlith.binding import describe, is_open, stored_params
    from microlith.float_layers import float_layers, has_integers
    from microlith.nnacl_kernels import catalogue
    from microlith.ops import fused
    from microlith.ops.compressed import weight_bits
    from microlith.text import to_text
    from microlith.texts import PREFIX, labels_in

    graph = open_graph(model, shapes, constants)
    if as_text:
        typer.echo(to_text(graph), nl=False)
        return
    macs_known = not is_open(graph)
    layers: list[dict[str, Any]] = []
    for index, (node, params) in enumerate(zip(graph.nodes, stored_params(graph), strict=True)):
        known = [value for value in node.inputs if value is not None and value.is_constant]
        layers.append(
            {
                "index": index,
                "op": node.op,
                "formula": fused.formula(node.attrs) if node.op == fused.NAME else None,
                "name": node.name,
                "source": node.source,
                "inputs": [str(value.type) for value in node.inputs if value is not None],
                "outputs": [str(value.type) for value in node.outputs],
                "macs": catalogue.macs(node.op, params) if macs_known else 0,
                "constant_bytes": sum(value.type.nbytes for value in known),
                "weight_bits": weight_bits(node),
            }
        )
    ports: dict[str, list[dict[str, Any]]] = {
        kind: [
            {
                "name": value.name,
                "dtype": value.dtype.name,
                "shape": list(value.shape),
                "scale": None if value.quant is None else value.quant.scale.tolist(),
                "zero_point": None if value.quant is None else value.quant.zero_point.tolist(),
            }
            for value in values
        ]
        for kind, values in (("inputs", graph.inputs), ("outputs", graph.outputs))
    }
    weights = list(graph.constants())
    floats = [{"op": x.node.op, "name": x.name, "reason": x.reason} for x in float_layers(graph)]
    summary = {
        "name": graph.name,
        "contract": graph.contract,
        "nodes": len(graph.nodes),
        "macs": sum(layer["macs"] for layer in layers),
        "parameters": _parameters(graph),
        "constant_bytes": sum(value.type.nbytes for value in weights),
        "metadata": {key: text for key, text in graph.metadata.items() if not key.startswith(PREFIX)},
        "labels": labels_in(graph.metadata),
        "in_float": floats,
        "ranges": {name: item.as_list() for name, item in graph.ranges.items()},
    }
    if as_json:
        print_json({**summary, **ports, "layers": layers})
        return
    console.print(
        f"[bold]{graph.name}[/bold]: {len(layers)} nodes, {count_text(summary['macs'])} MACs, "
        f"{count_text(summary['parameters'])} parameters in {bytes_text(summary['constant_bytes'])}, "
        f"rounding contract {graph.contract}",
        highlight=False,
    )
    table = Table("", "name", "type", "scale", "zero point")
    for kind, rows in ports.items():
        for row in rows:
            shape = ",".join(map(str, row["shape"]))
            scale = "" if row["scale"] is None else f"{row['scale'][0]:.7g}"
            zero = "" if row["zero_point"] is None else str(row["zero_point"][0])
            table.add_row(kind[:-1], row["name"], f"{row['dtype']}[{shape}]", scale, zero)
    console.print(table)
    for name, item in graph.ranges.items():
        console.print(f"size {name}: {item.spelled}", highlight=False)
    print_labels(graph)
    table = Table("#", "op", "name", "output", "MACs", "constants", "bits")
    for layer, node in zip(layers, graph.nodes, strict=True):
        macs = count_text(layer["macs"]) if layer["macs"] else ""
        size = bytes_text(layer["constant_bytes"]) if layer["constant_bytes"] else ""
        bits = "" if layer["weight_bits"] is None else str(layer["weight_bits"])
        op = layer["formula"] or layer["op"]
        table.add_row(str(layer["index"]), op, describe(node), " ".join(layer["outputs"]), macs, size, bits)
    console.print(table)
    print_float_layers(floats, has_integers(graph))


def _parameters(graph: Graph) -> int:
    """Numbers in the constants of a graph, packed weights one by one."""
    from microlith.ops.compressed import COMPRESSED_OPS, weight_count

    packed = {id(node.input(1)): weight_count(node) for node in graph.nodes if node.op in COMPRESSED_OPS}
    return sum(packed.get(id(value), value.type.count) for value in graph.constants())
