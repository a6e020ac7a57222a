# SPDX-License-Identifier: Apache-2.0
"""Our integer kernels against our NumPy reference and against LiteRT's built-in kernels, over random models.

A case is one element of a result. Each model has scales, zero points and shapes of its own and is run on inputs of six
kinds (noise, small noise, all lowest, all highest, all zero points, a ramp).

benchmarks/exactness/run_exactness.py runs it for every operator and type.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from litert_rung import interpreter, random_input, run_interpreter
from operator_cases import OPERATORS, Operator

import microlith
from microlith import modelfile
from microlith.converter.frontends.tflite import import_tflite
from microlith.converter.pipeline import optimize
from microlith.errors import MicrolithError
from microlith.evaluate import evaluate
from microlith.ir import Graph, all_graphs

CONTRACTS = ("tflite-double", "single", "float-even")
KINDS = 6
LEAST_MODELS = 200
MAX_MODELS = 4000


@dataclass
class Count:
    """What was found for one operator and type."""

    models: int = 0
    cases: int = 0
    litert: int = 0
    """Elements that differ from LiteRT's."""
    litert_models: int = 0
    litert_most: int = 0
    """Largest difference to LiteRT, in steps."""
    numpy: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CONTRACTS, 0))
    """Elements where the C kernels differ from the NumPy reference, by contract."""
    others: int = 0
    """Elements where kernels for an instruction set differ from the C ones."""
    refused: int = 0
    """Models that LiteRT refuses; others are drawn in their place."""
    failures: list[str] = field(default_factory=list)
    """What our side refuses."""
    examples: list[str] = field(default_factory=list)


def measure(operator: Operator, dtype: str, cases: int, seed: int = 0, models: int = LEAST_MODELS) -> Count:
    """Draws models until there are as many cases and models."""
    count = Count()
    number = 0
    while (
        (count.cases < cases or count.models < models)
        and count.models + count.refused < MAX_MODELS
        and len(count.failures) < 5
    ):
        rng = np.random.default_rng([seed, number, sum(map(ord, operator.name + dtype))])
        number += 1
        data = operator.draw(rng, dtype).build()
        try:
            engine = interpreter(data)
            details = engine.get_input_details()
            feeds = [[random_input(rng, detail, kind) for detail in details] for kind in range(KINDS)]
            if operator.avoids_zero:
                _avoid(feeds, int(details[1]["quantization"][1]))
            expected = []
            for feed in feeds:
                engine.reset_all_variables()
                expected.append(run_interpreter(engine, feed)[0])
        except (RuntimeError, ValueError):
            count.refused += 1
            continue
        count.models += 1
        count.cases += sum(array.size for array in expected)
        _compare(data, feeds, expected, count, f"model {number - 1}")
    return count


def _avoid(feeds: Sequence[list[np.ndarray]], zero: int) -> None:
    """Moves the elements of the second input that are zero by one."""
    for feed in feeds:
        dtype = feed[1].dtype
        other = zero + 1 if zero < np.iinfo(dtype).max else zero - 1
        feed[1] = np.where(feed[1] == zero, other, feed[1]).astype(dtype)


def _compare(
    data: bytes, feeds: Sequence[Sequence[np.ndarray]], expected: Sequence[np.ndarray], count: Count, name: str
) -> None:
    for contract in CONTRACTS:
        try:
            graph = import_tflite(data, name="case")
            for part in all_graphs(graph):
                part.contract = contract
            optimize(graph)
        except MicrolithError as error:
            if contract == CONTRACTS[0]:
                count.failures.append(f"{name}: {error}")
            continue
        sessions = [_open(graph, isa) for isa in ("c", None)]
        for feed, wanted in zip(feeds, expected, strict=True):
            named = {value.name: array for value, array in zip(graph.inputs, feed, strict=True)}
            (portable, best), reference = ([_one(graph, s, named) for s in sessions], _reference(graph, named))
            count.numpy[contract] += int((portable != reference).sum())
            count.others += int((best != portable).sum())
            if contract == CONTRACTS[0]:
                wrong = portable != wanted
                if wrong.any():
                    count.litert += int(wrong.sum())
                    steps = np.abs(portable.astype(np.int64) - wanted.astype(np.int64))
                    count.litert_most = max(count.litert_most, int(steps.max()))
                    if not count.examples or not count.examples[-1].startswith(f"{name} "):
                        count.litert_models += 1
                        count.examples.append(
                            f"{name} {[str(n) for n in graph.nodes]}: {int(wrong.sum())} of {wrong.size}"
                        )


def _open(graph: Graph, isa: str | None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.lith"
        modelfile.save(graph, path)
        return microlith.load(path.read_bytes(), isa=isa)


def _one(graph: Graph, session: Any, named: dict[str, np.ndarray]) -> np.ndarray:
    session.reset()
    return np.asarray(session.run(named)[graph.outputs[0].name])


def _reference(graph: Graph, named: dict[str, np.ndarray]) -> np.ndarray:
    return evaluate(graph, named)[graph.outputs[0].name]


def table(results: Sequence[tuple[str, str, Count]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| operator | type | models | cases | not as LiteRT | not as NumPy: tflite-double | single | float-even |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, dtype, count in results:
        litert = f"{count.litert}" + (
            f" (in {count.litert_models} models, by {count.litert_most})" if count.litert else ""
        )
        cells = [name, dtype, f"{count.models:,}", f"{count.cases:,}", litert, *(str(n) for n in count.numpy.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="elements for each operator and type")
    parser.add_argument("--only", nargs="*", default=list(OPERATORS), help="operators")
    parser.add_argument("--dtypes", nargs="*", default=["int8", "uint8", "int16"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = []
    for name in options.only:
        for dtype in OPERATORS[name].dtypes:
            if dtype in options.dtypes:
                start = time.process_time()
                count = measure(OPERATORS[name], dtype, options.cases, options.seed)
                results.append((name, dtype, count))
                seconds = time.process_time() - start
                print(
                    f"{name} {dtype}: {count.models} models, {count.refused} refused by LiteRT, {count.cases} cases, "
                    f"LiteRT {count.litert} ({count.litert_models} models, by {count.litert_most}), NumPy "
                    f"{list(count.numpy.values())}, other kernels {count.others}, {seconds:.1f} s",
                    flush=True,
                )
                for text in (count.failures[:3], count.examples[:3]):
                    print(*(f"    {line}" for line in text), sep="\n", end="\n" if text else "")
    print(table(results))
