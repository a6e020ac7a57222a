"""Microlith and other engines on the same networks, each engine in a process of its own, their runs interleaved.

    python benchmarks/cpu/net_files.py nets                        # writes the models, once
    python benchmarks/cpu/compare.py nets                          # float32, one thread
    python benchmarks/cpu/compare.py nets resnet18 --kind s8 --threads 2
    python benchmarks/cpu/compare.py --table results.jsonl         # tables of what --out collected

In every round each engine runs for ``--budget`` seconds, in the order A B C, then C B A, so that a disturbance hits all
alike. A time is the median of all calls; a ratio is the median over the rounds of the ratio of the round's medians.
With one thread all processes are pinned to one core. An engine whose output is further than 1 % (float32) of the
largest from PyTorch's is named and not counted. The last column is the share that the direct algorithm has of what the
core's units for multiply-adds can do (``peak.c``, measured in the same run); Winograd's can be above 100 %.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peer_engines import ENGINES, ISA_VARIABLES, version

HERE = Path(__file__).parent
OWN = ("microlith", "microlith-tflite")
WORST_OUTPUT = {"f32": 1e-2, "s8": math.inf}
"""Of a network with random weights the integers say little; what they should be, tests say."""
NAMES = [
    "mobilenet_v1",
    "mobilenet_v1_025_96",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "resnet18",
    "resnet50",
    "squeezenet11",
    "efficientnet_b0",
    "yolo_n_320",
    "minilm6_128",
    "lstm_2x128_50",
    "dscnn_kws",
    "autoenc_640",
    "resnet8_cifar",
    "mlp10",
]
PAUSE = 0.1
"""Seconds before a turn with several threads: for so long, workers of the engine before may look for work on a core."""
_ISAS = {
    "avx2": {"microlith": "c,sse41,avx2", "openvino": "AVX2"},
    "avxvnni": {"microlith": "c,sse41,avx2,avxvnni", "openvino": "AVX2_VNNI"},
}


class _Process:
    """An engine at work; ``ask`` answers with what engine_process.py says."""

    def __init__(self, engine: str, threads: int, environment: dict[str, str], cores: Sequence[int]) -> None:
        words = [sys.executable, str(HERE / "engine_process.py"), engine, str(threads)]
        self._process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, cores)), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), **environment},
        )

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process ended"}
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()


def fma_peak(core: int, isa: str | None) -> float:
    """Operations per second of one core at best; 0 where that cannot be measured."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    wide = "avx512f" in flags and isa not in _ISAS
    with tempfile.TemporaryDirectory() as place:
        library = f"{place}/peak.so"
        words = ["cc", "-O2", "-shared", "-fPIC", "-mavx512f" if wide else "-mfma", str(HERE / "peak.c"), "-o", library]
        if "fma" not in flags or subprocess.run(words, capture_output=True).returncode:
            return 0.0
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})
        function = ctypes.CDLL(library).fma_peak
        function.restype = ctypes.c_double
        best = float(function(ctypes.byref(ctypes.c_float())))
        os.sched_setaffinity(0, before)
        return best


