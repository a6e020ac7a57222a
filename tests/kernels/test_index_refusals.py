"""What the plan halves of the families index, volume and image refuse, with a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from microlith.dtypes import DType
from microlith.nnacl_kernels import catalogue
from microlith.nnacl_kernels.catalogue import NeedsDataError, PlanError, Tensor

F32, F16, S8, S32, S64, B8 = (dtype.value for dtype in (DType.f32, DType.f16, DType.s8, DType.s32, DType.s64, DType.b8))

ONES, ZEROS = (1, 1, 1), (0, 0, 0)
CLAMP = {"clamp_min": -math.inf, "clamp_max": math.inf}
CONV = {"stride": ONES, "dilation": ONES, "groups": 1, **CLAMP}
POOL = {"kernel": (1, 2, 2), "stride": ONES, "dilation": ONES, "p": 2}
RESIZE = {"mode": 1, "scale": (1, 2, 2, 1), "size": (-1,) * 4, "cubic_a": -0.75, "roi_end": (1,) * 4}
ROI = {"out_h": 2, "out_w": 2, "spatial_scale": 1.0}
DEFORM = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "groups": 1, "offset_groups": 1}
COL2IM = {"size": (1, 4, 4), "kernel": (1, 2, 2), "stride": ONES, "dilation": ONES, "spatial": 2}


def f32(*shape: int) -> Tensor:
    return Tensor(F32, shape)


def s64(*shape: int) -> Tensor:
    return Tensor(S64, shape)


def given(*values: float, dtype: type = np.int64) -> Tensor:
    data = np.array(values, dtype)
    return Tensor(DType.from_numpy(data.dtype).value, data.shape, data)


X, IMAGE = f32(3, 4), f32(1, 8, 8, 4)
BOXES, SCORES = f32(2, 5, 4), f32(2, 3, 5)

REFUSALS: list[tuple[str, int, Mapping[str, Any], list[Tensor | None], str]] = [
    ("gather_elements", 1, {"axis": 2}, [X, s64(3, 4)], "axis"),
    ("gather_elements", 1, {"axis": 0}, [X, f32(3, 4)], "s32 or s64"),
    ("gather_elements", 1, {"axis": 0}, [X, s64(3)], "rank"),
    ("gather_elements", 1, {"axis": 0}, [X, s64(3, 5)], "larger"),
    ("gather_elements", 1, {"axis": 0}, [f32(0, 4), s64(3, 4)], "empty"),
    ("gather_nd", 1, {"batch_dims": 0}, [X, s64(2, 3)], "coordinates"),
    ("gather_nd", 1, {"batch_dims": 0}, [X, s64(2, 0)], "coordinates"),
    ("gather_nd", 1, {"batch_dims": 1}, [X, s64(2, 1)], "batch dimension"),
    ("gather_nd", 1, {"batch_dims": 2}, [X, s64(3, 1)], "batch_dims"),
    ("gather_nd", 1, {"batch_dims": 0}, [f32(2, 0), s64(3, 2)], "empty"),
    ("scatter_elements", 1, {"axis": 0, "reduction": 5}, [X, s64(1, 4), f32(1, 4)], "reduction"),
    ("scatter_elements", 1, {"axis": 0}, [X, s64(1, 4), f32(2, 4)], "shapes"),
    ("scatter_elements", 1, {"axis": 0}, [X, s64(1, 4), Tensor(S32, (1, 4))], "element type"),
    ("scatter_elements", 1, {"axis": 0, "reduction": 1}, [Tensor(B8, (3,)), s64(1), Tensor(B8, (1,))], "not defined"),
    ("scatter_nd", 1, {}, [X, s64(2, 3), f32(2)], "coordinates"),
    ("scatter_nd", 1, {}, [X, s64(2, 1), f32(2, 3)], "shape"),
    ("scatter_nd", 1, {"reduction": 2}, [Tensor(F16, (3,)), s64(1, 1), Tensor(F16, (1,))], "not defined"),
    ("tensor_scatter", 1, {"axis": 0}, [X, f32(3, 2)], "axis"),
    ("tensor_scatter", 1, {"axis": 1}, [X, f32(3, 5)], "larger"),
    ("tensor_scatter", 1, {"axis": 1}, [X, f32(3, 2), s64(2)], "positions"),
    ("one_hot", 1, {"axis": 1, "depth": -1}, [s64(3), f32(2)], "depth"),
    ("one_hot", 1, {"axis": 2, "depth": 4}, [s64(3), f32(2)], "axis"),
    ("one_hot", 1, {"axis": 0, "depth": 4}, [s64(3), f32(3)], "values"),
    ("one_hot", 1, {"axis": 0, "depth": 2**31 - 1}, [s64(1000), f32(2)], "2\\^31"),
    ("trilu", 1, {}, [f32(3)], "two dimensions"),
    ("eye_like", 1, {"to": 99}, [X], "element type"),
    ("reverse_sequence", 1, {"batch_axis": 1, "time_axis": 1}, [X, s64(4)], "two dimensions"),
    ("reverse_sequence", 1, {"batch_axis": 0, "time_axis": 1}, [X, s64(4)], "lengths"),
    ("center_crop_pad", 1, {"size": (-2, 1)}, [X], "negative"),
    ("center_crop_pad", 1, {"n_axes": 1, "axes": (2,)}, [X, given(3)], "axis"),
    ("top_k", 2, {"axis": 1, "k": 5, "to": S64}, [X], "k is"),
    ("top_k", 2, {"axis": 1, "to": S64}, [X, given(-1)], "k is"),
    ("top_k", 2, {"axis": 1, "k": 1, "to": F32}, [X], "`to`"),
    ("top_k", 1, {"axis": 1, "k": 1, "to": S64}, [X], "outputs"),
    ("compress", 1, {"axis": 1}, [X, s64(4)], "condition"),
    ("unique", 5, {"axis": 2}, [X], "axis"),
    ("unique", 5, {"axis": 0, "sorted": 2}, [X], "sorted"),
    ("non_max_suppression", 2, {"max_output": -1}, [BOXES, SCORES], "max_output"),
    ("non_max_suppression", 2, {}, [f32(2, 5, 3), SCORES], "boxes"),
    ("non_max_suppression", 2, {}, [BOXES, f32(2, 3, 6)], "scores"),
    ("non_max_suppression", 2, {}, [BOXES, SCORES, None, f32(2)], "threshold"),
    ("non_max_suppression", 2, {"max_output": 2**31 - 1}, [f32(9, 50000, 4), f32(9, 5000, 50000)], "type or shape"),
    ("conv3d", 1, {**CONV, "stride": (1, 0, 1)}, [f32(1, 4, 4, 4, 2), f32(2, 2, 2, 2, 3)], "stride"),
    ("conv3d", 1, CONV, [f32(1, 4, 4, 4, 2), f32(2, 2, 2, 3, 3)], "weights"),
    ("conv3d", 1, CONV, [f32(1, 4, 4, 4, 2), f32(5, 2, 2, 2, 3)], "kernel is larger"),
    ("conv3d", 1, CONV, [IMAGE, f32(2, 2, 4, 3)], "depth"),
    ("conv_transpose", 1, {**CONV, "groups": 3}, [IMAGE, f32(2, 2, 4, 3)], "groups"),
    ("conv_transpose", 1, {**CONV, "stride": (2, 1, 1)}, [IMAGE, f32(2, 2, 4, 3)], "does not have"),
    ("conv_transpose", 1, {**CONV, "pad_before": (0, -1, 0)}, [IMAGE, f32(2, 2, 4, 3)], "padding"),
    ("conv_transpose", 1, {**CONV, "pad_after": (0, 9, 0)}, [IMAGE, f32(2, 2, 4, 3)], "impossible"),
    ("conv_transpose", 1, {**CONV, "stride": (1, 2**30, 1)}, [IMAGE, f32(2, 2, 4, 3)], "impossible"),
    ("conv_transpose", 1, CONV, [Tensor(S8, (1, 8, 8, 4)), Tensor(S8, (2, 2, 4, 3))], "q_min|requant"),
    ("max_pool_nd", 1, {**POOL, "kernel": (1, 9, 2)}, [IMAGE], "kernel is larger"),
    ("max_pool_nd", 1, {**POOL, "with_indices": 1}, [IMAGE], "outputs"),
    ("max_pool_nd", 1, POOL, [s64(1, 8, 8, 4)], "x must be"),
    ("avg_pool_nd", 1, {**POOL, "extra": (0, -1, 0)}, [IMAGE], "padding"),
    ("lp_pool", 1, {**POOL, "p": 0}, [IMAGE], "p is"),
    ("max_unpool", 1, {"indexed": (4, 4), "shape": (4, -1)}, [f32(2, 2), s64(2, 2)], "2\\^31"),
    ("max_unpool", 1, {"indexed": (4, 4), "shape": (4, 4)}, [f32(2, 2), s64(2, 3)], "indices"),
    ("resize", 1, {**RESIZE, "mode": 3}, [IMAGE], "mode"),
    ("resize", 1, {**RESIZE, "transform": 7}, [IMAGE], "transform"),
    ("resize", 1, {**RESIZE, "scale": (1, 0, 1, 1)}, [IMAGE], "scale"),
    ("resize", 1, {**RESIZE, "scale": (1, math.nan, 1, 1)}, [IMAGE], "scale"),
    ("resize", 1, {**RESIZE, "scale": (1, 1e9, 1, 1)}, [IMAGE], "scale|large"),
    ("resize", 1, {**RESIZE, "scale": (1, 1e-6, 1, 1), "antialias": 1, "mode": 2}, [IMAGE], "antialias"),
    ("resize", 1, {**RESIZE, "cubic_a": math.inf}, [IMAGE], "cubic_a"),
    ("resize", 1, {**RESIZE, "transform": 6, "roi_begin": (0, math.nan, 0, 0)}, [IMAGE], "roi"),
    ("resize", 1, {**RESIZE, "arithmetic": 1}, [IMAGE], "arithmetic"),
    ("resize", 1, RESIZE, [s64(1, 8, 8, 4)], "element type"),
    ("resize", 1, RESIZE, [IMAGE, None, given(1, 2, dtype=np.float32)], "scales"),
    ("resize", 1, RESIZE, [IMAGE, None, None, given(1, 2)], "sizes"),
    ("resize", 1, {**RESIZE, "size": (-1, 4, -1, -1)}, [f32(1, 0, 8, 4)], "empty"),
    ("roi_align", 1, {**ROI, "out_h": 0}, [IMAGE, f32(3, 4), s64(3)], "size"),
    ("roi_align", 1, {**ROI, "sampling": -1}, [IMAGE, f32(3, 4), s64(3)], "sampling"),
    ("roi_align", 1, ROI, [IMAGE, f32(3, 5), s64(3)], "regions"),
    ("roi_align", 1, ROI, [IMAGE, f32(3, 4), s64(2)], "batch"),
    ("roi_align", 1, ROI, [f32(0, 8, 8, 4), f32(3, 4), s64(3)], "empty"),
    ("max_roi_pool", 1, {**ROI, "spatial_scale": math.inf}, [IMAGE, f32(3, 5)], "spatial_scale"),
    ("grid_sample", 1, {"mode": 3}, [IMAGE, f32(1, 2, 2, 2)], "mode"),
    ("grid_sample", 1, {"padding": 3}, [IMAGE, f32(1, 2, 2, 2)], "padding"),
    ("grid_sample", 1, {}, [IMAGE, f32(1, 2, 2, 3)], "grid"),
    ("grid_sample", 1, {"mode": 2}, [f32(1, 2, 2, 2, 1), f32(1, 2, 2, 2, 3)], "cubic"),
    ("affine_grid", 1, {"size": (2, 1, 4, 4)}, [f32(1, 2, 3)], "batch"),
    ("affine_grid", 1, {"size": (1, 1, 4, 4)}, [f32(1, 2, 2)], "theta"),
    ("deform_conv", 1, DEFORM, [IMAGE, f32(2, 2, 4, 3), f32(1, 7, 7, 9)], "offset"),
    ("deform_conv", 1, {**DEFORM, "offset_groups": 3}, [IMAGE, f32(2, 2, 4, 3), f32(1, 7, 7, 8)], "offset_groups"),
    ("deform_conv", 1, DEFORM, [IMAGE, f32(2, 2, 4, 3), f32(1, 7, 7, 8), None, f32(1, 7, 7, 8)], "mask"),
    ("col2im", 1, COL2IM, [f32(1, 7, 9)], "taps"),
    ("col2im", 1, COL2IM, [f32(1, 8, 8)], "positions"),
    ("col2im", 1, {**COL2IM, "spatial": 4}, [f32(1, 8, 9)], "spatial"),
    ("col2im", 1, COL2IM, [f32(1, 8, 9), given(4, 4), given(2)], "differ"),
]


@pytest.mark.parametrize(
    "op,outputs,attrs,inputs,word", REFUSALS, ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSALS)]
)
def test_refused(op: str, outputs: int, attrs: Mapping[str, Any], inputs: list[Tensor | None], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        catalogue.make_params(op, attrs, inputs, outputs)


WAITING: list[tuple[str, int, Mapping[str, Any], list[Tensor | None]]] = [
    ("one_hot", 1, {"axis": 0}, [s64(3), f32(2), s64(1)]),
    ("trilu", 1, {}, [X, s64()]),
    ("center_crop_pad", 1, {}, [X, s64(2)]),
    ("top_k", 2, {"axis": 1, "to": S64}, [X, s64(1)]),
    ("non_zero", 1, {}, [X]),
    ("compress", 1, {"axis": 1}, [X, Tensor(B8, (4,))]),
    ("non_max_suppression", 2, {}, [BOXES, SCORES, s64(1)]),
    ("max_unpool", 1, {"indexed": (4, 4)}, [f32(2, 2), s64(2, 2), s64(2)]),
    ("resize", 1, RESIZE, [IMAGE, None, f32(4)]),
    ("resize", 1, RESIZE, [IMAGE, None, None, s64(4)]),
    ("affine_grid", 1, {}, [f32(1, 2, 3), s64(4)]),
    ("col2im", 1, COL2IM, [f32(1, 8, 9), s64(2), s64(2)]),
]


@pytest.mark.parametrize("op,outputs,attrs,inputs", WAITING, ids=[f"{row[0]}-{i}" for i, row in enumerate(WAITING)])
def test_shapes_wait_for_values(op: str, outputs: int, attrs: Mapping[str, Any], inputs: list[Tensor | None]) -> None:
    with pytest.raises(NeedsDataError):
        catalogue.make_params(op, attrs, inputs, outputs)
