"""One engine in a process of its own: ``python engine_process.py ENGINE THREADS``, driven by compare.py.

Commands come as lines of JSON on standard input, each answered by one: ``{"load": [FOLDER, KIND]}`` opens a model and
says how far the output is from PyTorch's; ``{"run": COUNT, "inner": CALLS}`` times COUNT batches of calls, nanoseconds
per call; ``{"memory": 1}`` the peak of resident memory, MiB. ``{"error": TEXT}`` answers what an engine cannot do.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


class _Host:
    def __init__(self, engine: str, threads: int) -> None:
        from peer_engines import ENGINES

        begin = time.perf_counter()
        self.engine = ENGINES[engine](threads)
        self.import_s = time.perf_counter() - begin

    def load(self, folder: str, kind: str) -> dict[str, Any]:
        x, y = (np.load(f"{folder}/{name}.npy") for name in "xy")
        path = self.engine.file(Path(folder), kind)
        if not path.exists():
            return {"error": f"there is no {path.name}"}
        begin = time.perf_counter()
        self.engine.load(path, x)
        loaded = time.perf_counter()
        self.engine.run()
        end = time.perf_counter()
        result = np.asarray(self.engine.output(), np.float32)
        if result.size != y.size:
            return {"error": f"the output has {result.size} elements, not {y.size}"}
        error = np.abs(result.reshape(-1) - y.reshape(-1)).max() / np.abs(y).max()
        times = {"import_s": self.import_s, "load_s": loaded - begin, "first_s": end - loaded}
        return {"error_of_output": float(error), **times}

    def run(self, count: int, inner: int) -> dict[str, Any]:
        run, clock = self.engine.run, time.perf_counter_ns
        run()
        run()
        times = []
        for _ in range(count):
            begin = clock()
            for _ in range(inner):
                run()
            times.append((clock() - begin) / inner)
        return {"ns": times}

    def memory(self) -> dict[str, Any]:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return {"peak_mib": int(line.split()[1]) / 1024}
        return {"peak_mib": None}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print does not get among the answers
    host: _Host | None = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if host is None:
                host = _Host(sys.argv[1], int(sys.argv[2]))
            if "load" in command:
                answer = host.load(*command["load"])
            elif "run" in command:
                answer = host.run(command["run"], command["inner"])
            else:
                answer = host.memory()
        except Exception as error:  # an engine may fail in any way
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
