"""The order of the passes, from what a frontend imports to what the kernels run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from ..ir import Graph
from ..rewrite import Pass, PassRecord, repeat, run_passes
from .passes import (
    absorb_inputs,
    depthwise_of_one,
    dequantize_constants,
    fold_constants,
    fold_pad,
    fuse_activation,
    fuse_attention,
    fuse_batchnorm,
    fuse_bias,
    fuse_elementwise,
    fuse_norms,
    fuse_patterns,
    fuse_rotary,
    infer_shapes,
    integer_ops,
    integers_as_written,
    join_tables,
    layout,
    lower_lut,
    masked_values,
    materialize_quantization,
    merge_duplicates,
    move_quantization,
    name_sizes,
    pack_integer_weights,
    pack_real_weights,
    remove_constant_channels,
    remove_dead_code,
    remove_identities,
    remove_quantize_pairs,
    simplify_control,
    simplify_elementwise,
    swapped_rows,
    transposes_of_ones,
    unsigned_bytes,
)
from .passes.unique_names import make_names_unique

Observer = Callable[[PassRecord, Graph], None]


def _pass(module: ModuleType, requires: Sequence[str] = (), ensures: Sequence[str] = ()) -> Pass:
    """The pass of a module, which leaves every value with a name of its own."""

    def run(graph: Graph) -> bool:
        changed: bool = module.run(graph)
        if changed:
            make_names_unique(graph)
        return changed

    return Pass(module.__name__.rpartition(".")[2], run, frozenset(requires), frozenset(ensures))


CLEAN = repeat(
    "clean",
    [
        _pass(fold_constants),
        _pass(absorb_inputs),
        _pass(infer_shapes),
        _pass(simplify_control),
        _pass(remove_identities),
        _pass(merge_duplicates),
        _pass(remove_dead_code),
    ],
)
"""Constants computed, no-ops and duplicates gone."""


FUSE_ELEMENTWISE = _pass(fuse_elementwise, requires=["materialized"])
NAME_SIZES = _pass(name_sizes)


EARLY_ATTENTION = Pass("fuse_attention_early", fuse_attention.run_early)
"""Before the layout pass moves the transposes that it takes in."""


def _for_subgraphs(passes: Callable[[], Sequence[Pass]]) -> Pass:
    """Passes for the subgraphs, which are graphs of their own."""

    def run(graph: Graph) -> bool:
        parts = [part for node in graph.nodes for part in node.subgraphs]
        changed = [run_passes(part, passes(), verify=False) for part in parts]
        return any(changed)

    return Pass("subgraphs", run)


FLOAT_PASSES: tuple[Pass, ...] = (
    CLEAN,
    _for_subgraphs(lambda: [*FLOAT_PASSES, *INTEGER_PASSES]),
    _pass(remove_quantize_pairs),
    _pass(dequantize_constants),
    _pass(masked_values),
    CLEAN,
    _pass(fuse_patterns),
    _pass(simplify_elementwise),
    _pass(fuse_norms),
    _pass(fuse_rotary),
    EARLY_ATTENTION,
    _pass(layout, ensures=["channels last"]),
    CLEAN,
    _pass(fuse_patterns),
    _pass(fuse_norms),
    _pass(fuse_attention),
    CLEAN,
    repeat(
        "fuse",
        [
            _pass(fold_pad, requires=["channels last"]),
            _pass(fuse_batchnorm, requires=["channels last"]),
            _pass(fuse_bias, requires=["channels last"]),
            _pass(fuse_activation),
        ],
    ),
    _pass(fuse_patterns),
    _pass(simplify_elementwise),
    _pass(fuse_norms),
    _pass(layout),
    _pass(swapped_rows),
    _pass(transposes_of_ones),
    CLEAN,
)
"""What is done to a graph before anything is said about integers."""

INTEGER_PASSES: tuple[Pass, ...] = (
    repeat("integers", [_pass(unsigned_bytes), _pass(move_quantization), _pass(integer_ops)], limit=20),
    _pass(lower_lut),
    _pass(pack_real_weights),
    _pass(materialize_quantization, ensures=["materialized"]),
    _pass(join_tables),
    repeat("constant channels", [_pass(remove_constant_channels, requires=["materialized"])]),
    _pass(depthwise_of_one),
    _pass(remove_identities),
    _pass(pack_integer_weights, requires=["materialized"]),
    _pass(merge_duplicates),
    _pass(remove_dead_code),
)
"""Dequantize, op, quantize become ops on integers, and these get the constants of their kernels."""

AS_WRITTEN_PASSES: tuple[Pass, ...] = (
    CLEAN,
    _for_subgraphs(lambda: AS_WRITTEN_PASSES[:-1]),
    _pass(dequantize_constants),
    CLEAN,
    _pass(layout, ensures=["channels last"]),
    _pass(transposes_of_ones),
    CLEAN,
    repeat("integers", [_pass(unsigned_bytes), _pass(move_quantization), _pass(integers_as_written)], limit=20),
    _pass(materialize_quantization, ensures=["materialized"]),
    _pass(join_tables),
    _pass(remove_identities),
    _pass(pack_integer_weights, requires=["materialized"]),
    _pass(merge_duplicates),
    _pass(remove_dead_code),
    NAME_SIZES,
)
"""In the place of ``PASSES`` where every float is to be what the model as it is written gives, to the last bit."""

PASSES = (*FLOAT_PASSES, *INTEGER_PASSES, FUSE_ELEMENTWISE, NAME_SIZES)
"""Every conversion runs these, in this order. The last two go into subgraphs themselves."""

OPTIONAL_PASSES = (FUSE_ELEMENTWISE.name,)
"""What a conversion may leave out."""


def optimize(
    graph: Graph,
    *,
    observer: Observer | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    verify: bool = False,
    passes: Sequence[Pass] = PASSES,
) -> Graph:
    """Runs all passes on a graph, in place, and returns it.

    ``observer`` is called after each pass with its record, ``progress`` with (done, total, name). With ``verify`` the
    graph is checked after each pass that changed it.
    """
    done = 0

    def observe(record: PassRecord, graph: Graph) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(passes), record.name)
        if observer is not None:
            observer(record, graph)

    run_passes(graph, passes, verify=verify, observer=observe)
    return graph


def finish(graph: Graph) -> Graph:
    """Runs the passes behind quantization on a graph in which quantize and dequantize nodes were put; returns it."""
    make_names_unique(graph)
    with np.errstate(all="ignore"):
        run_passes(graph, [*INTEGER_PASSES, NAME_SIZES], verify=False)
    return graph
