"""How far an output may run behind an input, against a count over all positions."""

from __future__ import annotations

import itertools

import pytest

from microlith.nnacl_kernels import catalogue

AHEAD = {"nnacl_conv2d_s8_c": 1, "nnacl_conv2d_s8_dsp": 0, "nnacl_conv2d_f32_vfp": 2, "nnacl_conv2d_s16_dsp": 2}
"""Positions whose outputs may be written before the window of the first of them is done with."""
DTYPES = {"s8": 2, "f32": 0, "s16": 4}


def first(output: int, stride: int, pad: int) -> int:
    return max(output * stride - pad, 0)


@pytest.mark.parametrize("symbol", AHEAD)
def test_lead_covers_every_position(symbol: str) -> None:
    kernel = next(row for row in catalogue.kernels() if row.symbol == symbol)
    dtype = DTYPES[symbol.split("_")[2]]
    size = {0: 4, 2: 1, 4: 2}[dtype]
    for height, width, stride, pad, taps, channels in itertools.product(
        (1, 3, 6), (1, 2, 7, 8), (1, 2), (0, 1), (1, 3), ((4, 8), (8, 4), (5, 5))
    ):
        in_c, out_c = channels
        if taps > min(height, width) + 2 * pad:
            continue
        attrs = {"stride_h": stride, "stride_w": stride, "pad_top": pad, "pad_left": pad}
        attrs |= {"pad_bottom": pad, "pad_right": pad, "dilation_h": 1, "dilation_w": 1, "groups": 1}
        attrs |= {"q_min": -128, "q_max": 127} if dtype else {}
        weights = catalogue.Tensor(2 if dtype else 0, (out_c, taps, taps, in_c))
        inputs = [catalogue.Tensor(dtype, (1, height, width, in_c)), weights, None]
        inputs += [catalogue.Tensor(5, (2, out_c))] if dtype else []
        params, outputs = catalogue.make_params("conv2d", attrs, inputs)
        rows, columns = outputs[0].shape[1:3]
        reads = [
            (first(row, stride, pad) * width + first(column, stride, pad)) * in_c * size
            for row in range(rows)
            for column in range(columns)
        ]
        needed = max(
            min(position + AHEAD[symbol], rows * columns) * out_c * size - min(reads[position:])
            for position in range(rows * columns)
        )
        assert catalogue.lead(kernel, params, 0).bytes >= needed, (height, width, stride, pad, taps, channels)
