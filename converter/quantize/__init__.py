"""Post-training quantization: a graph of real numbers and sample data become a graph of integers.

    calibration data -> statistics -> ranges -> decision -> graph with quantize nodes -> integer passes

``quantize`` is the entrance. Rounding: weights symmetric, one scale per output channel, in -127 … 127; activations with
one scale and zero point for a tensor; bias s32 in units of input scale times weight scale; the sums are brought to the
scale of the result under the contract ``single``.
"""

from __future__ import annotations

from ...ir import Graph
from .options import CALIBRATED, QuantizeOptions
from .report import QuantReport
from .statistics import Progress

__all__ = ["QuantReport", "QuantizeOptions", "quantize"]


def quantize(graph: Graph, options: QuantizeOptions, progress: Progress | None = None) -> tuple[Graph, QuantReport]:
    """The finished graph and a report. ``graph`` is one of real numbers behind ``pipeline.FLOAT_PASSES``.

    Raises CalibrationError for data that does not fit, UnsupportedError with all layers that stay in floating point
    where ``require_int8`` forbids it, and MicrolithError for a model that cannot be quantized.
    """
    options.check()
    if options.scheme in CALIBRATED:
        from .static import quantize_static

        return quantize_static(graph, options, progress)
    if options.compute == "float16":
        from .half import quantize_half

        return quantize_half(graph, options)
    from .weights_only import quantize_weights

    return quantize_weights(graph, options)
