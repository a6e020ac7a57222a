"""What a user may choose about quantization."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ...costs import CostFunction
from ...errors import InputError
from .images import ImageOptions
from .observers import OBSERVERS

SCHEMES = ("int8", "16x8", "float16", "bfloat16", "weights-int8", "weights-int4", "dynamic")
"""Names for ``--quantize``."""

CALIBRATED = ("int8", "16x8")
"""Schemes that need calibration data."""

ALIASES = {
    **dict.fromkeys(("s8", "i8", "w8a8", "full-int8", "full-quant", "static"), "int8"),
    **dict.fromkeys(("int16x8", "16x8-int", "a16w8", "int16", "s16", "i16"), "16x8"),
    **dict.fromkeys(("fp16", "f16", "half", "weights-float16", "weights-fp16"), "float16"),
    **dict.fromkeys(("bf16", "weights-bfloat16", "weights-bf16"), "bfloat16"),
    **dict.fromkeys(("weight-int8", "int8-weights", "weight-only-int8", "weight-only", "weight-quant"), "weights-int8"),
    **dict.fromkeys(("weight-int4", "int4-weights", "weight-only-int4", "int4", "w4a16"), "weights-int4"),
    **dict.fromkeys(("dynamic-range", "dynamic-int8", "dynamic-quant", "drq"), "dynamic"),
}
"""What other tools call our schemes."""

GROUP = 32
"""Weights that share a scale in 4 bits, unless told otherwise."""

COMPUTE = ("float32", "float16", "bfloat16")

ROUNDINGS = ("auto", "nearest", "adaptive")


@dataclass
class QuantizeOptions:
    """The defaults let every choice be made by measuring the outputs on calibration data."""

    scheme: str = "int8"
    compute: str = "float32"
    """What layers with weights of ``float16`` or ``bfloat16`` compute on: float32, or the type of their weights."""
    calibrate: Any = None
    """A path, ``module:function``, a function or samples; see ``calibration_data``."""
    samples: int | None = None
    """No more samples than this are read."""
    images: ImageOptions = field(default_factory=ImageOptions)
    observer: str = "auto"
    """``auto``: the observer that keeps most of the outputs; or one of ``OBSERVERS``."""
    percentile: float | None = None
    """Per cent that the observer ``percentile`` keeps inside the range; None: ``observers.PERCENTILE``."""
    rounding: str = "auto"
    """Of weights: ``nearest``, ``adaptive`` (by layer reconstruction), or the better one."""
    bias_correction: bool | None = None
    """Whether the mean error of rounded weights may go into the bias; None: yes."""
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
    """Feeds on which candidates are compared. None: 4 to 256, fewer for larger models."""
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

    def __post_init__(self) -> None:
        self.scheme = canonical_scheme(self.scheme)

    @property
    def corrects_bias(self) -> bool:
        return self.bias_correction is not False

    @property
    def is_mixed(self) -> bool:
        """Whether bits are chosen for each layer."""
        limits = (self.max_flash, self.max_ram, self.max_instructions, self.max_drop)
        return any(limit is not None for limit in limits)

    @property
    def group_size(self) -> int:
        return GROUP if self.group is None else self.group

    def check(self) -> None:
        """Raises InputError for a choice that does not exist, and for one that would change nothing."""
        _one_of("scheme", self.scheme, SCHEMES)
        _one_of("compute", self.compute, COMPUTE)
        _one_of("observer", self.observer, ("auto", *OBSERVERS))
        _one_of("rounding", self.rounding, ROUNDINGS)
        _one_of("contract", self.contract, ("single", "float-even"))
        if self.percentile is not None and not 50.0 < self.percentile <= 100.0:
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
        if self.require_int8 and self.float_layers:
            raise InputError(
                f"--require-int8 contradicts --float-layer {self.float_layers[0]}", hint="leave one of them out"
            )
        if self.compute not in ("float32", self.scheme):
            raise InputError(
                f"--compute {self.compute} contradicts '{self.scheme}'",
                hint=f"it goes with --quantize {self.compute}, and only with that",
            )
        self._check_budgets()
        if self.scheme in CALIBRATED and self.calibrate is None:
            raise InputError(
                f"quantization '{self.scheme}' needs calibration data",
                hint="--calibrate data.npz with some dozens of typical inputs; or --quantize dynamic, weights-int8",
            )
        require_effect(self)

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


def canonical_scheme(name: str) -> str:
    """Our own name of a scheme that may have one of ``ALIASES``; other names stay."""
    plain = str(name).strip().lower().replace("_", "-")
    plain = ALIASES.get(plain, plain)
    return plain if plain in SCHEMES else str(name)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        close = get_close_matches(value.lower(), known, 1)
        guess = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"there is no {name} '{value}'", hint=f"{guess}one of {', '.join(known)}")


_DATA = "calibration data"
_STATIC = "activations on integers"


def require_effect(options: QuantizeOptions) -> None:
    """Raises InputError for the first option that is set and that the others leave without effect. What is switched
    off, and is off anyway, contradicts nothing."""
    scheme, is_static, has_data = options.scheme, options.scheme in CALIBRATED, options.calibrate is not None
    rounds = scheme in ("weights-int8", "weights-int4")
    clips = options.observer == "percentile" or (options.observer == "auto" and (scheme == "int8" or options.is_mixed))
    adaptive, images = options.rounding == "adaptive", options.images != ImageOptions()
    rules = [  # what is given, whether, whether it has an effect, what it is for
        (f"--observer {options.observer}", options.observer != "auto", is_static, _STATIC),
        ("--percentile", options.percentile is not None, is_static and clips, "--observer percentile"),
        ("--rounding adaptive", adaptive, is_static or rounds, "weights of 4 and 8 bits"),
        ("--rounding adaptive", adaptive, has_data, _DATA),
        ("--bias-correction", options.bias_correction is True, is_static or rounds, "weights of 4 and 8 bits"),
        ("--bias-correction", options.bias_correction is True, has_data, _DATA),
        ("--equalize", bool(options.equalize), is_static, _STATIC),
        (f"--smooth {options.smooth}", bool(options.smooth), is_static, _STATIC),
        ("--wide-layer", bool(options.wide_layers), scheme == "int8" or options.is_mixed, "--quantize int8"),
        (f"contract {options.contract}", options.contract != "single", is_static, _STATIC),
        ("--samples", options.samples is not None, has_data, _DATA),
        ("search-samples", options.search_samples is not None, has_data, _DATA),
        ("--labels", options.labels is not None, has_data, _DATA),
        ("preparing pictures (--mean, --resize, …)", images, has_data, _DATA),
    ]
    for given, is_set, works, purpose in rules:
        if is_set and not works:
            reason = "there is none" if purpose == _DATA else f"'{scheme}' has nothing of that"
            if purpose == "--observer percentile" and is_static:
                reason = f"the observer is '{'min-max' if options.observer == 'auto' else options.observer}'"
            raise InputError(f"{given} would change nothing: it is for {purpose}, and {reason}", hint="leave it out")
