"""Damages many models, converts them and runs what comes out: no crash, no hang, no more than 1 GiB of memory.

    python tests/fuzz/mutated_models.py [onnx] [tflite] [--count 10000] [--seed 0] [--keep FOLDER]

The models are those of the ONNX suite and of our own tests, and, where the model collection is there, its small ones.
Each is either converted (and then runs, unless its tensors are large) or refused by a MicrolithError; anything else is
a failure, and so are more than 20 s or 1 GiB. The work is done in a process that may die; another one then goes on. The
same seed gives the same models; those that fail are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import queue
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("MICROLITH_SHARED", TESTS.parents[1] / "shared")) / "models"
KINDS = ("onnx", "tflite")

SECONDS = 20
"""The longest time that one model may take."""

MOST_MEMORY = 1 << 30
"""Bytes of the process at most, the interpreter with NumPy and onnx included."""

ADDRESS_SPACE = 6 << 30
"""A process that asks for more gets none."""

MOST_BYTES = 1 << 16
"""Models with larger tensors are converted, not run."""

LARGEST_FILE = 400_000
"""Of the models that are damaged."""

Make = Callable[[random.Random], bytes]


# The models, and how each is damaged.


def _module(path: Path) -> Any:
    """A module of the tests, which are no package."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def onnx_models() -> list[Make]:
    """Nine of ten times a model of the suite, else a larger one."""
    import onnx
    from damage import damaged_bytes, damaged_onnx

    suite = _module(TESTS / "backend" / "onnx_suite.py")
    small = [case.model for kind in suite.KINDS for case in suite.cases(kind) if case.model.ByteSize() < LARGEST_FILE]
    bad = _module(TESTS / "frontends" / "test_onnx_bad_input.py")
    large = [bad.small_model(), *map(onnx.load, _collected("onnx"))]

    def structured(rng: random.Random) -> bytes:
        return damaged_onnx(rng.choice(small if rng.randrange(10) else large), rng)

    def raw(rng: random.Random) -> bytes:
        return damaged_bytes(rng.choice(small).SerializeToString(), rng)

    return [structured, structured, structured, raw]


def tflite_models() -> list[Make]:
    """Models of our tests, damaged in their parts or bytes, and collected ones, in their bytes."""
    from damage import damaged_bytes, damaged_tflite
    from tflite_builder import TfliteBuilder

    builders = []
    for name in ("operators",):
        for function in _module(TESTS / "frontends" / f"test_tflite_{name}.py").CASES.values():
            builders.append(TfliteBuilder())
            function(builders[-1], np.random.default_rng(0))
    formats = _module(TESTS / "frontends" / "test_tflite_format.py")
    builders += [formats.small_model(), formats.open_sizes()] * 5
    control = _module(TESTS / "frontends" / "test_tflite_control.py")
    lists = _module(TESTS / "frontends" / "test_tflite_lists.py")
    files = [control.while_model(), control.if_model(), control.variable_model()]
    files += [lists.loop_over_rows(), lists.loop_over_rows("int8", packed=True)]
    files += [path.read_bytes() for path in _collected("tflite")]

    def structured(rng: random.Random) -> bytes:
        return damaged_tflite(rng.choice(builders), rng)

    def raw(rng: random.Random) -> bytes:
        return damaged_bytes(rng.choice(files), rng)

    return [structured, structured, structured, raw]


def _collected(suffix: str) -> list[Path]:
    paths = sorted(SHARED.rglob(f"*.{suffix}")) if SHARED.is_dir() else []
    return [path for path in paths if path.stat().st_size < LARGEST_FILE]


# One process that works.


def work(kind: str, seed: int, numbers: Sequence[int], folder: Path) -> None:
    """Prints one line for each model: its number, what became of it, seconds, and the most bytes of memory so far."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(TESTS))
    makers = {"onnx": onnx_models, "tflite": tflite_models}[kind]()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _too_long)
    for number in numbers:
        rng = random.Random(f"{kind} {seed} {number}")
        data = rng.choice(makers)(rng)
        path = folder / f"{kind}_{seed}_{number}"
        path.write_bytes(data)
        print(f"{number} begun", flush=True)
        start = time.monotonic()
        signal.alarm(SECONDS)
        try:
            outcome = _try(data, path.with_suffix(".lith"))
        except Exception as error:
            outcome = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        finally:
            signal.alarm(0)
        peak = _most_memory()
        if outcome in ("ran", "converted", "refused") and peak <= MOST_MEMORY:
            path.unlink()
        print(f"{number} done {time.monotonic() - start:.3f} {peak} {outcome}", flush=True)
        if peak > MOST_MEMORY:
            return  # the next one is to be measured by itself


def _most_memory() -> int:
    """Bytes that this process had at most. Not from ``getrusage``, whose figure begins with that of the parent."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def _try(data: bytes, path: Path) -> str:
    """Converts, and runs with small numbers."""
    from microlith import modelfile, runtime
    from microlith.converter import convert
    from microlith.errors import MicrolithError
    from microlith.ir import all_graphs

    try:
        graph = convert(data)
        if _needs_much(graph):
            return "converted"
        modelfile.save(graph, path)
        try:
            model = runtime.load(path.read_bytes())
        finally:
            path.unlink()
        shapes = [tuple(size if size >= 0 else 2 for size in spec.shape) for spec in model.inputs]
        rng = np.random.default_rng(0)
        inputs = zip(model.inputs, shapes, strict=True)
        arrays = [rng.integers(-3, 4, shape).astype(spec.dtype) for spec, shape in inputs]
        return _ran(model, arrays, endless=any(node.op == "loop" for part in all_graphs(graph) for node in part.nodes))
    except MicrolithError:
        return "refused"


