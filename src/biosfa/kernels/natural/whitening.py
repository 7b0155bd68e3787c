"""Whitening of centred samples, u = x · scale and z = Bu, and the sums from which the next B is computed."""

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray


@jit
def whiten_full(X: FloatArray, scale: Float64Array, whitener: FloatArray, Z: FloatArray) -> None:
    """Z ← whitener u for each row of X, which becomes u."""
    to_units(X, scale)
    np.dot(X, whitener.T, Z)


@jit
def add_scatter(X: FloatArray, keep: float, scatter: Float64Array) -> None:
    """Scatter ← keep · scatter + Σ weight xxᵀ, see :func:`weighted`; in float64, so that dependent columns stay so."""
    scatter *= keep ** len(X)
    rows = X.astype(np.float64)
    scatter += np.dot(weighted(rows, keep).T, rows)


@jit
def whiten_low_rank(
    X: FloatArray, scale: Float64Array, basis: FloatArray, gain: Float64Array, base: float, Z: FloatArray
) -> FloatArray:
    """Z ← base · (u + basisᵀ (gain · p)) with p = basis u for each row of X, which becomes u; returns p."""
    to_units(X, scale)
    p: FloatArray = np.dot(X, basis.T)
    np.dot(p * gain.astype(p.dtype), basis, Z)
    factor = X.dtype.type(base)
    for t in range(len(Z)):
        for j in range(Z.shape[1]):
            Z[t, j] = factor * (Z[t, j] + X[t, j])
    return p


@jit
def add_squares(X: FloatArray, keep: float, squares: Float64Array) -> None:
    """Squares ← keep · squares + Σ weight x², see :func:`weighted`."""
    squares *= keep ** len(X)
    later = weighted(X, keep)
    for t in range(len(X)):
        for j in range(X.shape[1]):
            squares[j] += later[t, j] * X[t, j]


@jit
def add_product(p: FloatArray, u: FloatArray, product: Float64Array) -> None:
    """Product ← product + Σ p uᵀ."""
    product += np.dot(p.T, u)


@jit
def to_units(X: FloatArray, scale: Float64Array) -> None:
    """X ← u = x · scale, in place."""
    for t in range(len(X)):
        for j in range(X.shape[1]):
            X[t, j] *= scale[j]


@jit
def weighted(X: FloatArray, keep: float) -> FloatArray:
    """Rows of X as those after them leave them: the last as it is, each one before times ``keep`` once more."""
    if keep == 1.0:
        return X
    rows = np.empty_like(X)
    weight = 1.0
    for t in range(len(X) - 1, -1, -1):
        for j in range(X.shape[1]):
            rows[t, j] = weight * X[t, j]
        weight *= keep
    return rows
