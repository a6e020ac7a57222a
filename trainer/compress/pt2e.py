# SPDX-License-Identifier: Apache-2.0
"""What is used of torchao's PT2E flow (export, prepare, convert), imported in one place and in silence.

torchao says on import which of its libraries for other processors it cannot load, and PyTorch that torchao's own
registrations are out of date: neither is anything that a user of ``trainer`` did or could change.
"""

from __future__ import annotations

from ..remarks import only_errors

with only_errors("torchao", "torch.utils._pytree"):
    from torchao.quantization.pt2e import (
        FakeQuantize,
        FusedMovingAvgObsFakeQuantize,
        MovingAverageMinMaxObserver,
        MovingAveragePerChannelMinMaxObserver,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e
    from torchao.quantization.pt2e.quantizer import (
        FixedQParamsQuantizationSpec,
        QuantizationAnnotation,
        QuantizationSpec,
        Quantizer,
        SharedQuantizationSpec,
    )

__all__ = [
    "FakeQuantize",
    "FixedQParamsQuantizationSpec",
    "FusedMovingAvgObsFakeQuantize",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "QuantizationAnnotation",
    "QuantizationSpec",
    "Quantizer",
    "SharedQuantizationSpec",
    "convert_pt2e",
    "prepare_qat_pt2e",
]
