# SPDX-License-Identifier: Apache-2.0
"""Knockoff inputs: drawn from the inputs alone, alike in distribution, without what only the inputs know of the target.

Source of the idea: Barber and Candès, "Controlling the false discovery rate via knockoffs", 2015; Candès et al.,
"Panning for gold: model-X knockoffs", 2018. A knockoff ``x~`` of ``x`` is made without the target, and swapping a
feature of ``x`` with that of ``x~`` changes no distribution. The paper of SCOP trains a generative network for
them; here is the second-order (Gaussian) construction, which keeps means and covariances and needs only a pass over
the data.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from microlith.errors import InputError, ShapeError

from .layer_choice import require_share


@runtime_checkable
class Knockoffs(Protocol):
    """What SCOP needs: to see the data once, then a knockoff for each input."""

    def fit(self, inputs: Tensor) -> None:
        """Sees inputs ``[N, ...]``."""

    def draw(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Knockoffs of the inputs, of the same shape and type."""


class GaussianKnockoffs:
    """Second-order knockoffs in the basis of principal components, where features are uncorrelated.

    With component ``z_j`` of standard deviation ``s_j`` the knockoff is ``z~_j = r z_j + sqrt(1 - r²) s_j e``, ``e``
    normal: the same mean and variance, uncorrelated with all other components of ``z`` and ``z~``, correlated ``r``
    with ``z_j``; so any swap of components keeps all first and second moments. What the components leave over becomes
    noise of the same total variance.

    :param correlation: ``r`` from 0 (knockoffs independent of the input) to below 1 (copies).
    :param components: at most so many; those of largest variance.
    """

    def __init__(self, correlation: float = 0.5, components: int = 256) -> None:
        self.correlation = require_share(correlation, "the correlation of knockoffs")
        if components < 1:
            raise InputError(f"{components} components", hint="at least 1")
        self.components = components
        self.mean = self.basis = self.deviation = torch.empty(0)
        self.rest = 0.0

    def fit(self, inputs: Tensor) -> None:
        """Means, components and variances of inputs ``[N, ...]``, N at least 2."""
        if len(inputs) < 2 or not bool(torch.isfinite(inputs).all()):
            raise InputError("knockoffs need at least two inputs, all finite", hint=f"got shape {list(inputs.shape)}")
        flat = inputs.detach().reshape(len(inputs), -1).double()
        self.mean = flat.mean(0)
        _, singular, basis = torch.linalg.svd(flat - self.mean, full_matrices=False)
        variance = singular**2 / (len(inputs) - 1)
        count = min(self.components, int((variance > variance[0] * 1e-10).sum()))
        self.basis, self.deviation = basis[:count], variance[:count].sqrt()
        left = flat.shape[1] - count
        self.rest = float((variance[count:].sum() / left).sqrt()) if left else 0.0

    def draw(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Knockoffs, drawn anew by each call.

        :raises ShapeError: the inputs have another number of features than those of ``fit``.
        """
        flat = inputs.detach().reshape(len(inputs), -1).double().cpu()
        if flat.shape[1] != self.mean.numel():
            raise ShapeError(f"knockoffs of {flat.shape[1]} features; {self.mean.numel()} were seen")
        scores = (flat - self.mean) @ self.basis.T
        noise = torch.randn(scores.shape, generator=generator, dtype=torch.double)
        fresh = (1 - self.correlation**2) ** 0.5
        drawn = self.mean + (self.correlation * scores + fresh * self.deviation * noise) @ self.basis
        if self.rest:
            left = torch.randn(flat.shape, generator=generator, dtype=torch.double) * self.rest
            drawn = drawn + left - (left @ self.basis.T) @ self.basis
        return drawn.to(inputs).reshape(inputs.shape)
