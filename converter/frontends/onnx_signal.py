"""ONNX Fourier transforms."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of


def dft(g: Builder, node: OnnxNode) -> Value:
    """DFT: the axis is an input since opset 20, an attribute before."""
    x, length = node.value(0), node.optional(1)
    attrs = {"inverse": int(node.integer("inverse", 0) != 0), "onesided": int(node.integer("onesided", 0) != 0)}
    if node.opset < 20:
        return g.add("dft", [x, length], {**attrs, "axis": axis_of(node, "axis", 1, len(x.shape))})
    if not node.has(2):
        return g.add("dft", [x, length], {**attrs, "axis": len(x.shape) - 2})
    return g.add("dft", [x, length, node.value(2)], attrs)


def stft(g: Builder, node: OnnxNode) -> Value:
    """STFT: the transforms of frames that begin a step apart, under a window."""
    x, step, window = node.value(0), node.value(1), node.optional(2)
    x = x if len(x.shape) == 3 else g.reshape(x, (*x.shape, 1))
    onesided = int(node.integer("onesided", 1) != 0)
    if node.has(3):
        length = node.value(3)
    elif window is not None and isinstance(window.shape[0], int):
        length = g.const(np.int64(window.shape[0]), "length")
    else:
        raise Reject("neither the length of a frame nor that of the window is known")
    step, length = (g.cast(value, DType.s64) for value in (step, length))
    samples = g.add("gather", [g.add("shape", [x], {"start": 1, "end": 2}), g.const(np.int64(0))], {"axis": 0})
    zero, one = g.const(np.int64(0), "zero"), g.const(np.int64(1), "one")
    # The first samples of the frames are 0, step, 2 * step, ... as long as a whole frame follows.
    last = g.add("add", [g.add("sub", [samples, length]), one])
    firsts = g.add("range", [zero, last, step])
    positions = g.add("range", [zero, length, one])
    indices = g.add("add", [g.add("unsqueeze", [firsts], {"axes": 2}), positions])
    frames = g.add("gather", [x, indices], {"axis": 1})
    if window is not None:
        frames = g.add("mul", [frames, g.reshape(window, (*window.shape, 1))])
    return g.add("dft", [frames], {"axis": 2, "onesided": onesided})


ROWS: dict[str, Row] = {"DFT": dft, "STFT": stft}
