"""OpDef: the facts of an op, once. Every other part of the project asks here.

An op is known under the same name as its kernels; its attributes have the names of the attribute fields of the
parameter struct in ``nnacl_kernels/<family>/<family>.h``, which also states the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..dtypes import DType

if TYPE_CHECKING:
    from ..ir import Node, TensorType, Value


@dataclass(frozen=True)
class Tolerance:
    """How far a float result may be from the reference: ``abs(a - b) <= absolute + relative * max(abs(b))``.

    Integer results are exact always; a tolerance says nothing about them.
    """

    relative: float = 1e-5
    absolute: float = 1e-6


EXACT = Tolerance(0.0, 0.0)

HALF = Tolerance(2e-3, 1e-3)
"""Of an op that rounds to half precision up to three times."""

HALF_SUM = Tolerance(4e-3, 1e-3)
"""Of sums of products of halves that are formed in half precision over blocks of 32, and in single between them."""


@dataclass(frozen=True)
class Sample:
    """One valid instance of an op for tests: input arrays (None: absent) and attributes."""

    inputs: Sequence[np.ndarray | None]
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class QuantRule:
    """How the quantization of an op's output relates to its inputs, and how integers get their constants.

    ``output``: ``free`` (any scale), ``same`` (that of input 0), ``fixed`` (``fixed`` says which).
    ``weight_axis``: the axis of input 1 along which weights may be quantized per channel; None: no weights.
    ``materialize(node, contract)`` turns the ``quant`` of the values around a node into attributes and constants:
    it returns (attributes to set, {input index: array}) and is called once, at the end of conversion.
    """

    output: Literal["free", "same", "fixed"] = "free"
    fixed: tuple[float, int] | None = None
    weight_axis: int | None = None
    materialize: Callable[[Node, str], tuple[dict[str, Any], dict[int, np.ndarray]]] | None = None


@dataclass(frozen=True)
class OpDef:
    """One op."""

    name: str
    inputs: tuple[str, ...]
    """Names of the inputs; a name that ends in ``?`` is optional, in ``*`` repeats."""
    infer: Callable[[Node], list[TensorType]]
    """Types of the outputs (dimensions may be symbols). Raises ShapeError when inputs or attributes do not fit."""
    reference: Callable[..., list[np.ndarray]]
    """``reference(inputs, attrs) -> outputs`` in NumPy: short and slow, the meaning of the op."""
    samples: Callable[[np.random.Generator], Sample]
    """A random valid instance, small and awkward (odd sizes, extreme zero points)."""
    outputs: tuple[str, ...] = ("y",)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """Attribute names with defaults; ``REQUIRED`` has none."""
    lengths: Mapping[str, str] = field(default_factory=dict)
    """Attributes that hold the length of another one (``{"rank": "shape"}``); ``complete_attrs`` sets them. A list that
    none is for has one number for each dimension of input 0 where its array has ``MAX_RANK``, else as many as that."""
    data_inputs: tuple[str, ...] = ()
    """Inputs (names without ``?``) whose values decide about the shapes of the outputs, as the plan half says."""
    absorb: Callable[[Node], Mapping[str, Any] | None] | None = None
    """The attributes that replace all optional data inputs of a node, when these are constant; else None."""
    subgraphs: tuple[str, ...] = ()
    """Roles of the subgraphs of a node. An op that has some is run by the runtime itself: there are no kernels, and
    ``reference`` and ``samples`` are not for it."""
    quant: QuantRule | None = None
    """None: the op has no integer form."""
    tolerance: Tolerance = EXACT
    half: Tolerance | None = None
    """The tolerance of results of half precision; None: the same."""
    doc: str = ""

    def tolerance_of(self, dtype: DType) -> Tolerance:
        """How far a result of this element type may be from the reference."""
        return self.half if self.half is not None and dtype is DType.f16 else self.tolerance

    @property
    def data_positions(self) -> tuple[int, ...]:
        """The positions of the data inputs."""
        return tuple(index for index, name in enumerate(self.inputs) if name.rstrip("?*") in self.data_inputs)

    def data_of(self, node: Node) -> list[Value]:
        """The data inputs of a node that are not constant: its output shapes are not known before they are."""
        values = (node.optional_input(index) for index in self.data_positions)
        return [value for value in values if value is not None and not value.is_constant]

    def takes_data(self, node: Node) -> bool:
        """Whether a node has any data input, constant or not."""
        return any(node.optional_input(index) is not None for index in self.data_positions)

    def complete_attrs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes with defaults filled in. ``KeyError`` names an unknown or missing attribute."""
        unknown = set(given) - set(self.attrs)
        if unknown:
            raise KeyError(f"{self.name} has no attribute {sorted(unknown)}")
        complete = {**self.attrs, **given}
        missing = [name for name, value in complete.items() if value is REQUIRED]
        if missing:
            raise KeyError(f"{self.name} needs attribute {missing}")
        return {**complete, **{name: len(complete[of]) for name, of in self.lengths.items()}}


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()

_registry: dict[str, OpDef] = {}


def register(*opdefs: OpDef) -> None:
    """Adds ops; ``ValueError`` when a name is taken."""
    for opdef in opdefs:
        if opdef.name in _registry:
            raise ValueError(f"op {opdef.name} is registered twice")
        _registry[opdef.name] = opdef


def unregister(*names: str) -> None:
    """Takes ops out again."""
    for name in names:
        _registry.pop(name, None)


def get(name: str) -> OpDef:
    """The op of that name, of an installed extension if need be; ``KeyError`` when there is none."""
    _load()
    if name not in _registry and "." in name:
        from ..extensions import activate_installed

        activate_installed(name.partition(".")[0])
    return _registry[name]


def is_known(name: str) -> bool:
    """Whether ``get`` finds an op."""
    try:
        get(name)
    except KeyError:
        return False
    return True


def missing_hint(name: str) -> str:
    """What to do about an op that nobody has."""
    return (
        f"it belongs to the extension '{name.partition('.')[0]}': install the package that brings it, or name its file "
        "with --ops (microlith.add_ops in Python, lith_model_options.extensions in C)"
    )


def all_ops() -> Iterator[OpDef]:
    """Every op that kernels compute, in alphabetical order."""
    _load()
    return (opdef for _, opdef in sorted(_registry.items()) if not opdef.subgraphs)


def control_ops() -> Iterator[OpDef]:
    """Every op that runs subgraphs, in alphabetical order."""
    _load()
    return (opdef for _, opdef in sorted(_registry.items()) if opdef.subgraphs)


_loaded = False


def _load() -> None:
    """Imports the family modules, which register their ops."""
    global _loaded
    if not _loaded:
        _loaded = True
        from . import (  # noqa: F401
            attention,
            bitwise,
            compressed,
            control,
            conv,
            cumulative,
            curves,
            data,
            dense,
            elementwise,
            elementwise_pairs,
            fixed_rnn,
            fused,
            imaging,
            linear_attention,
            norm,
            ordered,
            pool,
            positions,
            quant,
            quantized_lstm,
            reduce,
            resizing,
            rnn,
            selection,
            signal,
            sizes,
            slicing,
            softmax,
            svdf,
            tree,
            volume,
            volume_pool,
        )
