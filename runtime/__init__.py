"""Running .lith models in the C runtime. A device can ship this package with ``nnacl_kernels.library`` alone."""

from microlith.runtime.model import Layer, Memory, Model, Prepacked, Quantization, RunCancelledError, TensorSpec, load
from microlith.runtime.weights_cache import WeightsCache

__all__ = [
    "Layer",
    "Memory",
    "Model",
    "Prepacked",
    "Quantization",
    "RunCancelledError",
    "TensorSpec",
    "WeightsCache",
    "load",
]
