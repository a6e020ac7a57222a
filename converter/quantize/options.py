"""What a user may choose about quantization."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...costs import CostFunction
from ...errors import InputError
from .images import ImageOptions
from .observers import OBSERVERS, PERCENTILE

SCHEMES = ("int8", "16x8", "float16", "weights-int8", "weights-int4", "dynamic")
"""Names for ``--quantize``."""

CALIBRATED = ("int8", "16x8")
"""Schemes that need calibration data."""

GROUP = 32
"""Weights that share a scale in 4 bits, unless told otherwise."""

ROUNDINGS = ("auto", "nearest", "adaptive")


@dataclass
class QuantizeOptions:
    """The defaults let every choice be made by measuring the outputs on calibration data."""

    scheme: str = "int8"
    calibrate: Any = None
    """A path, ``module:function``, a function or samples; see ``calibration_data``."""
    samples: int | None = None
    """No more samples than this are read."""
    images: ImageOptions = field(default_factory=ImageOptions)
    observer: str = "auto"
    """``auto``: the observer that keeps most of the outputs; or one of ``OBSERVERS``."""
    percentile: float = PERCENTILE
    rounding: str = "auto"
    """Of weights: ``nearest``, ``adaptive`` (by layer reconstruction), or the better one."""
    bias_correction: bool = True
    equalize: bool | None = None
    """Cross-layer equalization; None: where it helps."""
    smooth: float | None = None
    """Exponent of SmoothQuant scaling, 0 to switch it off; None: the best of a few."""
    float_layers: tuple[str, ...] = ()
    """Patterns (as of file names) of layers that stay in floating point."""
    wide_layers: tuple[str, ...] = ()
    """Patterns of layers whose activations get 16 bits."""
    require_int8: bool = False
    """Fail where a layer stays in floating point."""
    group: int | None = None
    """Inputs that share a scale in weights of 4 bits, 0 for all of a channel; None: ``GROUP``."""
    search_samples: int | None = None
    """Feeds on which candidates are compared. None: 4 to 64, fewer for larger models."""
    contract: str = "single"
    max_flash: int | None = None
    """Bytes that the model may have: mixed precision keeps within them. Of constants; with ``costs`` as they say."""
    max_ram: int | None = None
    """Bytes of the arena, as ``costs`` gives it, that mixed precision keeps within."""
    max_instructions: float | None = None
    """Instructions of a run, as ``costs`` gives them, that mixed precision keeps within."""
    costs: CostFunction | None = None
    """What a graph costs on the machine that it is for, as ``codegen.graph_costs.costs_on`` tells."""
    max_drop: float | None = None
    """What the outputs may lose, from 0 to 1: mixed precision keeps within it. With ``labels`` it is the share of
    samples whose class is no longer found (accuracy), without them the share of noise in the power of the outputs."""
    labels: Any = None
    """The class of each calibration sample: integers or a path, see ``labels.load_labels``."""

    @property
    def is_mixed(self) -> bool:
        """Whether bits are chosen for each layer."""
        limits = (self.max_flash, self.max_ram, self.max_instructions, self.max_drop)
        return any(limit is not None for limit in limits)

    @property
    def group_size(self) -> int:
        return GROUP if self.group is None else self.group

    def check(self) -> None:
        """Raises InputError for a choice that does not exist."""
        _one_of("scheme", self.scheme, SCHEMES)
        _one_of("observer", self.observer, ("auto", *OBSERVERS))
        _one_of("rounding", self.rounding, ROUNDINGS)
        _one_of("contract", self.contract, ("single", "float-even"))
        if not 50.0 < self.percentile <= 100.0:
            raise InputError(f"a percentile of {self.percentile}: more than 50 and at most 100 is possible")
        if self.smooth is not None and not 0.0 <= self.smooth <= 1.0:
            raise InputError(f"a smoothing exponent of {self.smooth}: 0 to 1 is possible")
        if (self.samples is not None and self.samples < 1) or (self.search_samples or 1) < 1:
            raise InputError("at least one sample is needed")
        if self.require_int8 and self.scheme not in CALIBRATED:
            raise InputError(
                f"--require-int8 contradicts '{self.scheme}': it leaves activations in floating point",
                hint=f"--quantize {' or '.join(CALIBRATED)} with --calibrate makes them integers",
            )
        self._check_budgets()
        if self.labels is not None and self.scheme not in CALIBRATED:
            raise InputError(f"labels say nothing about '{self.scheme}'", hint=f"they are for {', '.join(CALIBRATED)}")
        if self.scheme in CALIBRATED and self.calibrate is None:
            raise InputError(
                f"quantization '{self.scheme}' needs calibration data",
                hint="--calibrate data.npz with some dozens of typical inputs; or --quantize dynamic, weights-int8",
            )

    def _check_budgets(self) -> None:
        if self.is_mixed and self.scheme not in CALIBRATED:
            raise InputError(
                f"budgets choose bits for each layer, and '{self.scheme}' has the same for all",
                hint="--quantize int8 with --max-flash, --max-ram, --max-instructions or --max-drop",
            )
        if self.group is not None and self.scheme != "weights-int4" and not self.is_mixed:
            raise InputError(
                f"a group of {self.group}: '{self.scheme}' has one scale for each output channel",
                hint="groups are for --quantize weights-int4, and for budgets such as --max-flash",
            )
        if self.group is not None and self.group < 0:
            raise InputError(f"a group of {self.group}: 0 (a whole channel) or more is possible")
        if self.costs is None and (self.max_ram is not None or self.max_instructions is not None):
            name = "ram" if self.max_ram is not None else "instructions"
            raise InputError(f"--max-{name} says nothing without a machine", hint="add --target")
        for name in ("max_flash", "max_ram", "max_instructions"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise InputError(f"--{name.replace('_', '-')} {limit:g}: more than 0 is needed")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"there is no {name} '{value}'", hint=f"one of {', '.join(known)}")
