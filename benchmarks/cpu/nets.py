"""The topologies that speed is measured on, in PyTorch with seeded random weights: speed needs no training.

``build(name)`` gives a module in eval mode and its input, batch 1. Images are NCHW. Weights are scaled so that what
every layer gives has a standard deviation of 1 for that input: no overflow, no denormals, and ranges that quantization
can use. BatchNorm is taken as folded: convolutions have a bias.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Activation = Callable[[], nn.Module] | None


def _conv(
    channels: tuple[int, int], kernel: int = 3, stride: int = 1, groups: int = 1, act: Activation = nn.ReLU
) -> nn.Module:
    """Convolution with "same" padding for stride 1, and activation."""
    layer = nn.Conv2d(*channels, kernel, stride, kernel // 2, groups=groups)
    return nn.Sequential(layer, act()) if act else layer


class _Pooled(nn.Sequential):
    """Layers, the average over the image, a classifier."""

    def __init__(self, layers: list[nn.Module], head: nn.Module) -> None:
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)


class _Sum(nn.Module):
    """``after(body(x) + side(x))``."""

    def __init__(self, body: nn.Module, side: nn.Module | None = None, after: nn.Module | None = None) -> None:
        super().__init__()
        self.body, self.side, self.after = body, side or nn.Identity(), after or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.body(x) + self.side(x))


class _Excite(nn.Module):
    """Squeeze and excitation: channels weighted by what their averages say."""

    def __init__(self, channels: int, squeezed: int, act: Activation, gate: Activation) -> None:
        super().__init__()
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), _conv((channels, squeezed), 1, act=act), _conv((squeezed, channels), 1, act=gate)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weigh(x)


def _round8(value: float) -> int:
    """The multiple of 8 next to a number of channels, not more than 10 % below it."""
    near = max(8, int(value + 4) // 8 * 8)
    return near + 8 if near < 0.9 * value else near


def _mobilenet_v1(width: float, classes: int) -> nn.Module:
    def scaled(channels: int) -> int:
        return max(8, int(channels * width))

    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    channels = scaled(32)
    layers = [_conv((3, channels), stride=2)]
    for wide, stride in plan:
        layers += [_conv((channels, channels), 3, stride, channels), _conv((channels, scaled(wide)), 1)]
        channels = scaled(wide)
    return _Pooled(layers, nn.Linear(channels, classes))


def _inverted(
    channels: tuple[int, int, int], kernel: int, stride: int, act: Activation, excite: nn.Module | None = None
) -> nn.Module:
    """Expand, depthwise, perhaps excite, project; a residual where the shapes allow it."""
    begin, hidden, end = channels
    layers = [] if begin == hidden else [_conv((begin, hidden), 1, act=act)]
    layers += [_conv((hidden, hidden), kernel, stride, hidden, act), *([excite] if excite else [])]
    body = nn.Sequential(*layers, _conv((hidden, end), 1, act=None))
    return _Sum(body) if stride == 1 and begin == end else body


def _mobilenet_v2() -> nn.Module:
    plan = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    layers, channels = [_conv((3, 32), stride=2, act=nn.ReLU6)], 32
    for expand, wide, count, stride in plan:
        for index in range(count):
            shape = (channels, channels * expand, wide)
            layers.append(_inverted(shape, 3, stride if index == 0 else 1, nn.ReLU6))
            channels = wide
    return _Pooled([*layers, _conv((channels, 1280), 1, act=nn.ReLU6)], nn.Linear(1280, 1000))


def _mobilenet_v3_small() -> nn.Module:
    swish, relu = nn.Hardswish, nn.ReLU
    plan = [
        (3, 16, 16, True, relu, 2),
        (3, 72, 24, False, relu, 2),
        (3, 88, 24, False, relu, 1),
        (5, 96, 40, True, swish, 2),
        (5, 240, 40, True, swish, 1),
        (5, 240, 40, True, swish, 1),
        (5, 120, 48, True, swish, 1),
        (5, 144, 48, True, swish, 1),
        (5, 288, 96, True, swish, 2),
        (5, 576, 96, True, swish, 1),
        (5, 576, 96, True, swish, 1),
    ]
    layers, channels = [_conv((3, 16), stride=2, act=swish)], 16
    for kernel, hidden, wide, excited, act, stride in plan:
        excite = _Excite(hidden, _round8(hidden / 4), relu, nn.Hardsigmoid) if excited else None
        layers.append(_inverted((channels, hidden, wide), kernel, stride, act, excite))
        channels = wide
    head = nn.Sequential(nn.Linear(576, 1024), swish(), nn.Linear(1024, 1000))
    return _Pooled([*layers, _conv((channels, 576), 1, act=swish)], head)


def _efficientnet_b0() -> nn.Module:
    plan = [
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ]
    layers, channels = [_conv((3, 32), stride=2, act=nn.SiLU)], 32
    for expand, wide, count, stride, kernel in plan:
        for index in range(count):
            hidden = channels * expand
            excite = _Excite(hidden, channels // 4, nn.SiLU, nn.Sigmoid)
            first = stride if index == 0 else 1
            layers.append(_inverted((channels, hidden, wide), kernel, first, nn.SiLU, excite))
            channels = wide
    return _Pooled([*layers, _conv((channels, 1280), 1, act=nn.SiLU)], nn.Linear(1280, 1000))


def _residual(channels: tuple[int, int, int], stride: int, bottleneck: bool) -> nn.Module:
    begin, width, end = channels
    if bottleneck:
        body = [_conv((begin, width), 1), _conv((width, width), 3, stride), _conv((width, end), 1, act=None)]
    else:
        body = [_conv((begin, width), 3, stride), _conv((width, end), 3, act=None)]
    side = None if begin == end and stride == 1 else _conv((begin, end), 1, stride, act=None)
    return _Sum(nn.Sequential(*body), side, nn.ReLU())


def _resnet(blocks: tuple[int, ...], bottleneck: bool) -> nn.Module:
    layers, channels = [_conv((3, 64), 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        end = width * 4 if bottleneck else width
        for index in range(count):
            layers.append(_residual((channels, width, end), 2 if stage > 0 and index == 0 else 1, bottleneck))
            channels = end
    return _Pooled(layers, nn.Linear(channels, 1000))


def _resnet8() -> nn.Module:
    layers = [_conv((3, 16))]
    for begin, end, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        layers.append(_residual((begin, end, end), stride, False))
    return _Pooled(layers, nn.Sequential(nn.Linear(64, 10), nn.Softmax(-1)))


class _Fire(nn.Module):
    def __init__(self, begin: int, squeezed: int, wide: int) -> None:
        super().__init__()
        self.squeeze = _conv((begin, squeezed), 1)
        self.narrow, self.wide = _conv((squeezed, wide), 1), _conv((squeezed, wide), 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x)
        return torch.cat([self.narrow(x), self.wide(x)], 1)


def _squeezenet() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, 2), nn.ReLU()]
    plan = [(), (64, 16, 64), (128, 16, 64), (), (128, 32, 128), (256, 32, 128), ()]
    plan += [(256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)]
    layers += [_Fire(*sizes) if sizes else nn.MaxPool2d(3, 2) for sizes in plan]
    return nn.Sequential(*layers, _conv((512, 1000), 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class _CrossStage(nn.Module):
    """Half of the channels go through residual blocks, and all that comes up is joined."""

    def __init__(self, begin: int, end: int, count: int, residual: bool) -> None:
        super().__init__()
        self.half = end // 2
        self.enter = _conv((begin, end), 1, act=nn.SiLU)
        self.leave = _conv(((2 + count) * self.half, end), 1, act=nn.SiLU)
        pairs = [nn.Sequential(*[_conv((self.half, self.half), act=nn.SiLU) for _ in range(2)]) for _ in range(count)]
        self.blocks = nn.ModuleList(_Sum(pair) if residual else pair for pair in pairs)

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.enter(x).split(self.half, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class _PoolPyramid(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.enter = _conv((channels, channels // 2), 1, act=nn.SiLU)
        self.leave = _conv((channels * 2, channels), 1, act=nn.SiLU)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class _Detector(nn.Module):
    """A detector of the YOLO family, nano: cross-stage backbone, two ways through a pyramid, heads without anchors."""

    def __init__(self, classes: int = 80, box: int = 64) -> None:
        super().__init__()

        def conv(begin: int, end: int, stride: int = 1) -> nn.Module:
            return _conv((begin, end), 3, stride, act=nn.SiLU)

        self.fine = nn.Sequential(
            conv(3, 16, 2), conv(16, 32, 2), _CrossStage(32, 32, 1, True), conv(32, 64, 2), _CrossStage(64, 64, 2, True)
        )
        self.middle = nn.Sequential(conv(64, 128, 2), _CrossStage(128, 128, 2, True))
        self.coarse = nn.Sequential(conv(128, 256, 2), _CrossStage(256, 256, 1, True), _PoolPyramid(256))
        self.up_middle, self.up_fine = _CrossStage(384, 128, 1, False), _CrossStage(192, 64, 1, False)
        self.to_middle, self.down_middle = conv(64, 64, 2), _CrossStage(192, 128, 1, False)
        self.to_coarse, self.down_coarse = conv(128, 128, 2), _CrossStage(384, 256, 1, False)
        widths = (64, 128, 256)
        self.boxes = nn.ModuleList(nn.Sequential(conv(w, 64), conv(64, 64), nn.Conv2d(64, box, 1)) for w in widths)
        self.classes = nn.ModuleList(
            nn.Sequential(conv(w, 80), conv(80, 80), nn.Conv2d(80, classes, 1), nn.Sigmoid()) for w in widths
        )

    def forward(self, x: Tensor) -> Tensor:
        fine = self.fine(x)
        middle = self.middle(fine)
        coarse = self.coarse(middle)
        middle = self.up_middle(torch.cat([functional.interpolate(coarse, scale_factor=2.0), middle], 1))
        fine = self.up_fine(torch.cat([functional.interpolate(middle, scale_factor=2.0), fine], 1))
        middle = self.down_middle(torch.cat([self.to_middle(fine), middle], 1))
        coarse = self.down_coarse(torch.cat([self.to_coarse(middle), coarse], 1))
        levels = zip((fine, middle, coarse), self.boxes, self.classes, strict=True)
        return torch.cat([torch.cat([box(level), kind(level)], 1).flatten(2) for level, box, kind in levels], 2)


class _EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.feed = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        size = width // self.heads
        query, key, value = (
            layer(x).reshape(batch, length, self.heads, size).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        weights = torch.softmax(query @ key.transpose(2, 3) / math.sqrt(size), -1)
        mixed = (weights @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.norms[0](x + self.out(mixed))
        return self.norms[1](x + self.feed(x))


class _Encoder(nn.Module):
    """A sentence encoder from embedded tokens to their mean."""

    def __init__(
        self, layers: int = 6, width: int = 384, heads: int = 12, inner: int = 1536, length: int = 128
    ) -> None:
        super().__init__()
        self.positions, self.norm = nn.Parameter(torch.randn(1, length, width) * 0.02), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.Sequential(*[_EncoderLayer(width, heads, inner) for _ in range(layers)])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(self.norm(x + self.positions)).mean(1)


class _Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps, self.head = nn.LSTM(40, 128, 2, batch_first=True), nn.Linear(128, 12)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.steps(x)[0][:, -1])


def _dscnn() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(1, 64, (10, 4), (2, 2), (4, 1)), nn.ReLU()]
    for _ in range(4):
        layers += [_conv((64, 64), groups=64), _conv((64, 64), 1)]
    return _Pooled(layers, nn.Sequential(nn.Linear(64, 12), nn.Softmax(-1)))


def _dense(sizes: list[int]) -> nn.Module:
    layers: list[nn.Module] = []
    for begin, end in itertools.pairwise(sizes):
        layers += [nn.Linear(begin, end), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


_IMAGE = (1, 3, 224, 224)
_AUTOENCODER = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640]
NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mobilenet_v1": (lambda: _mobilenet_v1(1.0, 1000), _IMAGE),
    "mobilenet_v1_025_96": (lambda: _mobilenet_v1(0.25, 2), (1, 3, 96, 96)),
    "mobilenet_v2": (_mobilenet_v2, _IMAGE),
    "mobilenet_v3_small": (_mobilenet_v3_small, _IMAGE),
    "resnet18": (lambda: _resnet((2, 2, 2, 2), False), _IMAGE),
    "resnet50": (lambda: _resnet((3, 4, 6, 3), True), _IMAGE),
    "squeezenet11": (_squeezenet, _IMAGE),
    "efficientnet_b0": (_efficientnet_b0, _IMAGE),
    "yolo_n_320": (_Detector, (1, 3, 320, 320)),
    "minilm6_128": (_Encoder, (1, 128, 384)),
    "lstm_2x128_50": (_Lstm, (1, 50, 40)),
    "dscnn_kws": (_dscnn, (1, 1, 49, 10)),
    "autoenc_640": (lambda: _dense(_AUTOENCODER), (1, 640)),
    "resnet8_cifar": (_resnet8, (1, 3, 32, 32)),
    "mlp10": (lambda: _dense([10, 10, 10]), (1, 10)),
}
"""Constructor and shape of the input. Counts of the last are below what a call costs."""


def _settle(module: nn.Module, x: Tensor) -> None:
    """Scales the weights of each layer, in the order in which they run, to a standard deviation of 1 of its output."""
    seen: set[nn.Module] = set()

    def scale(layer: nn.Module, _inputs: object, y: Tensor) -> Tensor | None:
        if layer in seen:
            return None
        seen.add(layer)
        size = float(y.detach().std()) + 1e-6
        assert isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None
        layer.weight /= size
        layer.bias /= size
        return y / size

    hooks = [
        layer.register_forward_hook(scale) for layer in module.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))
    ]
    module(x)
    for hook in hooks:
        hook.remove()


def build(name: str) -> tuple[nn.Module, Tensor]:
    """One of ``NETS`` and an input of the standard normal distribution; the same numbers every time."""
    make, shape = NETS[name]
    torch.manual_seed(7)
    module = make().eval()
    x = torch.randn(shape)
    with torch.no_grad():
        _settle(module, x)
    return module, x


def multiplications(module: nn.Module, x: Tensor) -> int:
    """Multiply-accumulates of one run, as the direct algorithm counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        module(x)
    flops = int(counter.get_total_flops())
    for layer in module.modules():  # LSTM is one op to the counter
        if isinstance(layer, nn.LSTM):
            weights = sum(value.numel() for key, value in layer.named_parameters() if key.startswith("weight"))
            flops += 2 * weights * x.shape[1]
    return flops // 2
