"""What kernels cost on microcontrollers: written by benchmarks/mcu/fit_costs.py from measured counts."""

from __future__ import annotations

INSTRUCTIONS: dict[str, dict[str, tuple[float, float, float]]] = {"cortex-m4": {}, "cortex-m55": {}}
CODE_BYTES: dict[str, dict[str, int]] = {"cortex-m4": {}, "cortex-m55": {}}
