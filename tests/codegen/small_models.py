"""Small models, seeded, made without a frontend."""

from __future__ import annotations

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.numerics import quantize_multipliers


def float_cnn() -> Graph:
    """conv2d, depthwise_conv2d, add, reshape (a view) and a second output over float32."""
    rng = np.random.default_rng(1)
    graph = Graph("float cnn")
    x = Value("image", TensorType(DType.f32, (1, 8, 7, 3)))
    graph.inputs.append(x)

    def constant(name: str, *shape: int) -> Value:
        return graph.constant(name, rng.standard_normal(shape).astype(np.float32))

    conv = graph.add(
        "conv2d",
        [x, constant("conv/kernel", 5, 3, 3, 3), constant("conv/bias", 5)],
        {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1, "clamp_min": 0.0},
        name="conv",
        source="Conv",
    )
    depthwise = graph.add(
        "depthwise_conv2d",
        [conv.output, constant("dw/kernel", 1, 3, 3, 5), None],
        {"stride_h": 2, "stride_w": 2, "groups": 5, "clamp_min": 0.0, "clamp_max": 6.0},
        name="block/dw",
        source="Conv",
    )
    added = graph.add("add", [depthwise.output, constant("offset", 5)], name="add")
    flat = graph.add("reshape", [added.output], {"rank": 2, "shape": [1, -1]}, name="flatten")
    relu = graph.add("relu", [added.output], name="relu")
    flat.output.name, relu.output.name = "flat", "features"
    graph.outputs = [flat.output, relu.output]
    return graph


def int8_cnn(contract: str = "tflite-double", pointwise: int = 6, height: int = 9) -> Graph:
    """conv2d, depthwise_conv2d and a pointwise conv2d over int8."""
    rng = np.random.default_rng(2)
    graph = Graph("int8 cnn", contract=contract)
    x = Value("input", TensorType(DType.s8, (1, height, 8, 4)), quant=Quant.per_tensor(0.05, 3))
    graph.inputs.append(x)

    def layer(op: str, value: Value, shape: tuple[int, ...], channels: int, attrs: dict[str, int], name: str) -> Value:
        weights = graph.constant(f"{name}/w", rng.integers(-127, 128, shape, np.int8))
        bias = graph.constant(f"{name}/b", rng.integers(-2000, 2000, channels, np.int32))
        requant = graph.constant(f"{name}/m", quantize_multipliers(rng.uniform(0.0005, 0.002, channels)))
        rounding = ("tflite-double", "single").index(contract)
        node = graph.add(
            op,
            [value, weights, bias, requant],
            {**attrs, "rounding": rounding},
            name=name,
            quant=Quant.per_tensor(0.1, attrs["y_zero"]),
        )
        return node.output

    same = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    y = layer("conv2d", x, (8, 3, 3, 4), 8, {**same, "stride_h": 2, "x_zero": 3, "y_zero": -128, "q_min": -128}, "conv")
    y = layer("depthwise_conv2d", y, (1, 3, 3, 8), 8, {**same, "groups": 8, "x_zero": -128, "y_zero": -5}, "dw")
    y = layer("conv2d", y, (pointwise, 1, 1, 8), pointwise, {"x_zero": -5, "y_zero": 11}, "pw")
    y.name = "output"
    graph.outputs = [y]
    return graph


def residual(height: int = 23, width: int = 8, channels: int = 8) -> Graph:
    """Padding, strides, dilation, a branch that is added again, a pool and two results, over float32.

    All numbers are small integers, so that sums are exact in any order.
    """
    rng = np.random.default_rng(3)
    graph = Graph("residual")
    x = Value("image", TensorType(DType.f32, (1, height, width, 2)))
    graph.inputs.append(x)

    def constant(*shape: int) -> Value:
        return graph.constant("weights", rng.integers(-1, 2, shape).astype(np.float32))

    same = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    first = graph.add("conv2d", [x, constant(channels, 5, 3, 2)], {**same, "pad_top": 2, "pad_bottom": 2}, name="first")
    second = graph.add("conv2d", [first.output, constant(channels, 3, 3, channels)], same, name="second")
    dilated = {"dilation_h": 2, "pad_top": 2, "pad_bottom": 2, "pad_left": 1, "pad_right": 1}
    third = graph.add("conv2d", [second.output, constant(channels, 3, 3, channels)], dilated, name="third")
    added = graph.add("add", [first.output, third.output], name="added")
    halved = {"stride_h": 2, "stride_w": 2, "groups": channels, "pad_bottom": 1}
    fourth = graph.add("depthwise_conv2d", [added.output, constant(1, 3, 3, channels)], halved, name="fourth")
    pooled = graph.add("max_pool2d", [fourth.output], {"kernel_h": 3, "kernel_w": 2, "stride_h": 2}, name="pooled")
    pointwise = graph.add("conv2d", [fourth.output, constant(4, 1, 1, channels)], {"stride_h": 2}, name="pointwise")
    graph.outputs = [pooled.output, pointwise.output]
    return graph


def deep(layers: int, height: int = 32, channels: int = 4) -> Graph:
    """Convolutions of float32 one behind the other, every fifth followed by an addition of what came before it, and in
    the middle and at the end half as many rows."""
    rng = np.random.default_rng(5)
    graph = Graph("deep")
    x = Value("image", TensorType(DType.f32, (1, height, 4, channels)))
    graph.inputs.append(x)
    before = x
    for number in range(layers):
        if number % 5 == 4:
            x = before = graph.add("add", [x, before], name=f"added{number}").output
            continue
        weights = graph.constant("weights", rng.integers(-1, 2, (channels, 3, 3, channels)).astype(np.float32))
        attrs = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
        if number in (layers // 2, layers - 2):
            attrs["stride_h"] = 2
        x = graph.add("conv2d", [x, weights], attrs, name=f"conv{number}").output
        before = x if "stride_h" in attrs else before
    graph.outputs = [x]
    return graph