def _ran(model: Any, arrays: Sequence[np.ndarray], endless: bool) -> str:
    """Runs a model. A loop whose condition was damaged may have no end: it can be told to stop."""
    from microlith.runtime import RunCancelledError

    timer = threading.Timer(SECONDS / 2, model.cancel)
    try:
        if endless:
            timer.start()
        model.run(arrays)
    except RunCancelledError:
        return "stopped"
    finally:
        timer.cancel()
    return "ran"


def _needs_much(graph: Any) -> bool:
    """Whether a tensor of a graph is larger than MOST_BYTES when the open sizes of the inputs are 2.

    The sizes of the other tensors follow from these as they do in a run; where they depend on data, the least is taken.
    """
    from microlith.binding import bind_graph
    from microlith.errors import ShapeError, UnsupportedError

    if any(_least_bytes(value) > MOST_BYTES for value in graph.values()):
        return True
    sizes = {dim: 2 for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    try:
        bound = bind_graph(graph, sizes)
    except (ShapeError, UnsupportedError):  # the run refuses it, or finds the sizes by the data
        return False
    return any(type.nbytes > MOST_BYTES for type in _types(bound))


def _types(bound: Any) -> Iterator[Any]:
    """Of all tensors, those of subgraphs included."""
    yield from bound.types.values()
    for item in bound.nodes:
        yield from item.output_types
        for part in item.parts:
            yield from _types(part)


def _least_bytes(value: Any) -> int:
    """Of a tensor whose open sizes are 2."""
    return math.prod(size if isinstance(size, int) else 2 for size in value.shape) * value.dtype.size


# The one that watches it.


@dataclass
class Result:
    """Of many models."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Seconds."""
    peak: int = 0
    """Bytes."""

    def __str__(self) -> str:
        counts = ", ".join(f"{self.outcomes[name]} {name}" for name in ("ran", "converted", "refused", "stopped"))
        return (
            f"{sum(self.outcomes.values())} models: {counts}, {len(self.failures)} failures; "
            f"slowest {self.slowest:.1f} s, {self.peak >> 20} MiB"
        )


def run(kind: str, seed: int, count: int, folder: Path) -> Result:
    """Tries ``count`` models."""
    result = Result()
    waiting = list(range(count))
    while waiting:
        waiting = _watch(kind, seed, waiting, folder, result)
    return result


def _watch(kind: str, seed: int, numbers: list[int], folder: Path, result: Result) -> list[int]:
    """Runs one process; the numbers that are left when it has ended."""
    command = [sys.executable, __file__, "--work", kind, str(seed), str(folder), f"{numbers[0]}:{numbers[-1] + 1}"]
    lines: queue.Queue[str | None] = queue.Queue()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    current, last = numbers[0], numbers[0] - 1
    while True:
        try:
            line = lines.get(timeout=300 if last < numbers[0] else 3 * SECONDS)
        except queue.Empty:
            process.kill()
            line = None
        if line is None:
            break
        words = line.split(maxsplit=4)
        current = int(words[0])
        if words[1] == "done":
            last = current
            _note(result, kind, seed, current, float(words[2]), int(words[3]), words[4])
    code = process.wait()
    if code == 0:
        return list(range(last + 1, numbers[-1] + 1))
    if current == last or (current == numbers[0] and last < current and code == 1):
        raise RuntimeError(f"the process ended with {code} outside of a model")
    what = "hangs" if code == -signal.SIGKILL else f"ended the process with {code}"
    result.outcomes["died"] += 1
    result.failures.append(f"{kind}_{seed}_{current}: {what}")
    return list(range(current + 1, numbers[-1] + 1))


def _read(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _note(result: Result, kind: str, seed: int, number: int, seconds: float, peak: int, outcome: str) -> None:
    outcome = outcome.strip()
    result.slowest = max(result.slowest, seconds)
    good = outcome in ("ran", "converted", "refused", "stopped")
    if peak > MOST_MEMORY:
        good, outcome = False, f"{outcome}, with {peak >> 20} MiB"
    result.peak = max(result.peak, peak)
    result.outcomes[outcome if good else "failed"] += 1
    if not good:
        result.failures.append(f"{kind}_{seed}_{number}: {outcome}")


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        kind, seed, folder, span = sys.argv[2:]
        first, end = map(int, span.split(":"))
        work(kind, int(seed), range(first, end), Path(folder))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="onnx, tflite; default: both")
    parser.add_argument("--count", type=int, default=10_000, help="models of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="the folder for models that fail")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="mutated-"))
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for kind in options.kinds or KINDS:
        start = time.monotonic()
        result = run(kind, options.seed, options.count, folder)
        print(f"{kind}: {result}, {time.monotonic() - start:.0f} s in all", flush=True)
        for failure in result.failures:
            print(f"  {folder}/{failure}")
        failed |= bool(result.failures)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
