"""Adaptive rounding: integers for the weights of a layer that keep its output, not each weight on its own.

The aim is that of AdaRound (Nagel et al., Up or Down?, ICML 2020): among the integers near the weights those with the
least ``e' H e`` (see ``moments``). Found without gradients: first column by column, each error pushed into the columns
that follow (Hassibi and Stork's optimal brain surgeon, as in GPTQ, Frantar et al., ICLR 2023), then by coordinate
descent over single steps, until none helps.
"""

from __future__ import annotations

import numpy as np

from ...ir import Node
from .insert import Weights
from .moments import Moments, depth_of

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
    real = matrix_of(node, data.astype(np.float64))
    scales = start.scales.astype(np.float64).reshape(real.shape[0], real.shape[1])
    top = 2 ** (bits - 1) - 1
    found = np.empty_like(real)
    for group in range(real.shape[0]):
        hessian = _damped(moments.covariance[group], moments.rows)
        found[group] = _solve(real[group] / scales[group][:, None], hessian, top)
    error = real - found * scales[:, :, None]
    shift = np.einsum("gok,gk->go", error, moments.mean).reshape(-1)
    integers = from_matrix(node, found, start.integers.shape)
    return Weights(integers, start.scales, start.axis), shift


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


def _solve(exact: np.ndarray, hessian: np.ndarray, top: int) -> np.ndarray:
    """Integers [o, k] for weights in units of their scales."""
    nearest = np.clip(np.rint(exact), -top, top)
    found = _pushed(exact, hessian, top)
    found = _descend(exact, found, hessian, top)
    plain, better = _cost(exact - nearest, hessian), _cost(exact - found, hessian)
    return np.where((better < plain)[:, None], found, nearest)


def _cost(error: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    return np.einsum("ok,ok->o", error @ hessian, error)


def _pushed(exact: np.ndarray, hessian: np.ndarray, top: int) -> np.ndarray:
    """Rounds one column after the other, the one with the largest variance first."""
    order = np.argsort(-np.diag(hessian), kind="stable")
    work = exact[:, order].copy()
    try:
        inverse = np.linalg.inv(hessian[np.ix_(order, order)])
        factor = np.linalg.cholesky((inverse + inverse.T) / 2).T  # upper
    except np.linalg.LinAlgError:
        return np.clip(np.rint(exact), -top, top)
    found = np.empty_like(work)
    block = 64
    for start in range(0, work.shape[1], block):
        end = min(start + block, work.shape[1])
        errors = np.empty((len(work), end - start))
        for column in range(start, end):
            found[:, column] = np.clip(np.rint(work[:, column]), -top, top)
            error = (work[:, column] - found[:, column]) / factor[column, column]
            work[:, column + 1 : end] -= error[:, None] * factor[column, column + 1 : end]
            errors[:, column - start] = error
        work[:, end:] -= errors @ factor[start:end, end:]
    result = np.empty_like(found)
    result[:, order] = found
    return result


def _descend(exact: np.ndarray, found: np.ndarray, hessian: np.ndarray, top: int) -> np.ndarray:
    """Changes single integers while that lowers the error."""
    found = found.copy()
    gradient = (exact - found) @ hessian
    diagonal = np.diag(hessian)
    for _ in range(SWEEPS):
        changed = False
        for column in range(found.shape[1]):
            step = np.rint(gradient[:, column] / diagonal[column])
            step = np.clip(found[:, column] + step, -top, top) - found[:, column]
            rows = np.flatnonzero(step)
            if rows.size:
                changed = True
                found[rows, column] += step[rows]
                gradient[rows] -= step[rows, None] * hessian[column]
        if not changed:
            break
    return found
