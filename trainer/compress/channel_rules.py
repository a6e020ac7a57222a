# SPDX-License-Identifier: Apache-2.0
"""What ``channel_layout`` knows of modules and functions, by what they do to channels."""

from __future__ import annotations

from torch import nn
from torch.nn.modules import activation, pooling
from torch.nn.modules.dropout import _DropoutNd

KEEPING_MODULES = (
    nn.ReLU,
    nn.ReLU6,
    nn.LeakyReLU,
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.GELU,
    nn.SiLU,
    nn.Mish,
    nn.Sigmoid,
    nn.Tanh,
    nn.Softplus,
    nn.Softsign,
    nn.Hardtanh,
    nn.Hardswish,
    nn.Hardsigmoid,
    nn.LogSigmoid,
    nn.PReLU,
    activation.Threshold,
    nn.Identity,
    _DropoutNd,
)
"""Element by element: the channel axis may be any."""

POOLING_MODULES = (
    pooling._MaxPoolNd,
    pooling._AvgPoolNd,
    pooling._AdaptiveMaxPoolNd,
    pooling._AdaptiveAvgPoolNd,
    nn.Upsample,
    nn.ZeroPad1d,
    nn.ZeroPad2d,
    nn.ReflectionPad2d,
    nn.ReplicationPad2d,
)
"""Along the axes behind the channels, each channel on its own."""

KEEPING = frozenset(
    "relu relu_ relu6 leaky_relu elu selu celu gelu silu mish sigmoid tanh softplus softsign hardtanh hardswish"
    " hardsigmoid logsigmoid dropout dropout2d feature_dropout clamp clip abs neg exp sqrt square pow"
    " contiguous clone float detach to identity threshold".split()
)
POOLING = frozenset(
    "max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d"
    " adaptive_max_pool2d boolean_dispatch interpolate pad".split()
)
"""By the name of the function; ``boolean_dispatch`` is what ``F.max_pool2d`` is called."""
FLATTEN = frozenset({"flatten"})
RESHAPE = frozenset({"view", "reshape"})
ARITHMETIC = frozenset("add add_ iadd sub sub_ isub mul mul_ imul div truediv maximum minimum fmin fmax".split())
