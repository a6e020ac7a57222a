"""Adaptive rounding: integers for the weights of a layer that keep its output, not each weight on its own.

The aim is that of AdaRound (Nagel et al., Up or Down?, ICML 2020): among the integers near the weights those with the
least ``e' H e`` (see ``moments``). Found without gradients: first column by column, each error pushed into the columns
that follow (Hassibi and Stork's optimal brain surgeon, as in GPTQ, Frantar et al., ICLR 2023), then by coordinate
descent over single steps, until none helps.
"""

from __future__ import annotations

import numpy as np

from ...ir import Node
from .moments import Moments, depth_of
from .ranges import Weights

SWEEPS = 3
"""Of coordinate descent."""

DAMPING = 0.01
"""Part of the mean variance that every input has beside what was seen."""

FEW_ROWS = 0.1
"""The damping grows by so much for as many unknowns as patches were seen."""


def matrix_of(node: Node, weights: np.ndarray) -> np.ndarray:
    """Weights as [g, o, k], in the order of ``moments.patches``."""
    groups, depth = depth_of(node)
    if node.op == "depthwise_conv2d":
        return weights.reshape(depth, groups, -1).transpose(1, 2, 0)
    return weights.reshape(groups, -1, depth)


def from_matrix(node: Node, matrix: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of ``matrix_of``."""
    if node.op == "depthwise_conv2d":
        return np.ascontiguousarray(matrix.transpose(2, 0, 1)).reshape(shape)
    return np.ascontiguousarray(matrix).reshape(shape)


def reconstruct(node: Node, start: Weights, moments: Moments, bits: int = 8) -> tuple[Weights, np.ndarray]:
    """Better integers for a layer, with the same scales, and what then has to be added to its bias, float64 [channels].

    ``start``: the nearest integers.
    """
    data = node.input(1).data
    assert data is not None
    top = 2 ** (bits - 1) - 1
    real = matrix_of(node, data.astype(np.float64))
    steps = np.broadcast_to(start.scales.astype(np.float64).reshape(real.shape[0], real.shape[1], 1), real.shape)
    found, shift = reconstructed(real, steps, moments, -top, top)
    integers = from_matrix(node, found, start.integers.shape)
    return Weights(integers, start.scales, start.axis), shift


def reconstructed(
    real: np.ndarray, steps: np.ndarray, moments: Moments, low: int, high: int
) -> tuple[np.ndarray, np.ndarray]:
    """Integers for weights [g, o, k], each with a step of its own, and what has to be added to the bias [g * o]."""
    found = np.empty_like(real)
    for group in range(real.shape[0]):
        hessian = _damped(moments.covariance[group], moments.rows)
        found[group] = _solve(real[group], steps[group], hessian, low, high)
    shift = np.einsum("gok,gk->go", real - found * steps, moments.mean).reshape(-1)
    return found, shift


def mean_error(node: Node, weights: Weights, moments: Moments) -> np.ndarray:
    """What the rounding of weights takes off the mean of each output channel, float64 [channels]: bias correction after
    Nagel et al., Data-Free Quantization through Weight Equalization and Bias Correction (ICCV 2019), with means that
    were measured."""
    data = node.input(1).data
    assert data is not None
    scales = weights.scales.astype(np.float64)
    real = matrix_of(node, data.astype(np.float64))
    error = real - matrix_of(node, weights.integers) * scales.reshape(real.shape[0], real.shape[1], 1)
    return np.einsum("gok,gk->go", error, moments.mean).reshape(-1)


def _damped(covariance: np.ndarray, rows: int) -> np.ndarray:
    size = len(covariance)
    mean = float(np.trace(covariance)) / size
    share = DAMPING + FEW_ROWS * size / max(rows, 1)
    return covariance + (share * mean + 1e-12) * np.eye(size)


def _rounded(real: np.ndarray, steps: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.clip(np.rint(real / steps), low, high)


def _solve(real: np.ndarray, steps: np.ndarray, hessian: np.ndarray, low: int, high: int) -> np.ndarray:
    """Integers [o, k]."""
    nearest = _rounded(real, steps, low, high)
    found = _pushed(real, steps, hessian, low, high)
    found = _descend(real, found, steps, hessian, low, high)
    plain, better = _cost(real - nearest * steps, hessian), _cost(real - found * steps, hessian)
    return np.where((better < plain)[:, None], found, nearest)


def _cost(error: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    return np.einsum("ok,ok->o", error @ hessian, error)


def _pushed(real: np.ndarray, steps: np.ndarray, hessian: np.ndarray, low: int, high: int) -> np.ndarray:
    """Rounds one column after the other, the one with the largest variance first."""
    order = np.argsort(-np.diag(hessian), kind="stable")
    work, step = real[:, order].copy(), steps[:, order]
    try:
        inverse = np.linalg.inv(hessian[np.ix_(order, order)])
        factor = np.linalg.cholesky((inverse + inverse.T) / 2).T  # upper
    except np.linalg.LinAlgError:
        return _rounded(real, steps, low, high)
    found = np.empty_like(work)
    block = 64
    for start in range(0, work.shape[1], block):
        end = min(start + block, work.shape[1])
        errors = np.empty((len(work), end - start))
        for column in range(start, end):
            found[:, column] = _rounded(work[:, column], step[:, column], low, high)
            error = (work[:, column] - found[:, column] * step[:, column]) / factor[column, column]
            work[:, column + 1 : end] -= error[:, None] * factor[column, column + 1 : end]
            errors[:, column - start] = error
        work[:, end:] -= errors @ factor[start:end, end:]
    result = np.empty_like(found)
    result[:, order] = found
    return result


def _descend(
    real: np.ndarray, found: np.ndarray, steps: np.ndarray, hessian: np.ndarray, low: int, high: int
) -> np.ndarray:
    """Changes single integers while that lowers the error."""
    found = found.copy()
    gradient = (real - found * steps) @ hessian
    diagonal = np.diag(hessian)
    for _ in range(SWEEPS):
        changed = False
        for column in range(found.shape[1]):
            size = steps[:, column]
            wanted = found[:, column] + np.rint(gradient[:, column] / diagonal[column] / size)
            change = np.clip(wanted, low, high) - found[:, column]
            rows = np.flatnonzero(change)
            if rows.size:
                changed = True
                found[rows, column] += change[rows]
                gradient[rows] -= (change[rows] * size[rows])[:, None] * hessian[column]
        if not changed:
            break
    return found
