# SPDX-License-Identifier: Apache-2.0
"""Two models, or one in two engines, compared tensor by tensor: how far apart, where, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np

from ..errors import InputError
from .causes import Isolation, find_causes, is_clipped, model_inputs
from .differences import Comparison, to_real
from .engines import Arrays, Engine, Layer, open_engine, parse_subject
from .feeds import InputMap, agreed_ports, load_samples
from .matching import Alignment, Match, match_layers
from .verdict import FIGURES, Breach, LayerReport, Report, Threshold, parse_threshold

__all__ = [
    "FIGURES",
    "Breach",
    "Comparison",
    "Engine",
    "LayerReport",
    "Report",
    "Threshold",
    "agreed_ports",
    "compare",
    "load_samples",
    "open_engine",
    "parse_subject",
    "parse_threshold",
]

Progress = Callable[[int, str], None]
"""Called with the number of samples done and what is being done."""


def compare(
    a: Engine,
    b: Engine,
    samples: Iterable[Mapping[str, np.ndarray]],
    *,
    isolate: int = 1,
    data: str = "",
    progress: Progress | None = None,
) -> Report:
    """Runs both on the samples (inputs of ``a`` by name) and holds ``b`` against ``a``.

    The first ``isolate`` samples also go through each layer of ``b`` alone, on the numbers of ``a``, where ``b`` is a
    graph of ours: that tells which layers make the noise. Memory does not grow with the number of samples. Raises
    InputError when the models have nothing in common, and for samples that do not fit.
    """
    ports = [Layer(port.name, "input", port.dtype, port.shape, port.quant) for port in a.inputs]
    matches = match_layers([*ports, *a.layers], b.layers)
    where = f"{a.label} and {b.label}"
    contract = b.graph.contract if b.graph is not None else "tflite-double"
    to_b = InputMap(a.inputs, b.inputs, where, contract)
    if not matches:
        raise InputError("the models have no tensor in common", where=where)
    work = _Work(a, b, matches, isolate)
    for chunk in _chunks(samples, a, b):
        if progress is not None:
            progress(work.samples, "running both")
        work.add(chunk, [to_b.convert(feed) for feed in chunk])
    if work.samples == 0:
        raise InputError("there are no samples", where=data)
    return work.report(data)


def _chunks(samples: Iterable[Mapping[str, np.ndarray]], a: Engine, b: Engine) -> Iterable[list[Arrays]]:
    sizes = [engine.batch for engine in (a, b)]
    iterator = (dict(sample) for sample in samples)
    if None in sizes:
        yield list(iterator)
        return
    while chunk := list(islice(iterator, max(size or 1 for size in sizes))):
        yield chunk


class _Work:
    """The sums of a comparison that is under way."""

    def __init__(self, a: Engine, b: Engine, matches: Sequence[Match], isolate: int) -> None:
        self.a, self.b, self.matches = a, b, matches
        self.sums = {match.b.name: Comparison() for match in matches}
        self.alignments = {match.b.name: Alignment() for match in matches}
        self.isolation = Isolation(b.graph) if b.graph is not None and isolate > 0 else None
        self.isolate = isolate
        self.samples = 0
        self.misfits: set[str] = set()
        self.left_out = _scales_moved(a, b, matches)

    def add(self, feeds: Sequence[Arrays], feeds_b: Sequence[Arrays]) -> None:
        names = dict.fromkeys(match.a.name for match in self.matches if match.a.op != "input")
        results_a = [feed | given for feed, given in zip(feeds, self.a.run(feeds, list(names)), strict=True)]
        results_b = self.b.run(feeds_b, [match.b.name for match in self.matches])
        for arrays_a, arrays_b, feed in zip(results_a, results_b, feeds_b, strict=True):
            ideal: Arrays = {}
            for match in self.matches:
                one, other = arrays_a.get(match.a.name), arrays_b.get(match.b.name)
                if one is None or other is None or other.dtype.kind not in "fiub" or match.b.name in self.left_out:
                    continue
                real_b = to_real(other, match.b.quant)
                real_a = self.alignments[match.b.name].apply(to_real(one, match.a.quant), real_b)
                if real_a is None:
                    self.misfits.add(match.b.name)
                    continue
                if match.b.op in RESHAPES and match.b.inputs and match.b.inputs[0] in ideal:
                    real_a = _in_order_of(ideal[match.b.inputs[0]], real_a)
                self.sums[match.b.name].add(real_a, real_b, other, match.b.quant)
                ideal[match.b.name] = real_a
            if self.isolation is not None and self.samples < self.isolate:
                assert self.b.graph is not None
                self.isolation.add(model_inputs(self.b.graph, feed), ideal)
            self.samples += 1

    def report(self, data: str) -> Report:
        compared = [m for m in self.matches if self.sums[m.b.name].count or self.sums[m.b.name].not_finite]
        if not any(match.b.is_output for match in compared):
            raise InputError(
                "no output of one could be compared with one of the other",
                where=f"{self.a.label} and {self.b.label}",
                hint="are these two forms of the same model?",
            )
        alone = {} if self.isolation is None else self.isolation.found
        producers = {layer.name: layer for layer in self.b.layers}
        has_integers = any(layer.quant is not None and layer.dtype.kind in "iu" for layer in self.b.layers)
        layers = []
        for number, match in enumerate(compared, 1):
            sums, own = self.sums[match.b.name], alone.get(match.b.name)
            before = [self.sums[name] for name in match.b.inputs if name in self.sums]
            if any(is_clipped(item) for item in before):  # then the layer alone gets clipped numbers too
                own = None
            causes = find_causes(match.b, sums, own, before, has_integers)
            layers.append(LayerReport(number, match, sums, own, causes))
        names = {match.b.name for match in compared}
        edges = [(source, match.b.name) for match in compared for source in _sources(match.b.name, producers, names)]
        rest = [layer.name for layer in self.b.layers if layer.name not in names and layer.name not in self.left_out]
        return Report(self.a.label, self.b.label, self.samples, layers, rest, edges, data, self.left_out)


RESHAPES = frozenset({"reshape", "squeeze", "unsqueeze"})


def _in_order_of(source: np.ndarray, found: np.ndarray) -> np.ndarray:
    """``found``, or ``source`` in its shape where that is the same numbers: what A flattens with channels first, B
    flattens with channels last, and the order in front of it is known."""
    if source.size == found.size and np.array_equal(np.sort(source, axis=None), np.sort(found, axis=None)):
        return source.reshape(found.shape)
    return found


def _scales_moved(a: Engine, b: Engine, matches: Sequence[Match]) -> dict[str, str]:
    """The tensors of ``b`` whose channels were scaled in one model and not alike in the other, and that as a reason."""
    moved_a, moved_b = ({} if engine.graph is None else engine.graph.scales_moved for engine in (a, b))
    found = {}
    for match in matches:
        names = {*match.b.origins, match.b.name, *match.a.origins, match.a.name}
        if any(moved_a.get(name) != moved_b.get(name) for name in names):
            found[match.b.name] = "equalization has moved scale between this layer and the next"
    return found


def _sources(name: str, producers: Mapping[str, Layer], names: set[str]) -> list[str]:
    """The compared tensors that a tensor depends on, looking through those that are not compared."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = list(producers[name].inputs)
    while waiting:
        source = waiting.pop(0)
        if source in seen or source not in producers:
            continue
        seen.add(source)
        if source in names:
            found[source] = None
        else:
            waiting.extend(producers[source].inputs)
    return list(found)
