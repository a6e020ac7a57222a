"""ONNX operators that sample images."""

from __future__ import annotations

from typing import Any

from ...ir import Value
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_window import channels_first, channels_last, known, pads_of, per_axis, window_2d, window_3d


def _choice(node: OnnxNode, name: str, default: str, choices: dict[str, int]) -> int:
    text = node.text(name, default)
    if text not in choices:
        raise Reject(f"attribute '{name}' is '{text}'", f"supported: {', '.join(choices)}")
    return choices[text]


def grid_sample(g: Builder, node: OnnxNode) -> Value:
    """GridSample over two or three dimensions."""
    modes = {"linear": 1, "bilinear": 1, "nearest": 0, "cubic": 2, "bicubic": 2}
    attrs = {
        "mode": _choice(node, "mode", "linear", modes),
        "padding": _choice(node, "padding_mode", "zeros", {"zeros": 0, "border": 1, "reflection": 2}),
        "align_corners": int(bool(node.integer("align_corners", 0))),
    }
    return channels_first(g, g.add("grid_sample", [channels_last(g, node.value(0)), node.value(1)], attrs))


def affine_grid(g: Builder, node: OnnxNode) -> Value:
    """AffineGrid."""
    attrs = {"align_corners": int(bool(node.integer("align_corners", 0)))}
    return g.add("affine_grid", [node.value(0), node.value(1)], attrs)


def roi_align(g: Builder, node: OnnxNode) -> Value:
    """RoiAlign; before opset 16 without the shift by half an element."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    transforms = {"half_pixel": 1, "output_half_pixel": 0}
    attrs = {
        "out_h": node.integer("output_height", 1),
        "out_w": node.integer("output_width", 1),
        "sampling": node.integer("sampling_ratio", 0),
        "spatial_scale": node.real("spatial_scale", 1.0),
        "half_pixel": _choice(node, "coordinate_transformation_mode", default, transforms),
        "maximum": _choice(node, "mode", "avg", {"avg": 0, "max": 1}),
    }
    x = channels_last(g, node.value(0))
    return channels_first(g, g.add("roi_align", [x, node.value(1), node.value(2)], attrs))


def max_roi_pool(g: Builder, node: OnnxNode) -> Value:
    """MaxRoiPool."""
    shape = node.integers("pooled_shape")
    if shape is None or len(shape) != 2:
        raise Reject(f"attribute 'pooled_shape' is {shape}, expected two sizes")
    attrs = {"out_h": shape[0], "out_w": shape[1], "spatial_scale": node.real("spatial_scale", 1.0)}
    return channels_first(g, g.add("max_roi_pool", [channels_last(g, node.value(0)), node.value(1)], attrs))


def deform_conv(g: Builder, node: OnnxNode) -> Value:
    """DeformConv over two dimensions."""
    x, w, offset = (node.value(index) for index in range(3))
    bias, mask = node.optional(3), node.optional(4)
    if len(x.shape) != 4 or len(w.shape) != 4:
        raise Reject(f"input has shape {x.shape}; two spatial dimensions are supported")
    kernel = [known(dim, "the kernel") for dim in w.shape[2:]]
    if (given := node.integers("kernel_shape")) is not None and given != kernel:
        raise Reject(f"attribute 'kernel_shape' is {given}, the weights have {kernel}")
    strides, dilations = per_axis(node, "strides", 2), per_axis(node, "dilations", 2)
    pads = pads_of(node, x, kernel, strides, dilations)
    attrs: dict[str, Any] = {
        **window_2d(strides, pads, dilations),
        "groups": node.integer("group", 1),
        "offset_groups": node.integer("offset_group", 1),
    }
    inputs = [g.to_nhwc(x), g.transpose(w, (2, 3, 1, 0)), g.to_nhwc(offset), bias]
    inputs.append(None if mask is None else g.to_nhwc(mask))
    return g.to_nchw(g.add("deform_conv", inputs, attrs))


def col2im(g: Builder, node: OnnxNode) -> Value:
    """Col2Im; the sizes of the image and of the window are inputs."""
    sizes = node.value(1)
    spatial = known(sizes.shape[0], "the number of spatial dimensions") if len(sizes.shape) == 1 else 0
    if spatial not in (1, 2, 3):
        raise Reject(f"image_shape has shape {sizes.shape}; one to three spatial dimensions are supported")
    strides, dilations = per_axis(node, "strides", spatial), per_axis(node, "dilations", spatial)
    pads = node.integers("pads") or [0] * (2 * spatial)
    if len(pads) != 2 * spatial or min(pads) < 0:
        raise Reject(f"attribute 'pads' is {pads}, expected {2 * spatial} numbers not below 0")
    attrs = window_3d(strides, pads, dilations)
    return g.add("col2im", [node.value(0), sizes, node.value(2)], attrs)


ROWS: dict[str, Row] = {
    "AffineGrid": affine_grid,
    "Col2Im": col2im,
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "MaxRoiPool": max_roi_pool,
    "RoiAlign": roi_align,
}
