# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as the reference of these measurements: a model computed as it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def unoptimised_session(model: Path | bytes, threads: int = 0) -> Any:
    """A session on the CPU without graph optimisations, with as many threads as ONNX Runtime chooses unless told."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