def measure(folder: Path, kind: str, engines: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Times of one network in microseconds, by engine."""
    cores = options.cores
    processes: dict[str, _Process] = {}
    found: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for engine in engines:
        environment = {ISA_VARIABLES[engine]: _ISAS[options.isa][engine]} if options.isa else {}
        process = _Process(engine, options.threads, environment, cores)
        facts = process.ask({"load": [str(folder), kind]})
        trial = {} if "error" in facts else process.ask({"run": 3, "inner": 1})
        error = facts.get("error") or trial.get("error")
        if not error and not facts["error_of_output"] < WORST_OUTPUT[kind]:
            error = f"the output is {facts['error_of_output']:.1e} away"
        if error:
            problems[engine] = error
            process.close()
            continue
        nanoseconds = min(trial["ns"])
        inner = max(1, int(2e5 / nanoseconds))
        facts["count"] = max(3, min(50, int(options.budget * 1e9 / (nanoseconds * inner))))
        facts["inner"], facts["rounds"] = inner, []
        processes[engine], found[engine] = process, facts
    for turn in range(options.rounds):
        for engine in list(processes)[:: 1 if turn % 2 == 0 else -1]:
            if options.threads > 1:
                time.sleep(PAUSE)
            command = {"run": found[engine]["count"], "inner": found[engine]["inner"]}
            found[engine]["rounds"].append(processes[engine].ask(command)["ns"])
    for engine, process in processes.items():
        found[engine].update(process.ask({"memory": 1}))
        process.close()
    return {
        "net": folder.name,
        "kind": kind,
        "threads": options.threads,
        "isa": options.isa,
        "facts": json.loads((folder / "facts.json").read_text()),
        "peak": fma_peak(cores[0], options.isa),
        "engines": {engine: _summary(engine, found) for engine in found},
        "problems": problems,
    }


def _summary(engine: str, found: dict[str, Any]) -> dict[str, Any]:
    own = next((name for name in OWN if name in found), None)
    rounds = found[engine]["rounds"]
    result = {key: value for key, value in found[engine].items() if key not in ("rounds", "count", "inner")}
    result["us"] = statistics.median(value for each in rounds for value in each) / 1e3
    result["least_us"] = min(value for each in rounds for value in each) / 1e3
    if own:
        pairs = zip(found[own]["rounds"], rounds, strict=True)
        result["ratio"] = statistics.median(statistics.median(a) / statistics.median(b) for a, b in pairs)
    result["version"] = version(engine)
    return result


def _row(record: dict[str, Any], peers: Sequence[str]) -> tuple[str, float | None]:
    """A line of the table, and Microlith's time as a multiple of the best engine's."""
    engines = record["engines"]
    own = next((name for name in OWN if name in engines), None)
    others = {name: engines[name] for name in peers if name in engines}
    if not own or not others:
        return f"| {record['net']} | – |" + " – |" * (len(peers) + 2), None
    best = max(others, key=lambda name: others[name]["ratio"])
    ratio = float(others[best]["ratio"])
    cells = [f"{engines[own]['us']:.4g}"]
    for name in peers:
        cells.append("–" if name not in others else f"{others[name]['us']:.4g} ({others[name]['ratio']:.2f})")
    rate = 2 * record["facts"]["macs"] / (engines[own]["us"] * 1e-6)
    share = f"{rate / record['peak'] / record['threads']:.0%}" if record["peak"] else "–"
    return f"| {record['net']} | {' | '.join(cells)} | {ratio:.2f} ({best}) | {rate / 1e9:.1f} ({share}) |", ratio


def table(records: Sequence[dict[str, Any]]) -> str:
    """Of records of one kind and number of threads."""
    first = records[0]
    peers = [name for name in ENGINES if name not in OWN and any(name in each["engines"] for each in records)]
    limits = f", {first['isa']}" if first["isa"] else ""
    lines = [
        f"{first['kind']}, {first['threads']} thread(s){limits}: microseconds; in brackets our time as a multiple",
        "",
        f"| network | Microlith | {' | '.join(peers)} | to the best | GFLOP/s (of peak) |",
        "|---|" + "---|" * (len(peers) + 3),
    ]
    ratios = {}
    for record in records:
        line, ratio = _row(record, peers)
        lines.append(line)
        if ratio is not None:
            ratios[record["net"]] = ratio
    counted = [math.log(ratio) for net, ratio in ratios.items() if net != "mlp10"]
    if counted:
        mean = math.exp(statistics.fmean(counted))
        lines += ["", f"Geometric mean without mlp10: {mean:.3f}; largest {max(map(math.exp, counted)):.2f}."]
    for record in records:
        lines += [f"{record['net']}: {name}: {text}" for name, text in record["problems"].items()]
    return "\n".join(lines)


def tables(path: Path) -> str:
    """Of everything in a file that ``--out`` wrote; of several records of the same run the last."""
    records: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        records[record["kind"], record["threads"], record["isa"], record["net"]] = record
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for key, record in sorted(records.items(), key=lambda item: NAMES.index(item[0][3])):
        groups.setdefault(key[:3], []).append(record)
    return "\n\n".join(table(group) for _, group in sorted(groups.items(), key=lambda item: str(item[0])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="that net_files.py wrote")
    parser.add_argument("names", nargs="*", help="networks (default: all)")
    parser.add_argument("--kind", choices=("f32", "s8"), default="f32")
    parser.add_argument("--engines", default="", help="names with commas (default: all that are installed)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cores", default="", help="with commas (default: the last, or as many as threads)")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--budget", type=float, default=0.12, help="seconds per engine and round")
    parser.add_argument(
        "--isa", choices=tuple(_ISAS), help="limit the engines to it; those that cannot be are left out"
    )
    parser.add_argument("--out", type=Path, help="file of JSON lines that results are added to")
    parser.add_argument("--table", type=Path, help="print the tables of such a file and measure nothing")
    options = parser.parse_args()
    if options.table:
        print(tables(options.table))
        return
    if options.folder is None:
        parser.error("the folder of net_files.py is missing")
    there = sorted(os.sched_getaffinity(0))
    options.cores = [int(core) for core in options.cores.split(",") if core] or there[-options.threads :]
    engines = (
        options.engines.split(",") if options.engines else [name for name in ENGINES if name != "microlith-tflite"]
    )
    engines = [name for name in engines if version(name) != "not installed" or name in OWN]
    if options.isa:
        engines = [name for name in engines if name in _ISAS[options.isa]]
    records = []
    for name in options.names or NAMES:
        record = measure(options.folder / name, options.kind, engines, options)
        records.append(record)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(record) + "\n")
        print(table([record]), flush=True)
    if len(records) > 1:
        print("\n" + table(records))


if __name__ == "__main__":
    main()
